#include "solve/recurrence_state.h"

#include <stdlib.h>
#include <string.h>

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
void *nest_recurrence_grow(struct nest_recurrence *r, void *items, size_t *capacity, size_t needed,
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

bool nest_recurrence_reserve(struct nest_recurrence *r)
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

/* The least time of the layers between two cuts, by one option at one place. */
static nest_ps least_between(const struct nest_chain *chain, int first, int last)
{
    const struct nest_layout *layout = chain->layout;
    nest_ps least = NEST_PS_MAX;
    for (int s = 1; s <= layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            for (int z = 0; z < chain->zeros; z++) {
                for (int m = 0; m < chain->modes; m++) {
                    const nest_ps busy =
                        nest_table_least(layout->place[s][p].table[z], first, last, chain->mode[m]);
                    least = busy < least ? busy : least;
                }
            }
        }
    }
    return least;
}

static nest_ps least_transfer(const struct nest_recurrence *r, int after)
{
    const struct nest_layout *layout = r->chain->layout;
    nest_ps least = NEST_PS_MAX;
    for (int s = 1; s < layout->stages; s++) {
        for (int p = 0; p < layout->count[s]; p++) {
            for (int l = 0; l < layout->place[s][p].links; l++) {
                const nest_ps there = transfer(r, after, layout->place[s][p].link[l]);
                const nest_ps back = gradient(r, after, layout->place[s][p].link[l]);
                least = there < least ? there : least;
                least = back < least ? back : least;
            }
        }
    }
    return least;
}

/* True where a rule may leave transfers out of loads. */
static bool composed(const struct nest_chain *chain)
{
    return chain->layout->place[1][0].table[0]->load[chain->mode[0]][0][0].rows > 0;
}

/* Cut `cut` has the layers of cut `before` and one more, of that least time. */
static void add_layer(struct nest_recurrence *r, int cut, int before, nest_ps time)
{
    r->least[cut] = r->least[before] + time;
    r->largest[cut] = time > r->largest[before] ? time : r->largest[before];
}

static void prepare_cuts(struct nest_recurrence *r)
{
    const struct nest_cuts *cuts = r->chain->cuts;
    r->least_link = composed(r->chain) ? 0 : NEST_PS_MAX;
    for (int c = 1; c < cuts->count; c++) {
        const int before = cuts->parent[c];
        add_layer(r, c, before, least_between(r->chain, before, c - 1));
        r->run_start[c - 1] = c - 1;
        if (c + 1 < cuts->count) {
            const nest_ps link = least_transfer(r, c - 1);
            r->least_link = link < r->least_link ? link : r->least_link;
        }
    }
}

static void prepare_layers(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    r->least_link = composed(chain) ? 0 : NEST_PS_MAX;
    for (int i = 0; i < chain->layers; i++) {
        const bool same = i > 0 && chain->kind_of[i] == chain->kind_of[i - 1];
        r->least[i + 1] = same ? r->least[i] : least_between(chain, i, i);
        r->run_start[i] = same ? r->run_start[i - 1] : i;
        const bool inside = same && !chain->uneven && i + 1 < chain->layers &&
                            chain->kind_of[i + 1] == chain->kind_of[i];
        if (!inside && i + 1 < chain->layers) {
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
    const struct nest_cost_table *table = chain->layout->place[1][0].table[0];
    const int lead = nest_table_cut(table, in->lead);
    const int trail = nest_table_cut(table, table->layers - in->trail);
    const nest_ps block = least_between(chain, lead, nest_table_cut(table, in->lead + 1) - 1);
    r->least_link = 0;
    for (int i = 0; i < chain->layers; i++) {
        r->least[i + 1] = in->chunks * block;
    }
    r->least[1] += in->lead ? least_between(chain, 0, lead - 1) : 0;
    r->least[1] -= in->short_first ? block : 0;
    r->least[chain->layers] += in->trail ? least_between(chain, trail, table->cuts - 2) : 0;
    r->least[chain->layers] -= in->short_last ? block : 0;
}

void nest_recurrence_prepare(struct nest_recurrence *r)
{
    r->least[0] = 0;
    r->largest[0] = 0;
    if (r->chain->cuts) {
        prepare_cuts(r);
        return;
    }
    if (r->chain->interleave) {
        prepare_columns(r);
    } else {
        prepare_layers(r);
    }
    for (int i = 1; i <= r->chain->layers; i++) {
        add_layer(r, i, i - 1, r->least[i]);
    }
}

/* True if no plan within the limit has this downset: `ahead` stages must still hold the layers
 * before cut `first`, at the least that those can cost. */
bool nest_recurrence_hopeless(const struct nest_recurrence *r, struct nest_step step, int first,
                              int ahead)
{
    if (ahead > 0) {
        const nest_ps rest = r->least[first] + (2 * ahead - 1) * r->least_link;
        const nest_ps even = (rest + ahead - 1) / ahead;
        const nest_ps most = even > r->largest[first] ? even : r->largest[first];
        step.fill += rest;
        step.bottleneck = most > step.bottleneck ? most : step.bottleneck;
    }
    step.tail = 0;
    return nest_step_time(&r->chain->frame, step, 0) > r->limit;
}
