#include "solve/recurrence.h"

#include <stdlib.h>
#include <string.h>

#include "cost/interleave.h"

/* A value of the recurrence. */
struct label {
    struct nest_step step;
    int64_t used; /* the sum of tp over the stages: devices, up to a factor of the strategy */
};

/* A Pareto set in the pool. */
struct set {
    uint32_t from, count;
};

/* What a stage costs whatever its neighbours and its distance from the end. */
struct terms {
    nest_ps busy, bw, sync, optimizer;
    int64_t fixed;       /* bytes without activations */
    int64_t activations; /* bytes per microbatch in flight */
};

/* Equal stages are priced once: a direct-mapped memory of terms. */
enum { MEMORY_BITS = 12 };
struct remembered {
    const struct nest_cost_table *table;
    uint64_t stage; /* first, last and mode in one number */
    uint64_t call;  /* tables change between calls */
    struct terms terms;
};

struct nest_recurrence {
    struct label *pool; /* all sets, one after the other */
    size_t pool_count, pool_capacity;
    struct label *fresh; /* the set under construction */
    size_t fresh_count, fresh_capacity;
    struct set *set; /* [base + first layer][link]; see set_at */
    size_t set_capacity;
    size_t *base; /* [place, over all s] where a place's sets start */
    size_t base_capacity;
    size_t *places_before; /* [s] places of the stages nearer the end */
    size_t stages_capacity;
    nest_ps *least; /* [layers + 1] prefix sums of each layer's least time */
    size_t least_capacity;
    nest_ps *largest; /* [layers + 1] largest of those times among the layers before i */
    size_t largest_capacity;
    int *run_start; /* [layers] first layer of the run of equal layers that holds i */
    size_t run_capacity;
    const struct nest_cost_table **carrier; /* [widths] a table that prices the width's transfers */
    size_t carrier_capacity;
    struct remembered *memory;
    uint64_t call;
    struct nest_range *range; /* [chunks] of the stage being priced */
    size_t range_capacity;
    int64_t virtual_stages; /* v */
    nest_ps least_link;     /* no transfer of this chain is cheaper */
    int64_t states;
    bool out_of_memory;
    const struct nest_chain *chain;
    nest_ps limit;
};

static const struct label nothing = {NEST_STEP_EMPTY, 0};
static const struct nest_link open_end = {-1, 0};

/* ---- Scratch ---- */

struct nest_recurrence *nest_recurrence_create(void)
{
    struct nest_recurrence *r = calloc(1, sizeof *r);
    if (r) {
        r->memory = calloc((size_t)1 << MEMORY_BITS, sizeof *r->memory);
    }
    if (r && !r->memory) {
        free(r);
        return NULL;
    }
    return r;
}

void nest_recurrence_free(struct nest_recurrence *r)
{
    if (!r) {
        return;
    }
    free(r->pool);
    free(r->fresh);
    free(r->set);
    free(r->base);
    free(r->places_before);
    free(r->least);
    free(r->largest);
    free(r->run_start);
    free(r->carrier);
    free(r->memory);
    free(r->range);
    free(r);
}

int64_t nest_recurrence_states(const struct nest_recurrence *r)
{
    return r->states;
}

/* Makes room for `needed` items; the contents stay. */
static void *grow(struct nest_recurrence *r, void *items, size_t *capacity, size_t needed,
                  size_t size)
{
    if (needed <= *capacity) {
        return items;
    }
    size_t next = *capacity ? *capacity * 2 : 256;
    next = next < needed ? needed : next;
    void *grown = realloc(items, next * size);
    if (!grown) {
        r->out_of_memory = true;
        return items;
    }
    *capacity = next;
    return grown;
}

#define GROW(r, items, capacity, needed)                                                           \
    ((items) = grow((r), (void *)(items), &(capacity), (size_t)(needed), sizeof *(items)))

static struct set *set_at(const struct nest_recurrence *r, int s, int place, int first, int link)
{
    const int links = r->chain->layout->place[s][place].links;
    return &r->set[r->base[r->places_before[s] + (size_t)place] + (size_t)first * (size_t)links +
                   (size_t)link];
}

