#include "cli/validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/peers.h"
#include "export/json.h"
#include "input/set.h"

enum { JSON_MOST = 1 << 28 };

/* Absolute errors of the entries that a filter lets through. */
struct spread {
    int count;
    double mean, median, p90, max, bias;
};

/* Which entries a line of the summary is about; NULL or negative: any. */
struct filter {
    enum nest_run_scored scored;
    bool memory; /* memory, or speed */
    const char *table, *device;
    int quantity;
};

bool nest_validation_add(struct nest_validation *report, const struct nest_measurement *runs,
                         int count)
{
    const int total = report->runs + count;
    const struct nest_measurement **all =
        NEST_NEW(report->arena, const struct nest_measurement *, total);
    report->entry = NEST_NEW(report->arena, struct nest_validation_entry, 2 * total);
    if (!all || !report->entry) {
        return false;
    }
    for (int i = 0; i < total; i++) {
        all[i] = i < report->runs ? report->run[i] : &runs[i - report->runs];
    }
    report->run = all;
    report->runs = total;
    return true;
}

bool nest_validation_add_peers(struct nest_validation *report,
                               const struct nest_peer_prediction *peers, int count)
{
    const int total = report->peers + count;
    struct nest_peer_prediction *all =
        NEST_NEW(report->arena, struct nest_peer_prediction, total + 1);
    if (!all) {
        return false;
    }
    for (int i = 0; i < total; i++) {
        all[i] = i < report->peers ? report->peer[i] : peers[i - report->peers];
    }
    report->peer = all;
    report->peers = total;
    return true;
}

void nest_validation_record(struct nest_validation *report, const struct nest_measurement *run,
                            const struct nest_judged *judged)
{
    const struct nest_prediction *p = &judged->prediction;
    for (int i = 0; i < judged->verdicts; i++) {
        report->entry[report->entries++] = (struct nest_validation_entry){
            run, judged->verdict[i], judged->feasible, judged->recompute, p->breakdown};
    }
    if (run->kind == NEST_RUN_OUT_OF_MEMORY && judged->verdicts == 0) {
        const struct nest_verdict verdict = {
            .quantity = NEST_QUANTITY_MEMORY,
            .predicted = (double)p->stage[p->worst_stage].memory.total / 1073741824.0};
        report->entry[report->entries++] = (struct nest_validation_entry){
            run, verdict, judged->feasible, judged->recompute, p->breakdown};
    }
}

