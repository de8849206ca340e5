#include "cli/collectives.h"

#include <math.h>
#include <stdlib.h>

static const char *const KIND[NEST_TIMING_KINDS] = {"all_reduce", "reduce_scatter", "all_gather",
                                                    "all_to_all", "broadcast",      "transfer"};
static const char *const SPAN[] = {"inside a node", "across nodes"};
enum { DECADES = 13 };

/* Which entries a line is about; negative: any. */
struct filter {
    int span, kind, decade;
};

struct spread {
    int count;
    double mean, median, p90, max, bias;
};

bool nest_collectives_reserve(struct nest_collectives *report, int count)
{
    struct nest_collectives_entry *entry =
        NEST_NEW(report->arena, struct nest_collectives_entry, report->entries + count);
    for (int i = 0; entry && i < report->entries; i++) {
        entry[i] = report->entry[i];
    }
    report->entry = entry;
    return entry != NULL;
}

void nest_collectives_record(struct nest_collectives *report, const struct nest_timing *timing,
                             double predicted)
{
    report->entry[report->entries++] = (struct nest_collectives_entry){timing, predicted};
}

static double error_of(const struct nest_collectives_entry *entry)
{
    return entry->predicted / entry->timing->seconds - 1.0;
}

static int decade_of(const struct nest_timing *timing)
{
    return timing->bytes < 1.0 ? 0 : (int)log10(timing->bytes);
}

static bool passes(const struct nest_timing *t, const struct filter *filter)
{
    return (filter->span < 0 || (t->ranks > t->per_domain) == (filter->span == 1)) &&
           (filter->kind < 0 || (int)t->kind == filter->kind) &&
           (filter->decade < 0 || decade_of(t) == filter->decade);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread measure(const struct nest_collectives *report, struct filter filter)
{
    struct spread out = {0};
    double *errors = NEST_NEW(report->arena, double, report->entries + 1);
    for (int i = 0; errors && i < report->entries; i++) {
        if (passes(report->entry[i].timing, &filter)) {
            const double error = error_of(&report->entry[i]);
            errors[out.count++] = fabs(error);
            out.mean += fabs(error);
            out.bias += error;
        }
    }
    if (out.count == 0) {
        return out;
    }
    qsort(errors, (size_t)out.count, sizeof *errors, ascending);
    const int half = out.count / 2;
    out.mean /= out.count;
    out.bias /= out.count;
    out.median = out.count % 2 ? errors[half] : 0.5 * (errors[half - 1] + errors[half]);
    out.p90 = errors[(int)ceil(0.9 * out.count) - 1];
    out.max = errors[out.count - 1];
    return out;
}

/* Calls write for every group of the summary, in order. */
typedef void group_writer(const char *name, const struct spread *spread, void *to);

static void each_group(const struct nest_collectives *report, group_writer *write, void *to)
{
    char name[32];
    struct spread spread = measure(report, (struct filter){-1, -1, -1});
    write("all", &spread, to);
    for (int span = 0; span < 2; span++) {
        spread = measure(report, (struct filter){span, -1, -1});
        write(SPAN[span], &spread, to);
    }
    for (int kind = 0; kind < NEST_TIMING_KINDS; kind++) {
        spread = measure(report, (struct filter){-1, kind, -1});
        write(KIND[kind], &spread, to);
    }
    for (int decade = 0; decade < DECADES; decade++) {
        snprintf(name, sizeof name, "1e%d bytes", decade);
        spread = measure(report, (struct filter){-1, -1, decade});
        write(name, &spread, to);
    }
}

static void print_group(const char *name, const struct spread *s, void *to)
{
    if (s->count > 0) {
        fprintf(to, "  %-34s %4d %7.1f%% %7.1f%% %7.1f%% %7.1f%% %+7.1f%%\n", name, s->count,
                100.0 * s->mean, 100.0 * s->median, 100.0 * s->p90, 100.0 * s->max,
                100.0 * s->bias);
    }
}

void nest_collectives_print(const struct nest_collectives *report, FILE *out)
{
    if (report->entries == 0) {
        return;
    }
    fprintf(out, "%-58s %-14s %12s %12s %8s\n", "collective", "kind", "predicted us", "measured us",
            "error");
    for (int i = 0; i < report->entries; i++) {
        const struct nest_collectives_entry *e = &report->entry[i];
        fprintf(out, "%-58s %-14s %12.5g %12.5g %+7.1f%%\n", e->timing->id, KIND[e->timing->kind],
                1e6 * e->predicted, 1e6 * e->timing->seconds, 100.0 * error_of(e));
    }
    fprintf(out, "\nCollectives\n  %-34s %4s %8s %8s %8s %8s %8s\n", "absolute error", "rows",
            "mean", "median", "p90", "max", "bias");
    each_group(report, print_group, out);
}

void nest_collectives_json_rows(const struct nest_collectives *report, struct nest_json *json)
{
    for (int i = 0; i < report->entries; i++) {
        const struct nest_collectives_entry *e = &report->entry[i];
        nest_json_object(json, NULL);
        nest_json_text(json, "id", e->timing->id);
        nest_json_text(json, "source", e->timing->table);
        nest_json_text(json, "device", e->timing->device);
        nest_json_text(json, "scored", "full");
        nest_json_text(json, "quantity", "collective_time");
        nest_json_text(json, "collective", KIND[e->timing->kind]);
        nest_json_integer(json, "ranks", e->timing->ranks);
        nest_json_number(json, "bytes", e->timing->bytes);
        nest_json_number(json, "predicted", e->predicted);
        nest_json_number(json, "measured", e->timing->seconds);
        nest_json_number(json, "error", error_of(e));
        nest_json_bool(json, "feasible", true);
        nest_json_end(json);
    }
}

static void json_group(const char *name, const struct spread *s, void *to)
{
    if (s->count > 0) {
        struct nest_json *json = to;
        nest_json_object(json, name);
        nest_json_integer(json, "rows", s->count);
        nest_json_number(json, "mean", s->mean);
        nest_json_number(json, "median", s->median);
        nest_json_number(json, "p90", s->p90);
        nest_json_number(json, "max", s->max);
        nest_json_number(json, "bias", s->bias);
        nest_json_end(json);
    }
}

void nest_collectives_json_summary(const struct nest_collectives *report, struct nest_json *json)
{
    nest_json_object(json, "collectives");
    each_group(report, json_group, json);
    nest_json_end(json);
}