static bool reserve(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_layout *layout = chain->layout;
    const size_t layers = (size_t)chain->layers + 1;
    GROW(r, r->least, r->least_capacity, layers);
    GROW(r, r->largest, r->largest_capacity, layers);
    GROW(r, r->run_start, r->run_capacity, layers);
    GROW(r, r->carrier, r->carrier_capacity, layout->widths);
    GROW(r, r->range, r->range_capacity, chain->interleave ? chain->interleave->chunks : 1);
    GROW(r, r->places_before, r->stages_capacity, layout->stages + 1);
    size_t places = 0;
    size_t sets = 0;
    for (int s = 1; s <= layout->stages && !r->out_of_memory; s++) {
        r->places_before[s] = places;
        GROW(r, r->base, r->base_capacity, places + (size_t)layout->count[s]);
        for (int p = 0; p < layout->count[s] && !r->out_of_memory; p++) {
            const struct nest_place *place = &layout->place[s][p];
            r->base[places++] = sets;
            sets += layers * (size_t)place->links;
            r->carrier[place->width] = place->table[0];
        }
    }
    GROW(r, r->set, r->set_capacity, sets);
    if (!r->out_of_memory) {
        memset(r->set, 0, sets * sizeof *r->set);
    }
    return !r->out_of_memory;
}

/* ---- Lower bounds of what is still to come in front of D ---- */

static nest_ps least_of_layer(const struct nest_chain *chain, int layer)
{
    const struct nest_layout *layout = chain->layout;
    nest_ps least = NEST_PS_MAX;
    for (int s = 1; s <= layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            for (int z = 0; z < chain->zeros; z++) {
                for (int m = 0; m < chain->modes; m++) {
                    const nest_ps busy =
                        nest_stage_busy(layout->place[s][p].table[z], layer, layer, chain->mode[m]);
                    least = busy < least ? busy : least;
                }
            }
        }
    }
    return least;
}

/* c(l) of the boundary after layer `after`: the narrower end divides the tensor. */
static nest_ps transfer(const struct nest_recurrence *r, int after, struct nest_link link)
{
    return link.level < 0 ? 0 : nest_stage_transfer(r->carrier[link.width], after, link.level);
}

static nest_ps least_transfer(const struct nest_recurrence *r, int after)
{
    const struct nest_layout *layout = r->chain->layout;
    nest_ps least = NEST_PS_MAX;
    for (int s = 1; s < layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            for (int l = 0; l < layout->place[s][p].links; l++) {
                const nest_ps time = transfer(r, after, layout->place[s][p].link[l]);
                least = time < least ? time : least;
            }
        }
    }
    return least;
}

static void prepare_layers(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    r->least_link = NEST_PS_MAX;
    for (int i = 0; i < chain->layers; i++) {
        const bool same = i > 0 && chain->kind_of[i] == chain->kind_of[i - 1];
        r->least[i + 1] = same ? r->least[i] : least_of_layer(chain, i);
        r->run_start[i] = same ? r->run_start[i - 1] : i;
        if (!same && i + 1 < chain->layers) {
            const nest_ps link = least_transfer(r, i);
            r->least_link = link < r->least_link ? link : r->least_link;
        }
    }
}

/* The least time of each column; transfers may hide entirely. */
static void prepare_columns(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_interleave *in = chain->interleave;
    const int layers = chain->layout->place[1][0].table[0]->layers;
    const nest_ps block = least_of_layer(chain, in->lead);
    r->least_link = 0;
    for (int i = 0; i < chain->layers; i++) {
        r->least[i + 1] = in->chunks * block;
    }
    r->least[1] += in->lead ? least_of_layer(chain, 0) : 0;
    r->least[1] -= in->short_first ? block : 0;
    r->least[chain->layers] += in->trail ? least_of_layer(chain, layers - 1) : 0;
    r->least[chain->layers] -= in->short_last ? block : 0;
}

