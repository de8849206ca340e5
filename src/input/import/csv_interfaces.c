#include "input/import/csv_interfaces.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Whether a name holds a word, where it stands at the beginning of a word if whole is set: a
 * storage server is no top-of-rack switch. */
static bool name_holds(const char *name, const char *word, bool whole)
{
    for (const char *p = name; (p = strcasestr(p, word)) != NULL; p++) {
        if (!whole || p == name || !isalpha((unsigned char)p[-1])) {
            return true;
        }
    }
    return false;
}

/* Switches are called so; everything else is a host. */
bool nest_csv_is_switch(const char *name)
{
    static const struct {
        const char *word;
        bool whole;
    } words[] = {{"leaf", false}, {"spine", false}, {"switch", false}, {"core", true},
                 {"agg", true},   {"tor", true},    {"router", true},  {"super", true}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (name_holds(name, words[i].word, words[i].whole)) {
            return true;
        }
    }
    return strncasecmp(name, "sw", 2) == 0 && !isalpha((unsigned char)name[2]);
}

bool nest_csv_is_interfaces(const struct nest_csv *t)
{
    return nest_csv_column(t, "device") >= 0 && nest_csv_column(t, "name interface port") >= 0 &&
           nest_csv_column_begins(t, "speed") >= 0;
}

/* "device\tport" → bytes/s. */
enum nest_status nest_csv_read_interfaces(struct nest_csv *t, struct nest_names *speeds)
{
    const int device = nest_csv_column(t, "device"),
              name = nest_csv_column(t, "name interface port");
    const int speed = nest_csv_column_begins(t, "speed");
    int count;
    while ((count = nest_csv_row(t)) > 0) {
        double rate = 0;
        if (!*t->cell[speed]) {
            continue;
        }
        const double scale = nest_csv_bandwidth_scale(t->head[speed]);
        const enum nest_status status =
            nest_csv_quantity(t, speed, NEST_UNIT_BANDWIDTH, scale > 1 ? scale : 125, &rate);
        if (status != NEST_OK) {
            return status;
        }
        const char *key =
            nest_arena_printf(t->job->arena, "%s\t%s", t->cell[device], t->cell[name]);
        if (rate < 0 || rate > 1e15 || !key) {
            return nest_job_fault(t->job, t->line, t->at[speed], NULL, "the speed is out of range");
        }
        if (nest_names_get(speeds, key) < 0 && !nest_names_put(speeds, key, (int64_t)rate)) {
            return nest_job_no_memory(t->job);
        }
    }
    return count < 0 ? NEST_BAD_INPUT : NEST_OK;
}

/* ---- Without cables ------------------------------------------------------------------------- */

enum { TIER_HOST, TIER_LEAF, TIER_SPINE, TIERS };

/* The devices of one tier, in the order of the table. */
struct tier {
    int count, room;
    int *node; /* of the fabric */
    int ports; /* of each device; -1 = they differ */
};

struct guess {
    struct nest_csv *table;
    struct nest_fabric fabric;
    struct tier tier[TIERS];
    int *ports_of; /* [NEST_FABRIC_NODES] ports of a node */
    double rate;   /* slowest port */
};

static int tier_of(const char *name)
{
    if (!nest_csv_is_switch(name)) {
        return TIER_HOST;
    }
    return name_holds(name, "spine", false) || name_holds(name, "agg", true)   ? TIER_SPINE
           : name_holds(name, "core", true) || name_holds(name, "super", true) ? TIERS
                                                                               : TIER_LEAF;
}

static bool add_device(struct guess *g, struct tier *tier, int node)
{
    if (tier->count == tier->room) {
        const int room = tier->room ? 2 * tier->room : 16;
        int *larger = NEST_NEW(g->fabric.arena, int, room);
        if (!larger) {
            return false;
        }
        if (tier->count > 0) {
            memcpy(larger, tier->node, sizeof(int) * (size_t)tier->count);
        }
        tier->node = larger;
        tier->room = room;
    }
    tier->node[tier->count++] = node;
    return true;
}

static enum nest_status add_port(struct guess *g, const char *device, double rate)
{
    const int tier = tier_of(device);
    const int before = g->fabric.nodes;
    if (tier == TIERS) {
        return NEST_NO; /* a third tier of switches: how they group is not in port counts */
    }
    const int node = nest_fabric_node(&g->fabric, device, g->table->line);
    if (node < 0 || (g->fabric.nodes > before && !add_device(g, &g->tier[tier], node))) {
        return NEST_NO_MEMORY;
    }
    g->fabric.node[node].host = tier == TIER_HOST;
    g->ports_of[node]++;
    g->rate = g->rate <= 0 || rate < g->rate ? rate : g->rate;
    return NEST_OK;
}