static bool passes(const struct nest_validation_entry *entry, const struct filter *filter)
{
    const struct nest_measurement *run = entry->run;
    return run->kind == NEST_RUN_MEASURED && run->scored == filter->scored &&
           filter->memory == (entry->verdict.quantity == NEST_QUANTITY_MEMORY) &&
           (!filter->table || strcmp(run->table, filter->table) == 0) &&
           (!filter->device || strcmp(run->device, filter->device) == 0) &&
           (filter->quantity < 0 || (int)entry->verdict.quantity == filter->quantity);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread measure(const struct nest_validation *report, const struct filter *filter)
{
    struct spread out = {0};
    double *errors = NEST_NEW(report->arena, double, report->entries + 1);
    if (!errors) {
        return out;
    }
    for (int i = 0; i < report->entries; i++) {
        if (passes(&report->entry[i], filter)) {
            const double error = report->entry[i].verdict.error;
            errors[out.count++] = fabs(error);
            out.mean += fabs(error);
            out.bias += error;
        }
    }
    if (out.count == 0) {
        return out;
    }
    qsort(errors, (size_t)out.count, sizeof *errors, ascending);
    out.mean /= out.count;
    out.bias /= out.count;
    out.median = out.count % 2 ? errors[out.count / 2]
                               : 0.5 * (errors[out.count / 2 - 1] + errors[out.count / 2]);
    out.p90 = errors[(int)ceil(0.9 * out.count) - 1];
    out.max = errors[out.count - 1];
    return out;
}

static void print_spread(FILE *out, const char *name, const struct spread *s)
{
    if (s->count > 0) {
        fprintf(out, "  %-34s %4d %7.1f%% %7.1f%% %7.1f%% %7.1f%% %+7.1f%%\n", name, s->count,
                100.0 * s->mean, 100.0 * s->median, 100.0 * s->p90, 100.0 * s->max,
                100.0 * s->bias);
    }
}

static void print_rows(const struct nest_validation *report, FILE *out)
{
    fprintf(out, "%-58s %-9s %12s %12s %8s\n", "run", "quantity", "predicted", "measured", "error");
    for (int i = 0; i < report->entries; i++) {
        const struct nest_validation_entry *e = &report->entry[i];
        const char *name = nest_quantity_name(e->verdict.quantity);
        if (e->verdict.measured > 0.0) {
            fprintf(out, "%-58s %-9s %12.4g %12.4g %+7.1f%%%s\n", e->run->id, name,
                    e->verdict.predicted, e->verdict.measured, 100.0 * e->verdict.error,
                    e->feasible ? "" : "  does not fit");
        } else {
            fprintf(out, "%-58s %-9s %12.4g %12s %8s  %s\n", e->run->id, name, e->verdict.predicted,
                    "too much", "", e->feasible ? "predicted to fit" : "does not fit");
        }
    }
}

/* True where no earlier entry has the same text. */
static bool is_first(const struct nest_validation *report, int i, bool by_table)
{
    for (int j = 0; j < i; j++) {
        const struct nest_measurement *a = report->entry[j].run;
        const struct nest_measurement *b = report->entry[i].run;
        if (strcmp(by_table ? a->table : a->device, by_table ? b->table : b->device) == 0) {
            return false;
        }
    }
    return true;
}

static void print_groups(const struct nest_validation *report, struct filter filter, FILE *out)
{
    for (int by = 0; by < 2; by++) {
        fprintf(out, " by %s\n", by == 0 ? "source" : "device");
        for (int i = 0; i < report->entries; i++) {
            if (!is_first(report, i, by == 0)) {
                continue;
            }
            const struct nest_measurement *run = report->entry[i].run;
            filter.table = by == 0 ? run->table : NULL;
            filter.device = by == 0 ? NULL : run->device;
            const struct spread s = measure(report, &filter);
            print_spread(out, by == 0 ? run->table : run->device, &s);
        }
    }
    filter.table = filter.device = NULL;
    fprintf(out, " by quantity\n");
    for (filter.quantity = 0; filter.quantity < NEST_QUANTITIES; filter.quantity++) {
        const struct spread s = measure(report, &filter);
        print_spread(out, nest_quantity_name((enum nest_quantity)filter.quantity), &s);
    }
}

/* Runs that happened and are said not to fit; runs that did not fit and are said to. */
static int count_verdicts(const struct nest_validation *report, bool happened, int *wrong)
{
    int count = 0;
    const struct nest_measurement *last = NULL;
    *wrong = 0;
    for (int i = 0; i < report->entries; i++) {
        const struct nest_validation_entry *e = &report->entry[i];
        const bool counted =
            happened ? e->run->kind == NEST_RUN_MEASURED && e->run->scored == NEST_SCORED_FULL
                     : e->run->kind == NEST_RUN_OUT_OF_MEMORY;
        if (counted && e->run != last) {
            count++;
            *wrong += e->feasible != happened;
            last = e->run;
        }
    }
    return count;
}

void nest_validation_print(const struct nest_validation *report, FILE *out)
{
    static const char *const title[] = {"configuration fully stated",
                                        "recomputation or sharding not stated"};
    nest_collectives_print(&report->collectives, out);
    if (report->runs == 0) {
        return;
    }
    print_rows(report, out);
    for (int memory = 0; memory < 2; memory++) {
        for (int scored = 0; scored < 2; scored++) {
            const struct filter filter = {
                .scored = (enum nest_run_scored)scored, .memory = memory, .quantity = -1};
            const struct spread s = measure(report, &filter);
            if (s.count == 0) {
                continue;
            }
            fprintf(out, "\n%s, %s\n", memory ? "Memory" : "Speed", title[scored]);
            fprintf(out, "  %-34s %4s %8s %8s %8s %8s %8s\n", "absolute error", "rows", "mean",
                    "median", "p90", "max", "bias");
            print_spread(out, "all", &s);
            print_groups(report, filter, out);
        }
    }
    nest_peers_print(report, out);
    int wrong;
    const int happened = count_verdicts(report, true, &wrong);
    fprintf(out, "\nFully stated runs predicted not to fit: %d of %d\n", wrong, happened);
    const int failed = count_verdicts(report, false, &wrong);
    fprintf(out, "Runs out of memory predicted to fit: %d of %d\n", wrong, failed);
    fprintf(out, "Runs that could not be rebuilt: %d\n", report->skipped);
}

static void markdown_row(const struct nest_validation *report, const char *name,
                         const struct filter *filter, FILE *out)
{
    const struct spread s = measure(report, filter);
    if (s.count > 0) {
        fprintf(out, "| %s | %d | %.1f%% | %.1f%% | %.1f%% | %.1f%% | %+.1f%% |\n", name, s.count,
                100.0 * s.mean, 100.0 * s.median, 100.0 * s.p90, 100.0 * s.max, 100.0 * s.bias);
    }
}

void nest_validation_markdown(const struct nest_validation *report, FILE *out)
{
    for (int memory = 0; memory < 2; memory++) {
        struct filter filter = {.scored = NEST_SCORED_FULL, .memory = memory, .quantity = -1};
        fprintf(out, "| %s | rows | mean | median | p90 | max | bias |\n",
                memory ? "memory" : "speed");
        fprintf(out, "| --- | --- | --- | --- | --- | --- | --- |\n");
        markdown_row(report, "**all**", &filter, out);
        for (int by = 0; by < 2; by++) {
            for (int i = 0; i < report->entries; i++) {
                const struct nest_measurement *run = report->entry[i].run;
                if (is_first(report, i, by == 0)) {
                    filter.table = by == 0 ? run->table : NULL;
                    filter.device = by == 0 ? NULL : run->device;
                    markdown_row(report, by == 0 ? run->table : run->device, &filter, out);
                }
            }
        }
        fprintf(out, "\n");
    }
    nest_peers_markdown(report, out);
}

static void json_spread(struct nest_json *json, const char *name, const struct spread *s)
{
    nest_json_object(json, name);
    nest_json_integer(json, "rows", s->count);
    nest_json_number(json, "mean", s->mean);
    nest_json_number(json, "median", s->median);
    nest_json_number(json, "p90", s->p90);
    nest_json_number(json, "max", s->max);
    nest_json_number(json, "bias", s->bias);
    nest_json_end(json);
}

static void json_rows(const struct nest_validation *report, struct nest_json *json)
{
    static const char *const scored[] = {"full", "partial", "no"};
    for (int i = 0; i < report->entries; i++) {
        const struct nest_validation_entry *e = &report->entry[i];
        nest_json_object(json, NULL);
        nest_json_text(json, "id", e->run->id);
        nest_json_text(json, "source", e->run->table);
        nest_json_text(json, "device", e->run->device);
        nest_json_text(json, "scored", scored[e->run->scored]);
        nest_json_text(json, "quantity", nest_quantity_name(e->verdict.quantity));
        nest_json_number(json, "predicted", e->verdict.predicted);
        if (e->verdict.measured > 0.0) {
            nest_json_number(json, "measured", e->verdict.measured);
            nest_json_number(json, "error", e->verdict.error);
        } else {
            nest_json_null(json, "measured");
            nest_json_null(json, "error");
        }
        nest_json_bool(json, "feasible", e->feasible);
        nest_json_text(json, "recompute", nest_recompute_word(e->recompute));
        nest_json_breakdown(json, &e->breakdown);
        nest_json_end(json);
    }
}

static void json_groups(const struct nest_validation *report, bool by_table, struct nest_json *json)
{
    nest_json_object(json, by_table ? "by_source" : "by_device");
    for (int i = 0; i < report->entries; i++) {
        const struct nest_measurement *run = report->entry[i].run;
        const struct filter filter = {.scored = NEST_SCORED_FULL,
                                      .table = by_table ? run->table : NULL,
                                      .device = by_table ? NULL : run->device,
                                      .quantity = -1};
        const struct spread s = measure(report, &filter);
        if (is_first(report, i, by_table) && s.count > 0) {
            json_spread(json, by_table ? run->table : run->device, &s);
        }
    }
    nest_json_end(json);
}

static void json_summary(const struct nest_validation *report, struct nest_json *json)
{
    static const char *const name[2][2] = {{"full", "partial"}, {"memory", "memory_partial"}};
    nest_json_object(json, "summary");
    for (int memory = 0; memory < 2; memory++) {
        for (int scored = 0; scored < 2; scored++) {
            const struct filter filter = {
                .scored = (enum nest_run_scored)scored, .memory = memory, .quantity = -1};
            const struct spread s = measure(report, &filter);
            json_spread(json, name[memory][scored], &s);
        }
    }
    nest_collectives_json_summary(&report->collectives, json);
    json_groups(report, true, json);
    json_groups(report, false, json);
    nest_peers_json(report, json);
    int wrong;
    nest_json_integer(json, "runs", count_verdicts(report, true, &wrong));
    nest_json_integer(json, "called_infeasible", wrong);
    nest_json_integer(json, "out_of_memory", count_verdicts(report, false, &wrong));
    nest_json_integer(json, "called_feasible", wrong);
    nest_json_integer(json, "skipped", report->skipped);
    nest_json_end(json);
}

bool nest_validation_json(const struct nest_validation *report, FILE *out)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(JSON_MOST);
    struct nest_json json;
    nest_json_start(&json, &text);
    nest_json_object(&json, NULL);
    nest_json_array(&json, "rows");
    json_rows(report, &json);
    nest_collectives_json_rows(&report->collectives, &json);
    nest_json_end(&json);
    json_summary(report, &json);
    nest_json_end(&json);
    const bool whole = !text.failed;
    if (whole) {
        fputs(nest_strbuf_text(&text), out);
    }
    nest_strbuf_free(&text);
    return whole;
}
