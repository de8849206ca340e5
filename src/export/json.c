#include "export/json.h"

#include <string.h>

#include "input/set.h"
#include "model/measured.h"
#include "plan/words.h"

enum { KIND_MAX = 160 };

void nest_json_breakdown(struct nest_json *json, const struct nest_breakdown *b)
{
    const struct {
        const char *name;
        nest_ps time;
    } part[] = {
        {"compute", b->compute},
        {"recompute", b->recompute},
        {"tp", b->tp},
        {"cp", b->cp},
        {"ep", b->ep},
        {"pp", b->pp},
        {"bubble", b->bubble},
        {"dp", b->dp},
        {"optimizer", b->optimizer},
    };
    nest_json_object(json, "breakdown_s");
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        nest_json_number(json, part[i].name, nest_to_seconds(part[i].time));
    }
    nest_json_end(json);
}

void nest_json_figures(struct nest_json *json, const struct nest_prediction *prediction)
{
    nest_json_number(json, "step_time_s", nest_to_seconds(prediction->step));
    nest_json_number(json, "tokens_per_s", prediction->tokens_per_s);
    nest_json_number(json, "tflops_per_device", prediction->tflops_per_device);
    nest_json_number(json, "mfu", prediction->mfu);
    nest_json_breakdown(json, &prediction->breakdown);
}

static void write_level(struct nest_json *json, const char *key, int level)
{
    if (level < 0) {
        nest_json_null(json, key);
    } else {
        nest_json_integer(json, key, level);
    }
}

/* The names of kinds of devices, as a list. */
static void write_kinds(struct nest_json *json, const char *key, const struct nest_cluster *cluster,
                        unsigned kinds)
{
    nest_json_array(json, key);
    for (int k = 0; k < cluster->kinds; k++) {
        char name[KIND_MAX];
        if (kinds & (1u << k)) {
            nest_json_text(json, NULL, nest_kind_format(cluster, k, name, sizeof name));
        }
    }
    nest_json_end(json);
}

static void write_stage(struct nest_json *json, const struct nest_problem *problem,
                        const struct nest_plan *plan, int i,
                        const struct nest_prediction *prediction)
{
    const struct nest_plan_stage *stage = &plan->stage[i];
    nest_json_object(json, NULL);
    nest_json_integer(json, "first_layer", stage->layers[0].low);
    nest_json_integer(json, "last_layer", stage->layers[stage->ranges - 1].high);
    nest_json_integer(json, "devices", stage->tp * plan->strategy.cp);
    nest_json_text(json, "recompute", nest_recompute_word(stage->recompute));
    write_level(json, "in_level", stage->in_level);
    write_level(json, "out_level", stage->out_level);
    nest_json_number(json, "load_s", nest_to_seconds(prediction->stage[i].load));
    nest_json_integer(json, "zero", stage->zero);
    nest_json_integer(json, "tp", stage->tp);
    nest_json_integer(json, "first_device", stage->first_device);
    if (problem->cluster->mixed) {
        write_kinds(json, "runs_on", problem->cluster, nest_stage_kinds(problem, plan, i));
    }
    nest_json_array(json, "layers");
    for (int r = 0; r < stage->ranges; r++) {
        nest_json_array(json, NULL);
        nest_json_integer(json, NULL, stage->layers[r].low);
        nest_json_integer(json, NULL, stage->layers[r].high);
        nest_json_end(json);
    }
    nest_json_end(json);
    nest_json_end(json);
}

