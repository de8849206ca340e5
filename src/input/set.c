#include "input/set.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "input/records.h"

/* What a PATH points at. */
struct target {
    struct nest_field field;
    void *record;
    const char *full; /* in the arena */
};

/* A section of the scenario that PATHs may begin with. */
struct section {
    const char *name;
    const struct nest_field *table;
    size_t offset; /* of its record in the scenario */
};

static const struct section sections[] = {
    {"train", nest_train_fields, offsetof(struct nest_scenario_spec, train)},
    {"limits", nest_limits_fields, offsetof(struct nest_scenario_spec, limits)},
    {"overlap", nest_overlap_fields, offsetof(struct nest_scenario_spec, overlap)},
    {"model", nest_model_fields, offsetof(struct nest_scenario_spec, model)},
    {"device", nest_device_fields, offsetof(struct nest_scenario_spec, device)},
};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

/* The last one only where a level is regular. */
static const char *const level_keys[] = {"bandwidth", "latency", "oversubscription", "fanout"};
enum { LEVEL_KEYS = sizeof level_keys / sizeof level_keys[0] };

/* Names, sources and what a file alone can say cannot be edited. */
static bool is_settable(const struct nest_field *field)
{
    return field->type == NEST_FIELD_COUNT || field->type == NEST_FIELD_NUMBER ||
           field->type == NEST_FIELD_FLAG || field->type == NEST_FIELD_CHOICE;
}

/* ---- Walking every settable path ---- */

enum { PATH_MAX_BYTES = 256 };

/* full and field last for the call. */
typedef void visit_fn(void *context, const char *full, const struct nest_field *field,
                      void *record);

static void visit_table(const char *prefix, const struct nest_field *table, void *record,
                        visit_fn *visit, void *context)
{
    char full[PATH_MAX_BYTES];
    for (const struct nest_field *field = table; field->key; field++) {
        (void)snprintf(full, sizeof full, "%s.%s", prefix, field->key);
        if (is_settable(field)) {
            visit(context, full, field, record);
        }
        for (const struct nest_field *inner = field->type == NEST_FIELD_TABLE ? field->table : NULL;
             inner && inner->key; inner++) {
            (void)snprintf(full, sizeof full, "%s.%s.%s", prefix, field->key, inner->key);
            if (is_settable(inner)) {
                visit(context, full, inner, record);
            }
        }
    }
}

/* The knobs of a cluster's script are fields that only this cluster has. */
static void visit_knobs(struct nest_scenario_spec *scenario, visit_fn *visit, void *context)
{
    for (int i = 0; i < scenario->cluster.params; i++) {
        struct nest_param_spec *param = &scenario->cluster.param[i];
        const struct nest_field field = nest_knob_field(param);
        char full[PATH_MAX_BYTES];
        (void)snprintf(full, sizeof full, "cluster.%s", param->name);
        visit(context, full, &field, param);
    }
}

/* In a file it has other forms too; an edit writes it as text. */
static const struct nest_field down_field = {
    .key = "down", .type = NEST_FIELD_TEXT, .offset = offsetof(struct nest_cluster_spec, down)};

static void visit_all(struct nest_scenario_spec *scenario, visit_fn *visit, void *context)
{
    visit_knobs(scenario, visit, context);
    visit(context, "cluster.down", &down_field, &scenario->cluster);
    for (int i = 0; i < scenario->cluster.levels; i++) {
        struct nest_level_spec *level = &scenario->cluster.level[i];
        const int keys = level->groups > 0 ? LEVEL_KEYS - 1 : LEVEL_KEYS;
        for (int k = 0; k < keys; k++) {
            char full[PATH_MAX_BYTES];
            (void)snprintf(full, sizeof full, "cluster.%s.%s", level->name, level_keys[k]);
            visit(context, full, nest_field_find(nest_level_fields, level_keys[k]), level);
        }
    }
    for (int i = 0; i < SECTIONS; i++) {
        visit_table(sections[i].name, sections[i].table, (char *)scenario + sections[i].offset,
                    visit, context);
    }
}

/* ---- Finding a path ---- */

enum { CANDIDATES = 16 };

struct search {
    const char *typed;
    struct nest_arena *arena;
    struct target found[CANDIDATES];
    int count;
};