static void prepare_bounds(struct nest_recurrence *r)
{
    if (r->chain->interleave) {
        prepare_columns(r);
    } else {
        prepare_layers(r);
    }
    r->least[0] = 0;
    r->largest[0] = 0;
    for (int i = 1; i <= r->chain->layers; i++) {
        const nest_ps time = r->least[i];
        r->largest[i] = time > r->largest[i - 1] ? time : r->largest[i - 1];
        r->least[i] += r->least[i - 1];
    }
}

/* True if no plan within the limit has this suffix: `ahead` stages must still hold the layers
 * before `first`, at the least that those can cost. */
static bool hopeless(const struct nest_recurrence *r, struct nest_step step, int first, int ahead)
{
    if (ahead > 0) {
        const nest_ps rest = r->least[first] + (2 * ahead - 1) * r->least_link;
        const nest_ps even = (rest + ahead - 1) / ahead;
        const nest_ps most = even > r->largest[first] ? even : r->largest[first];
        step.fill += rest;
        step.bottleneck = most > step.bottleneck ? most : step.bottleneck;
    }
    step.tail = 0;
    return nest_step_time(step, r->chain->microbatches, r->virtual_stages, 0) > r->limit;
}

/* ---- The cost of one stage ---- */

static void price(const struct nest_cost_table *table, int first, int last,
                  enum nest_recompute mode, struct terms *out)
{
    /* Which level a link crosses does not matter here, only whether there is one. */
    const struct nest_stage_query query = {
        .first = first,
        .last = last,
        .recompute = mode,
        .in_level = first > 0 ? 0 : -1,
        .out_level = last + 1 < table->layers ? 0 : -1,
        .in_flight = 1,
    };
    struct nest_stage_cost cost;
    nest_stage_cost(table, &query, &cost);
    *out = (struct terms){
        .busy = cost.fw + cost.bw,
        .bw = cost.bw,
        .sync = cost.sync,
        .optimizer = cost.optimizer,
        .fixed = cost.memory.total - cost.memory.activations,
        .activations = cost.memory.activations,
    };
}

/* Terms of layers first…last. A stage inside a run of equal layers is priced as the one at the
 * run's start; the ends of the chain stay apart, for the sake of tied weights. */
static const struct terms *terms_of(struct nest_recurrence *r, const struct nest_cost_table *table,
                                    int first, int last, enum nest_recompute mode)
{
    const int n = r->chain->layers;
    const bool inside = last < n - 1 && r->run_start[last] <= first && r->run_start[first] > 0;
    const int start = inside ? r->run_start[first] : first;
    const int end = last - first + start;
    const uint64_t stage =
        ((uint64_t)start * (uint64_t)n + (uint64_t)end) * NEST_RECOMPUTES + (uint64_t)mode;
    const uint64_t mixed = ((uint64_t)(uintptr_t)table >> 4) * 31 + stage;
    struct remembered *known =
        &r->memory[(mixed * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - MEMORY_BITS)];
    if (known->table != table || known->stage != stage || known->call != r->call) {
        price(table, start, end, mode, &known->terms);
        known->table = table;
        known->stage = stage;
        known->call = r->call;
    }
    return &known->terms;
}

/* One choice for the stage in front of a suffix. */
struct choice {
    int s;           /* stages from here to the end */
    int first, last; /* layers */
    const struct nest_place *place;
    struct nest_link in;
    int mode, zero; /* indices into the chain's modes and the place's tables */
};

/* One stage with a single run of layers. False if it does not fit in memory. */
static bool price_layers(struct nest_recurrence *r, const struct choice *c, struct nest_link out,
                         struct nest_stage_cost *cost)
{
    const struct nest_chain *chain = r->chain;
    const struct terms *terms =
        terms_of(r, c->place->table[c->zero], c->first, c->last, chain->mode[c->mode]);
    const int64_t in_flight = c->s < chain->microbatches ? c->s : chain->microbatches;
    if (terms->fixed + in_flight * terms->activations > chain->memory_limit) {
        return false;
    }
    cost->bw = terms->bw;
    cost->in = transfer(r, c->first - 1, c->in);
    cost->out = transfer(r, c->last, out);
    cost->load = terms->busy + cost->in + cost->out;
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
static bool price_columns(struct nest_recurrence *r, const struct choice *c, struct nest_link out,
                          struct nest_stage_cost *cost)
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
        .microbatches = chain->microbatches,
        .pp_overlap = interleave->pp_overlap,
    };
    nest_interleave_ranges(interleave, chain->layers, c->first, c->last, r->range);
    nest_chunks_cost(c->place->table[c->zero], &query, cost);
    return cost->memory.total <= chain->memory_limit;
}

