#include "cluster/describe.h"

#include <inttypes.h>

#include "base/units.h"
#include "input/load.h"

/* Sizes listed before "…". */
enum { SIZES_MOST = 8 };

static int64_t size_of(const struct nest_cluster *cluster, int l, int64_t g)
{
    return nest_cluster_group_start(cluster, l, g + 1) - nest_cluster_group_start(cluster, l, g);
}

/* "3 groups of 8 devices, 1 of 7", in device order; nothing where all are equal. */
static void add_sizes(const struct nest_cluster *cluster, int l, int indent,
                      struct nest_strbuf *out)
{
    const int64_t groups = cluster->level[l].groups;
    int runs = 0;
    for (int64_t g = 0; g < groups && !cluster->uniform;) {
        const int64_t size = size_of(cluster, l, g);
        int64_t times = 1;
        while (g + times < groups && size_of(cluster, l, g + times) == size) {
            times++;
        }
        if (times == groups) {
            return;
        }
        if (runs++ == SIZES_MOST) {
            nest_strbuf_add(out, ", …");
            break;
        }
        if (runs == 1) {
            nest_strbuf_printf(out, "%*s%" PRId64 " %s of %" PRId64 " devices", indent, "", times,
                               times == 1 ? "group" : "groups", size);
        } else {
            nest_strbuf_printf(out, ", %" PRId64 " of %" PRId64, times, size);
        }
        g += times;
    }
    nest_strbuf_add(out, runs > 0 ? "\n" : "");
}

static void add_level(const struct nest_cluster *cluster, int l, struct nest_strbuf *out)
{
    const struct nest_level *level = &cluster->level[l];
    const int indent = 2 * (cluster->levels - 1 - l);
    char bandwidth[32];
    char latency[32];
    char ratio[32];
    nest_strbuf_printf(
        out, "%*s%-*s %6" PRId64 " x  %10s  %9s  %-8s  %s\n", indent, "", 24 - indent, level->name,
        level->fanout,
        nest_unit_format(level->bandwidth, NEST_UNIT_BANDWIDTH, bandwidth, sizeof bandwidth),
        nest_unit_format(level->latency, NEST_UNIT_SECONDS, latency, sizeof latency),
        nest_unit_format(level->oversubscription, NEST_UNIT_RATIO, ratio, sizeof ratio),
        nest_level_kind_word(level->kind));
    add_sizes(cluster, l, indent + 2, out);
}

void nest_cluster_describe(const struct nest_cluster *cluster, struct nest_strbuf *out)
{
    char count[32];
    nest_strbuf_printf(out, "%s: %s x %s\n", cluster->spec->name,
                       nest_count_format(cluster->devices, count, sizeof count),
                       cluster->device->name);
    for (int l = cluster->levels - 1; l >= 0; l--) {
        add_level(cluster, l, out);
    }
    for (int i = 0; i < cluster->spec->notes; i++) {
        nest_strbuf_printf(out, "note: %s\n", cluster->spec->note[i]);
    }
}

static void json_level(const struct nest_cluster *cluster, int l, struct nest_json *json)
{
    const struct nest_level *level = &cluster->level[l];
    nest_json_object(json, NULL);
    nest_json_text(json, "name", level->name);
    nest_json_integer(json, "fanout", level->fanout);
    nest_json_number(json, "bandwidth", level->bandwidth);
    nest_json_number(json, "latency", level->latency);
    nest_json_number(json, "oversubscription", level->oversubscription);
    nest_json_text(json, "kind", nest_level_kind_word(level->kind));
    nest_json_integer(json, "capacity", level->capacity);
    nest_json_integer(json, "groups", level->groups);
    if (!cluster->uniform) {
        nest_json_array(json, "sizes");
        for (int64_t g = 0; g < level->groups; g++) {
            nest_json_integer(json, NULL, size_of(cluster, l, g));
        }
        nest_json_end(json);
    }
    nest_json_end(json);
}

void nest_cluster_json(const struct nest_cluster *cluster, struct nest_json *json)
{
    nest_json_text(json, "name", cluster->spec->name);
    nest_json_text(json, "device", cluster->device->name);
    nest_json_integer(json, "devices", cluster->devices);
    nest_json_array(json, "levels");
    for (int l = 0; l < cluster->levels; l++) {
        json_level(cluster, l, json);
    }
    nest_json_end(json);
    if (cluster->spec->notes > 0) {
        nest_json_array(json, "notes");
        for (int i = 0; i < cluster->spec->notes; i++) {
            nest_json_text(json, NULL, cluster->spec->note[i]);
        }
        nest_json_end(json);
    }
}
