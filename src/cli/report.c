#include "cli/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/request.h"
#include "input/set.h"
#include "plan/words.h"

enum { TEXT_MAX = 256, BAR_WIDTH = 30, BAR_OVER = 4, STEP_BAR = 30 };
enum { STAGES_SHOWN = 16, HEAD_STAGES = 8, TAIL_STAGES = 4 };

static const double GIB = 1024.0 * 1024.0 * 1024.0;

static bool speaks_utf8(void)
{
    static const char *const name[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        const char *value = getenv(name[i]);
        if (value != NULL && value[0] != '\0') {
            return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "UTF8") != NULL;
        }
    }
    return false;
}

struct nest_style nest_style_for(struct nest_cli *cli)
{
    const enum nest_color when = nest_cli_color(cli);
    const char *no_color = getenv("NO_COLOR");
    const bool refused = no_color != NULL && no_color[0] != '\0';
    const char *type = getenv("TERM");
    const bool terminal = isatty(fileno(cli->out)) == 1 && type != NULL && type[0] != '\0' &&
                          strcmp(type, "dumb") != 0;
    return (struct nest_style){
        .color = when == NEST_COLOR_ALWAYS || (when == NEST_COLOR_AUTO && terminal && !refused),
        .utf8 = speaks_utf8(),
    };
}

/* Where the report goes, and how. */
struct page {
    FILE *out;
    struct nest_style style;
};

static void heading(const struct page *page, const char *text)
{
    (void)fprintf(page->out, page->style.color ? "\n\033[1m%s\033[0m" : "\n%s", text);
}

static void write_header(const struct page *page, const struct nest_outcome *d)
{
    const struct nest_problem *problem = d->problem;
    const struct nest_prediction *p = d->prediction;
    char devices[32], all[32], tokens[32], step[32], memory[32];
    (void)fprintf(page->out, page->style.color ? "\033[1m%s on %s\033[0m\n" : "%s on %s\n",
                  d->scenario->model.name, d->scenario->cluster.name);
    (void)fprintf(
        page->out, "%s of %s devices (%s, %s)",
        nest_count_format(d->plan->devices_used, devices, sizeof devices),
        nest_count_format(problem->cluster->devices, all, sizeof all),
        problem->cluster->device->name,
        nest_unit_format((double)problem->memory_limit, NEST_UNIT_BYTES, memory, sizeof memory));
    (void)fprintf(page->out, ", batch %" PRId64 " x %" PRId64 " tokens, %s\n",
                  problem->train.global_batch, problem->model->spec->seq,
                  nest_precision_name(problem->train.precision));
    if (!p->feasible) {
        (void)fputs("NOT FEASIBLE: the memory limit is exceeded; the figures are what it would "
                    "take\n",
                    page->out);
    }
    (void)fprintf(page->out, "step %s%s, %s tokens/s",
                  nest_unit_format(nest_to_seconds(p->step), NEST_UNIT_SECONDS, step, sizeof step),
                  d->touched && d->touched->step ? "*" : "",
                  nest_count_format((int64_t)p->tokens_per_s, tokens, sizeof tokens));
    (void)fprintf(page->out, ", %.1f TFLOP/s per device, MFU %.1f%%\n", p->tflops_per_device,
                  100.0 * p->mfu);
}

/* What of a mixed cluster the plan leaves out, and what devices that are down cost. */
static void write_devices(const struct page *page, const struct nest_outcome *d)
{
    const struct nest_cluster *cluster = d->problem->cluster;
    const int selection = d->plan->strategy.selection;
    char used[TEXT_MAX], left[TEXT_MAX];
    if (selection > 0 && cluster->mixed) {
        (void)fprintf(
            page->out, "uses %s alone; leaves out %s\n",
            nest_kinds_format(cluster, (unsigned)selection, used, sizeof used),
            nest_kinds_format(cluster, cluster->kept & ~(unsigned)selection, left, sizeof left));
    } else if (selection > 0) {
        (void)fprintf(page->out,
                      "leaves out %" PRId64 " devices of groups that are smaller than others\n",
                      cluster->devices - nest_cluster_selected(cluster, selection)->devices);
    }
    if (d->loss != NULL && d->loss->down > 0) {
        struct nest_strbuf text = NEST_STRBUF_INIT(1 << 12);
        nest_loss_write(d->problem, d->loss, page->style.utf8 ? "\u2192" : "->", &text);
        (void)fprintf(page->out, "%s\n", nest_strbuf_text(&text));
        nest_strbuf_free(&text);
    }
}

