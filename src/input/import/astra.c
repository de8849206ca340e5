/* ASTRA-sim networks: the analytical YAML, ns-3's logical dimensions, htsim's .topo. */
#include <string.h>
#include <strings.h>

#include "input/import/cluster_text.h"

/* ---- Analytical: four lists of equal length, innermost dimension first ----------------------- */

enum { TOPOLOGY, COUNT, BANDWIDTH, LATENCY, LISTS };

static enum nest_status find_lists(struct nest_job *job, const struct nest_node *root,
                                   const struct nest_node **list)
{
    static const char *const key[LISTS] = {"topology", "npus_count", "bandwidth", "latency"};
    for (int i = 0; i < LISTS; i++) {
        list[i] = nest_node_get(root, key[i]);
        if (!list[i] || list[i]->kind != NEST_NODE_SEQUENCE || list[i]->count == 0) {
            return nest_job_fault_at(job, list[i] ? list[i] : root,
                                     "topology, npus_count, bandwidth and latency, each a list",
                                     "no list '%s'", key[i]);
        }
        if (list[i]->count != list[0]->count) {
            return nest_job_fault_at(job, list[i], "one entry per dimension in every list",
                                     "%d entries, but topology has %d", list[i]->count,
                                     list[0]->count);
        }
    }
    if (list[0]->count > NEST_MAX_LEVELS) {
        return nest_job_fault_at(job, list[0], NULL, "more than %d dimensions",
                                 (int)NEST_MAX_LEVELS);
    }
    return NEST_OK;
}

static bool read_kind(const char *text, enum nest_level_kind *kind, double *hops)
{
    static const struct {
        const char *name;
        enum nest_level_kind kind;
        double hops; /* links of one crossing */
    } kinds[] = {{"Ring", NEST_LEVEL_RING, 1},
                 {"Switch", NEST_LEVEL_SWITCH, 2},
                 {"FullyConnected", NEST_LEVEL_FULLY_CONNECTED, 1},
                 {"Mesh", NEST_LEVEL_MESH, 1}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcasecmp(text, kinds[i].name) == 0) {
            *kind = kinds[i].kind;
            *hops = kinds[i].hops;
            return true;
        }
    }
    return false;
}

static enum nest_status read_dimension(struct nest_job *job, struct nest_found_cluster *found,
                                       const struct nest_node *const item[LISTS])
{
    struct nest_found_level *level =
        nest_found_level_add(found, nest_arena_printf(job->arena, "dim%d", found->levels), 1);
    double hops = 1, rate = 0, delay = 0;
    if (!read_kind(item[TOPOLOGY]->text, &level->kind, &hops)) {
        return nest_job_fault_at(job, item[TOPOLOGY], "Ring, Switch or FullyConnected",
                                 "unknown topology '%s'", item[TOPOLOGY]->text);
    }
    if (!nest_text_int(item[COUNT]->text, &level->fanout) || level->fanout < 1 ||
        level->fanout > 1 << 24) {
        return nest_job_fault_at(job, item[COUNT], "a whole number from 1", "'%s' is no count",
                                 item[COUNT]->text);
    }
    if (!nest_text_number(item[BANDWIDTH]->text, &rate) || rate <= 0 || rate > 1e6) {
        return nest_job_fault_at(job, item[BANDWIDTH], "GB/s", "'%s' is no bandwidth",
                                 item[BANDWIDTH]->text);
    }
    if (!nest_text_number(item[LATENCY]->text, &delay) || delay < 0 || delay > 1e9) {
        return nest_job_fault_at(job, item[LATENCY], "nanoseconds", "'%s' is no latency",
                                 item[LATENCY]->text);
    }
    level->bandwidth = rate * 1e9;
    level->latency = delay * hops * 1e-9;
    level->oversubscription = 1;
    return NEST_OK;
}

