#include "cluster/describe.h"

#include <inttypes.h>

#include "base/units.h"
#include "input/load.h"

/* Runs of groups listed before "…"; bytes of the names of kinds. */
enum { RUNS_MOST = 8, NAMES = 160 };

static int64_t size_of(const struct nest_cluster *cluster, int l, int64_t g)
{
    return nest_cluster_group_start(cluster, l, g + 1) - nest_cluster_group_start(cluster, l, g);
}

static unsigned kinds_of(const struct nest_cluster *cluster, int l, int64_t g)
{
    return nest_cluster_kinds(cluster, nest_cluster_group_start(cluster, l, g),
                              nest_cluster_group_start(cluster, l, g + 1));
}

/* How many groups from g on are as large and of the same kinds of devices. */
static int64_t alike_from(const struct nest_cluster *cluster, int l, int64_t g)
{
    const int64_t groups = cluster->level[l].groups;
    int64_t times = 1;
    while (g + times < groups && size_of(cluster, l, g + times) == size_of(cluster, l, g) &&
           (!cluster->mixed || kinds_of(cluster, l, g + times) == kinds_of(cluster, l, g))) {
        times++;
    }
    return times;
}

/* "3 groups of 8 H100 SXM, 1 of 7 A100 SXM", in device order; nothing where all are equal. */
static void add_runs(const struct nest_cluster *cluster, int l, int indent, struct nest_strbuf *out)
{
    const int64_t groups = cluster->level[l].groups;
    const bool alike = (cluster->uniform && !cluster->mixed) ||
                       (alike_from(cluster, l, 0) == groups && (groups > 1 || !cluster->mixed));
    int runs = 0;
    for (int64_t g = 0; g < groups && !alike && groups > 1;) {
        const int64_t times = alike_from(cluster, l, g);
        if (runs++ == RUNS_MOST) {
            nest_strbuf_add(out, ", …");
            break;
        }
        const char *first = times == 1 ? " group" : " groups";
        nest_strbuf_printf(out, "%*s%" PRId64 "%s of %" PRId64 "%s", runs == 1 ? indent : 0, "",
                           times, runs == 1 ? first : "", size_of(cluster, l, g),
                           cluster->mixed || runs == 1 ? " " : "");
        if (cluster->mixed) {
            char names[NAMES];
            nest_strbuf_add(
                out, nest_kinds_format(cluster, kinds_of(cluster, l, g), names, sizeof names));
        } else {
            nest_strbuf_add(out, runs == 1 ? "devices" : "");
        }
        g += times;
        nest_strbuf_add(out, g < groups ? ", " : "");
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
    add_runs(cluster, l, indent + 2, out);
}

/* What each kind of device of a mixed cluster has, and how many there are. */
static void add_kinds(const struct nest_cluster *cluster, struct nest_strbuf *out)
{
    int64_t count[NEST_KINDS_MAX] = {0};
    nest_cluster_tally(cluster, 0, cluster->devices, count);
    for (int k = 0; cluster->mixed && k < cluster->kinds; k++) {
        const struct nest_kind *kind = &cluster->kind[k];
        char name[NAMES];
        char text[32];
        nest_strbuf_printf(
            out, "kind: %" PRId64 " x %s, %s", count[k],
            nest_kind_format(cluster, k, name, sizeof name),
            nest_unit_format(kind->device->memory, NEST_UNIT_BYTES, text, sizeof text));
        for (int l = cluster->levels - 1; l >= 0; l--) {
            const double rate = cluster->level[l].bandwidth * kind->share[l];
            nest_strbuf_printf(out, ", %s %s", cluster->level[l].name,
                               nest_unit_format(rate, NEST_UNIT_BANDWIDTH, text, sizeof text));
        }
        nest_strbuf_add(out, "\n");
    }
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
    add_kinds(cluster, out);
    if (cluster->intact) {
        nest_strbuf_printf(out, "down: %s (%" PRId64 " of %" PRId64 " devices)\n",
                           cluster->spec->down, cluster->intact->devices - cluster->devices,
                           cluster->intact->devices);
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

/* The kinds of a mixed cluster and where they are, in device order. */
static void json_kinds(const struct nest_cluster *cluster, struct nest_json *json)
{
    int64_t count[NEST_KINDS_MAX] = {0};
    nest_cluster_tally(cluster, 0, cluster->devices, count);
    nest_json_array(json, "kinds");
    for (int k = 0; k < cluster->kinds; k++) {
        char name[NAMES];
        nest_json_object(json, NULL);
        nest_json_text(json, "name", nest_kind_format(cluster, k, name, sizeof name));
        nest_json_text(json, "device", cluster->kind[k].device->name);
        nest_json_integer(json, "devices", count[k]);
        nest_json_number(json, "memory", cluster->kind[k].device->memory);
        nest_json_array(json, "bandwidth");
        for (int l = 0; l < cluster->levels; l++) {
            nest_json_number(json, NULL, cluster->level[l].bandwidth * cluster->kind[k].share[l]);
        }
        nest_json_end(json);
        nest_json_end(json);
    }
    nest_json_end(json);
    nest_json_array(json, "stretches");
    for (int i = 0; i < cluster->stretches; i++) {
        nest_json_object(json, NULL);
        nest_json_integer(json, "first_device", cluster->stretch[i].first);
        nest_json_integer(json, "kind", cluster->stretch[i].kind);
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
    if (cluster->mixed) {
        json_kinds(cluster, json);
    }
    if (cluster->intact) {
        nest_json_object(json, "down");
        nest_json_text(json, "what", cluster->spec->down);
        nest_json_integer(json, "devices", cluster->intact->devices - cluster->devices);
        nest_json_end(json);
    }
    if (cluster->spec->notes > 0) {
        nest_json_array(json, "notes");
        for (int i = 0; i < cluster->spec->notes; i++) {
            nest_json_text(json, NULL, cluster->spec->note[i]);
        }
        nest_json_end(json);
    }
}
