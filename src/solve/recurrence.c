#include "solve/recurrence.h"

#include <string.h>

#include "cost/interleave.h"
#include "solve/recurrence_state.h"

/* Where the terms of the recurrence are, in this file:
 *
 *   load_c(D \ D', l, l')           price_layers; of several chunks price_columns
 *   memory_c(D \ D', s) <= limit    fits
 *   combine                         combine
 *   min over gap, l' and k'         nest_recurrence_extend, along the arcs of layout.h
 *   min over option c               extend_options
 *   min over D'                     solve_cell
 *   min itself                      add_label: the values that no other one covers
 *   every l, D, k of one s          solve_stage
 *
 * What need not be visited is found beforehand, in recurrence_limits.c and recurrence_front.c; the
 * plan is walked back to in recurrence_plan.c. */

/* ---- The cost of one stage ---- */

static void price(const struct nest_cost_table *table, int first, int last,
                  enum nest_recompute mode, struct nest_terms *out)
{
    /* Which level a link crosses does not matter here, only whether there is one. */
    const struct nest_stage_query query = {
        .first = first,
        .last = last,
        .recompute = mode,
        .in_level = first > 0 ? 0 : -1,
        .out_level = last + 2 < table->cuts ? 0 : -1,
        .in_flight = 1,
    };
    struct nest_stage_cost cost;
    nest_stage_cost(table, &query, &cost);
    const int64_t kept = nest_stage_kept(table, first, last, mode).each;
    *out = (struct nest_terms){
        .fw = cost.fw,
        .bw = cost.bw,
        .recompute = cost.recompute,
        .sync = cost.sync,
        .optimizer = cost.optimizer,
        .fixed = cost.memory.total - kept + cost.memory_short,
        .activations = kept,
    };
}

/* Terms of layers first…last. A stage inside a run of equal layers is priced as the one at the
 * run's start; the ends of the chain stay apart, for the sake of tied weights. */
static const struct nest_terms *terms_of(struct nest_recurrence *r,
                                         const struct nest_cost_table *table, int first, int last,
                                         enum nest_recompute mode)
{
    const int n = r->chain->layers;
    const bool inside = first > 0 && last < n - 1 && r->run_start[last] <= first;
    const int begin = r->run_start[first] > 0 ? r->run_start[first] : 1;
    const int start = inside ? begin : first;
    const int end = last - first + start;
    const uint64_t stage =
        ((uint64_t)start * (uint64_t)n + (uint64_t)end) * NEST_RECOMPUTES + (uint64_t)mode;
    const uint64_t mixed = ((uint64_t)(uintptr_t)table >> 4) * 31 + stage;
    struct nest_remembered *known =
        &r->memory[(mixed * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - r->memory_bits)];
    if (known->table != table || known->stage != stage || known->call != r->call) {
        price(table, start, end, mode, &known->terms);
        known->table = table;
        known->stage = stage;
        known->call = r->call;
    }
    return &known->terms;
}

static bool fits(const struct nest_chain *chain, const struct nest_choice *c,
                 const struct nest_terms *terms)
{
    const int64_t m = chain->frame.microbatches;
    const int64_t in_flight = c->s < m ? c->s : m;
    return terms->fixed + nest_bytes_times(in_flight, terms->activations) <= chain->memory_limit;
}

const struct nest_terms *nest_recurrence_terms(struct nest_recurrence *r,
                                               const struct nest_choice *c)
{
    return terms_of(r, c->place->table[c->zero], c->first, c->last, r->chain->mode[c->mode]);
}

bool nest_recurrence_fits(struct nest_recurrence *r, const struct nest_choice *c)
{
    return fits(r->chain, c, nest_recurrence_terms(r, c));
}

