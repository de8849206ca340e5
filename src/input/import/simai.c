/* SimAI topologies: a line of counts, a line of switch ids, then one line per link. */
#include <string.h>

#include "base/units.h"
#include "input/import/fabric.h"

struct simai {
    struct nest_job *job;
    int64_t nodes, per_server, nv_switches, switches, links;
    const char *gpu_type;
    int64_t gpus;
    int *server;    /* [gpus] */
    double *inside; /* [gpus] bytes/s to NVSwitches */
    double inside_latency, outside_latency;
    int64_t listed;
    struct nest_fabric fabric;
};

static enum nest_status read_head(struct simai *s, struct nest_piece line)
{
    int64_t *const count[] = {&s->nodes, &s->per_server, &s->nv_switches, &s->switches, &s->links};
    struct nest_piece word;
    for (int i = 0; i < 5; i++) {
        if (!nest_piece_word(&line, &word) || !nest_piece_int(word, count[i]) ||
            *count[i] > NEST_FABRIC_NODES * 4) {
            return nest_job_fault(
                s->job, 1, word.column,
                "nodes, GPUs per server, NVSwitches, other switches, links, GPU type",
                "the first line is not that of a SimAI topology");
        }
    }
    s->gpu_type = nest_piece_word(&line, &word) ? nest_piece_copy(word, s->job->arena) : "";
    s->gpus = s->nodes - s->nv_switches - s->switches;
    if (s->nodes > NEST_FABRIC_NODES || s->gpus < 1 || s->per_server < 1 ||
        s->gpus % s->per_server != 0) {
        return nest_job_fault(s->job, 1, 1, "servers of equal size",
                              "%lld nodes less %lld switches do not make servers of %lld GPUs",
                              (long long)s->nodes, (long long)(s->nv_switches + s->switches),
                              (long long)s->per_server);
    }
    s->server = NEST_NEW(s->job->arena, int, s->gpus);
    s->inside = NEST_NEW(s->job->arena, double, s->gpus);
    return s->server && s->inside && nest_fabric_init(&s->fabric, s->job->arena)
               ? NEST_OK
               : nest_job_no_memory(s->job);
}

static bool quantity(struct simai *s, struct nest_piece word, enum nest_unit unit, double *out)
{
    char scratch[160];
    const char *hint;
    char *text = nest_piece_copy(word, s->job->arena);
    /* SimAI writes Gbps where others write Gb/s. */
    const size_t n = text ? strlen(text) : 0;
    if (n > 3 && strcmp(text + n - 2, "ps") == 0) {
        text = nest_arena_printf(s->job->arena, "%.*s/s", (int)n - 2, text);
    }
    return text && !nest_unit_parse(text, unit, out, &hint, scratch, sizeof scratch);
}

/* A GPU stands for its server; NVSwitches belong to their server and make no node. */
static int end_of(struct simai *s, int64_t id, int line)
{
    const bool gpu = id < s->gpus;
    const char *name =
        gpu ? nest_arena_printf(s->job->arena, "server %lld", (long long)(id / s->per_server))
            : nest_arena_printf(s->job->arena, "switch %lld", (long long)id);
    const int node = name ? nest_fabric_node(&s->fabric, name, line) : -1;
    if (node >= 0 && gpu) {
        s->fabric.node[node].host = true;
    }
    return node;
}

