#include "script/override.h"

#include <lauxlib.h>
#include <stddef.h>
#include <string.h>

#include "cost/strategy.h"
#include "script/hook.h"
#include "script/sandbox.h"

void nest_override_check(lua_State *L, int index)
{
    const int table = lua_absindex(L, index);
    if (!lua_istable(L, table)) {
        luaL_error(L, "overrides are a table of functions, not a %s", luaL_typename(L, table));
    }
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[…]";
        bool known = false;
        for (int i = 0; i < NEST_HOOKS; i++) {
            known |= strcmp(key, nest_hook_name((enum nest_hook)i)) == 0;
        }
        if (!known) {
            luaL_error(L,
                       "there is no override '%s'; expected compute, collective, transfer, memory, "
                       "reserve, load or step",
                       key);
        }
        if (!lua_isfunction(L, -1)) {
            luaL_error(L, "the override %s must be a function, not a %s", key,
                       luaL_typename(L, -1));
        }
    }
}

int nest_override_check_call(lua_State *L)
{
    nest_override_check(L, 1);
    return 0;
}

/* ---- One call --------------------------------------------------------------------------- */

struct call {
    const struct nest_override_run *run;
    const struct nest_question *question;
    struct nest_hook_answer *answer;
    struct nest_reads *reads;
    const struct nest_hook_answer *sample; /* default and answer of a like collective; or NULL */
};

/* Bounds rest on it that a collective takes no less where it takes more by default. */
static void check_order(lua_State *L, const struct call *call)
{
    const struct nest_hook_answer *before = call->sample;
    const double given = call->question->given.value[0];
    const double answer = call->answer->value[0];
    if (!before || (given - before->value[0]) * (answer - before->value[1]) >= 0) {
        return;
    }
    lua_Debug ar;
    lua_getfield(L, -1, nest_hook_name(NEST_HOOK_COLLECTIVE));
    lua_getinfo(L, ">S", &ar);
    luaL_error(L,
               "%s:%d: the override collective may not return less where default() is more, but "
               "returns %f for %f and %f for %f",
               *ar.source == '@' ? ar.source + 1 : ar.short_src, ar.linedefined, answer, given,
               before->value[1], before->value[0]);
}

/* What a source without the hook looks at. */
static const struct nest_reads DEFAULT = {
    .set = UINT32_C(1) << NEST_ASKED_DEFAULT, .count = 1, .order = {NEST_ASKED_DEFAULT}};

static int run_call(lua_State *L)
{
    struct call *call = lua_touserdata(L, 1);
    const struct nest_question *q = call->question;
    lua_rawgetp(L, LUA_REGISTRYINDEX, call->run->source[q->source].key);
    lua_getfield(L, -1, nest_hook_name((enum nest_hook)q->hook));
    if (lua_isfunction(L, -1)) {
        nest_hook_call(L, q, call->answer, call->reads);
        check_order(L, call);
    } else {
        *call->reads = DEFAULT;
    }
    return 0;
}

/* ---- Answers that are known ------------------------------------------------------------- */

/* What was stopped may be asked again once the flag has fallen: nothing is wrong with it. */
static void forget_stop(struct nest_override_run *run)
{
    if (run->status == NEST_CANCELLED && !(run->cancel && atomic_load(run->cancel))) {
        run->status = NEST_OK;
    }
}

static enum nest_status call_inside(struct nest_override_run *run, lua_State *L, struct call *call)
{
    struct nest_sandbox *sandbox = nest_sandbox_of(L);
    nest_sandbox_set_cancel(sandbox, run->cancel);
    return nest_sandbox_run(sandbox, run_call, call, &run->errors);
}

