#include "solve/recurrence.h"

#include <string.h>

#include "cost/interleave.h"
#include "solve/recurrence_state.h"

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
    const bool inside = last < n - 1 && r->run_start[last] <= first && r->run_start[first] > 0;
    const int start = inside ? r->run_start[first] : first;
    const int end = last - first + start;
    const uint64_t stage =
        ((uint64_t)start * (uint64_t)n + (uint64_t)end) * NEST_RECOMPUTES + (uint64_t)mode;
    const uint64_t mixed = ((uint64_t)(uintptr_t)table >> 4) * 31 + stage;
    struct nest_remembered *known =
        &r->memory[(mixed * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - MEMORY_BITS)];
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
    return terms->fixed + in_flight * terms->activations <= chain->memory_limit;
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
    cost->load = nest_load_compose(&table->load[mode][c->first == 0][c->last == chain->layers - 1],
                                   cost, terms->fw + terms->bw + cost->in + cost->out);
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

static const struct nest_label nothing = {NEST_STEP_EMPTY, 0};

static struct nest_label combine(const struct nest_recurrence *r, const struct nest_choice *c,
                                 const struct nest_stage_cost *stage, const struct nest_label *rest)
{
    return (struct nest_label){
        nest_step_prepend(
            stage, nest_step_tail(&r->chain->frame.rule, stage, c->s == r->chain->layout->stages),
            rest->step, r->chain->frame.virtual_stages),
        rest->used + r->chain->layout->tp[c->place->width],
    };
}

/* ---- Pareto sets ---- */

static bool covers(const struct nest_label *a, const struct nest_label *b)
{
    return a->step.bottleneck <= b->step.bottleneck && a->step.fill <= b->step.fill &&
           a->step.tail <= b->step.tail && a->used <= b->used;
}

/* Adds a value to the set under construction unless another one is as good in every part. */
static void add_label(struct nest_recurrence *r, const struct nest_label *label)
{
    for (size_t i = 0; i < r->fresh_count; i++) {
        if (covers(&r->fresh[i], label)) {
            return;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < r->fresh_count; i++) {
        if (!covers(label, &r->fresh[i])) {
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

static void offer(struct nest_recurrence *r, const struct nest_choice *c,
                  const struct nest_label *label)
{
    if (!nest_recurrence_hopeless(r, label->step, c->first, r->chain->layout->stages - c->s)) {
        add_label(r, label);
    }
}

/* Every value of one choice: over the arcs to the successor's places and the values there. */
void nest_recurrence_extend(struct nest_recurrence *r, const struct nest_choice *c)
{
    struct nest_stage_cost stage;
    if (c->s == 1 && nest_recurrence_price(r, c, open_end, &stage)) {
        const struct nest_label label = combine(r, c, &stage, &nothing);
        offer(r, c, &label);
    }
    for (int a = 0; a < c->place->arcs; a++) {
        const struct nest_arc arc = c->place->arc[a];
        const struct nest_place *next = &r->chain->layout->place[c->s - 1][arc.next];
        const struct nest_set rest = *set_at(r, c->s - 1, arc.next, c->last + 1, arc.link);
        if (rest.count == 0 || !nest_recurrence_price(r, c, next->link[arc.link], &stage)) {
            continue;
        }
        for (uint32_t v = 0; v < rest.count; v++) {
            const struct nest_label label = combine(r, c, &stage, &r->pool[rest.from + v]);
            offer(r, c, &label);
        }
    }
}

/* True if a stage of layers first…last in front of s - 1 others cannot be part of a plan within
 * the limit, however cheap everything else is; then no longer stage can. */
static bool too_long(const struct nest_recurrence *r, int s, int first, int last)
{
    const nest_ps suffix = r->least[r->chain->layers] - r->least[first];
    const struct nest_step step = {r->least[last + 1] - r->least[first], suffix, 0};
    return nest_recurrence_hopeless(r, step, first, r->chain->layout->stages - s);
}

/* True if layers first… cannot run in s stages within the limit, even evenly split. */
static bool too_many(const struct nest_recurrence *r, int s, int first)
{
    const nest_ps suffix = r->least[r->chain->layers] - r->least[first];
    const struct nest_step step = {(suffix + s - 1) / s, suffix, 0};
    return nest_recurrence_hopeless(r, step, first, r->chain->layout->stages - s);
}

/* Adds every option of the stage first…last. False if none fits in memory: then no stage with more
 * layers does, because every term of memory grows with them. */
static bool extend_options(struct nest_recurrence *r, struct nest_choice *c)
{
    const struct nest_chain *chain = r->chain;
    bool any = false;
    for (c->mode = 0; c->mode < chain->modes; c->mode++) {
        for (c->zero = 0; c->zero < chain->zeros; c->zero++) {
            if (chain->interleave || fits(chain, c,
                                          terms_of(r, c->place->table[c->zero], c->first, c->last,
                                                   chain->mode[c->mode]))) {
                any = true;
                nest_recurrence_extend(r, c);
            }
        }
    }
    return any;
}

/* dp[l][D][k][s]: D lies behind cut first; k is the place and l its link from upstream. */
static void solve_cell(struct nest_recurrence *r, int s, int place, int first, int link)
{
    const struct nest_chain *chain = r->chain;
    struct nest_choice c = {.s = s, .first = first, .place = &chain->layout->place[s][place]};
    c.in = c.place->link[link];
    r->fresh_count = 0;
    r->states++;
    const int end = cut_leaving(chain, s - 1);
    for (c.last = s == 1 ? end - 1 : first; c.last < end; c.last++) {
        if (!is_stage(chain, first, c.last)) {
            continue;
        }
        /* In a chain what follows is longer; the cuts of a graph are not nested in their order. */
        if ((too_long(r, s, first, c.last) || !extend_options(r, &c)) && !chain->cuts) {
            break;
        }
    }
    keep_set(r, set_at(r, s, place, first, link));
}

static void solve_stage(struct nest_recurrence *r, int s)
{
    const struct nest_layout *layout = r->chain->layout;
    const int ahead = layout->stages - s;
    const int furthest = ahead == 0 ? 0 : cut_leaving(r->chain, s);
    for (int p = 0; p < layout->count[s]; p++) {
        for (int first = cut_from(r->chain, ahead); first <= furthest && is_open(r->chain, s, p);
             first++) {
            for (int l = 0; l < layout->place[s][p].links && !too_many(r, s, first); l++) {
                solve_cell(r, s, p, first, l);
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
    r->out_of_memory = false;
    r->call++;
    const int stages = chain->layout->stages;
    if (!nest_recurrence_reserve(r)) {
        return NEST_NO_MEMORY;
    }
    if (stages > (chain->cuts ? chain->cuts->layers : chain->layers) ||
        chain->layout->count[stages] == 0) {
        return NEST_NO;
    }
    nest_recurrence_prepare(r);
    for (int s = 1; s <= stages; s++) {
        solve_stage(r, s);
        if (r->out_of_memory) {
            return NEST_NO_MEMORY;
        }
    }
    const struct nest_target target = nest_recurrence_best(r);
    if (target.step > limit || target.step == NEST_PS_MAX) {
        return NEST_NO;
    }
    const bool whole = nest_recurrence_walk(r, target, chosen);
    *step = target.step;
    return r->out_of_memory ? NEST_NO_MEMORY : whole ? NEST_OK : NEST_NO;
}