/* Whether typed stands for full: in full, without its section, or as the bare FIELD of a level. */
static bool stands_for(const char *typed, const char *full)
{
    const char *rest = strchr(full, '.');
    const char *last = strrchr(full, '.');
    return (rest && strcmp(rest + 1, typed) == 0) ||
           (strncmp(full, "cluster.", 8) == 0 && last && strcmp(last + 1, typed) == 0);
}

static void visit_search(void *context, const char *full, const struct nest_field *field,
                         void *record)
{
    struct search *search = context;
    const bool found_exact = search->count > 0 && strcmp(search->found[0].full, search->typed) == 0;
    const bool exact = strcmp(full, search->typed) == 0;
    if (exact) {
        search->count = 0;
    }
    if ((exact || (!found_exact && stands_for(search->typed, full))) &&
        search->count < CANDIDATES) {
        const char *kept = nest_arena_strdup(search->arena, full);
        if (kept) {
            search->found[search->count++] = (struct target){*field, record, kept};
        }
    }
}

/* A knob's own name means the knob, whatever level keys share it. */
static void prefer_knobs(const struct nest_scenario_spec *scenario, struct search *search)
{
    for (int i = 0; i < search->count && i < CANDIDATES; i++) {
        if (nest_is_knob(&scenario->cluster, search->found[i].full)) {
            search->found[0] = search->found[i];
            search->count = 1;
        }
    }
}

/* `memory` alone is the planning limit: lowering either has the same effect, and raising the limit
 * is what "what if it had 141 GB" asks. */
static void prefer_limits(struct search *search)
{
    for (int i = 0; i < search->count && strcmp(search->typed, "memory") == 0; i++) {
        if (strcmp(search->found[i].full, "limits.memory") == 0) {
            search->found[0] = search->found[i];
            search->count = 1;
        }
    }
}

static bool find_target(struct nest_scenario_spec *scenario, const char *path,
                        struct nest_arena *arena, struct search *search)
{
    search->typed = path;
    search->arena = arena;
    search->count = 0;
    visit_all(scenario, visit_search, search);
    prefer_knobs(scenario, search);
    prefer_limits(search);
    return search->count == 1;
}

/* ---- What a wrong path may have meant ---- */

struct nearest {
    struct nest_suggest suggest;
    char full[PATH_MAX_BYTES];
};

static void visit_nearest(void *context, const char *full, const struct nest_field *field,
                          void *record)
{
    struct nearest *nearest = context;
    const char *rest = strchr(full, '.');
    (void)field;
    (void)record;
    nearest->suggest.best = NULL;
    nest_suggest_offer(&nearest->suggest, full);
    if (rest) {
        nest_suggest_offer(&nearest->suggest, rest + 1);
    }
    if (nearest->suggest.best) {
        (void)snprintf(nearest->full, sizeof nearest->full, "%s", nearest->suggest.best);
    }
}

static void report_unknown(struct nest_scenario_spec *scenario, const char *typed,
                           struct nest_mark mark, struct nest_errors *errors)
{
    struct nest_strbuf hint = NEST_STRBUF_INIT(4096);
    struct nearest nearest = {.full = ""};
    nest_suggest_start(&nearest.suggest, typed);
    visit_all(scenario, visit_nearest, &nearest);
    if (nearest.full[0]) {
        nest_strbuf_printf(&hint, "did you mean '%s'?", nearest.full);
    } else {
        nest_strbuf_add(&hint, "expected model.KEY, train.KEY, limits.KEY, overlap.KEY, "
                               "device.KEY or cluster.LEVEL.FIELD; levels are ");
        for (int i = 0; i < scenario->cluster.levels; i++) {
            nest_strbuf_printf(&hint, "%s%s", i ? ", " : "", scenario->cluster.level[i].name);
        }
    }
    nest_errors_add(errors, mark, NULL, nest_strbuf_text(&hint), "there is no '%.80s' to set",
                    typed);
    nest_strbuf_free(&hint);
}

static void report_ambiguous(const struct search *search, struct nest_mark mark,
                             struct nest_errors *errors)
{
    struct nest_strbuf hint = NEST_STRBUF_INIT(4096);
    for (int i = 0; i < search->count; i++) {
        nest_strbuf_printf(&hint, "%s%s", i ? ", " : "it may be ", search->found[i].full);
    }
    nest_errors_add(errors, mark, NULL, nest_strbuf_text(&hint), "'%.80s' is ambiguous",
                    search->typed);
    nest_strbuf_free(&hint);
}

/* ---- Setting ---- */

