#include "model/branches.h"

#include <stdlib.h>

#include "input/layer_graph.h"

static int compare_edges(const void *a, const void *b)
{
    const struct nest_edge_spec *x = a;
    const struct nest_edge_spec *y = b;
    const int from = (x->from > y->from) - (x->from < y->from);
    return from ? from : (x->to > y->to) - (x->to < y->to);
}

const int *nest_graph_order(const struct nest_model_spec *spec, struct nest_arena *arena,
                            const struct nest_edge_spec **edge, int *edges)
{
    int layers;
    const struct nest_edge_spec *listed = nest_layer_edges(spec, arena, edges, &layers);
    int *order = NEST_NEW(arena, int, layers);
    int *place = NEST_NEW(arena, int, layers);
    struct nest_edge_spec *moved = NEST_NEW(arena, struct nest_edge_spec, *edges + 1);
    if (!listed || !order || !place || !moved) {
        return NULL;
    }
    (void)nest_layer_order(listed, *edges, layers, order, place);
    for (int i = 0; i < layers; i++) {
        place[order[i]] = i;
    }
    for (int e = 0; e < *edges; e++) {
        moved[e] = (struct nest_edge_spec){place[listed[e].from], place[listed[e].to]};
    }
    qsort(moved, (size_t)*edges, sizeof *moved, compare_edges);
    *edge = moved;
    return order;
}

/* Whether nothing but the last layer's tensor crosses any cut. */
static bool is_plain(const struct nest_cuts *cuts, const struct nest_crossing *crossing)
{
    bool plain = true;
    for (int c = 1; c + 1 < cuts->count; c++) {
        plain = plain && crossing->from[c + 1] - crossing->from[c] == 1 &&
                crossing->layer[crossing->from[c]] == c - 1;
    }
    return plain;
}

static void fault_cuts(const struct nest_edge_spec *edge, int edges, int layers,
                       struct nest_mark mark, struct nest_arena *arena, struct nest_errors *errors)
{
    nest_errors_add(errors, mark, "graph",
                    "merge layers of the branches into fewer and larger ones",
                    "the graph has more than %d downsets (sets of layers that a stage boundary "
                    "may leave behind it): of its %d layers %d lie side by side",
                    NEST_CUTS_MAX, layers, nest_graph_width(edge, edges, layers, arena));
}

enum nest_status nest_model_branch(struct nest_model *model, const struct nest_edge_spec *edge,
                                   int edges, struct nest_mark mark, struct nest_arena *arena,
                                   struct nest_errors *errors)
{
    struct nest_cuts *cuts = NEST_NEW(arena, struct nest_cuts, 1);
    struct nest_crossing *crossing = NEST_NEW(arena, struct nest_crossing, 1);
    if (!cuts || !crossing) {
        return NEST_NO_MEMORY;
    }
    enum nest_status status = nest_cuts_list(edge, edges, model->layers, arena, cuts);
    if (status == NEST_NO) {
        fault_cuts(edge, edges, model->layers, mark, arena, errors);
        return NEST_BAD_INPUT;
    }
    status = status == NEST_OK ? nest_cuts_crossing(cuts, edge, edges, arena, crossing) : status;
    if (status != NEST_OK) {
        return status;
    }
    const bool total = cuts->count == model->layers + 1;
    model->cuts = total ? NULL : cuts;
    model->edges = edges;
    model->edge = edge;
    model->crossing = total && is_plain(cuts, crossing) ? NULL : crossing;
    return NEST_OK;
}

enum nest_status nest_model_branch_towers(struct nest_model *model, struct nest_arena *arena,
                                          struct nest_errors *errors)
{
    const struct nest_model_spec *spec = model->spec;
    const int encoder = model->lead + (int)spec->encoder_layers - 1; /* its last layer */
    const int last = model->layers - 1;
    struct nest_edge_spec *edge = NEST_NEW(arena, struct nest_edge_spec, 2 * model->layers);
    int edges = 0;
    if (!edge) {
        return NEST_NO_MEMORY;
    }
    for (int i = 0; i < last; i++) {
        const int next = i == 0 ? model->lead : i + 1;
        edge[edges++] = (struct nest_edge_spec){i, next};
        for (int decoder = i + 2; i == encoder && spec->encoder_layers > 0 && decoder < last;
             decoder++) {
            edge[edges++] = (struct nest_edge_spec){i, decoder};
        }
    }
    return nest_model_branch(model, edge, edges, (struct nest_mark){0}, arena, errors);
}