static enum nest_status import_analytical(struct nest_job *job, const struct nest_node *root)
{
    const struct nest_node *list[LISTS], *item[LISTS];
    struct nest_found_cluster found = {.name = "ASTRA-sim network"};
    enum nest_status status = find_lists(job, root, list);
    if (status != NEST_OK) {
        return status;
    }
    for (int i = 0; i < LISTS; i++) {
        item[i] = list[i]->first;
    }
    bool rings = false, switches = false;
    while (item[0] && status == NEST_OK) {
        status = read_dimension(job, &found, item);
        for (int i = 0; i < LISTS; i++) {
            item[i] = item[i]->next;
        }
        const enum nest_level_kind kind = found.level[found.levels - 1].kind;
        rings = rings || kind == NEST_LEVEL_RING;
        switches = switches || kind == NEST_LEVEL_SWITCH;
    }
    if (status != NEST_OK) {
        return status;
    }
    if (switches) {
        nest_job_note(job, "crossing a switch costs two of the file's link latencies");
    }
    if (rings) {
        nest_job_note(job,
                      "a stack of rings is a torus; the file's bandwidth is taken as all that a "
                      "device has in that dimension");
    }
    return nest_found_cluster_write(job, &found);
}

/* The first generation's JSON: sizes, links and rates in lists of other names. */
static enum nest_status read_old_dimension(struct nest_job *job, struct nest_found_cluster *found,
                                           const struct nest_node *root, const char *topology)
{
    static const char *const key[] = {"units-count", "link-bandwidth", "link-latency",
                                      "links-count"};
    const struct nest_node *item[4];
    double number[4];
    const int index = found->levels;
    struct nest_found_level *level =
        nest_found_level_add(found, nest_arena_printf(job->arena, "dim%d", index), 1);
    double hops;
    if (!read_kind(topology, &level->kind, &hops)) {
        return nest_job_fault_at(job, root, "Ring, Switch or FullyConnected",
                                 "unknown topology '%s'", topology);
    }
    for (int i = 0; i < 4; i++) {
        const struct nest_node *list = nest_node_get(root, key[i]);
        item[i] = list ? list->first : NULL;
        for (int skip = 0; item[i] && skip < index; skip++) {
            item[i] = item[i]->next;
        }
        number[i] = 1; /* links-count may be missing */
        if ((!item[i] && i < 3) || (item[i] && (!nest_text_number(item[i]->text, &number[i]) ||
                                                !(number[i] >= 0 && number[i] <= 1e9)))) {
            return nest_job_fault_at(job,
                                     item[i] ? item[i]
                                     : list  ? list
                                             : root,
                                     "one number per dimension", "no %s of dimension %d", key[i],
                                     index);
        }
    }
    if (number[0] < 1 || number[0] > 1 << 24 || number[1] <= 0) {
        return nest_job_fault_at(job, item[number[1] <= 0], "1 or more", "a %s of nothing",
                                 key[number[1] <= 0]);
    }
    level->fanout = (int64_t)number[0];
    level->bandwidth = number[1] * number[3] * 1e9;
    level->latency = number[2] * hops * 1e-9;
    level->oversubscription = 1;
    return NEST_OK;
}

static enum nest_status import_old(struct nest_job *job, const struct nest_node *root)
{
    struct nest_found_cluster found = {.name = "ASTRA-sim network"};
    const struct nest_node *kinds = nest_node_get(root, "topologies-per-dim");
    const struct nest_node *whole = nest_node_get(root, "topology-name");
    const struct nest_node *kind = kinds ? kinds->first : whole;
    const struct nest_node *sizes = nest_node_get(root, "units-count");
    if (!kind || sizes->kind != NEST_NODE_SEQUENCE || sizes->count < 1 ||
        sizes->count > NEST_MAX_LEVELS || (kinds && kinds->count != sizes->count)) {
        return nest_job_fault_at(job, sizes, "topologies-per-dim and units-count, equally long",
                                 "the lists of dimensions do not fit each other");
    }
    enum nest_status status = NEST_OK;
    for (int i = 0; i < sizes->count && status == NEST_OK; i++) {
        status = read_old_dimension(job, &found, root, kind->text);
        kind = kinds ? kind->next : kind;
    }
    if (status != NEST_OK) {
        return status;
    }
    nest_job_note(job, "the first generation's JSON: a device has links-count links of "
                       "link-bandwidth in a dimension; crossing a switch costs two latencies");
    return nest_found_cluster_write(job, &found);
}