static void note_given(struct nest_scenario_spec *scenario, const char *full)
{
    static const char *const knobs[] = {"dp", "zero", "tp", "cp", "ep", "pp"};
    for (int i = 0; i < 6; i++) {
        if (strncmp(full, "overlap.", 8) == 0 && strcmp(full + 8, knobs[i]) == 0) {
            scenario->overlap_given[i] = true;
        }
    }
    scenario->precision_given |= strcmp(full, "train.precision") == 0;
    scenario->model.kv_heads_given |= strcmp(full, "model.kv_heads") == 0;
    scenario->model.head_dim_given |= strcmp(full, "model.head_dim") == 0;
    scenario->model.moe_ffn_given |= strcmp(full, "model.moe_ffn") == 0;
}

struct nest_mark nest_origin_mark(const struct nest_origin *origin, const char *key)
{
    const struct nest_node *node = nest_node_get(origin->root, key);
    if (origin->root) {
        return node ? node->mark : origin->root->mark;
    }
    struct nest_mark mark = origin->fallback;
    if (!origin->prefix) {
        return mark;
    }
    const size_t prefix = strlen(origin->prefix);
    for (int i = 0; i < origin->count; i++) {
        const char *path = origin->touched[i].path;
        if (strncmp(path, origin->prefix, prefix) == 0 && path[prefix] == '.') {
            mark = origin->touched[i].mark;
        }
    }
    for (int i = 0; i < origin->count; i++) {
        const char *path = origin->touched[i].path;
        if (strncmp(path, origin->prefix, prefix) == 0 && path[prefix] == '.' &&
            strcmp(path + prefix + 1, key) == 0) {
            mark = origin->touched[i].mark;
        }
    }
    return mark;
}

void nest_origin_fault(const struct nest_origin *origin, struct nest_errors *errors,
                       const char *key, const char *hint, const char *format, ...)
{
    const char *above = origin->root ? nest_node_path(origin->root, errors->arena) : origin->prefix;
    const char *path = above ? nest_arena_printf(errors->arena, "%s.%s", above, key) : key;
    va_list args;
    va_start(args, format);
    const char *message = nest_arena_vprintf(errors->arena, format, args);
    va_end(args);
    nest_errors_add(errors, nest_origin_mark(origin, key), path, hint, "%s",
                    message ? message : "out of memory");
}

void nest_scenario_settle(struct nest_scenario_spec *scenario)
{
    scenario->cluster.device = &scenario->device;
    nest_model_derive(&scenario->model);
    if (!scenario->precision_given) {
        scenario->train.precision = scenario->device.peak[NEST_BF16] > 0 ? NEST_BF16 : NEST_FP16;
    }
    nest_overlap_defaults(scenario);
}

void nest_scenario_check(const struct nest_scenario_spec *scenario,
                         const struct nest_touched *touched, int count, struct nest_mark fallback,
                         struct nest_errors *errors)
{
    const struct nest_origin model = {NULL, "model", touched, count, fallback};
    const struct nest_origin device = {NULL, "device", touched, count, fallback};
    const struct nest_origin cluster = {NULL, "cluster", touched, count, fallback};
    const struct nest_origin train = {NULL, "train", touched, count, fallback};
    nest_model_check(&scenario->model, &model, errors);
    nest_device_check(&scenario->device, &device, errors);
    nest_cluster_check(&scenario->cluster, &cluster, errors);
    nest_train_check(scenario, &train, errors);
}

/* "2x", "*2", "/2": the present value of a number, so many times as large. False: none of these. */
static bool read_factor(const char *text, double *factor)
{
    char number[32];
    const size_t n = strlen(text);
    const bool after = n > 1 && (text[n - 1] == 'x' || text[n - 1] == 'X');
    const bool before = n > 1 && (text[0] == '*' || text[0] == '/');
    if (after == before || n >= sizeof number) {
        return false;
    }
    (void)snprintf(number, sizeof number, "%.*s", (int)n - 1, after ? text : text + 1);
    char *end;
    *factor = strtod(number, &end);
    if (text[0] == '/') {
        *factor = 1 / *factor;
    }
    return strspn(number, "0123456789.") == strlen(number) && *end == 0 && end != number;
}