void nest_json_plan(struct nest_json *json, const struct nest_problem *problem,
                    const struct nest_plan *plan, const struct nest_prediction *prediction)
{
    const struct nest_strategy *s = &plan->strategy;
    char order[64];
    nest_json_object(json, "plan");
    nest_json_integer(json, "tp", s->tp);
    nest_json_integer(json, "pp", plan->stages);
    nest_json_integer(json, "dp", nest_strategy_dp(s));
    nest_json_integer(json, "cp", s->cp);
    nest_json_integer(json, "ep", s->ep);
    nest_json_bool(json, "sp", s->sp);
    nest_json_integer(json, "zero", s->zero);
    nest_json_integer(json, "micro_batch", s->micro_batch);
    nest_json_integer(json, "virtual_stages", s->virtual_stages);
    nest_json_integer(json, "microbatches", plan->microbatches);
    nest_json_text(json, "order", nest_order_format(s, order, sizeof order));
    nest_json_array(json, "stages");
    for (int i = 0; i < plan->stages; i++) {
        write_stage(json, problem, plan, i, prediction);
    }
    nest_json_end(json);
    nest_json_integer(json, "etp", s->etp);
    nest_json_integer(json, "span", s->span);
    nest_json_integer(json, "shard", s->shard);
    if (s->selection > 0) {
        write_kinds(json, "kinds", problem->cluster, (unsigned)s->selection);
    }
    nest_json_end(json);
}

static void write_memory(struct nest_json *json, const struct nest_prediction *prediction)
{
    nest_json_array(json, "memory");
    for (int i = 0; i < prediction->stages; i++) {
        const struct nest_memory *m = &prediction->stage[i].memory;
        nest_json_object(json, NULL);
        nest_json_integer(json, "stage", i);
        nest_json_integer(json, "weights", m->weights);
        nest_json_integer(json, "gradients", m->gradients);
        nest_json_integer(json, "optimizer", m->optimizer);
        nest_json_integer(json, "activations", m->activations);
        nest_json_integer(json, "other",
                          m->logits + m->working + m->gathered + m->buffers + m->reserve);
        nest_json_integer(json, "total", m->total);
        nest_json_integer(json, "limit", nest_stage_limit(prediction, i));
        nest_json_object(json, "other_terms");
        nest_json_integer(json, "logits", m->logits);
        nest_json_integer(json, "working", m->working);
        nest_json_integer(json, "gathered", m->gathered);
        nest_json_integer(json, "buffers", m->buffers);
        nest_json_integer(json, "reserve", m->reserve);
        nest_json_end(json);
        nest_json_end(json);
    }
    nest_json_end(json);
}

static void write_loss(struct nest_json *json, const struct nest_problem *problem,
                       const struct nest_loss *loss)
{
    nest_json_object(json, "down");
    nest_json_text(json, "what", problem->cluster->spec->down);
    nest_json_integer(json, "devices", loss->down);
    nest_json_integer(json, "idle", loss->idle);
    if (loss->intact > 0) {
        nest_json_number(json, "intact_step_time_s", nest_to_seconds(loss->intact));
        nest_json_number(json, "throughput_loss", nest_loss_share(loss));
    }
    nest_json_end(json);
}

static void write_search(struct nest_json *json, const struct nest_progress *search)
{
    nest_json_object(json, "search");
    nest_json_integer(json, "strategies", search->strategies);
    nest_json_integer(json, "bounded", search->bounded);
    nest_json_integer(json, "solved", search->solved);
    nest_json_integer(json, "states", search->states);
    nest_json_number(json, "seconds", search->seconds);
    nest_json_end(json);
}

static void write_errors(struct nest_json *json, const struct nest_errors *errors)
{
    nest_json_array(json, "reasons");
    for (size_t i = 0; i < errors->count; i++) {
        nest_json_object(json, NULL);
        nest_json_text(json, "path", errors->item[i].path);
        nest_json_text(json, "message", errors->item[i].message);
        nest_json_text(json, "hint", errors->item[i].hint);
        nest_json_end(json);
    }
    nest_json_end(json);
}

static void write_alternatives(struct nest_json *json, const struct nest_outcome *outcome)
{
    nest_json_array(json, "alternatives");
    for (int i = 0; i < outcome->alternatives; i++) {
        const struct nest_solution *solution = &outcome->alternative[i];
        nest_json_object(json, NULL);
        nest_json_integer(json, "devices_used", solution->plan.devices_used);
        nest_json_figures(json, &solution->prediction);
        nest_json_plan(json, outcome->problem, &solution->plan, &solution->prediction);
        write_memory(json, &solution->prediction);
        nest_json_end(json);
    }
    nest_json_end(json);
}

