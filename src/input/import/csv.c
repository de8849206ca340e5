/* Comma-, semicolon- or tab-separated tables: levels, or cables (with interfaces for speeds). */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "input/import/csv_interfaces.h"

/* ---- Levels --------------------------------------------------------------------------------- */

static enum nest_status read_kind(struct nest_csv *t, int at, enum nest_level_kind *kind)
{
    static const char *const words[] = {"switch",          "ring", "torus", "mesh",
                                        "fully-connected", "rail"};
    for (int i = 0; i < 6; i++) {
        if (strcasecmp(t->cell[at], words[i]) == 0 && i != NEST_LEVEL_TORUS) {
            *kind = (enum nest_level_kind)i;
            return NEST_OK;
        }
    }
    return nest_job_fault(t->job, t->line, t->at[at],
                          "switch, ring, mesh, fully-connected or rail; a torus is one ring per "
                          "dimension",
                          "unknown kind '%s'", t->cell[at]);
}

struct level_columns {
    int name, fanout, kind, rate, delay, over;
};

static enum nest_status read_level(struct nest_csv *t, const struct level_columns *c,
                                   struct nest_found_cluster *found)
{
    struct nest_found_level *level =
        nest_found_level_add(found, c->name >= 0 ? t->cell[c->name] : "", 1);
    enum nest_status status = NEST_OK;
    if (!level) {
        return nest_job_fault(t->job, t->line, 1, NULL, "more than %d levels",
                              (int)NEST_MAX_LEVELS);
    }
    if (!*level->name) {
        level->name = nest_arena_printf(t->job->arena, "level%d", found->levels);
    }
    if (!nest_text_int(t->cell[c->fanout], &level->fanout) || level->fanout < 1 ||
        level->fanout > 1 << 24) {
        return nest_job_fault(t->job, t->line, t->at[c->fanout], "a whole number from 1",
                              "'%s' is no fan-out", t->cell[c->fanout]);
    }
    if (c->kind >= 0 && *t->cell[c->kind]) {
        status = read_kind(t, c->kind, &level->kind);
    }
    if (status == NEST_OK && c->rate >= 0 && *t->cell[c->rate]) {
        status = nest_csv_quantity(t, c->rate, NEST_UNIT_BANDWIDTH,
                                   nest_csv_bandwidth_scale(t->head[c->rate]), &level->bandwidth);
    }
    if (status == NEST_OK && c->delay >= 0 && *t->cell[c->delay]) {
        status = nest_csv_quantity(t, c->delay, NEST_UNIT_SECONDS,
                                   nest_csv_time_scale(t->head[c->delay]), &level->latency);
    }
    level->oversubscription = 1;
    if (status == NEST_OK && c->over >= 0 && *t->cell[c->over]) {
        status = nest_csv_quantity(t, c->over, NEST_UNIT_RATIO, 1, &level->oversubscription);
    }
    if (status == NEST_OK &&
        (level->bandwidth < 0 || level->bandwidth > 1e15 || level->latency < 0 ||
         level->latency > 10 || level->oversubscription < 1 || level->oversubscription > 1e6)) {
        status = nest_job_fault(t->job, t->line, 1, NULL, "a figure of level %s is out of range",
                                level->name);
    }
    return status;
}

static enum nest_status import_levels(struct nest_csv *t)
{
    struct level_columns c = {.name = nest_csv_column_begins(t, "level name tier"),
                              .fanout =
                                  nest_csv_column_begins(t, "fan_out fanout fan-out children"),
                              .kind = nest_csv_column_begins(t, "kind type topology"),
                              .rate = nest_csv_column_begins(t, "bandwidth bw rate speed"),
                              .delay = nest_csv_column_begins(t, "latency delay alpha"),
                              .over = nest_csv_column_begins(t, "oversub over_sub ratio")};
    struct nest_found_cluster found = {.name = "levels"};
    int count;
    while ((count = nest_csv_row(t)) > 0) {
        const enum nest_status status = read_level(t, &c, &found);
        if (status != NEST_OK) {
            return status;
        }
    }
    if (count < 0) {
        return NEST_BAD_INPUT;
    }
    if (found.levels == 0) {
        return nest_job_fault(t->job, t->line, 1, NULL, "no levels below the column names");
    }
    nest_job_note(t->job, "rows are taken innermost first");
    nest_job_note(t->job, c.over >= 0
                              ? "bandwidth is taken as the device's own rate, before "
                                "oversubscription"
                              : "no column of oversubscription: bandwidths are taken as they "
                                "are, after it");
    return nest_found_cluster_write(t->job, &found);
}

/* ---- Cables --------------------------------------------------------------------------------- */

struct cable_columns {
    int device[2], port[2], speed, status;
};

/* Columns of one side: heads with the side's word and "device", and the port's name. */
static void find_side(const struct nest_csv *t, const char *words, int *device, int *port)
{
    *device = *port = -1;
    for (int i = 0; i < t->columns; i++) {
        bool side = false;
        for (const char *p = words; *p && !side; p += strcspn(p, " "), p += *p == ' ') {
            char word[32];
            const size_t n = strcspn(p, " ");
            memcpy(word, p, n);
            word[n] = 0;
            side = nest_csv_has_word(t->head[i], word) ||
                   (n == 1 && (t->head[i][1] == '_' || t->head[i][1] == ' ') &&
                    tolower((unsigned char)t->head[i][0]) == word[0]);
        }
        const bool is_port =
            nest_csv_has_word(t->head[i], "name") || nest_csv_has_word(t->head[i], "port") ||
            nest_csv_has_word(t->head[i], "interface") || strstr(t->head[i], "_port") ||
            strstr(t->head[i], "_interface") || strstr(t->head[i], "_name");
        const bool other =
            nest_csv_has_word(t->head[i], "type") || nest_csv_has_word(t->head[i], "rack") ||
            nest_csv_has_word(t->head[i], "site") || nest_csv_has_word(t->head[i], "location");
        if (side && is_port && *port < 0) {
            *port = i;
        } else if (side && !is_port && !other && *device < 0) {
            *device = i;
        }
    }
}

