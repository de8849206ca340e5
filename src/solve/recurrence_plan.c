#include "solve/recurrence_state.h"

/* The stages in front of those still to be chosen. The last of them is not priced yet: its link
 * downstream depends on where the next one sits. */
struct front {
    struct nest_step step;
    nest_ps drained; /* what its stages take off later tails */
    int64_t used;
    struct nest_choice open;
    bool empty;
};

/* The tail of the front's open stage. */
static nest_ps own_tail(const struct nest_recurrence *r, const struct front *front,
                        const struct nest_stage_cost *stage)
{
    return nest_step_tail(&r->chain->frame.rule, stage, front->open.s == r->chain->layout->stages);
}

/* The front with its open stage priced. */
static struct front close_front(struct nest_recurrence *r, const struct front *front,
                                struct nest_link link)
{
    struct front f = *front;
    struct nest_stage_cost stage;
    if (!f.empty && nest_recurrence_price(r, &f.open, link, &stage)) {
        const nest_ps tail = own_tail(r, &f, &stage) - f.drained;
        f.step.bottleneck = stage.load > f.step.bottleneck ? stage.load : f.step.bottleneck;
        f.step.fill += stage.load;
        f.step.tail = tail > f.step.tail ? tail : f.step.tail;
        f.drained += nest_step_drain(&stage, r->chain->frame.virtual_stages);
        f.used += r->chain->layout->tp[f.open.place->width];
    }
    return f;
}

static bool better(struct nest_target a, struct nest_target b)
{
    return a.step < b.step || (a.step == b.step && a.used < b.used);
}

static struct nest_target complete(const struct nest_recurrence *r, const struct front *front,
                                   const struct nest_label *rest, nest_ps tied)
{
    const nest_ps tail = rest->step.tail - front->drained;
    const struct nest_step whole = {
        .bottleneck = rest->step.bottleneck > front->step.bottleneck ? rest->step.bottleneck
                                                                     : front->step.bottleneck,
        .fill = front->step.fill + rest->step.fill,
        .tail = tail > front->step.tail ? tail : front->step.tail,
    };
    return (struct nest_target){nest_step_time(&r->chain->frame, whole, tied),
                                front->used + rest->used};
}

/* The best plan that starts with front and c. */
static struct nest_target best_with(struct nest_recurrence *r, const struct front *front,
                                    const struct nest_choice *c, nest_ps tied)
{
    struct nest_target best = {NEST_PS_MAX, 0};
    struct nest_outlook outlook;
    nest_recurrence_look(r, c->s, c->first, &outlook);
    r->fresh_count = 0;
    nest_recurrence_extend(r, &outlook, c);
    for (size_t i = 0; i < r->fresh_count; i++) {
        const struct nest_target t = complete(r, front, &r->fresh[i], tied);
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

static int place_index(const struct nest_chain *chain, const struct nest_choice *c)
{
    return (int)(c->place - chain->layout->place[c->s]);
}

static nest_ps tied_time(const struct nest_chain *chain, const struct nest_place *first)
{
    return chain->layout->stages > 1 ? first->table[0]->tied_time : 0;
}

/* The first choice, in the order of plans, by which the target is still reached. */
static bool choose_stage(struct nest_recurrence *r, const struct seats *seats,
                         const struct front *front, struct nest_target target, nest_ps tied,
                         struct nest_choice *c)
{
    const struct nest_chain *chain = r->chain;
    c->s = seats->s;
    c->first = front->empty ? 0 : front->open.last + 1;
    const int end = cut_leaving(chain, c->s - 1);
    for (c->last = c->s == 1 ? end - 1 : c->first; c->last < end; c->last++) {
        if (!is_stage(chain, c->first, c->last)) {
            continue;
        }
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
struct nest_target nest_recurrence_best(const struct nest_recurrence *r)
{
    const struct nest_layout *layout = r->chain->layout;
    const int s = layout->stages;
    const struct front empty = {.step = NEST_STEP_EMPTY, .empty = true};
    struct nest_target best = {NEST_PS_MAX, 0};
    for (int p = 0; p < layout->count[s]; p++) {
        const struct nest_set set = *set_at(r, s, p, 0, 0);
        const nest_ps tied = tied_time(r->chain, &layout->place[s][p]);
        for (uint32_t v = 0; v < set.count; v++) {
            const struct nest_target t = complete(r, &empty, &r->pool[set.from + v], tied);
            best = better(t, best) ? t : best;
        }
    }
    return best;
}

bool nest_recurrence_walk(struct nest_recurrence *r, struct nest_target target,
                          struct nest_chosen *chosen)
{
    const struct nest_chain *chain = r->chain;
    struct front front = {.step = NEST_STEP_EMPTY, .empty = true};
    struct seats seats = {chain->layout->stages, chain->layout->count[chain->layout->stages], NULL};
    nest_ps tied = 0;
    for (int i = 0; seats.s > 0; i++) {
        struct nest_choice c;
        if (!choose_stage(r, &seats, &front, target, tied, &c)) {
            return false;
        }
        front = close_front(r, &front, c.in);
        front.open = c;
        front.empty = false;
        chosen[i] = (struct nest_chosen){c.first, c.last, chain->mode[c.mode], c.zero, c.place};
        tied = i == 0 ? tied_time(chain, c.place) : tied;
        seats = (struct seats){seats.s - 1, c.place->arcs, c.place};
    }
    return true;
}