/* The value that a factor gives, as text; value itself where it is none. */
static const char *resolve_factor(const struct nest_scenario_spec *scenario,
                                  const struct target *target, const char *value,
                                  struct nest_arena *arena)
{
    const void *place = (const char *)target->record + target->field.offset;
    double factor;
    char text[64];
    if (!read_factor(value, &factor)) {
        return value;
    }
    if (place == &scenario->limits.memory && scenario->limits.memory <= 0) {
        place = &scenario->device.memory; /* no limit of its own */
    }
    if (target->field.type == NEST_FIELD_COUNT) {
        return nest_arena_printf(arena, "%.15g", (double)*(const int64_t *)place * factor);
    }
    if (target->field.type == NEST_FIELD_NUMBER) {
        return nest_arena_strdup(arena,
                                 nest_unit_format_exact(*(const double *)place * factor,
                                                        target->field.unit, text, sizeof text));
    }
    return value;
}

/* Sets what path names; the full path, and in *kept the value that stands for what was typed. */
static const char *set_value(struct nest_scenario_spec *scenario, const char *path,
                             const char *value, struct nest_mark mark, struct nest_mark value_mark,
                             const char **kept, struct nest_arena *arena,
                             struct nest_errors *errors)
{
    struct search search;
    if (!find_target(scenario, path, arena, &search)) {
        if (search.count == 0) {
            report_unknown(scenario, path, mark, errors);
        } else {
            report_ambiguous(&search, mark, errors);
        }
        return NULL;
    }
    const struct target *target = &search.found[0];
    value = resolve_factor(scenario, target, value, arena);
    *kept = value;
    if (!value) {
        return NULL;
    }
    const struct nest_node root = {.kind = NEST_NODE_MAPPING, .mark = mark, .text = ""};
    const struct nest_node node = {.kind = NEST_NODE_SCALAR,
                                   .mark = value_mark,
                                   .key_mark = mark,
                                   .key = target->full,
                                   .text = value,
                                   .parent = &root};
    struct nest_field_reader reader = {arena, errors, NULL};
    if (!nest_field_read(&reader, &node, &target->field, target->record)) {
        return NULL;
    }
    note_given(scenario, target->full);
    return target->full;
}

/* Model, cluster and device edits are remembered, the newest of a path alone; the scenario's own
 * sections simply hold their value. */
static enum nest_status remember(struct nest_scenario_spec *scenario, const char *full,
                                 const char *value, struct nest_mark mark, struct nest_arena *arena)
{
    if (strncmp(full, "model.", 6) != 0 && strncmp(full, "cluster.", 8) != 0 &&
        strncmp(full, "device.", 7) != 0) {
        return NEST_OK;
    }
    struct nest_edit_spec *edits = NEST_NEW(arena, struct nest_edit_spec, scenario->edits + 1);
    const char *kept = nest_arena_strdup(arena, value);
    if (!edits || !kept) {
        return NEST_NO_MEMORY;
    }
    int count = 0;
    for (int i = 0; i < scenario->edits; i++) {
        if (strcmp(scenario->edit[i].path, full) != 0) {
            edits[count++] = scenario->edit[i];
        }
    }
    edits[count++] = (struct nest_edit_spec){full, kept, mark};
    scenario->edit = edits;
    scenario->edits = count;
    return NEST_OK;
}

/* Builds the cluster again with its knobs as they are now, then the edits of what it consists of.
 */
static bool rebuild_cluster(struct nest_scenario_spec *scenario, struct nest_mark mark,
                            struct nest_arena *arena, struct nest_errors *errors)
{
    const struct nest_cluster_spec old = scenario->cluster;
    struct nest_cluster_spec fresh = {0};
    const size_t before = errors->count + errors->dropped;
    const struct nest_build_request request = {
        .path = old.build_path, .params = old.params, .param = old.param, .cancel = old.cancel};
    const enum nest_status status = old.build(old.build_context, &request, arena, &fresh, errors);
    if (status != NEST_OK || !fresh.device) {
        return false;
    }
    fresh.id = old.id;
    fresh.ref = old.ref;
    fresh.cancel = old.cancel;
    scenario->device = *fresh.device;
    scenario->cluster = fresh;
    scenario->cluster.device = &scenario->device;
    for (int i = 0; i < scenario->edits; i++) {
        const struct nest_edit_spec *edit = &scenario->edit[i];
        if (strncmp(edit->path, "model.", 6) != 0 &&
            !nest_is_knob(&scenario->cluster, edit->path)) {
            const char *kept;
            set_value(scenario, edit->path, edit->value, mark, mark, &kept, arena, errors);
        }
    }
    return errors->count + errors->dropped == before;
}

