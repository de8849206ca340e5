#include "input/timing.h"

#include <stdlib.h>
#include <string.h>

#include "input/doc.h"

/* A plateau is reached well before this size. */
static const double PLATEAU_BYTES = 8589934592.0;

/* Seconds across the network: InfiniBand and RoCE, and the two clouds' own transports. Fitted on
 * the latency floors of published all-reduces. */
static const double NETWORK_LATENCY = 5.5e-6;
static const double EFA_LATENCY = 31e-6;
static const double TCPXO_LATENCY = 65e-6;

static const struct {
    const char *word;
    const char *device;
    double scale_up; /* of export variants with fewer links than the device they are built on */
} DEVICE[] = {
    {"GB300", "gb300-nvl72", 0},   {"GB200", "gb200-nvl72", 0},     {"B300", "b300-sxm-288gb", 0},
    {"B200", "b200-sxm-180gb", 0}, {"H800", "h100-sxm-80gb", 2e11}, {"H200", "h200-sxm-141gb", 0},
    {"H100", "h100-sxm-80gb", 0},  {"H20", "h100-sxm-80gb", 0},     {"A100-40", "a100-sxm-40gb", 0},
    {"A100", "a100-sxm-80gb", 0},  {"V100", "v100-sxm2-32gb", 0},   {"MI355", "mi355x", 0},
    {"MI325", "mi325x", 0},        {"MI300", "mi300x", 0},          {"MI250", "mi250x", 0},
    {"SHARP", "h100-sxm-80gb", 0},
};

static const struct {
    const char *word;
    enum nest_timing_kind kind;
} KIND[] = {
    {"all_reduce", NEST_TIMING_ALL_REDUCE},   {"reduce_scatter", NEST_TIMING_REDUCE_SCATTER},
    {"all_gather", NEST_TIMING_ALL_GATHER},   {"alltoall", NEST_TIMING_ALL_TO_ALL},
    {"moe_dispatch", NEST_TIMING_ALL_TO_ALL}, {"moe_combine", NEST_TIMING_ALL_TO_ALL},
    {"broadcast", NEST_TIMING_BROADCAST},     {"sendrecv", NEST_TIMING_TRANSFER},
};

static const char *text(const struct nest_node *record, const char *key)
{
    const struct nest_node *node = nest_node_get(record, key);
    return node && node->kind == NEST_NODE_SCALAR && !nest_node_is_null(node) ? node->text : "";
}

/* 0 where absent; a fault where it is no number. */
static double number(const struct nest_node *record, const char *key, struct nest_errors *errors)
{
    const char *value = text(record, key);
    if (*value == '\0') {
        return 0.0;
    }
    char *end = NULL;
    const double got = strtod(value, &end);
    if (end == value || *end != '\0' || !(got >= 0.0 && got < 1e18)) {
        nest_errors_add(errors, nest_node_get(record, key)->mark, key,
                        "a number that is not negative, or null", "'%s' is not a number", value);
        return 0.0;
    }
    return got;
}

static bool mentions(const char *words, const char *word)
{
    return strstr(words, word) != NULL;
}

double nest_network_latency(const char *words)
{
    return mentions(words, "EFA")     ? EFA_LATENCY
           : mentions(words, "TCPXO") ? TCPXO_LATENCY
                                      : NETWORK_LATENCY;
}

/* "8x 400Gb/s", "4x HDR", "one 400Gb/s": bytes/s of all ports together, and whether they are one
 * device's. 0 where the words state none. */
static double ports_rate(const char *words, bool *each)
{
    const char *rate = strstr(words, "Gb/s");
    double gigabits = 200.0;
    *each = mentions(words, "one ");
    if (rate == NULL) {
        rate = strstr(words, "HDR");
    } else {
        while (rate > words && rate[-1] >= '0' && rate[-1] <= '9') {
            rate--;
        }
        gigabits = strtod(rate, NULL);
    }
    if (rate == NULL) {
        return 0.0;
    }
    const char *times = rate;
    while (times > words && (times[-1] == ' ' || times[-1] == 'x')) {
        times--;
    }
    const char *first = times;
    while (first > words && first[-1] >= '0' && first[-1] <= '9') {
        first--;
    }
    const double ports = first < times ? strtod(first, NULL) : 1.0;
    return ports * gigabits * 1e9 / 8.0;
}