static enum nest_status import_logical(struct nest_job *job, const struct nest_node *dims)
{
    struct nest_found_cluster found = {.name = "ASTRA-sim logical dimensions"};
    if (dims->kind != NEST_NODE_SEQUENCE || dims->count == 0 || dims->count > NEST_MAX_LEVELS) {
        return nest_job_fault_at(job, dims, "a list such as [\"8\", \"4\"]", "no dimensions");
    }
    for (const struct nest_node *item = dims->first; item; item = item->next) {
        int64_t fanout;
        if (!nest_text_int(item->text, &fanout) || fanout < 1 || fanout > 1 << 24) {
            return nest_job_fault_at(job, item, "a whole number from 1", "'%s' is no dimension",
                                     item->text);
        }
        (void)nest_found_level_add(&found, nest_arena_printf(job->arena, "dim%d", found.levels),
                                   fanout);
    }
    nest_job_note(job, "logical dimensions have sizes only: the network itself is in another file");
    return nest_found_cluster_write(job, &found);
}

/* ---- htsim ---------------------------------------------------------------------------------- */

enum { TIERS_MAX = 3 };

struct tier {
    double speed, latency, switch_latency; /* bytes/s, seconds */
    int64_t down, up, bundle;
};

struct htsim {
    struct nest_job *job;
    int64_t nodes, tiers, pod;
    int at; /* the tier being read, -1 = the head */
    struct tier tier[TIERS_MAX];
};

static enum nest_status read_key(struct htsim *h, struct nest_piece key, struct nest_piece value,
                                 int line)
{
    double number = 0;
    if (!nest_piece_number(value, &number) || number < 0 || number > 1e12) {
        return nest_job_fault(h->job, line, value.column, "a number", "'%.*s' is no number",
                              (int)value.length, value.text);
    }
    const int64_t whole = (int64_t)number;
    struct tier *t = h->at >= 0 ? &h->tier[h->at] : NULL;
    if (nest_piece_is(key, "Tier")) {
        if (whole >= TIERS_MAX || number < 0) {
            return nest_job_fault(h->job, line, value.column, "tiers 0, 1 and 2", "no such tier");
        }
        h->at = (int)whole;
        h->tier[whole].bundle = 1;
    } else if (!t) {
        int64_t *place = nest_piece_is(key, "Nodes")     ? &h->nodes
                         : nest_piece_is(key, "Tiers")   ? &h->tiers
                         : nest_piece_is(key, "Podsize") ? &h->pod
                                                         : NULL;
        if (place) {
            *place = whole;
        }
    } else if (nest_piece_is(key, "Downlink_speed_Gbps")) {
        t->speed = number * 1e9 / 8;
    } else if (nest_piece_is(key, "Radix_Down")) {
        t->down = whole;
    } else if (nest_piece_is(key, "Radix_Up")) {
        t->up = whole;
    } else if (nest_piece_is(key, "Downlink_Latency_ns")) {
        t->latency = number * 1e-9;
    } else if (nest_piece_is(key, "Switch_Latency_ns")) {
        t->switch_latency = number * 1e-9;
    } else if (nest_piece_is(key, "Bundle")) {
        t->bundle = whole;
    }
    return NEST_OK;
}