/* Which of the layers' times are measured. */
static void write_measured(struct nest_json *json, const struct nest_outcome *outcome)
{
    const struct nest_model *model = outcome->problem->model;
    const int64_t tp = outcome->plan->strategy.tp;
    if (model->spec->measurements == 0) {
        return;
    }
    nest_json_object(json, "measured");
    nest_json_text(json, "file", model->spec->measured_ref);
    nest_json_integer(json, "tp", tp);
    nest_json_integer(json, "layers", nest_measured_layers(model, tp));
    nest_json_integer(json, "of", model->layers);
    nest_json_end(json);
}

static void write_hooks(struct nest_json *json, const char *key, unsigned hooks)
{
    nest_json_array(json, key);
    for (int i = 0; i < NEST_HOOKS; i++) {
        if (hooks & (1u << i)) {
            nest_json_text(json, NULL, nest_hook_name((enum nest_hook)i));
        }
    }
    nest_json_end(json);
}

/* The figures that overrides changed, each with the hooks that did and what it is without any. */
static void write_touched(struct nest_json *json, const struct nest_outcome *outcome)
{
    const struct nest_touched *t = outcome->touched;
    const struct nest_cluster *cluster = outcome->problem->cluster;
    nest_json_object(json, "overrides");
    write_hooks(json, "hooks", t->hooks);
    write_hooks(json, "step", t->step);
    nest_json_number(json, "default_step_time_s", nest_to_seconds(t->plain.step));
    nest_json_array(json, "stages");
    for (int i = 0; i < t->plain.stages; i++) {
        nest_json_object(json, NULL);
        nest_json_integer(json, "stage", i);
        write_hooks(json, "time", t->time[i]);
        nest_json_number(json, "default_load_s", nest_to_seconds(t->plain.stage[i].load));
        write_hooks(json, "memory", t->memory[i]);
        nest_json_integer(json, "default_total", t->plain.stage[i].memory.total);
        nest_json_end(json);
    }
    nest_json_end(json);
    nest_json_array(json, "levels");
    for (int l = 0; l < cluster->levels; l++) {
        nest_json_object(json, NULL);
        nest_json_text(json, "name", cluster->level[l].name);
        write_hooks(json, "hooks", t->level[l]);
        nest_json_end(json);
    }
    nest_json_end(json);
    nest_json_end(json);
}

void nest_json_document(const struct nest_outcome *outcome, struct nest_strbuf *out)
{
    const struct nest_plan *plan = outcome->plan;
    struct nest_json json;
    nest_json_start(&json, out);
    nest_json_object(&json, NULL);
    nest_json_integer(&json, "schema", NEST_JSON_SCHEMA);
    nest_json_text(&json, "model", outcome->scenario->model.id);
    nest_json_text(&json, "cluster", outcome->scenario->cluster.id);
    nest_json_integer(&json, "devices", outcome->problem->cluster->devices);
    nest_json_integer(&json, "devices_used", plan != NULL ? plan->devices_used : 0);
    nest_json_bool(&json, "feasible", plan != NULL && outcome->prediction->feasible);
    if (plan != NULL) {
        nest_json_figures(&json, outcome->prediction);
        nest_json_plan(&json, outcome->problem, plan, outcome->prediction);
        write_memory(&json, outcome->prediction);
        write_measured(&json, outcome);
    }
    if (outcome->touched != NULL) {
        write_touched(&json, outcome);
    }
    if (outcome->loss != NULL && outcome->loss->down > 0) {
        write_loss(&json, outcome->problem, outcome->loss);
    }
    if (outcome->errors != NULL) {
        write_errors(&json, outcome->errors);
    }
    if (outcome->assumed != NULL) {
        nest_json_array(&json, "assumed");
        for (const char *const *name = outcome->assumed; *name != NULL; name++) {
            nest_json_text(&json, NULL, *name);
        }
        nest_json_end(&json);
    }
    if (outcome->alternatives > 0) {
        write_alternatives(&json, outcome);
    }
    if (outcome->search != NULL) {
        write_search(&json, outcome->search);
    }
    nest_json_end(&json);
}
