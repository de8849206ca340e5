#include "input/peer.h"

#include <math.h>
#include <stdlib.h>

#include "input/doc.h"

static const char *text(const struct nest_node *record, const char *key)
{
    const struct nest_node *node = nest_node_get(record, key);
    return node && node->kind == NEST_NODE_SCALAR && !nest_node_is_null(node) ? node->text : "";
}

static void read_error(const struct nest_node *record, const char *key,
                       enum nest_peer_quantity quantity, struct nest_peer_prediction *out,
                       struct nest_errors *errors)
{
    const char *value = text(record, key);
    if (*value == '\0') {
        return;
    }
    char *end = NULL;
    const double percent = strtod(value, &end);
    if (end == value || *end != '\0' || !(fabs(percent) < 1e6)) {
        nest_errors_add(errors, nest_node_get(record, key)->mark, key, "percent, or null",
                        "'%s' is not a number", value);
        return;
    }
    out->stated[quantity] = true;
    out->error[quantity] = percent / 100.0;
}

static void read_record(const struct nest_node *record, struct nest_peer_prediction *out,
                        struct nest_errors *errors)
{
    *out =
        (struct nest_peer_prediction){.run = text(record, "row_id"), .peer = text(record, "peer")};
    if (record->kind != NEST_NODE_MAPPING || *out->run == '\0' || *out->peer == '\0') {
        nest_errors_add(errors, record->mark, NULL, "row_id, peer and step_error_pct",
                        "this is not another model's prediction");
        return;
    }
    read_error(record, "step_error_pct", NEST_PEER_STEP, out, errors);
    read_error(record, "memory_error_pct", NEST_PEER_MEMORY, out, errors);
}

enum nest_status nest_peers_read(const struct nest_node *root, struct nest_arena *arena,
                                 struct nest_peer_prediction **out, int *count,
                                 struct nest_errors *errors)
{
    const size_t before = errors->count;
    const bool peers = root->kind == NEST_NODE_SEQUENCE && root->first &&
                       root->first->kind == NEST_NODE_MAPPING &&
                       nest_node_get(root->first, "row_id");
    if (!peers) {
        return NEST_NO;
    }
    *count = 0;
    *out = NEST_NEW(arena, struct nest_peer_prediction, root->count);
    if (!*out) {
        return NEST_NO_MEMORY;
    }
    for (const struct nest_node *node = root->first; node; node = node->next) {
        read_record(node, &(*out)[(*count)++], errors);
    }
    return errors->count > before ? NEST_BAD_INPUT : NEST_OK;
}
