#include "input/records.h"

static bool read_point(struct nest_field_reader *reader, const struct nest_node *point, double *x,
                       double *y)
{
    if (point->kind != NEST_NODE_SEQUENCE || point->count != 2) {
        nest_node_fault(reader, point, "expected [FLOP, fraction of peak]",
                        "%s is not a point of a curve", nest_node_describe(point, reader->arena));
        return false;
    }
    const struct nest_node *second = point->first->next;
    if (!nest_node_number(reader, point->first, NEST_UNIT_FLOPS, x) ||
        !nest_node_number(reader, second, NEST_UNIT_NONE, y)) {
        return false;
    }
    if (*x <= 0) {
        nest_node_fault(reader, point->first, "expected a number above 0", "%s FLOP is impossible",
                        point->first->text);
        return false;
    }
    if (*y <= 0 || *y > 1) {
        nest_node_fault(reader, second, "expected a fraction above 0 and at most 1",
                        "efficiency %s is impossible", second->text);
        return false;
    }
    return true;
}

void nest_curve_read(struct nest_field_reader *reader, const struct nest_node *node,
                     struct nest_curve *out)
{
    struct nest_curve read = {0};
    if (node->kind != NEST_NODE_SEQUENCE || node->count == 0) {
        nest_node_fault(reader, node,
                        "expected a list of points, such as [[1e9, 0.35], [1e11, 0.75]]",
                        "%s is not a curve", nest_node_describe(node, reader->arena));
        return;
    }
    if (node->count > NEST_CURVE_MAX) {
        nest_node_fault(reader, node, "expected at most 24 points", "the curve has %d points",
                        node->count);
        return;
    }
    bool sound = true;
    for (const struct nest_node *point = node->first; point; point = point->next) {
        double x = 0;
        double y = 0;
        if (!read_point(reader, point, &x, &y)) {
            sound = false;
            continue;
        }
        if (read.count > 0 && x <= read.x[read.count - 1]) {
            nest_node_fault(reader, point, "points must ascend in FLOP",
                            "this point does not lie behind the one before it");
            sound = false;
        }
        read.x[read.count] = x;
        read.y[read.count++] = y;
    }
    if (sound) {
        *out = read;
    }
}

void nest_curve_write(const struct nest_curve *curve, struct nest_strbuf *out)
{
    nest_strbuf_add(out, "[");
    for (int i = 0; i < curve->count; i++) {
        char x[64];
        char y[64];
        nest_strbuf_printf(out, "%s[%s, %s]", i ? ", " : "",
                           nest_unit_format_exact(curve->x[i], NEST_UNIT_NONE, x, sizeof x),
                           nest_unit_format_exact(curve->y[i], NEST_UNIT_NONE, y, sizeof y));
    }
    nest_strbuf_add(out, "]");
}