/* The stage between its two links. False if it does not fit in memory. */
static bool price_stage(struct nest_recurrence *r, const struct choice *c, struct nest_link out,
                        struct nest_stage_cost *cost)
{
    return r->chain->interleave ? price_columns(r, c, out, cost) : price_layers(r, c, out, cost);
}

static struct label combine(const struct nest_recurrence *r, const struct choice *c,
                            const struct nest_stage_cost *stage, const struct label *rest)
{
    return (struct label){
        nest_step_prepend(stage, rest->step, r->virtual_stages),
        rest->used + r->chain->layout->tp[c->place->width],
    };
}

/* ---- Pareto sets ---- */

static bool covers(const struct label *a, const struct label *b)
{
    return a->step.bottleneck <= b->step.bottleneck && a->step.fill <= b->step.fill &&
           a->step.tail <= b->step.tail && a->used <= b->used;
}

/* Adds a value to the set under construction unless another one is as good in every part. */
static void add_label(struct nest_recurrence *r, const struct label *label)
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

static void keep_set(struct nest_recurrence *r, struct set *set)
{
    GROW(r, r->pool, r->pool_capacity, r->pool_count + r->fresh_count);
    if (r->out_of_memory || r->fresh_count == 0) {
        return;
    }
    *set = (struct set){(uint32_t)r->pool_count, (uint32_t)r->fresh_count};
    memcpy(&r->pool[r->pool_count], r->fresh, r->fresh_count * sizeof *r->fresh);
    r->pool_count += r->fresh_count;
}

/* ---- The recurrence ---- */

static void offer(struct nest_recurrence *r, const struct choice *c, const struct label *label)
{
    if (!hopeless(r, label->step, c->first, r->chain->layout->stages - c->s)) {
        add_label(r, label);
    }
}