static enum nest_status check_htsim(const struct htsim *h)
{
    if (h->nodes < 1 || (h->tiers != 2 && h->tiers != 3) || h->nodes > 1 << 24) {
        return nest_job_fault(h->job, 0, 0, "Nodes, Tiers 2 or 3, and a block per tier",
                              "not an htsim topology");
    }
    for (int i = 0; i < h->tiers; i++) {
        if (h->tier[i].speed <= 0 || h->tier[i].down < 1 || h->tier[i].down > 1 << 24 ||
            h->tier[i].up > 1 << 24 || (i + 1 < h->tiers && h->tier[i].up < 1)) {
            return nest_job_fault(h->job, 0, 0, "Downlink_speed_Gbps, Radix_Down and Radix_Up",
                                  "tier %d lacks a speed or a radix", i);
        }
    }
    const int64_t pod = h->tiers == 3 ? h->pod : h->nodes;
    if (pod < 1 || h->nodes % pod != 0 || pod % h->tier[0].down != 0) {
        return nest_job_fault(h->job, 0, 0, "Nodes a multiple of Podsize, that of Radix_Down",
                              "%lld nodes do not divide into pods of %lld and racks of %lld",
                              (long long)h->nodes, (long long)pod, (long long)h->tier[0].down);
    }
    return NEST_OK;
}

/* Uplinks of a rack, then of a pod, against what their nodes may send. */
static enum nest_status write_htsim(struct htsim *h)
{
    static const char *const name[TIERS_MAX] = {"rack", "pod", "core"};
    const int64_t pod = h->tiers == 3 ? h->pod : h->nodes;
    const int64_t fanout[TIERS_MAX] = {h->tier[0].down, pod / h->tier[0].down, h->nodes / pod};
    const double racks = (double)fanout[1];
    const double aggregations = racks * (double)h->tier[0].up / (double)h->tier[1].down;
    const double uplink[TIERS_MAX] = {0, (double)h->tier[0].up * h->tier[1].speed,
                                      aggregations * (double)h->tier[1].up * h->tier[2].speed};
    const double members[TIERS_MAX] = {1, (double)h->tier[0].down, (double)pod};
    struct nest_found_cluster found = {.name = "htsim fat tree"};
    double delay = 0, worst = 1;
    for (int i = 0; i < h->tiers; i++) {
        struct nest_found_level *level = nest_found_level_add(&found, name[i], fanout[i]);
        const double ratio = i > 0 ? members[i] * h->tier[0].speed / uplink[i] : 1;
        delay += 2 * h->tier[i].latency + h->tier[i].switch_latency;
        worst = ratio > worst ? ratio : worst;
        level->bandwidth = h->tier[0].speed;
        level->latency = delay;
        level->oversubscription = worst;
    }
    nest_job_note(h->job, "latencies are those of all links and switches on the way up and down");
    return nest_found_cluster_write(h->job, &found);
}

static enum nest_status import_htsim(struct nest_job *job)
{
    struct htsim h = {.job = job, .at = -1};
    struct nest_lines lines;
    struct nest_piece line, key, value;
    nest_lines_begin(&lines, &job->file[0]);
    while (nest_lines_next(&lines, &line)) {
        if (!nest_piece_word(&line, &key) || key.text[0] == '#') {
            continue;
        }
        if (!nest_piece_word(&line, &value)) {
            return nest_job_fault(job, lines.number, key.column, NULL, "'%.*s' has no value",
                                  (int)key.length, key.text);
        }
        const enum nest_status status = read_key(&h, key, value, lines.number);
        if (status != NEST_OK) {
            return status;
        }
    }
    const enum nest_status status = check_htsim(&h);
    return status == NEST_OK ? write_htsim(&h) : status;
}

static bool is_htsim(const struct nest_import_file *file)
{
    struct nest_lines lines;
    struct nest_piece line, word;
    nest_lines_begin(&lines, file);
    while (nest_lines_next(&lines, &line)) {
        if (nest_piece_word(&line, &word) && word.text[0] != '#') {
            return nest_piece_is(word, "Nodes") || nest_piece_is(word, "Tiers");
        }
    }
    return false;
}

enum nest_status nest_import_astra(struct nest_job *job)
{
    const struct nest_node *root;
    if (is_htsim(&job->file[0])) {
        return import_htsim(job);
    }
    const enum nest_status status = nest_job_document(job, &root);
    if (status != NEST_OK) {
        return status;
    }
    const struct nest_node *dims = nest_node_get(root, "logical-dims");
    if (nest_node_get(root, "units-count")) {
        return import_old(job, root);
    }
    return dims ? import_logical(job, dims) : import_analytical(job, root);
}
