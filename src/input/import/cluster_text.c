#include "input/import/cluster_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "input/records.h"

enum { ASSUMED_GPUS = 8 };

const struct nest_device_spec *nest_found_device(struct nest_job *job, const char *name)
{
    const struct nest_library *library = job->options->library;
    struct nest_device_spec *device = NEST_NEW(job->arena, struct nest_device_spec, 1);
    char *lower = nest_arena_strdup(job->arena, name ? name : "");
    struct nest_errors ignored;
    nest_errors_init(&ignored, job->arena);
    for (char *p = lower; p && *p; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    const bool known = library && device && lower && *lower &&
                       nest_load_device(library, lower, job->arena, device, &ignored) == NEST_OK;
    return known ? device : NULL;
}

struct nest_found_level *nest_found_level_add(struct nest_found_cluster *found, const char *name,
                                              int64_t fanout)
{
    if (found->levels == NEST_MAX_LEVELS) {
        return NULL;
    }
    struct nest_found_level *level = &found->level[found->levels++];
    *level = (struct nest_found_level){.name = name, .fanout = fanout};
    return level;
}

/* ---- Devices below hosts ------------------------------------------------------------------ */

/* Makes room for count levels at the bottom; false when there are too many. */
static bool shift_levels(struct nest_found_cluster *found, int count)
{
    if (found->levels + count > NEST_MAX_LEVELS) {
        return false;
    }
    memmove(&found->level[count], &found->level[0], sizeof found->level[0] * (size_t)found->levels);
    memset(&found->level[0], 0, sizeof found->level[0] * (size_t)count);
    found->levels += count;
    return true;
}

/* What a host's network means for one of its devices: alone it gets a port (or its even share, if
 * that is more), all together no more than the host has. */
static void share_host_network(struct nest_found_cluster *found, int first, int64_t devices)
{
    const double host = found->host_bandwidth;
    if (host <= 0 || devices <= 0) {
        return;
    }
    const double share = host / (double)devices;
    const double port = found->port_bandwidth > 0 ? found->port_bandwidth : host;
    const double own = share > port ? share : port;
    for (int l = first; l < found->levels; l++) {
        struct nest_found_level *level = &found->level[l];
        level->bandwidth = own;
        level->oversubscription =
            (level->oversubscription > 0 ? level->oversubscription : 1) * own / share;
    }
}

static enum nest_status too_many_levels(struct nest_job *job)
{
    return nest_job_fault(job, 0, 0, NULL, "more than %d levels with those inside the node",
                          (int)NEST_MAX_LEVELS);
}

/* The levels of --node, with their names made different from the ones above. */
static enum nest_status put_node(struct nest_job *job, struct nest_found_cluster *found)
{
    const struct nest_cluster_spec *node = job->options->node;
    if (!shift_levels(found, node->levels)) {
        return too_many_levels(job);
    }
    int64_t devices = 1;
    for (int l = 0; l < node->levels; l++) {
        const struct nest_level_spec *from = &node->level[l];
        if (from->groups > 0) {
            return nest_job_fault(job, 0, 0, "a node with one fan-out per level",
                                  "the node of --node is irregular at level %s", from->name);
        }
        found->level[l] = (struct nest_found_level){.name = from->name,
                                                    .fanout = from->fanout,
                                                    .kind = from->kind,
                                                    .bandwidth = from->bandwidth,
                                                    .latency = from->latency,
                                                    .oversubscription = from->oversubscription};
        devices *= from->fanout;
        for (int m = node->levels; m < found->levels; m++) {
            if (strcmp(found->level[m].name, from->name) == 0) {
                found->level[m].name =
                    nest_arena_printf(job->arena, "%s_of_hosts", found->level[m].name);
            }
        }
    }
    nest_job_note(job, "the inside of a host is that of --node: %s", node->name);
    share_host_network(found, node->levels, devices);
    return NEST_OK;
}

static enum nest_status put_devices(struct nest_job *job, struct nest_found_cluster *found)
{
    int64_t devices = job->options->gpus_per_node;
    if (devices == 0) {
        devices = ASSUMED_GPUS;
        nest_job_note(job,
                      "the file knows hosts only: %d devices per host assumed; say it with "
                      "--gpus-per-node N or --node NODE_YAML",
                      (int)ASSUMED_GPUS);
    }
    if (devices > 1) {
        if (!shift_levels(found, 1)) {
            return too_many_levels(job);
        }
        found->level[0] = (struct nest_found_level){.name = "node", .fanout = devices};
    }
    share_host_network(found, devices > 1 ? 1 : 0, devices);
    return NEST_OK;
}

/* ---- Defaults ------------------------------------------------------------------------------ */

static void choose_device(struct nest_job *job, struct nest_found_cluster *found)
{
    if (job->options->device) {
        found->device = job->options->device;
    } else if (found->hosts && job->options->node && job->options->node->device) {
        found->device = job->options->node->device->id;
    } else if (!found->device) {
        found->device = "h100-sxm-80gb";
        nest_job_note(job, "the file does not name the device: %s assumed; say it with --device",
                      found->device);
    }
}

static const char *join_words(struct nest_arena *arena, const char *words, const char *word)
{
    return words ? nest_arena_printf(arena, "%s, %s", words, word) : word;
}

/* Latencies that no file states: one switch chip, then longer ways; tier 0 is inside the node. */
static double assumed_latency(int tier)
{
    return tier == 0 ? 1e-6 : tier == 1 ? 4e-6 : 6e-6;
}

static void complete_level(struct nest_job *job, const struct nest_found_cluster *found, int l,
                           struct nest_found_level *level)
{
    const struct nest_device_spec *device = nest_found_device(job, found->device);
    /* Level 0 is inside the node unless the file's hosts are the devices. */
    const bool no_inside = found->hosts && job->options->gpus_per_node == 1;
    const bool inside = l == 0 && !no_inside;
    const char *assumed = NULL;
    if (level->bandwidth <= 0) {
        const double known = !device ? 0 : inside ? device->scale_up : device->scale_out;
        level->bandwidth = known > 0 ? known : inside ? 450e9 : 50e9;
        assumed = join_words(job->arena, assumed, "bandwidth");
    }
    if (level->latency <= 0) {
        level->latency = assumed_latency(l + no_inside);
        assumed = join_words(job->arena, assumed, "latency");
    }
    if (level->oversubscription <= 0) {
        level->oversubscription = 1;
        if (l > 0) {
            assumed = join_words(job->arena, assumed, "no oversubscription");
        }
    }
    if (assumed) {
        const char *text = nest_arena_printf(job->arena, "%s assumed", assumed);
        level->note =
            level->note ? nest_arena_printf(job->arena, "%s; %s", level->note, text) : text;
    }
}

/* What our loader takes of a level, so that whatever is printed can be read again. */
static enum nest_status check_level(struct nest_job *job, const struct nest_found_level *level)
{
    if (level->bandwidth < 1e3 || level->bandwidth > 1e15) {
        return nest_job_fault(job, 0, 0, "from 1000 B/s to 1000 TB/s",
                              "level %s: %g B/s is no bandwidth", level->name, level->bandwidth);
    }
    if (level->latency > 10) {
        return nest_job_fault(job, 0, 0, "up to 10 s", "level %s: %g s is no latency", level->name,
                              level->latency);
    }
    if (level->oversubscription > 1e6) {
        return nest_job_fault(job, 0, 0, "up to 1000000", "level %s: %g is no oversubscription",
                              level->name, level->oversubscription);
    }
    return NEST_OK;
}

static enum nest_status check_cluster(struct nest_job *job, struct nest_found_cluster *found)
{
    double devices = 1;
    for (int l = 0; l < found->levels; l++) {
        const enum nest_status status = check_level(job, &found->level[l]);
        if (status != NEST_OK) {
            return status;
        }
        devices *= found->level[l].runs ? 1 : (double)found->level[l].fanout;
        for (int m = 0; m < l; m++) {
            if (strcmp(found->level[m].name, found->level[l].name) == 0) {
                found->level[l].name =
                    nest_arena_printf(job->arena, "%s.%d", found->level[l].name, l);
            }
        }
    }
    if (devices > 0x1p32) {
        return nest_job_fault(job, 0, 0, "at most 4,294,967,296", "%.4g devices", devices);
    }
    return NEST_OK;
}

enum nest_status nest_found_cluster_complete(struct nest_job *job, struct nest_found_cluster *found)
{
    if (found->hosts) {
        const enum nest_status status =
            job->options->node ? put_node(job, found) : put_devices(job, found);
        if (status != NEST_OK) {
            return status;
        }
    }
    choose_device(job, found);
    for (int l = 0; l < found->levels; l++) {
        complete_level(job, found, l, &found->level[l]);
    }
    return check_cluster(job, found);
}

/* ---- Printing ------------------------------------------------------------------------------ */

static const char *kind_word(enum nest_level_kind kind)
{
    switch (kind) {
    case NEST_LEVEL_RING:
        return "ring";
    case NEST_LEVEL_TORUS:
        return "torus";
    case NEST_LEVEL_MESH:
        return "mesh";
    case NEST_LEVEL_FULLY_CONNECTED:
        return "fully-connected";
    case NEST_LEVEL_RAIL:
        return "rail";
    default:
        return "switch";
    }
}

static void print_extent(struct nest_strbuf *out, const struct nest_found_level *level)
{
    if (level->shape) {
        nest_strbuf_printf(out, ", shape: %s, wrap: %s", level->shape,
                           level->wrap ? "true" : "false");
        return;
    }
    if (level->runs == 0) {
        nest_strbuf_printf(out, ", fanout: %lld", (long long)level->fanout);
        return;
    }
    nest_strbuf_add(out, ", groups: [");
    for (int i = 0; i < level->runs; i++) {
        nest_strbuf_printf(out, "%s{fanout: %lld", i ? ", " : "", (long long)level->run[i].fanout);
        if (level->run[i].times > 1) {
            nest_strbuf_printf(out, ", times: %lld", (long long)level->run[i].times);
        }
        nest_strbuf_add(out, "}");
    }
    nest_strbuf_add(out, "]");
}

/* Rounded to 12 digits, so that products of powers of ten read as they were written. */
static double tidy(double value)
{
    char text[32];
    double rounded = value;
    (void)snprintf(text, sizeof text, "%.12g", value);
    return nest_text_number(text, &rounded) ? rounded : value;
}

static void print_level(struct nest_job *job, const struct nest_found_level *level, int indent)
{
    struct nest_strbuf *out = job->out;
    char text[64];
    nest_strbuf_printf(out, "%*s  - {name: ", indent, "");
    nest_yaml_text(level->name, out);
    print_extent(out, level);
    if (level->kind != NEST_LEVEL_SWITCH) {
        nest_strbuf_printf(out, ", kind: %s", kind_word(level->kind));
    }
    nest_strbuf_printf(out, ", bandwidth: %.12gGB/s", level->bandwidth / 1e9);
    nest_strbuf_printf(
        out, ", latency: %s",
        nest_unit_format_exact(tidy(level->latency), NEST_UNIT_SECONDS, text, sizeof text));
    if (level->oversubscription > 1) {
        nest_strbuf_printf(out, ", oversubscription: %.12g", level->oversubscription);
    }
    nest_strbuf_add(out, "}");
    if (level->note) {
        nest_strbuf_printf(out, " # %s", level->note);
    }
    nest_strbuf_add(out, "\n");
}

void nest_found_cluster_print(struct nest_job *job, const struct nest_found_cluster *found,
                              int indent)
{
    nest_strbuf_printf(job->out, "%*sname: ", indent, "");
    nest_yaml_text(found->name, job->out);
    nest_strbuf_printf(job->out, "\n%*sdevice: ", indent, "");
    nest_yaml_text(found->device, job->out);
    nest_strbuf_printf(job->out, "\n%*slevels:\n", indent, "");
    for (int l = 0; l < found->levels; l++) {
        print_level(job, &found->level[l], indent);
    }
}

enum nest_status nest_found_cluster_write(struct nest_job *job, struct nest_found_cluster *found)
{
    const enum nest_status status = nest_found_cluster_complete(job, found);
    if (status != NEST_OK) {
        return status;
    }
    nest_strbuf_add(job->out, nest_strbuf_text(&job->notes));
    nest_found_cluster_print(job, found, 0);
    return NEST_OK;
}