/* One stage with a single run of layers. False if it does not fit in memory. */
static bool price_layers(struct nest_recurrence *r, const struct nest_choice *c,
                         struct nest_link out, struct nest_stage_cost *cost)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_cost_table *table = c->place->table[c->zero];
    const enum nest_recompute mode = chain->mode[c->mode];
    const struct nest_terms *terms = terms_of(r, table, c->first, c->last, mode);
    if (!fits(chain, c, terms)) {
        return false;
    }
    cost->fw = terms->fw;
    cost->bw = terms->bw;
    cost->recompute = terms->recompute;
    cost->in = transfer(r, c->first - 1, c->in);
    cost->out = gradient(r, c->last, out);
    cost->load = nest_stage_load(table, mode, c->first == 0, c->last == chain->layers - 1, cost,
                                 terms->fw + terms->bw + cost->in + cost->out);
    cost->sync = terms->sync;
    cost->optimizer = terms->optimizer;
    return true;
}

void nest_interleave_ranges(const struct nest_interleave *interleave, int columns, int first,
                            int last, struct nest_range *range)
{
    for (int i = 0; i < interleave->chunks; i++) {
        const int before = interleave->lead - interleave->short_first + i * columns;
        range[i] = (struct nest_range){before + first, before + last};
    }
    if (first == 0) {
        range[0].low = 0;
    }
    if (last == columns - 1) {
        range[interleave->chunks - 1].high += interleave->trail - interleave->short_last;
    }
}

/* One stage of several chunks. */
static bool price_columns(struct nest_recurrence *r, const struct nest_choice *c,
                          struct nest_link out, struct nest_stage_cost *cost)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_interleave *interleave = chain->interleave;
    const int stages = chain->layout->stages;
    const struct nest_chunks_query query = {
        .chunks = interleave->chunks,
        .layers = r->range,
        .recompute = chain->mode[c->mode],
        .stage = stages - c->s,
        .stages = stages,
        .in_level = c->s == stages ? interleave->wrap_level : c->in.level,
        .out_level = c->s == 1 ? interleave->wrap_level : out.level,
        .microbatches = chain->frame.microbatches,
        .pp_overlap = interleave->pp_overlap,
    };
    nest_interleave_ranges(interleave, chain->layers, c->first, c->last, r->range);
    nest_chunks_cost(c->place->table[c->zero], &query, cost);
    return cost->memory.total + cost->memory_short <= chain->memory_limit;
}

/* The stage between its two links. False if it does not fit in memory. */
bool nest_recurrence_price(struct nest_recurrence *r, const struct nest_choice *c,
                           struct nest_link out, struct nest_stage_cost *cost)
{
    return r->chain->interleave ? price_columns(r, c, out, cost) : price_layers(r, c, out, cost);
}

static const struct nest_label nothing = {.step = NEST_STEP_EMPTY};

static struct nest_label combine(const struct nest_recurrence *r, const struct nest_choice *c,
                                 const struct nest_stage_cost *stage, const struct nest_label *rest)
{
    return (struct nest_label){
        .step = nest_step_prepend(
            stage, nest_step_tail(&r->chain->frame.rule, stage, c->s == r->chain->layout->stages),
            rest->step, r->chain->frame.virtual_stages),
        .used = rest->used + r->chain->layout->tp[c->place->width],
    };
}

/* ---- Pareto sets ---- */

/* A value as every plan sees it: a bottleneck below that of the others, or a tail that they drain,
 * makes no difference. */
static void lift(const struct nest_recurrence *r, const struct nest_outlook *outlook,
                 struct nest_label *label)
{
    const struct nest_step_frame *frame = &r->chain->frame;
    struct nest_step *step = &label->step;
    step->bottleneck = step->bottleneck > outlook->busy ? step->bottleneck : outlook->busy;
    step->tail = step->tail > outlook->drain ? step->tail : outlook->drain;
    if (frame->rule.given ||
        __builtin_mul_overflow(frame->microbatches * frame->virtual_stages - 1, step->bottleneck,
                               &label->span) ||
        label->span > NEST_PS_MAX) {
        label->span = NEST_PS_MAX;
    } else {
        label->span += step->fill;
    }
}

/* True if no plan is better with b than with a. Whatever comes in front, B busy and E late, v times
 * the step is the largest of four sums: (v*M - 1) * max(b, B) + f, with v*e or without. */