static enum nest_status count_ports(struct guess *g)
{
    struct nest_csv *t = g->table;
    const int device = nest_csv_column(t, "device");
    const int speed = nest_csv_column_begins(t, "speed");
    const double scale = nest_csv_bandwidth_scale(t->head[speed]);
    int count;
    while ((count = nest_csv_row(t)) > 0) {
        double rate = 0;
        if (!*t->cell[speed]) {
            continue;
        }
        enum nest_status status =
            nest_csv_quantity(t, speed, NEST_UNIT_BANDWIDTH, scale > 1 ? scale : 125, &rate);
        if (status == NEST_OK) {
            status = add_port(g, t->cell[device], rate);
        }
        if (status != NEST_OK) {
            return status;
        }
    }
    return count < 0 ? NEST_BAD_INPUT : NEST_OK;
}

static void compare_ports(struct guess *g)
{
    for (int i = 0; i < TIERS; i++) {
        struct tier *tier = &g->tier[i];
        for (int d = 0; d < tier->count; d++) {
            const int ports = g->ports_of[tier->node[d]];
            tier->ports = d == 0 || tier->ports == ports ? ports : -1;
        }
    }
}

/* Whether the ports fit one even fabric: equal devices in each tier, equal shares of hosts, and as
 * many ports up from the leaves as the spines have. */
static bool fits(const struct guess *g)
{
    const struct tier *hosts = &g->tier[TIER_HOST], *leaves = &g->tier[TIER_LEAF];
    const struct tier *spines = &g->tier[TIER_SPINE];
    if (hosts->count == 0 || leaves->count == 0 || hosts->count % leaves->count != 0 ||
        hosts->ports < 1 || leaves->ports < 1 || spines->ports < 0) {
        return false;
    }
    const int up = leaves->ports - hosts->count / leaves->count * hosts->ports;
    if (spines->count == 0) {
        return leaves->count == 1 && up >= 0;
    }
    return up > 0 && up * leaves->count == spines->ports * spines->count;
}

static bool cable_all(struct guess *g)
{
    const struct tier *hosts = &g->tier[TIER_HOST], *leaves = &g->tier[TIER_LEAF];
    const struct tier *spines = &g->tier[TIER_SPINE];
    const int share = hosts->count / leaves->count;
    const int up = spines->count ? leaves->ports - share * hosts->ports : 0;
    bool fine = true;
    for (int i = 0; i < hosts->count * hosts->ports; i++) {
        const int host = i / hosts->ports;
        fine = fine && nest_fabric_cable(&g->fabric, hosts->node[host], leaves->node[host / share],
                                         g->rate);
    }
    for (int i = 0; i < leaves->count * up; i++) {
        fine = fine && nest_fabric_cable(&g->fabric, leaves->node[i / up],
                                         spines->node[i % spines->count], g->rate);
    }
    return fine;
}

enum nest_status nest_csv_import_interfaces(struct nest_csv *t)
{
    struct guess g = {.table = t, .ports_of = NEST_NEW(t->job->arena, int, NEST_FABRIC_NODES)};
    const int head = t->line;
    if (!g.ports_of || !nest_fabric_init(&g.fabric, t->job->arena)) {
        return nest_job_no_memory(t->job);
    }
    enum nest_status status = count_ports(&g);
    if (status == NEST_OK) {
        compare_ports(&g);
        status = fits(&g) ? NEST_OK : NEST_NO;
    }
    if (status == NEST_NO) {
        return nest_job_fault(t->job, head, 1,
                              "give the cables as well: nest import --from csv CABLES INTERFACES",
                              "interfaces have speeds but do not say what they are connected to");
    }
    if (status == NEST_NO_MEMORY || (status == NEST_OK && !cable_all(&g))) {
        return nest_job_no_memory(t->job);
    }
    if (status != NEST_OK) {
        return status;
    }
    struct nest_found_cluster found = {.name = "cabled cluster", .hosts = true};
    nest_job_note(t->job,
                  "interfaces do not say what they are connected to: %d hosts, %d leaves and %d "
                  "spines, by their names, are taken as one even fabric, which their ports fit; "
                  "give the cables as well to be sure",
                  g.tier[TIER_HOST].count, g.tier[TIER_LEAF].count, g.tier[TIER_SPINE].count);
    status = nest_fabric_levels(&g.fabric, t->job, &found);
    return status == NEST_OK ? nest_found_cluster_write(t->job, &found) : status;
}