static void read_hardware(const struct nest_node *record, int64_t nodes, struct nest_timing *t)
{
    const char *words = text(record, "hardware");
    for (size_t i = 0; i < sizeof DEVICE / sizeof *DEVICE && !t->device; i++) {
        if (mentions(words, DEVICE[i].word)) {
            t->device = DEVICE[i].device;
            t->scale_up = DEVICE[i].scale_up;
        }
    }
    const int64_t per_node = t->ranks / (nodes > 0 ? nodes : 1);
    const int64_t rack = t->ranks < 72 ? t->ranks : 72;
    t->per_domain = mentions(words, "NVL72") ? rack : per_node > 0 ? per_node : 1;
    bool each = false;
    const double ports = ports_rate(words, &each);
    t->nic = each ? ports : ports / (double)t->per_domain;
    t->latency = nest_network_latency(words);
    t->in_switch =
        !mentions(words, "no SHARP") && !mentions(text(record, "notes"), "NVLS disabled");
}

double nest_timing_factor(enum nest_timing_kind kind, int64_t ranks)
{
    const double n = (double)ranks;
    switch (kind) {
    case NEST_TIMING_ALL_REDUCE:
        return 2.0 * (n - 1.0) / n;
    case NEST_TIMING_BROADCAST:
    case NEST_TIMING_TRANSFER:
        return 1.0;
    default:
        return (n - 1.0) / n;
    }
}

/* False for a record that states neither a time nor a bandwidth, or a collective we do not know. */
static bool read_record(const struct nest_node *record, struct nest_timing *t,
                        struct nest_errors *errors)
{
    t->kind = NEST_TIMING_KINDS;
    t->collective = text(record, "collective");
    for (size_t i = 0; i < sizeof KIND / sizeof *KIND; i++) {
        if (strcmp(t->collective, KIND[i].word) == 0) {
            t->kind = KIND[i].kind;
        }
    }
    t->id = text(record, "id");
    t->source = text(record, "source");
    t->mark = record->mark;
    t->ranks = (int64_t)number(record, "ranks", errors);
    const int64_t nodes = (int64_t)number(record, "nodes", errors);
    const double bytes = number(record, "bytes", errors);
    const double busbw = number(record, "busbw_gbs", errors) * 1e9;
    t->bytes = bytes > 0.0 ? bytes : PLATEAU_BYTES;
    t->seconds = number(record, "time_us", errors) * 1e-6;
    if (t->kind == NEST_TIMING_KINDS || t->ranks < 2) {
        return false;
    }
    if (t->seconds == 0.0 && busbw > 0.0) {
        t->seconds = t->bytes * nest_timing_factor(t->kind, t->ranks) / busbw;
    }
    read_hardware(record, nodes, t);
    return t->seconds > 0.0;
}

enum nest_status nest_timings_read(const struct nest_node *root, const char *table,
                                   struct nest_arena *arena, struct nest_timing **out, int *count,
                                   struct nest_errors *errors)
{
    *count = 0;
    if (root->kind != NEST_NODE_SEQUENCE || root->count == 0 ||
        root->first->kind != NEST_NODE_MAPPING || !nest_node_get(root->first, "collective")) {
        return NEST_NO;
    }
    const size_t before = errors->count;
    *out = NEST_NEW(arena, struct nest_timing, root->count);
    if (!*out) {
        return NEST_NO_MEMORY;
    }
    for (const struct nest_node *node = root->first; node; node = node->next) {
        struct nest_timing timing = {.table = table};
        if (node->kind == NEST_NODE_MAPPING && read_record(node, &timing, errors)) {
            (*out)[(*count)++] = timing;
        }
    }
    return errors->count > before ? NEST_BAD_INPUT : NEST_OK;
}