const char *nest_set_deferred(struct nest_scenario_spec *scenario, const char *path,
                              const char *value, struct nest_mark mark, struct nest_mark value_mark,
                              struct nest_arena *arena, struct nest_errors *errors)
{
    if (!nest_knobs_own(&scenario->cluster, arena)) {
        return NULL;
    }
    const char *kept = value;
    const char *full = set_value(scenario, path, value, mark, value_mark, &kept, arena, errors);
    if (full && nest_is_knob(&scenario->cluster, full) &&
        !rebuild_cluster(scenario, mark, arena, errors)) {
        return NULL;
    }
    if (full) {
        nest_scenario_settle(scenario);
        full = remember(scenario, full, kept, mark, arena) == NEST_OK ? full : NULL;
    }
    return full;
}

enum nest_status nest_set(struct nest_scenario_spec *scenario, const char *path, const char *value,
                          struct nest_mark mark, struct nest_arena *arena,
                          struct nest_errors *errors)
{
    struct nest_scenario_spec changed = *scenario;
    const size_t before = errors->count + errors->dropped;
    if (!nest_set_deferred(&changed, path, value, mark, mark, arena, errors)) {
        return errors->count + errors->dropped > before ? NEST_BAD_INPUT : NEST_NO_MEMORY;
    }
    nest_scenario_check(&changed, NULL, 0, mark, errors);
    if (errors->count + errors->dropped > before) {
        return NEST_BAD_INPUT;
    }
    *scenario = changed;
    scenario->cluster.device = &scenario->device;
    return NEST_OK;
}

const char *nest_set_builds(const struct nest_scenario_spec *scenario, const char *path,
                            struct nest_arena *arena)
{
    struct nest_scenario_spec copy = *scenario;
    struct search search;
    return find_target(&copy, path, arena, &search) &&
                   nest_is_knob(&copy.cluster, search.found[0].full)
               ? search.found[0].full
               : NULL;
}

/* ---- Getting ---- */

/* 0 stands for "not given" where 0 itself is out of range. */
static bool is_unset(const struct target *target)
{
    const void *place = (const char *)target->record + target->field.offset;
    if (target->field.type == NEST_FIELD_TEXT) {
        return *(const char *const *)place == NULL;
    }
    if (target->field.low <= 0) {
        return false;
    }
    return target->field.type == NEST_FIELD_COUNT    ? *(const int64_t *)place == 0
           : target->field.type == NEST_FIELD_NUMBER ? *(const double *)place == 0
                                                     : false;
}

const char *nest_get(const struct nest_scenario_spec *scenario, const char *path,
                     struct nest_arena *arena)
{
    struct nest_scenario_spec copy = *scenario;
    struct search search;
    if (!find_target(&copy, path, arena, &search)) {
        return NULL;
    }
    if (is_unset(&search.found[0]) && search.found[0].field.type == NEST_FIELD_TEXT) {
        return "none";
    }
    if (is_unset(&search.found[0])) {
        return strcmp(search.found[0].full, "limits.memory") == 0
                   ? nest_get(scenario, "device.memory", arena)
                   : NULL;
    }
    struct nest_strbuf text = NEST_STRBUF_INIT(256);
    nest_field_write(&search.found[0].field, search.found[0].record, &text);
    const char *result = nest_arena_strdup(arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return result;
}

struct path_list {
    struct nest_arena *arena;
    const char **path;
    size_t count, room;
};

static void visit_count(void *context, const char *full, const struct nest_field *field,
                        void *record)
{
    (void)full;
    (void)field;
    (void)record;
    ((struct path_list *)context)->room++;
}

static void visit_list(void *context, const char *full, const struct nest_field *field,
                       void *record)
{
    struct path_list *list = context;
    (void)field;
    (void)record;
    const char *kept = list->count < list->room ? nest_arena_strdup(list->arena, full) : NULL;
    if (kept) {
        list->path[list->count++] = kept;
    }
}

const char **nest_paths(const struct nest_scenario_spec *scenario, struct nest_arena *arena)
{
    struct nest_scenario_spec copy = *scenario;
    struct path_list list = {.arena = arena};
    visit_all(&copy, visit_count, &list);
    list.path = NEST_NEW(arena, const char *, list.room + 1);
    if (list.path) {
        visit_all(&copy, visit_list, &list);
    }
    return list.path;
}