/* In the state of the question's source, which may be another thread's just now. */
static enum nest_status call_source(struct nest_override_run *run, struct call *call)
{
    const struct nest_override_source *source = &run->source[call->question->source];
    if (!source->home) {
        return call_inside(run, source->L, call);
    }
    if (!nest_home_enter(source->home, run->cancel)) {
        return NEST_CANCELLED;
    }
    lua_State *L = nest_home_state(source->home);
    enum nest_status status = NEST_BAD_INPUT;
    if (L) {
        nest_sandbox_limit(nest_sandbox_of(L), &(struct nest_sandbox_limits)NEST_SANDBOX_BUILDER);
        status = call_inside(run, L, call);
    } else {
        const struct nest_mark nowhere = {0};
        nest_errors_add(&run->errors, nowhere, NULL, NULL,
                        "the overrides are gone with the console that they were typed into");
    }
    nest_home_leave(source->home);
    return status;
}

static void ask_script(struct nest_override_run *run, const struct nest_question *question,
                       const struct nest_hook_answer *sample, struct nest_reads *reads)
{
    struct nest_hook_answer *answer = &run->latest;
    struct call call = {run, question, answer, reads, sample};
    *answer = question->given;
    *reads = (struct nest_reads){.set = 0};
    forget_stop(run);
    if (run->status == NEST_OK) {
        run->status = call_source(run, &call);
    }
    if (run->status != NEST_OK) {
        *answer = question->given;
    }
}

static const struct nest_reads COLLECTIVE = {
    .set = UINT32_C(1) << NEST_ASKED_COLLECTIVE, .count = 1, .order = {NEST_ASKED_COLLECTIVE}};

/* One answer for collectives that differ in their default alone is kept as a sample. */
static struct nest_hook_answer *sample_of(struct nest_override_run *run,
                                          const struct nest_question *question)
{
    struct nest_question like = *question;
    const struct nest_hook_answer none = {.count = 0};
    like.hook = NEST_HOOKS;
    struct nest_hook_answer *known = nest_memo_find(&run->memo, &like);
    return known ? known : nest_memo_keep(&run->memo, &like, &COLLECTIVE, &none);
}

/* Every collective is asked for, or how its time depends on the default could not be checked. */
static void ask_collective(struct nest_override_run *run, const struct nest_question *question,
                           struct nest_reads *reads)
{
    struct nest_hook_answer *sample = sample_of(run, question);
    ask_script(run, question, sample && sample->count > 0 ? sample : NULL, reads);
    if (sample && run->status == NEST_OK) {
        *sample = (struct nest_hook_answer){
            .count = 2, .value = {question->given.value[0], run->latest.value[0]}};
    }
    *reads = COLLECTIVE;
}

/* The lock is held. The answer lives as long as the run, or until the next question where it is not
 * kept. */
static const struct nest_hook_answer *ask_source(struct nest_override_run *run,
                                                 const struct nest_question *question)
{
    const struct nest_hook_answer *known = nest_memo_find(&run->memo, question);
    if (known) {
        return known;
    }
    struct nest_reads reads = {.set = 0};
    if (question->hook == NEST_HOOK_COLLECTIVE) {
        ask_collective(run, question, &reads);
    } else {
        ask_script(run, question, NULL, &reads);
    }
    known =
        run->status == NEST_OK ? nest_memo_keep(&run->memo, question, &reads, &run->latest) : NULL;
    return known ? known : &run->latest;
}

/* The lock is held. Asks one source after the other, each with the answer of the one before as its
 * default. */
static const struct nest_hook_answer *ask_sources(struct nest_override_run *run,
                                                  struct nest_question *question)
{
    const struct nest_hook_answer *answer = &question->given;
    for (int i = 0; i < run->sources; i++) {
        question->source = i;
        if (i > 0) {
            question->given = *answer;
            question->field[NEST_ASKED_SECONDS].real = answer->value[0];
        }
        answer = ask_source(run, question);
    }
    return answer;
}

/* The first `count` values are wanted. */
static void ask(struct nest_override_run *run, struct nest_question *question, int count,
                struct nest_hook_answer *out)
{
    pthread_mutex_lock(&run->lock);
    const struct nest_hook_answer *answer = ask_sources(run, question);
    out->count = answer->count;
    memcpy(out->value, answer->value, (size_t)count * sizeof(double));
    pthread_mutex_unlock(&run->lock);
}

