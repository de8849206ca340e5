#include "input/graph.h"

#include <math.h>

/* Max-flow by levels and blocking paths (Dinic), with a node for the source and one for the sink.
 * A link is one arc each way, the reverse of the other. */
struct arc {
    int to, next; /* next arc of the same node; -1 ends */
    double room;
};

struct flow {
    int nodes, source, sink;
    int arcs;
    struct arc *arc;
    int *first; /* [nodes] */
    int *level;
    int *current; /* [nodes] next arc to try */
    int *queue;
    int *path;    /* arcs from the source */
    double least; /* room below this is none */
};

static void add_arcs(struct flow *flow, int from, int to, double there, double back)
{
    flow->arc[flow->arcs] = (struct arc){to, flow->first[from], there};
    flow->first[from] = flow->arcs++;
    flow->arc[flow->arcs] = (struct arc){from, flow->first[to], back};
    flow->first[to] = flow->arcs++;
}

static bool start(struct flow *flow, const struct nest_graph *graph, const bool *inside,
                  struct nest_arena *arena)
{
    flow->nodes = graph->nodes + 2;
    flow->source = graph->nodes;
    flow->sink = graph->nodes + 1;
    flow->arc = NEST_NEW(arena, struct arc, 2 * (graph->links + graph->devices));
    flow->first = NEST_NEW(arena, int, flow->nodes);
    flow->level = NEST_NEW(arena, int, flow->nodes);
    flow->current = NEST_NEW(arena, int, flow->nodes);
    flow->queue = NEST_NEW(arena, int, flow->nodes);
    flow->path = NEST_NEW(arena, int, flow->nodes);
    if (!flow->arc || !flow->first || !flow->level || !flow->current || !flow->queue ||
        !flow->path) {
        return false;
    }
    for (int v = 0; v < flow->nodes; v++) {
        flow->first[v] = -1;
    }
    double all = 0.0;
    for (int i = 0; i < graph->links; i++) {
        const struct nest_graph_link *link = &graph->link[i];
        const double room = link->bandwidth * (double)link->times;
        add_arcs(flow, link->from, link->to, room, room);
        all += room;
    }
    for (int d = 0; d < graph->devices; d++) {
        add_arcs(flow, inside[d] ? flow->source : d, inside[d] ? d : flow->sink, 2.0 * all, 0.0);
    }
    flow->least = all * 1e-13;
    return true;
}

/* Distance of every node from the source over arcs with room; false where the sink has none. */
static bool find_levels(struct flow *flow)
{
    for (int v = 0; v < flow->nodes; v++) {
        flow->level[v] = -1;
        flow->current[v] = flow->first[v];
    }
    int tail = 0;
    flow->queue[tail++] = flow->source;
    flow->level[flow->source] = 0;
    for (int head = 0; head < tail; head++) {
        const int v = flow->queue[head];
        for (int a = flow->first[v]; a >= 0; a = flow->arc[a].next) {
            const int to = flow->arc[a].to;
            if (flow->level[to] < 0 && flow->arc[a].room > flow->least) {
                flow->level[to] = flow->level[v] + 1;
                flow->queue[tail++] = to;
            }
        }
    }
    return flow->level[flow->sink] >= 0;
}

/* Sends along the path what its narrowest arc takes. */
static double send(struct flow *flow, int length)
{
    double amount = INFINITY;
    for (int i = 0; i < length; i++) {
        amount = fmin(amount, flow->arc[flow->path[i]].room);
    }
    for (int i = 0; i < length; i++) {
        flow->arc[flow->path[i]].room -= amount;
        flow->arc[flow->path[i] ^ 1].room += amount;
    }
    return amount;
}

/* One path to the sink along rising levels, from where earlier searches stopped; 0 = none left. */
static double augment(struct flow *flow)
{
    int length = 0;
    int v = flow->source;
    while (v != flow->sink) {
        int *a = &flow->current[v];
        while (*a >= 0 && (flow->arc[*a].room <= flow->least ||
                           flow->level[flow->arc[*a].to] != flow->level[v] + 1)) {
            *a = flow->arc[*a].next;
        }
        if (*a >= 0) {
            flow->path[length++] = *a;
            v = flow->arc[*a].to;
        } else if (length == 0) {
            return 0.0;
        } else {
            flow->level[v] = -1;
            v = flow->arc[flow->path[--length] ^ 1].to;
        }
    }
    return send(flow, length);
}

double nest_graph_outflow(const struct nest_graph *graph, const bool *inside,
                          struct nest_arena *arena)
{
    struct flow flow = {0};
    if (!start(&flow, graph, inside, arena)) {
        return -1.0;
    }
    double sum = 0.0;
    while (find_levels(&flow)) {
        for (double sent = augment(&flow); sent > 0.0; sent = augment(&flow)) {
            sum += sent;
        }
    }
    return sum;
}
