/* The command line of the NEST artifact, as its scripts pass it. */
#include <math.h>
#include <string.h>

#include "input/import/cluster_text.h"

/* The artifact multiplies its GB/s by 1024^3. */
static const double GIB = 1073741824.0;

struct arguments {
    struct nest_job *job;
    int levels, rates, delays;
    int64_t fanout[NEST_MAX_LEVELS];
    double rate[NEST_MAX_LEVELS], delay[NEST_MAX_LEVELS];
    int64_t devices;
    const char *setup;
    double memory;
    int faults;
};

static void fault(struct arguments *a, struct nest_piece word, int line, const char *hint,
                  const char *what)
{
    nest_job_fault(a->job, line, word.column, hint, "'%.*s' is %s", (int)word.length, word.text,
                   what);
    a->faults++;
}

/* One value that follows an option. */
static void take(struct arguments *a, const char *option, struct nest_piece word, int line)
{
    double value = 0;
    if (strcmp(option, "--setup_name") == 0) {
        a->setup = nest_piece_copy(word, a->job->arena);
        return;
    }
    const bool levels = strcmp(option, "--devices_per_level") == 0;
    const bool rates = strcmp(option, "--bandwidths_per_level") == 0;
    const bool delays =
        strcmp(option, "--latency_per_level") == 0 || strcmp(option, "--latencies_per_level") == 0;
    const bool devices = strcmp(option, "--num_accelerators") == 0;
    const bool memory = strcmp(option, "--hbm_size") == 0;
    if (!levels && !rates && !delays && !devices && !memory) {
        return;
    }
    if (!nest_piece_number(word, &value) || value < 0 || value > 1e12 || (value == 0 && !delays)) {
        fault(a, word, line, "a number",
              nest_arena_printf(a->job->arena, "no value of %s", option));
        return;
    }
    if ((levels || devices) && value != floor(value)) {
        fault(a, word, line, "a whole number", "a fraction");
        return;
    }
    int *count = levels ? &a->levels : rates ? &a->rates : &a->delays;
    if ((levels || rates || delays) && *count == NEST_MAX_LEVELS) {
        fault(a, word, line, "at most 12 levels", "one level too many");
    } else if (levels) {
        a->fanout[a->levels++] = (int64_t)value;
    } else if (rates) {
        a->rate[a->rates++] = value * GIB;
    } else if (delays) {
        a->delay[a->delays++] = value;
    } else if (devices) {
        a->devices = (int64_t)value;
    } else {
        a->memory = value;
    }
}

/* Options and their values, on one line or several, "--key=value" as well. */
static void read_words(struct arguments *a)
{
    struct nest_lines lines;
    struct nest_piece line, word;
    const char *option = "";
    nest_lines_begin(&lines, &a->job->file[0]);
    while (nest_lines_next(&lines, &line)) {
        while (nest_piece_word(&line, &word)) {
            if (word.text[0] == '#') {
                break;
            }
            if (nest_piece_is(word, "\\")) {
                continue;
            }
            if (!nest_piece_begins(word, "--")) {
                take(a, option, word, lines.number);
                continue;
            }
            const char *equals = memchr(word.text, '=', word.length);
            const size_t n = equals ? (size_t)(equals - word.text) : word.length;
            option = nest_piece_copy((struct nest_piece){word.text, n, word.column}, a->job->arena);
            option = option ? option : "";
            if (equals) {
                take(a, option,
                     (struct nest_piece){equals + 1, word.length - n - 1, word.column + (int)n + 1},
                     lines.number);
            }
        }
    }
}

static enum nest_status check(struct arguments *a)
{
    int64_t product = 1;
    if (a->faults > 0) {
        return NEST_BAD_INPUT;
    }
    if (a->levels == 0) {
        return nest_job_fault(a->job, 0, 0, "such as --devices_per_level 8 4 32",
                              "no --devices_per_level");
    }
    if (a->rates != a->levels || (a->delays > 0 && a->delays != a->levels)) {
        return nest_job_fault(a->job, 0, 0, "as many as --devices_per_level",
                              "%d levels, but %d bandwidths and %d latencies", a->levels, a->rates,
                              a->delays);
    }
    for (int l = 0; l < a->levels; l++) {
        product = product > INT64_MAX / a->fanout[l] ? INT64_MAX : product * a->fanout[l];
    }
    if (a->devices > 0 && product != a->devices) {
        return nest_job_fault(a->job, 0, 0, "fan-outs whose product is --num_accelerators",
                              "the levels join %lld devices, but --num_accelerators is %lld",
                              (long long)product, (long long)a->devices);
    }
    return NEST_OK;
}

enum nest_status nest_import_nest_args(struct nest_job *job)
{
    static const char *const name[] = {"node", "rack", "cluster"};
    static const double usual_delay[] = {1e-4, 2e-4, 3e-4};
    struct arguments a = {.job = job};
    read_words(&a);
    const enum nest_status status = check(&a);
    if (status != NEST_OK) {
        return status;
    }
    struct nest_found_cluster found = {.name = a.setup ? a.setup : "NEST cluster"};
    if (a.setup) {
        found.device = strstr(a.setup, "h100")    ? "h100-sxm-80gb"
                       : strstr(a.setup, "tpuv4") ? "tpu-v4"
                                                  : NULL;
    }
    for (int l = 0; l < a.levels; l++) {
        struct nest_found_level *level = nest_found_level_add(
            &found, l < 3 ? name[l] : nest_arena_printf(job->arena, "tier%d", l + 1), a.fanout[l]);
        level->bandwidth = a.rate[l];
        level->latency = a.delays > 0 ? a.delay[l] : l < 3 ? usual_delay[l] : 3e-4;
        level->oversubscription = 1;
    }
    nest_job_note(job, "the artifact reads its bandwidths as multiples of 1024^3 bytes/s");
    if (a.delays == 0) {
        nest_job_note(job, "latencies are the artifact's defaults: no argument sets them");
    }
    if (a.memory > 0) {
        nest_job_note(job,
                      "--hbm_size %g is a property of the device: set it with --set memory=%gGiB",
                      a.memory, a.memory);
    }
    return nest_found_cluster_write(job, &found);
}