/* The same of a collective. The search asks for the same few again and again. */
static double ask_recent(struct nest_override_run *run, struct nest_question *question)
{
    struct nest_recent key;
    uint64_t hash = 0;
    for (int i = 0; i < NEST_RECENT_FIELDS; i++) {
        key.field[i] = question->field[NEST_ASKED_KIND + i].count;
        hash = (hash ^ (uint64_t)key.field[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    struct nest_recent *recent = &run->recent[hash % NEST_RECENT];
    pthread_mutex_lock(&run->lock);
    if (memcmp(recent->field, key.field, sizeof key.field) != 0) {
        key.seconds = ask_sources(run, question)->value[0];
        if (run->status == NEST_OK) {
            *recent = key;
        }
    } else {
        key.seconds = recent->seconds;
    }
    pthread_mutex_unlock(&run->lock);
    return key.seconds;
}

/* ---- The record ------------------------------------------------------------------------- */

static void start(struct nest_question *q, enum nest_hook hook, int values)
{
    q->hook = (int)hook;
    q->given.count = values;
}

static void set(struct nest_question *q, enum nest_asked_field field, int64_t count)
{
    q->field[field].count = count;
}

static void set_layer(struct nest_question *q, const struct nest_layer_kind *kind)
{
    q->field[NEST_ASKED_NAME].text = kind->name;
    set(q, NEST_ASKED_ROLE, kind->role);
    set(q, NEST_ASKED_MOE, kind->moe);
}

static void set_family(struct nest_question *q, const struct nest_strategy *s)
{
    set(q, NEST_ASKED_TP, s->tp);
    set(q, NEST_ASKED_CP, s->cp);
    set(q, NEST_ASKED_EP, s->ep);
    set(q, NEST_ASKED_ETP, s->etp);
    set(q, NEST_ASKED_SP, s->sp);
    set(q, NEST_ASKED_MICRO_BATCH, s->micro_batch);
}

static void set_sharding(struct nest_question *q, const struct nest_strategy *s)
{
    set(q, NEST_ASKED_ZERO, s->zero);
    set(q, NEST_ASKED_SHARD, s->shard);
    set(q, NEST_ASKED_DP, nest_strategy_dp(s));
}

static void set_level(struct nest_question *q, const struct nest_override_run *run, int level,
                      double bytes)
{
    set(q, NEST_ASKED_LEVEL, level);
    q->field[NEST_ASKED_LEVEL_NAME].text = run->problem->cluster->level[level].name;
    q->field[NEST_ASKED_BYTES].real = bytes;
}

static void override_compute(void *context, const struct nest_layer_kind *kind,
                             const struct nest_strategy *s, double *fw, double *bw)
{
    struct nest_question q;
    start(&q, NEST_HOOK_COMPUTE, 2);
    set_family(&q, s);
    set_layer(&q, kind);
    q.given.value[0] = *fw;
    q.given.value[1] = *bw;
    struct nest_hook_answer answer;
    ask(context, &q, 2, &answer);
    *fw = answer.value[0];
    *bw = answer.value[1];
}

static double override_collective(void *context, enum nest_collective kind,
                                  const struct nest_comm *comm, double bytes, double seconds)
{
    struct nest_question q;
    start(&q, NEST_HOOK_COLLECTIVE, 1);
    set_level(&q, context, comm->top, bytes);
    set(&q, NEST_ASKED_KIND, kind);
    set(&q, NEST_ASKED_MEMBERS, comm->size);
    q.field[NEST_ASKED_SECONDS].real = seconds;
    q.given.value[0] = seconds;
    return ask_recent(context, &q);
}

static double override_transfer(void *context, const struct nest_message *message, double seconds)
{
    struct nest_question q;
    start(&q, NEST_HOOK_TRANSFER, 1);
    set_level(&q, context, message->level, message->bytes);
    set(&q, NEST_ASKED_BLOCK, message->block);
    set(&q, NEST_ASKED_DIRECTION, message->backward);
    q.field[NEST_ASKED_BEFORE].text = message->before ? message->before->name : NULL;
    q.field[NEST_ASKED_AFTER].text = message->after ? message->after->name : NULL;
    q.given.value[0] = seconds;
    struct nest_hook_answer answer;
    ask(context, &q, 1, &answer);
    return answer.value[0];
}

static void override_memory(void *context, const struct nest_layer_kind *kind,
                            const struct nest_strategy *s, enum nest_recompute recompute,
                            struct nest_layer_memory *m)
{
    struct nest_question q;
    int64_t *const term[] = {&m->weights,     &m->gradients, &m->optimizer, &m->logits,
                             &m->activations, &m->working,   &m->gathered,  &m->resident,
                             &m->waiting,     &m->entering};
    const int terms = (int)(sizeof term / sizeof term[0]);
    start(&q, NEST_HOOK_MEMORY, terms);
    set_family(&q, s);
    set_sharding(&q, s);
    set_layer(&q, kind);
    set(&q, NEST_ASKED_RECOMPUTE, recompute);
    for (int i = 0; i < terms; i++) {
        q.given.value[i] = (double)*term[i];
    }
    struct nest_hook_answer answer;
    ask(context, &q, terms, &answer);
    for (int i = 0; i < terms; i++) {
        *term[i] = (int64_t)answer.value[i];
    }
}

static void override_reserve(void *context, const struct nest_strategy *s,
                             struct nest_reserve *bytes)
{
    struct nest_question q;
    start(&q, NEST_HOOK_RESERVE, 3);
    set_family(&q, s);
    set_sharding(&q, s);
    q.given.value[0] = (double)bytes->base;
    q.given.value[1] = (double)bytes->pipeline;
    q.given.value[2] = (double)bytes->buffers;
    struct nest_hook_answer answer;
    ask(context, &q, 3, &answer);
    *bytes = (struct nest_reserve){
        .base = (int64_t)answer.value[0],
        .pipeline = (int64_t)answer.value[1],
        .buffers = (int64_t)answer.value[2],
    };
}

static void override_load(void *context, const struct nest_strategy *s,
                          enum nest_recompute recompute, bool first, bool last,
                          struct nest_load_rule *rule)
{
    struct nest_question q;
    start(&q, NEST_HOOK_LOAD, 5);
    set_family(&q, s);
    set(&q, NEST_ASKED_RECOMPUTE, recompute);
    set(&q, NEST_ASKED_FIRST, first);
    set(&q, NEST_ASKED_LAST, last);
    for (int i = 0; i < q.given.count; i++) {
        q.given.value[i] = 1.0;
    }
    static const double plain[5] = {1.0, 1.0, 1.0, 1.0, 1.0};
    struct nest_hook_answer answer;
    ask(context, &q, NEST_HOOK_VALUES, &answer);
    const double *value = answer.value;
    const bool usual = answer.count == 5 && memcmp(plain, value, sizeof plain) == 0;
    rule->rows = usual ? 0 : (int)(answer.count / 5);
    for (int i = 0; i < rule->rows; i++, value += 5) {
        rule->row[i] = (struct nest_load_row){value[0], value[1], value[2], value[3], value[4]};
    }
}

static void override_step(void *context, const struct nest_strategy *s, int stages,
                          int64_t microbatches, struct nest_step_rule *rule)
{
    struct nest_question q;
    const double v = (double)s->virtual_stages;
    const double plain[] = {(double)microbatches - 1.0 / v, 1.0 / v, 1.0, 1.0, 0.0, 1.0, 1.0};
    const int values = NEST_STEP_REFUSED + 1;
    start(&q, NEST_HOOK_STEP, values);
    set(&q, NEST_ASKED_DP, nest_strategy_dp(s));
    set(&q, NEST_ASKED_VIRTUAL_STAGES, s->virtual_stages);
    set(&q, NEST_ASKED_STAGES, stages);
    set(&q, NEST_ASKED_MICROBATCHES, microbatches);
    memset(q.given.value, 0, (size_t)values * sizeof(double));
    memcpy(q.given.value, plain, sizeof plain);
    struct nest_hook_answer answer;
    ask(context, &q, values, &answer);
    const double *value = answer.value;
    const bool usual = memcmp(plain, value, sizeof plain) == 0 &&
                       value[NEST_STEP_FIRST_TAIL] == 0.0 && value[NEST_STEP_REFUSED] == 0.0;
    *rule = (struct nest_step_rule){
        .given = !usual,
        .refused = value[NEST_STEP_REFUSED] > 0.0,
        .bottleneck = value[0],
        .fill = value[1],
        .tail = value[2],
        .tied = value[3],
        .constant = value[4],
        .sync = value[5],
        .update = value[6],
        .first_tail = value[NEST_STEP_FIRST_TAIL] > 0.0,
    };
}

static enum nest_status report_fault(void *context, struct nest_errors *errors)
{
    struct nest_override_run *run = context;
    pthread_mutex_lock(&run->lock);
    forget_stop(run);
    const enum nest_status status = run->status;
    for (size_t i = 0; errors && i < run->errors.count; i++) {
        const struct nest_error *fault = &run->errors.item[i];
        nest_errors_add(errors, fault->mark, fault->path, fault->hint, "%s", fault->message);
    }
    pthread_mutex_unlock(&run->lock);
    return status;
}

void nest_override_init(struct nest_override_run *run, const struct nest_problem *problem,
                        struct nest_arena *arena)
{
    *run = (struct nest_override_run){.problem = problem, .arena = arena};
    pthread_mutex_init(&run->lock, NULL);
    run->record.context = run;
    run->record.fault = report_fault;
    nest_memo_init(&run->memo, arena);
    nest_errors_init(&run->errors, arena);
}

struct inventory {
    const void *key;
    unsigned hooks;
};

unsigned nest_override_hooks(lua_State *L, int index)
{
    const int table = lua_absindex(L, index);
    unsigned hooks = 0;
    for (int i = 0; i < NEST_HOOKS; i++) {
        const int type = lua_getfield(L, table, nest_hook_name((enum nest_hook)i));
        hooks |= type == LUA_TFUNCTION ? 1U << i : 0;
        lua_pop(L, 1);
    }
    return hooks;
}

/* Runs protected. */
static int take_inventory(lua_State *L)
{
    struct inventory *inventory = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, inventory->key);
    inventory->hooks = nest_override_hooks(L, -1);
    return 0;
}

static bool add_source(struct nest_override_run *run, struct nest_override_source source,
                       unsigned hooks)
{
    struct nest_overrides *record = &run->record;
    if (run->sources == NEST_OVERRIDE_SOURCES) {
        return false;
    }
    run->source[run->sources++] = source;
    record->compute = hooks & 1U << NEST_HOOK_COMPUTE ? override_compute : record->compute;
    record->collective =
        hooks & 1U << NEST_HOOK_COLLECTIVE ? override_collective : record->collective;
    record->transfer = hooks & 1U << NEST_HOOK_TRANSFER ? override_transfer : record->transfer;
    record->memory = hooks & 1U << NEST_HOOK_MEMORY ? override_memory : record->memory;
    record->reserve = hooks & 1U << NEST_HOOK_RESERVE ? override_reserve : record->reserve;
    record->load = hooks & 1U << NEST_HOOK_LOAD ? override_load : record->load;
    record->step = hooks & 1U << NEST_HOOK_STEP ? override_step : record->step;
    return true;
}

bool nest_override_add(struct nest_override_run *run, struct nest_home *home, lua_State *L,
                       const void *key)
{
    struct inventory inventory = {.key = key};
    lua_pushcfunction(L, take_inventory);
    lua_pushlightuserdata(L, &inventory);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        lua_pop(L, 1);
        return false;
    }
    return add_source(run, (struct nest_override_source){home, L, key}, inventory.hooks);
}

bool nest_override_add_functions(struct nest_override_run *run,
                                 const struct nest_functions *functions)
{
    const struct nest_override_source source = {functions->home, NULL, functions};
    return add_source(run, source, functions->hooks);
}
