#include "cli/peers.h"

#include <math.h>
#include <string.h>

/* Mean absolute errors of one peer and ours over the runs of one source. */
struct pair {
    const char *peer, *source;
    enum nest_peer_quantity quantity;
    int runs;
    double theirs, ours;
};

static const char *const QUANTITY[NEST_PEER_QUANTITIES] = {"speed", "memory"};

/* Our verdict on a run; NULL where it was not predicted. */
static const struct nest_validation_entry *
find_entry(const struct nest_validation *report, const char *run, enum nest_peer_quantity quantity)
{
    for (int i = 0; i < report->entries; i++) {
        const struct nest_validation_entry *e = &report->entry[i];
        const bool memory = e->verdict.quantity == NEST_QUANTITY_MEMORY;
        if (memory == (quantity == NEST_PEER_MEMORY) && e->verdict.measured > 0.0 &&
            strcmp(e->run->id, run) == 0) {
            return e;
        }
    }
    return NULL;
}

static struct pair *find_pair(struct pair *pairs, int *count, const char *peer, const char *source,
                              enum nest_peer_quantity quantity)
{
    for (int i = 0; i < *count; i++) {
        if (pairs[i].quantity == quantity && strcmp(pairs[i].peer, peer) == 0 &&
            strcmp(pairs[i].source, source) == 0) {
            return &pairs[i];
        }
    }
    struct pair *added = &pairs[(*count)++];
    *added = (struct pair){.peer = peer, .source = source, .quantity = quantity};
    return added;
}

/* All pairs, in the order of the peers' table; *count of them. NULL where there are none. */
static struct pair *compare(const struct nest_validation *report, int *count)
{
    *count = 0;
    struct pair *pairs = report->peers > 0 ? NEST_NEW(report->arena, struct pair,
                                                      NEST_PEER_QUANTITIES * report->peers)
                                           : NULL;
    for (int i = 0; pairs && i < report->peers; i++) {
        const struct nest_peer_prediction *peer = &report->peer[i];
        for (int q = 0; q < NEST_PEER_QUANTITIES; q++) {
            const enum nest_peer_quantity quantity = (enum nest_peer_quantity)q;
            const struct nest_validation_entry *e =
                peer->stated[q] ? find_entry(report, peer->run, quantity) : NULL;
            if (e) {
                struct pair *pair = find_pair(pairs, count, peer->peer, e->run->table, quantity);
                pair->runs++;
                pair->theirs += fabs(peer->error[q]);
                pair->ours += fabs(e->verdict.error);
            }
        }
    }
    for (int i = 0; i < *count; i++) {
        pairs[i].theirs /= pairs[i].runs;
        pairs[i].ours /= pairs[i].runs;
    }
    return pairs;
}

void nest_peers_print(const struct nest_validation *report, FILE *out)
{
    int count;
    const struct pair *pairs = compare(report, &count);
    if (count == 0) {
        return;
    }
    fprintf(out,
            "\nOther models on the same runs, mean absolute error\n  %-28s %-20s %-8s %4s %8s "
            "%8s\n",
            "model", "source", "quantity", "runs", "its", "ours");
    for (int i = 0; i < count; i++) {
        fprintf(out, "  %-28s %-20s %-8s %4d %7.1f%% %7.1f%%\n", pairs[i].peer, pairs[i].source,
                QUANTITY[pairs[i].quantity], pairs[i].runs, 100.0 * pairs[i].theirs,
                100.0 * pairs[i].ours);
    }
}

void nest_peers_markdown(const struct nest_validation *report, FILE *out)
{
    int count;
    const struct pair *pairs = compare(report, &count);
    if (count == 0) {
        return;
    }
    fprintf(out, "| model | source | quantity | runs | its mean error | ours |\n"
                 "| --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < count; i++) {
        fprintf(out, "| %s | %s | %s | %d | %.1f%% | %.1f%% |\n", pairs[i].peer, pairs[i].source,
                QUANTITY[pairs[i].quantity], pairs[i].runs, 100.0 * pairs[i].theirs,
                100.0 * pairs[i].ours);
    }
}

void nest_peers_json(const struct nest_validation *report, struct nest_json *json)
{
    int count;
    const struct pair *pairs = compare(report, &count);
    nest_json_array(json, "peers");
    for (int i = 0; i < count; i++) {
        nest_json_object(json, NULL);
        nest_json_text(json, "peer", pairs[i].peer);
        nest_json_text(json, "source", pairs[i].source);
        nest_json_text(json, "quantity", QUANTITY[pairs[i].quantity]);
        nest_json_integer(json, "rows", pairs[i].runs);
        nest_json_number(json, "mean", pairs[i].theirs);
        nest_json_number(json, "ours", pairs[i].ours);
        nest_json_end(json);
    }
    nest_json_end(json);
}