static bool find_cables(const struct nest_csv *t, struct cable_columns *c)
{
    find_side(t, "a src source from left local", &c->device[0], &c->port[0]);
    find_side(t, "b z dst dest destination target to right remote peer", &c->device[1],
              &c->port[1]);
    c->speed = nest_csv_column_begins(t, "speed rate bandwidth");
    c->status = nest_csv_column(t, "status");
    return c->device[0] >= 0 && c->device[1] >= 0;
}

/* The slower of the two ends, or the cable's own speed; 0 = not known. */
static enum nest_status cable_rate(struct nest_csv *t, const struct cable_columns *c,
                                   const struct nest_names *speeds, double *rate)
{
    *rate = 0;
    if (c->speed >= 0 && *t->cell[c->speed]) {
        return nest_csv_quantity(t, c->speed, NEST_UNIT_BANDWIDTH,
                                 nest_csv_bandwidth_scale(t->head[c->speed]), rate);
    }
    for (int side = 0; side < 2 && speeds; side++) {
        if (c->port[side] < 0) {
            continue;
        }
        const char *key = nest_arena_printf(t->job->arena, "%s\t%s", t->cell[c->device[side]],
                                            t->cell[c->port[side]]);
        const int64_t known = key ? nest_names_get(speeds, key) : -1;
        if (known > 0 && (*rate <= 0 || (double)known < *rate)) {
            *rate = (double)known;
        }
    }
    return NEST_OK;
}

static bool is_cabled(const struct nest_csv *t, const struct cable_columns *c)
{
    return c->status < 0 || strcasecmp(t->cell[c->status], "planned") != 0;
}

static enum nest_status import_cables(struct nest_csv *t, const struct cable_columns *c,
                                      const struct nest_names *speeds)
{
    struct nest_fabric fabric;
    int count, planned = 0;
    if (!nest_fabric_init(&fabric, t->job->arena)) {
        return nest_job_no_memory(t->job);
    }
    while ((count = nest_csv_row(t)) > 0) {
        int end[2];
        double rate = 0;
        if (!is_cabled(t, c)) {
            planned++;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const char *name = t->cell[c->device[side]];
            if (!*name) {
                return nest_job_fault(t->job, t->line, t->at[c->device[side]], NULL,
                                      "a cable that ends nowhere");
            }
            end[side] = nest_fabric_node(&fabric, name, t->line);
            if (end[side] < 0) {
                return nest_job_no_memory(t->job);
            }
            fabric.node[end[side]].host = !nest_csv_is_switch(name);
        }
        const enum nest_status status = cable_rate(t, c, speeds, &rate);
        if (status != NEST_OK) {
            return status;
        }
        if (!nest_fabric_cable(&fabric, end[0], end[1], rate)) {
            return nest_job_no_memory(t->job);
        }
    }
    if (count < 0) {
        return NEST_BAD_INPUT;
    }
    struct nest_found_cluster found = {.name = "cabled cluster", .hosts = true};
    if (planned > 0) {
        nest_job_note(t->job, "%d planned cables were left out", planned);
    }
    nest_job_note(t->job,
                  "devices called leaf, spine, core, tor, agg, switch or sw… are switches, all "
                  "others hosts");
    const enum nest_status status = nest_fabric_levels(&fabric, t->job, &found);
    if (status != NEST_OK) {
        return status;
    }
    if (found.host_bandwidth <= 0) {
        nest_job_note(t->job,
                      "the cables have no speeds: give NetBox's interfaces as a second file");
    }
    return nest_found_cluster_write(t->job, &found);
}

enum nest_status nest_import_csv(struct nest_job *job)
{
    struct nest_csv cables = {.job = NULL}, interfaces = {.job = NULL};
    struct cable_columns columns = {.speed = -1};
    const struct nest_import_file *file = job->file;
    for (int i = 0; i < job->files; i++) {
        struct nest_csv t;
        struct cable_columns c;
        const enum nest_status status = nest_csv_begin(&t, job, &file[i]);
        if (status != NEST_OK) {
            return status;
        }
        if (nest_csv_column_begins(&t, "fan_out fanout fan-out children") >= 0) {
            return import_levels(&t);
        }
        if (find_cables(&t, &c)) {
            cables = t;
            columns = c;
        } else if (nest_csv_is_interfaces(&t)) {
            interfaces = t;
        } else {
            return nest_job_fault(
                job, t.line, 1,
                "a fan_out column, or the devices at both ends (a_device, b_device)",
                "neither a table of levels nor of cables");
        }
    }
    if (!cables.job) {
        return nest_csv_import_interfaces(&interfaces);
    }
    struct nest_names *speeds = interfaces.job ? nest_names_new(job->arena) : NULL;
    if (speeds) {
        const enum nest_status status = nest_csv_read_interfaces(&interfaces, speeds);
        if (status != NEST_OK) {
            return status;
        }
    }
    return import_cables(&cables, &columns, speeds);
}