static void write_measured(const struct page *page, const struct nest_outcome *d)
{
    char text[TEXT_MAX];
    if (nest_measured_format(d->problem->model, d->plan->strategy.tp, text, sizeof text)) {
        (void)fprintf(page->out, "        %s\n", text);
    }
}

static void write_plan(const struct page *page, const struct nest_outcome *d)
{
    char text[TEXT_MAX], order[64];
    heading(page, "Plan");
    (void)fprintf(page->out, "    %s\n", nest_plan_format(d->plan, text, sizeof text));
    (void)fprintf(page->out, "        %" PRId64 " microbatches per replica, device order %s\n",
                  d->plan->microbatches,
                  nest_order_format(&d->plan->strategy, order, sizeof order));
    write_measured(page, d);
    if (d->assumed != NULL && d->assumed[0] != NULL) {
        (void)fputs("        assumed:", page->out);
        for (const char *const *name = d->assumed; *name != NULL; name++) {
            (void)fprintf(page->out, " %s", *name);
        }
        (void)fputc('\n', page->out);
    }
}

/* Memory as letters, one for each BAR_WIDTH-th of the limit; what is over the limit shows beyond
 * the bar's end. */
static void write_memory_bar(const struct page *page, const struct nest_memory *m, int64_t limit)
{
    const int64_t other = m->total - m->weights - m->gradients - m->optimizer - m->activations;
    const struct {
        char letter;
        const char *color;
        int64_t bytes;
    } term[] = {
        {'W', "\033[34m", m->weights},   {'G', "\033[36m", m->gradients},
        {'O', "\033[35m", m->optimizer}, {'A', "\033[32m", m->activations},
        {'+', "\033[33m", other},
    };
    double sum = 0;
    int at = 0;
    for (size_t i = 0; i < sizeof term / sizeof term[0]; i++) {
        sum += (double)term[i].bytes;
        const double share = limit > 0 ? sum / (double)limit : 1.0;
        const int whole = (int)(share * BAR_WIDTH + 0.5);
        const int end = whole < BAR_WIDTH + BAR_OVER ? whole : BAR_WIDTH + BAR_OVER;
        (void)fputs(page->style.color && end > at ? term[i].color : "", page->out);
        for (; at < end; at++) {
            (void)fputs(at == BAR_WIDTH ? "|" : "", page->out);
            (void)fputc(term[i].letter, page->out);
        }
        (void)fputs(page->style.color ? "\033[0m" : "", page->out);
    }
    for (; at < BAR_WIDTH; at++) {
        (void)fputc('.', page->out);
    }
    (void)fputs(at == BAR_WIDTH ? "|" : "", page->out);
}

static const char *level_name(const struct nest_problem *problem, int level)
{
    return level < 0 ? "" : problem->cluster->level[level].name;
}

/* Calls row for the stages that are shown; a long pipeline's middle is one line. */
static void each_stage(const struct page *page, const struct nest_outcome *d,
                       void (*row)(const struct page *page, const struct nest_outcome *d, int i))
{
    const int stages = d->plan->stages;
    for (int i = 0; i < stages; i++) {
        if (stages > STAGES_SHOWN && i >= HEAD_STAGES && i < stages - TAIL_STAGES) {
            (void)fprintf(page->out, "    … %d more\n", stages - HEAD_STAGES - TAIL_STAGES);
            i = stages - TAIL_STAGES;
        }
        row(page, d, i);
    }
}

