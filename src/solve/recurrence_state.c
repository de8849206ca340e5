#include "solve/recurrence_state.h"

#include <stdlib.h>
#include <string.h>

struct nest_recurrence *nest_recurrence_create(void)
{
    return calloc(1, sizeof(struct nest_recurrence));
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
    free(r->ahead);
    free(r->largest);
    free(r->window);
    free(r->run_start);
    free(r->link);
    free(r->late);
    free(r->behind);
    free(r->carrier);
    free(r->crossed);
    free(r->table);
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

static void list_table(struct nest_recurrence *r, const struct nest_cost_table *table)
{
    for (size_t i = 0; i < r->tables; i++) {
        if (r->table[i] == table) {
            return;
        }
    }
    GROW(r, r->table, r->table_capacity, r->tables + 1);
    if (!r->out_of_memory) {
        r->table[r->tables++] = table;
    }
}

/* Notes what a place may cost. */
static void list_place(struct nest_recurrence *r, const struct nest_place *place)
{
    r->carrier[place->width] = place->table[0];
    for (int z = 0; z < r->chain->zeros; z++) {
        list_table(r, place->table[z]);
    }
    for (int l = 0; l < place->links; l++) {
        if (place->link[l].level >= 0) {
            r->crossed[place->link[l].width] |= 1u << place->link[l].level;
        }
    }
}

static void reserve_memory(struct nest_recurrence *r, int bits)
{
    if (r->memory_bits < bits) {
        free(r->memory);
        r->memory = calloc((size_t)1 << bits, sizeof *r->memory);
        r->memory_bits = r->memory ? bits : 0;
        r->out_of_memory = r->out_of_memory || !r->memory;
    }
}

bool nest_recurrence_reserve(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_layout *layout = chain->layout;
    const size_t layers = (size_t)chain->layers + 1;
    reserve_memory(r, chain->cuts ? GRAPH_MEMORY_BITS : MEMORY_BITS);
    GROW(r, r->ahead, r->ahead_capacity, layers);
    GROW(r, r->largest, r->largest_capacity, layers);
    GROW(r, r->window, r->window_capacity, layout->stages + 1);
    GROW(r, r->run_start, r->run_capacity, layers);
    GROW(r, r->link, r->link_capacity, layers);
    GROW(r, r->carrier, r->carrier_capacity, layout->widths);
    GROW(r, r->crossed, r->crossed_capacity, layout->widths);
    GROW(r, r->range, r->range_capacity, chain->interleave ? chain->interleave->chunks : 1);
    r->tables = 0;
    for (int w = 0; w < layout->widths && !r->out_of_memory; w++) {
        r->crossed[w] = 0;
    }
    for (int s = 1; s <= layout->stages; s++) {
        for (int p = 0; p < layout->count[s] && !r->out_of_memory; p++) {
            list_place(r, &layout->place[s][p]);
        }
    }
    return !r->out_of_memory;
}

bool nest_recurrence_clear(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_layout *layout = chain->layout;
    const size_t layers = (size_t)chain->layers + 1;
    const size_t cells = ((size_t)layout->stages + 1) * layers;
    size_t places = 0;
    size_t sets = 0;
    GROW(r, r->behind, r->behind_capacity, cells);
    GROW(r, r->places_before, r->stages_capacity, layout->stages + 1);
    for (int s = 1; s <= layout->stages && !r->out_of_memory; s++) {
        r->places_before[s] = places;
        GROW(r, r->base, r->base_capacity, places + (size_t)layout->count[s]);
        for (int p = 0; p < layout->count[s] && !r->out_of_memory; p++) {
            r->base[places++] = sets;
            sets += layers * (size_t)layout->place[s][p].links;
        }
    }
    GROW(r, r->set, r->set_capacity, sets);
    if (r->out_of_memory) {
        return false;
    }
    memset(r->set, 0, sets * sizeof *r->set);
    for (size_t i = 0; i < cells; i++) {
        r->behind[i] = NEST_PS_MAX;
    }
    r->behind[chain->layers] = 0;
    return true;
}