static enum nest_status read_link(struct simai *s, struct nest_piece line, int number)
{
    struct nest_piece word[4];
    int64_t id[2];
    double rate = 0, latency = 0;
    for (int i = 0; i < 4; i++) {
        if (!nest_piece_word(&line, &word[i])) {
            return nest_job_fault(s->job, number, line.column,
                                  "source, destination, bandwidth, latency", "a link of %d fields",
                                  i);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (!nest_piece_int(word[i], &id[i]) || id[i] >= s->nodes) {
            return nest_job_fault(
                s->job, number, word[i].column,
                nest_arena_printf(s->job->arena, "0 to %lld", (long long)s->nodes - 1),
                "'%.*s' is no node", (int)word[i].length, word[i].text);
        }
    }
    if (!quantity(s, word[2], NEST_UNIT_BANDWIDTH, &rate) || rate <= 0) {
        return nest_job_fault(s->job, number, word[2].column, "such as 400Gbps",
                              "'%.*s' is no bandwidth", (int)word[2].length, word[2].text);
    }
    if (!quantity(s, word[3], NEST_UNIT_SECONDS, &latency) || latency < 0 || latency > 1) {
        return nest_job_fault(s->job, number, word[3].column, "such as 0.0005ms",
                              "'%.*s' is no latency", (int)word[3].length, word[3].text);
    }
    s->listed++;
    const int64_t low = id[0] < id[1] ? id[0] : id[1];
    const int64_t high = id[0] < id[1] ? id[1] : id[0];
    const bool nv = high >= s->gpus && high < s->gpus + s->nv_switches;
    if (nv && low < s->gpus) {
        s->inside[low] += rate;
        s->inside_latency = latency > s->inside_latency ? latency : s->inside_latency;
        return NEST_OK;
    }
    if (nv) {
        return NEST_OK;
    }
    s->outside_latency = latency > s->outside_latency ? latency : s->outside_latency;
    const int a = end_of(s, low, number);
    const int b = end_of(s, high, number);
    return a >= 0 && b >= 0 && nest_fabric_cable(&s->fabric, a, b, rate)
               ? NEST_OK
               : nest_job_no_memory(s->job);
}

static enum nest_status read_lines(struct simai *s)
{
    struct nest_lines lines;
    struct nest_piece line;
    nest_lines_begin(&lines, &s->job->file[0]);
    while (nest_lines_next(&lines, &line)) {
        enum nest_status status = NEST_OK;
        if (lines.number == 1) {
            status = read_head(s, line);
        } else if (lines.number > 2 && nest_piece_trim(line).length > 0) {
            status = read_link(s, line, lines.number);
        }
        if (status != NEST_OK) {
            return status;
        }
    }
    if (lines.number < 3) {
        return nest_job_fault(s->job, lines.number, 1, "counts, switch ids, then links",
                              "the file ends before its first link");
    }
    if (s->listed != s->links) {
        return nest_job_fault(s->job, lines.number, 1, NULL,
                              "the first line promises %lld links, but %lld are listed",
                              (long long)s->links, (long long)s->listed);
    }
    return NEST_OK;
}

/* The level inside a server, then the options that stand for it. */
static void put_server(struct simai *s, struct nest_found_cluster *found)
{
    struct nest_found_level *level = nest_found_level_add(found, "server", s->per_server);
    level->bandwidth = s->inside[0];
    level->latency = 2 * s->inside_latency;
    level->oversubscription = 1;
    for (int64_t i = 1; i < s->gpus; i++) {
        level->bandwidth = s->inside[i] < level->bandwidth ? s->inside[i] : level->bandwidth;
    }
}

enum nest_status nest_import_simai(struct nest_job *job)
{
    struct simai s = {.job = job};
    enum nest_status status = read_lines(&s);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_device_spec *device = nest_found_device(job, s.gpu_type);
    struct nest_found_cluster found = {.name = "SimAI topology",
                                       .device = device ? device->id : NULL};
    put_server(&s, &found);
    if (s.fabric.links > 0) {
        status = nest_fabric_levels(&s.fabric, job, &found);
    }
    if (status != NEST_OK) {
        return status;
    }
    /* The fabric's figures are those of a server: share them among its GPUs. */
    const double share = found.host_bandwidth / (double)s.per_server;
    for (int l = 1; l < found.levels; l++) {
        found.level[l].bandwidth = share;
        found.level[l].latency = 2 * s.outside_latency * l;
    }
    nest_job_note(
        job, "a crossing takes two links per tier; ports of one GPU on several planes or rails "
             "are added");
    nest_job_note(
        job, "rails are joined: ranks of equal place in their server are one hop apart, others "
             "as well");
    return nest_found_cluster_write(job, &found);
}