static void stage_row(const struct page *page, const struct nest_outcome *d, int i)
{
    const struct nest_plan_stage *stage = &d->plan->stage[i];
    const struct nest_stage_cost *cost = &d->prediction->stage[i];
    char layers[TEXT_MAX], load[32], tp[32] = "";
    if (stage->tp != d->plan->strategy.tp) {
        (void)snprintf(tp, sizeof tp, " tp %" PRId64, stage->tp);
    }
    (void)fprintf(
        page->out, "  %3d  %-12s %-9s %9s%s ", i,
        nest_layers_format(stage, d->problem->model, layers, sizeof layers),
        nest_recompute_word(stage->recompute),
        nest_unit_format(nest_to_seconds(cost->load), NEST_UNIT_SECONDS, load, sizeof load),
        d->touched && d->touched->time[i] ? "*" : " ");
    write_memory_bar(page, &cost->memory, nest_stage_limit(d->prediction, i));
    (void)fprintf(page->out, "%7.1f%s", (double)cost->memory.total / GIB,
                  d->touched && d->touched->memory[i] ? "*" : "");
    (void)fprintf(page->out, stage->zero != d->plan->strategy.zero ? "  zero %d" : "%.0d",
                  stage->zero != d->plan->strategy.zero ? stage->zero : 0);
    (void)fprintf(page->out, "%s%s%s", tp, stage->out_level >= 0 ? "  " : "",
                  level_name(d->problem, stage->out_level));
    const unsigned kinds =
        d->problem->cluster->mixed ? nest_stage_kinds(d->problem, d->plan, i) : 0;
    (void)fprintf(page->out, "%s%s\n", kinds != 0 ? "  on " : "",
                  nest_devices_format(d->problem->cluster, kinds, layers, sizeof layers));
}

static void write_legend(const struct page *page, const struct nest_touched *touched)
{
    struct nest_strbuf hooks = NEST_STRBUF_INIT(TEXT_MAX);
    char step[32];
    nest_hooks_format(touched->hooks, &hooks);
    (void)fprintf(page->out, "       * changed by overrides (%s); without them: step %s\n",
                  nest_strbuf_text(&hooks),
                  nest_unit_format(nest_to_seconds(touched->plain.step), NEST_UNIT_SECONDS, step,
                                   sizeof step));
    nest_strbuf_free(&hooks);
}

static void write_stages(const struct page *page, const struct nest_outcome *d)
{
    heading(page, "Stages");
    (void)fprintf(
        page->out, "  layers     recompute      load  memory per device, limit %.1f GiB%s\n",
        (double)d->prediction->memory_limit / GIB, d->plan->stages > 1 ? ", link to the next" : "");
    each_stage(page, d, stage_row);
    (void)fputs("       W weights  G gradients  O optimizer  A activations  + other\n", page->out);
    if (d->touched) {
        write_legend(page, d->touched);
    }
}

static void memory_row(const struct page *page, const struct nest_outcome *d, int i)
{
    const struct nest_memory *m = &d->prediction->stage[i].memory;
    const int64_t value[] = {m->weights, m->gradients, m->optimizer, m->activations, m->logits,
                             m->working, m->gathered,  m->buffers,   m->reserve,     m->total};
    (void)fprintf(page->out, "  %3d", i);
    for (size_t k = 0; k < sizeof value / sizeof value[0]; k++) {
        (void)fprintf(page->out, " %7.2f", (double)value[k] / GIB);
    }
    (void)fputs(d->touched && d->touched->memory[i] ? "*\n" : "\n", page->out);
}

static void write_memory(const struct page *page, const struct nest_outcome *d)
{
    heading(page, "Memory, GiB\n");
    (void)fputs("      weights   grads   optim    acts  logits working  gather buffers reserve   "
                "total\n",
                page->out);
    each_stage(page, d, memory_row);
}

static void write_breakdown(const struct page *page, const struct nest_outcome *d)
{
    const struct nest_breakdown *b = &d->prediction->breakdown;
    const struct {
        const char *name, *what;
        nest_ps time;
    } part[] = {
        {"compute", "the bottleneck stage's own kernels", b->compute},
        {"recompute", "forward done again", b->recompute},
        {"tp", "tensor parallel collectives", b->tp},
        {"cp", "context parallel ring", b->cp},
        {"ep", "expert all-to-all", b->ep},
        {"pp", "stage boundaries", b->pp},
        {"bubble", "waiting while the pipeline fills and drains", b->bubble},
        {"dp", "gradients and weights between replicas", b->dp},
        {"optimizer", "the update", b->optimizer},
    };
    heading(page, "Step\n");
    const double step = nest_to_seconds(d->prediction->step);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        if (part[i].time == 0) {
            continue;
        }
        const double share = step > 0 ? nest_to_seconds(part[i].time) / step : 0;
        char text[32];
        (void)fprintf(
            page->out, "  %-10s %9s %5.1f%%  ", part[i].name,
            nest_unit_format(nest_to_seconds(part[i].time), NEST_UNIT_SECONDS, text, sizeof text),
            100 * share);
        for (int n = (int)(share * STEP_BAR + 0.5); n > 0; n--) {
            (void)fputs(page->style.utf8 ? "\u2587" : "#", page->out);
        }
        (void)fprintf(page->out, "%s%s\n", share * STEP_BAR >= 0.5 ? "  " : "", part[i].what);
    }
}