static bool covers(const struct nest_recurrence *r, const struct nest_label *a,
                   const struct nest_label *b)
{
    const struct nest_step *x = &a->step;
    const struct nest_step *y = &b->step;
    if (x->fill > y->fill || a->used > b->used) {
        return false;
    }
    if (x->bottleneck <= y->bottleneck && x->tail <= y->tail) {
        return true;
    }
    const int64_t v = r->chain->frame.virtual_stages;
    return a->span < NEST_PS_MAX && b->span < NEST_PS_MAX && a->span <= b->span &&
           x->fill + v * x->tail <= y->fill + v * y->tail &&
           a->span + v * x->tail <= b->span + v * y->tail;
}

/* Adds a value to the set under construction unless another one is as good in every part. */
static void add_label(struct nest_recurrence *r, const struct nest_label *label)
{
    for (size_t i = 0; i < r->fresh_count; i++) {
        if (covers(r, &r->fresh[i], label)) {
            return;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < r->fresh_count; i++) {
        if (!covers(r, label, &r->fresh[i])) {
            r->fresh[kept++] = r->fresh[i];
        }
    }
    r->fresh_count = kept;
    GROW(r, r->fresh, r->fresh_capacity, kept + 1);
    if (!r->out_of_memory) {
        r->fresh[r->fresh_count++] = *label;
    }
}

static void keep_set(struct nest_recurrence *r, struct nest_set *set)
{
    GROW(r, r->pool, r->pool_capacity, r->pool_count + r->fresh_count);
    if (r->out_of_memory || r->fresh_count == 0) {
        return;
    }
    *set = (struct nest_set){(uint32_t)r->pool_count, (uint32_t)r->fresh_count};
    memcpy(&r->pool[r->pool_count], r->fresh, r->fresh_count * sizeof *r->fresh);
    r->pool_count += r->fresh_count;
}

/* ---- The recurrence ---- */

static void offer(struct nest_recurrence *r, const struct nest_outlook *outlook,
                  struct nest_label label)
{
    if (!nest_recurrence_hopeless(r, outlook, label.step)) {
        lift(r, outlook, &label);
        add_label(r, &label);
    }
}

/* Every value of one choice: over the arcs to the successor's places and the values there. */
void nest_recurrence_extend(struct nest_recurrence *r, const struct nest_outlook *outlook,
                            const struct nest_choice *c)
{
    struct nest_stage_cost stage;
    if (c->s == 1 && nest_recurrence_price(r, c, open_end, &stage)) {
        offer(r, outlook, combine(r, c, &stage, &nothing));
    }
    for (int a = 0; a < c->place->arcs; a++) {
        const struct nest_arc arc = c->place->arc[a];
        const struct nest_place *next = &r->chain->layout->place[c->s - 1][arc.next];
        const struct nest_set rest = *set_at(r, c->s - 1, arc.next, c->last + 1, arc.link);
        if (rest.count == 0 || !nest_recurrence_price(r, c, next->link[arc.link], &stage)) {
            continue;
        }
        for (uint32_t v = 0; v < rest.count; v++) {
            offer(r, outlook, combine(r, c, &stage, &r->pool[rest.from + v]));
        }
    }
}

/* Adds every option of the stage first…last. False if none is within time and memory: then no stage
 * with more layers is, because every term of both grows with them. */
static bool extend_options(struct nest_recurrence *r, const struct nest_outlook *outlook,
                           struct nest_choice *c)
{
    const struct nest_chain *chain = r->chain;
    const nest_ps links = ((c->s > 1) + (outlook->ahead > 0)) * r->least_link;
    bool any = false;
    if (r->ahead[c->last + 1].busy - r->ahead[c->first].busy + links > r->ceiling) {
        return false;
    }
    for (c->mode = 0; c->mode < chain->modes; c->mode++) {
        for (c->zero = 0; c->zero < chain->zeros; c->zero++) {
            const struct nest_cost_table *table = c->place->table[c->zero];
            if (chain->interleave ||
                (nest_table_least(table, c->first, c->last, chain->mode[c->mode]) + links <=
                     r->ceiling &&
                 nest_recurrence_fits(r, c))) {
                any = true;
                nest_recurrence_extend(r, outlook, c);
            }
        }
    }
    return any;
}

/* True if there is no such stage, nothing to put it in front of, or no plan with both within the
 * limit, however cheap the stage is beyond its layers' least time. */
static bool is_vain(const struct nest_recurrence *r, const struct nest_outlook *outlook,
                    const struct nest_choice *c)
{
    const nest_ps busy = r->ahead[c->last + 1].busy - r->ahead[c->first].busy;
    const nest_ps behind = *behind_at(r, c->s - 1, c->last + 1);
    return behind >= NEST_PS_MAX || behind + busy > outlook->spare ||
           !is_stage(r->chain, c->first, c->last);
}

/* dp[l][D][k][s]: D lies behind cut first; k is the place and l its link from upstream. */
static void solve_cell(struct nest_recurrence *r, const struct nest_outlook *outlook, int s,
                       int place, int first, int link)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_window next = r->window[s - 1];
    struct nest_choice c = {.s = s, .first = first, .place = &chain->layout->place[s][place]};
    c.in = c.place->link[link];
    r->fresh_count = 0;
    r->states++;
    c.last = next.from > first ? next.from - 1 : first;
    for (; c.last < next.to && !is_stopped(r); c.last++) {
        if (is_vain(r, outlook, &c)) {
            continue;
        }
        /* In a chain what follows is longer; the cuts of a graph are not nested in their order. */
        if (!extend_options(r, outlook, &c) && !chain->cuts) {
            break;
        }
    }
    keep_set(r, set_at(r, s, place, first, link));
    nest_ps *least = behind_at(r, s, first);
    for (size_t i = 0; i < r->fresh_count; i++) {
        *least = r->fresh[i].step.fill < *least ? r->fresh[i].step.fill : *least;
    }
}