/* Every value of one choice: over the arcs to the successor's places and the values there. */
static void extend(struct nest_recurrence *r, const struct choice *c)
{
    struct nest_stage_cost stage;
    if (c->s == 1 && price_stage(r, c, open_end, &stage)) {
        const struct label label = combine(r, c, &stage, &nothing);
        offer(r, c, &label);
    }
    for (int a = 0; a < c->place->arcs; a++) {
        const struct nest_arc arc = c->place->arc[a];
        const struct nest_place *next = &r->chain->layout->place[c->s - 1][arc.next];
        const struct set rest = *set_at(r, c->s - 1, arc.next, c->last + 1, arc.link);
        if (rest.count == 0 || !price_stage(r, c, next->link[arc.link], &stage)) {
            continue;
        }
        for (uint32_t v = 0; v < rest.count; v++) {
            const struct label label = combine(r, c, &stage, &r->pool[rest.from + v]);
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
    return hopeless(r, step, first, r->chain->layout->stages - s);
}

/* True if layers first… cannot run in s stages within the limit, even evenly split. */
static bool too_many(const struct nest_recurrence *r, int s, int first)
{
    const nest_ps suffix = r->least[r->chain->layers] - r->least[first];
    const struct nest_step step = {(suffix + s - 1) / s, suffix, 0};
    return hopeless(r, step, first, r->chain->layout->stages - s);
}

/* dp[l][D][k][s]: D starts at layer first; k is the place and l its link from upstream. */
static void solve_cell(struct nest_recurrence *r, int s, int place, int first, int link)
{
    const struct nest_chain *chain = r->chain;
    struct choice c = {.s = s, .first = first, .place = &chain->layout->place[s][place]};
    c.in = c.place->link[link];
    r->fresh_count = 0;
    r->states++;
    const int end = chain->layers - (s - 1);
    for (c.last = s == 1 ? end - 1 : first; c.last < end; c.last++) {
        if (too_long(r, s, first, c.last)) {
            break;
        }
        for (c.mode = 0; c.mode < chain->modes; c.mode++) {
            for (c.zero = 0; c.zero < chain->zeros; c.zero++) {
                extend(r, &c);
            }
        }
    }
    keep_set(r, set_at(r, s, place, first, link));
}

/* False where an interleaved chain fixes the ends of the pipeline elsewhere. */
static bool is_open(const struct nest_chain *chain, int s, int place)
{
    const struct nest_interleave *in = chain->interleave;
    return !in || ((s > 1 || place == in->last_place) &&
                   (s < chain->layout->stages || in->wrap_level_of[place] == in->wrap_level));
}

static void solve_stage(struct nest_recurrence *r, int s)
{
    const struct nest_layout *layout = r->chain->layout;
    const int ahead = layout->stages - s;
    const int furthest = ahead == 0 ? 0 : r->chain->layers - s;
    for (int p = 0; p < layout->count[s]; p++) {
        for (int first = ahead; first <= furthest && is_open(r->chain, s, p); first++) {
            for (int l = 0; l < layout->place[s][p].links && !too_many(r, s, first); l++) {
                solve_cell(r, s, p, first, l);
            }
        }
    }
}

/* ---- The plan behind the value ---- */

/* The stages in front of those still to be chosen. The last of them is not priced yet: its link
 * downstream depends on where the next one sits. */
struct front {
    struct nest_step step;
    nest_ps drained; /* what its stages take off later tails */
    int64_t used;
    struct choice open;
    bool empty;
};

/* The front with its open stage priced. */
static struct front close_front(struct nest_recurrence *r, const struct front *front,
                                struct nest_link link)
{
    struct front f = *front;
    struct nest_stage_cost stage;
    if (!f.empty && price_stage(r, &f.open, link, &stage)) {
        const nest_ps tail = nest_step_tail(&stage) - f.drained;
        f.step.bottleneck = stage.load > f.step.bottleneck ? stage.load : f.step.bottleneck;
        f.step.fill += stage.load;
        f.step.tail = tail > f.step.tail ? tail : f.step.tail;
        f.drained += nest_step_drain(&stage, r->virtual_stages);
        f.used += r->chain->layout->tp[f.open.place->width];
    }
    return f;
}

struct target {
    nest_ps step;
    int64_t used;
};

static bool better(struct target a, struct target b)
{
    return a.step < b.step || (a.step == b.step && a.used < b.used);
}

static struct target complete(const struct nest_recurrence *r, const struct front *front,
                              const struct label *rest, nest_ps tied)
{
    const nest_ps tail = rest->step.tail - front->drained;
    const struct nest_step whole = {
        .bottleneck = rest->step.bottleneck > front->step.bottleneck ? rest->step.bottleneck
                                                                     : front->step.bottleneck,
        .fill = front->step.fill + rest->step.fill,
        .tail = tail > front->step.tail ? tail : front->step.tail,
    };
    return (struct target){nest_step_time(whole, r->chain->microbatches, r->virtual_stages, tied),
                           front->used + rest->used};
}

/* The best plan that starts with front and c. */
static struct target best_with(struct nest_recurrence *r, const struct front *front,
                               const struct choice *c, nest_ps tied)
{
    struct target best = {NEST_PS_MAX, 0};
    r->fresh_count = 0;
    extend(r, c);
    for (size_t i = 0; i < r->fresh_count; i++) {
        const struct target t = complete(r, front, &r->fresh[i], tied);
        best = better(t, best) ? t : best;
    }
    return best;
}

/* Where the next stage may sit: the places of the first stage, or the arcs of the one before. */
struct seats {
    int s;
    int count;
    const struct nest_place *before; /* NULL: the first stage */
};

static struct nest_place *seat(const struct nest_recurrence *r, const struct seats *seats, int i,
                               struct nest_link *in)
{
    struct nest_place *places = r->chain->layout->place[seats->s];
    if (!seats->before) {
        *in = open_end;
        return &places[i];
    }
    const struct nest_arc arc = seats->before->arc[i];
    *in = places[arc.next].link[arc.link];
    return &places[arc.next];
}

static int place_index(const struct nest_chain *chain, const struct choice *c)
{
    return (int)(c->place - chain->layout->place[c->s]);
}

static nest_ps tied_time(const struct nest_chain *chain, const struct nest_place *first)
{
    return chain->layout->stages > 1 ? first->table[0]->tied_time : 0;
}

/* The first choice, in the order of plans, by which the target is still reached. */
static bool choose_stage(struct nest_recurrence *r, const struct seats *seats,
                         const struct front *front, struct target target, nest_ps tied,
                         struct choice *c)
{
    const struct nest_chain *chain = r->chain;
    c->s = seats->s;
    c->first = front->empty ? 0 : front->open.last + 1;
    const int end = chain->layers - (c->s - 1);
    for (c->last = c->s == 1 ? end - 1 : c->first; c->last < end; c->last++) {
        for (c->mode = 0; c->mode < chain->modes; c->mode++) {
            for (c->zero = 0; c->zero < chain->zeros; c->zero++) {
                for (int i = 0; i < seats->count; i++) {
                    c->place = seat(r, seats, i, &c->in);
                    if (!is_open(chain, c->s, place_index(chain, c))) {
                        continue;
                    }
                    const struct front closed = close_front(r, front, c->in);
                    tied = seats->before ? tied : tied_time(chain, c->place);
                    if (!better(target, best_with(r, &closed, c, tied))) {
                        return true;
                    }
                }
            }
        }
    }
    return false;
}

/* The best value at the head of the pipeline, all places of the first stage considered. */
static struct target best_value(const struct nest_recurrence *r)
{
    const struct nest_layout *layout = r->chain->layout;
    const int s = layout->stages;
    const struct front empty = {.step = NEST_STEP_EMPTY, .empty = true};
    struct target best = {NEST_PS_MAX, 0};
    for (int p = 0; p < layout->count[s]; p++) {
        const struct set set = *set_at(r, s, p, 0, 0);
        const nest_ps tied = tied_time(r->chain, &layout->place[s][p]);
        for (uint32_t v = 0; v < set.count; v++) {
            const struct target t = complete(r, &empty, &r->pool[set.from + v], tied);
            best = better(t, best) ? t : best;
        }
    }
    return best;
}

static void walk(struct nest_recurrence *r, struct target target, struct nest_chosen *chosen)
{
    const struct nest_chain *chain = r->chain;
    struct front front = {.step = NEST_STEP_EMPTY, .empty = true};
    struct seats seats = {chain->layout->stages, chain->layout->count[chain->layout->stages], NULL};
    nest_ps tied = 0;
    for (int i = 0; seats.s > 0; i++) {
        struct choice c;
        if (!choose_stage(r, &seats, &front, target, tied, &c)) {
            return;
        }
        front = close_front(r, &front, c.in);
        front.open = c;
        front.empty = false;
        chosen[i] = (struct nest_chosen){c.first, c.last, chain->mode[c.mode], c.zero, c.place};
        tied = i == 0 ? tied_time(chain, c.place) : tied;
        seats = (struct seats){seats.s - 1, c.place->arcs, c.place};
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
    r->virtual_stages = chain->interleave ? chain->interleave->chunks : 1;
    const int stages = chain->layout->stages;
    if (!reserve(r)) {
        return NEST_NO_MEMORY;
    }
    if (stages > chain->layers || chain->layout->count[stages] == 0) {
        return NEST_NO;
    }
    prepare_bounds(r);
    for (int s = 1; s <= stages; s++) {
        solve_stage(r, s);
        if (r->out_of_memory) {
            return NEST_NO_MEMORY;
        }
    }
    const struct target target = best_value(r);
    if (target.step > limit || target.step == NEST_PS_MAX) {
        return NEST_NO;
    }
    walk(r, target, chosen);
    *step = target.step;
    return r->out_of_memory ? NEST_NO_MEMORY : NEST_OK;
}