void nest_report_alternatives(const struct nest_solution *solution, int count, nest_ps best,
                              FILE *out)
{
    for (int i = 0; i < count; i++) {
        const struct nest_plan *plan = &solution[i].plan;
        const enum nest_recompute recompute = nest_plan_heaviest(plan);
        const double seconds = nest_to_seconds(solution[i].prediction.step);
        char step[32], text[TEXT_MAX], order[64];
        (void)fprintf(out, "  %9s %+5.1f%%  %s%s%s, %s\n",
                      nest_unit_format(seconds, NEST_UNIT_SECONDS, step, sizeof step),
                      best > 0 ? 100 * (seconds / nest_to_seconds(best) - 1) : 0,
                      nest_plan_format(plan, text, sizeof text),
                      recompute != NEST_RECOMPUTE_NONE ? ", recompute " : "",
                      recompute != NEST_RECOMPUTE_NONE ? nest_recompute_word(recompute) : "",
                      nest_order_format(&plan->strategy, order, sizeof order));
    }
}

/* "the same plan would take 0.12 s (1.6%) less with …". */
static void write_gain(const struct page *page, nest_ps gain, nest_ps step, const char *what)
{
    char text[32];
    (void)fprintf(page->out, "  %s less (%.1f%%) if %s\n",
                  nest_unit_format(nest_to_seconds(gain), NEST_UNIT_SECONDS, text, sizeof text),
                  100 * nest_to_seconds(gain) / nest_to_seconds(step), what);
}

static void write_binding(const struct page *page, const struct nest_report *report)
{
    const struct nest_outcome *d = report->outcome;
    const struct nest_binding *bind = report->binding;
    const struct nest_prediction *p = d->prediction;
    char what[TEXT_MAX];
    heading(page, "What binds\n");
    (void)fprintf(page->out, "  memory of stage %d: %.1f GiB %s\n", bind->tightest,
                  (double)(bind->slack < 0 ? -bind->slack : bind->slack) / GIB,
                  bind->slack < 0 ? "over the limit" : "left");
    if (report->unlimited > 0 && report->unlimited < p->step) {
        write_gain(page, p->step - report->unlimited, p->step, "there were no memory limit");
    } else if (report->unlimited > 0) {
        (void)fputs("  no memory limit would not help: the best plan stays as fast\n", page->out);
    }
    write_gain(page, bind->compute_gain, p->step, "devices were twice as fast (same plan)");
    for (int l = bind->levels - 1; l >= 0; l--) {
        if (bind->level_gain[l] > 0) {
            (void)snprintf(what, sizeof what, "%s bandwidth doubled (same plan)",
                           level_name(d->problem, l));
            write_gain(page, bind->level_gain[l], p->step, what);
        }
    }
    if (p->breakdown.bubble > 0) {
        write_gain(page, p->breakdown.bubble, p->step, "the pipeline had no bubble");
    }
}

static void write_search(const struct page *page, const struct nest_progress *search)
{
    char strategies[32], states[32], seconds[32];
    (void)fprintf(page->out,
                  "\nsearched %s strategies in %s: %" PRId64 " solved, the rest bounded; "
                  "%s states\n",
                  nest_count_format(search->strategies, strategies, sizeof strategies),
                  nest_unit_format(search->seconds, NEST_UNIT_SECONDS, seconds, sizeof seconds),
                  search->solved, nest_count_format(search->states, states, sizeof states));
}

void nest_report_write(const struct nest_report *report, struct nest_style style, FILE *out)
{
    const struct page page = {out, style};
    const struct nest_outcome *d = report->outcome;
    write_header(&page, d);
    write_devices(&page, d);
    write_plan(&page, d);
    write_stages(&page, d);
    write_memory(&page, d);
    write_breakdown(&page, d);
    if (d->alternatives > 0) {
        heading(&page, "Next best\n");
        nest_report_alternatives(d->alternative, d->alternatives, d->prediction->step, out);
    }
    if (report->binding != NULL) {
        write_binding(&page, report);
    }
    if (d->search != NULL) {
        write_search(&page, d->search);
    }
}