static void solve_stage(struct nest_recurrence *r, int s)
{
    const struct nest_layout *layout = r->chain->layout;
    struct nest_outlook outlook;
    for (int first = r->window[s].from; first <= r->window[s].to && !r->cancelled; first++) {
        nest_recurrence_look(r, s, first, &outlook);
        for (int p = 0; p < layout->count[s] && nest_recurrence_open(r, &outlook); p++) {
            for (int l = 0; l < layout->place[s][p].links && is_open(r->chain, s, p); l++) {
                solve_cell(r, &outlook, s, p, first, l);
            }
        }
    }
}

enum nest_status nest_recurrence_solve(struct nest_recurrence *r, const struct nest_chain *chain,
                                       nest_ps limit, nest_ps *step, struct nest_chosen *chosen)
{
    r->chain = chain;
    r->limit = limit;
    r->states = 0;
    r->pool_count = 0;
    r->out_of_memory = r->cancelled = false;
    r->call++;
    const int stages = chain->layout->stages;
    if (stages > (chain->cuts ? chain->cuts->layers : chain->layers) ||
        chain->layout->count[stages] == 0) {
        return NEST_NO;
    }
    const bool open =
        nest_recurrence_reserve(r) && nest_recurrence_prepare(r) && nest_recurrence_clear(r);
    for (int s = 1; s <= stages && open; s++) {
        solve_stage(r, s);
    }
    if (r->out_of_memory || r->cancelled) {
        return r->out_of_memory ? NEST_NO_MEMORY : NEST_CANCELLED;
    }
    const struct nest_target target =
        open ? nest_recurrence_best(r) : (struct nest_target){NEST_PS_MAX, 0};
    if (target.step > limit || target.step == NEST_PS_MAX) {
        return NEST_NO;
    }
    const bool whole = nest_recurrence_walk(r, target, chosen);
    *step = target.step;
    return r->out_of_memory ? NEST_NO_MEMORY : whole ? NEST_OK : NEST_NO;
}
