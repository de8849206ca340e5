#include "solve/recurrence_state.h"

/* The stages in front of a cell, relaxed: every transfer is the cheapest across its cut, every
 * stage lies where it costs least, and bottlenecks are only held below the ceiling. What is left of
 *
 *   step = (M - 1)*b + f + max(0, e)
 *
 * for `a` stages in front of a cut is the least that they can add to f + e. Stage j's update is
 * late by its own time less what the stages before it drain, and those add to f what they drain and
 * their forward passes besides. So
 *
 *   late[a][D] = min over D' of max(late[a-1][D'] + load, forward[D'] + load + sync + optimizer)
 *
 * in which forward[D'], the forward passes of all layers before D', is the same for every split. */

static nest_ps *late_at(const struct nest_recurrence *r, int ahead, int cut)
{
    return &r->late[(size_t)ahead * ((size_t)r->chain->layers + 1) + (size_t)cut];
}

nest_ps nest_recurrence_late(const struct nest_recurrence *r, int ahead, int cut)
{
    return r->looks_ahead ? *late_at(r, ahead, cut) : 0;
}

/* The least that the prefix of c->first layers, late by `before`, comes to with the stage c behind
 * it; all options of the stage. NEST_PS_MAX if more than `most`. */
static nest_ps extended(struct nest_recurrence *r, struct nest_choice *c, nest_ps before,
                        nest_ps most)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_layout *layout = chain->layout;
    const nest_ps links = r->link[c->first] + r->link[c->last + 1];
    const nest_ps forward = r->ahead[c->first].fw;
    const struct nest_cost_table *known = NULL;
    nest_ps least = NEST_PS_MAX;
    for (int p = 0; p < layout->count[c->s] * chain->zeros; p++) {
        c->place = &layout->place[c->s][p / chain->zeros];
        c->zero = p % chain->zeros;
        const struct nest_cost_table *table = c->place->table[c->zero];
        for (c->mode = 0; c->mode < chain->modes && table != known; c->mode++) {
            const nest_ps load =
                nest_table_least(table, c->first, c->last, chain->mode[c->mode]) + links;
            if (load > r->ceiling || before + load > most || before + load >= least ||
                !nest_recurrence_fits(r, c)) {
                continue;
            }
            const struct nest_terms *terms = nest_recurrence_terms(r, c);
            least = nest_ps_min(
                least, load + nest_ps_max(before, forward + terms->sync + terms->optimizer));
        }
        known = table;
    }
    return least;
}

/* Adds the s-th stage from the end behind every prefix that ends at `first`. */
static void extend_prefix(struct nest_recurrence *r, int s, int first)
{
    const struct nest_chain *chain = r->chain;
    const int ahead = chain->layout->stages - s;
    const nest_ps before = *late_at(r, ahead, first);
    const nest_ps spare = r->limit - (chain->frame.microbatches - 1) * r->floor;
    const nest_ps all = r->ahead[chain->layers].busy;
    struct nest_choice c = {.s = s, .first = first};
    const struct nest_window next = r->window[s - 1];
    c.last = next.from > first ? next.from - 1 : first;
    for (; c.last < next.to && !is_stopped(r); c.last++) {
        const nest_ps busy = r->ahead[c.last + 1].busy - r->ahead[first].busy;
        const nest_ps most = spare - (all - r->ahead[c.last + 1].busy);
        if (busy > r->ceiling || before + busy > most || !is_stage(chain, first, c.last)) {
            continue;
        }
        nest_ps *late = late_at(r, ahead + 1, c.last + 1);
        *late = nest_ps_min(*late, extended(r, &c, before, most));
    }
}

/* With more microbatches per stage the bottleneck tells enough. */
enum { ENOUGH = 4 };

bool nest_recurrence_look_ahead(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const int stages = chain->layout->stages;
    const size_t cells = ((size_t)stages + 1) * ((size_t)chain->layers + 1);
    r->looks_ahead = false;
    if (!r->plain || r->limit >= NEST_PS_MAX / 2 || chain->frame.microbatches > ENOUGH * stages) {
        return true;
    }
    GROW(r, r->late, r->late_capacity, cells);
    if (r->out_of_memory) {
        return true;
    }
    for (size_t i = 0; i < cells; i++) {
        r->late[i] = NEST_PS_MAX;
    }
    r->late[0] = 0;
    for (int s = stages; s >= 1; s--) {
        for (int first = r->window[s].from; first <= r->window[s].to; first++) {
            if (*late_at(r, stages - s, first) < NEST_PS_MAX) {
                extend_prefix(r, s, first);
            }
        }
    }
    r->looks_ahead = !r->cancelled;
    const nest_ps least = *late_at(r, stages, chain->layers);
    return least <= r->limit - (chain->frame.microbatches - 1) * r->floor;
}
