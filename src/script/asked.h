/* What a hook is asked, as a table that notes which of its fields were looked at.
 *
 * A script sees a plain table. It is filled by its metatable as it is read, so that the host knows
 * what an answer may depend on; whatever enumerates it or writes to it fills it whole first. */
#ifndef NEST_SCRIPT_ASKED_H
#define NEST_SCRIPT_ASKED_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "cost/override.h"

/* compute: forward, backward. collective, transfer: seconds. memory, reserve, step: the fields of
 * their structs in order; step ends with first_tail and refused. load: rows of five weights. */
enum { NEST_HOOK_VALUES = NEST_LOAD_ROWS * 5, NEST_STEP_FIRST_TAIL = 7, NEST_STEP_REFUSED = 8 };

struct nest_hook_answer {
    int64_t count;
    double value[NEST_HOOK_VALUES];
};

/* The fields of all hooks' tables, and the default of collectives once more. What may be looked at
 * besides: what default() says, and all of a collective. */
enum nest_asked_field {
    NEST_ASKED_NAME,
    NEST_ASKED_ROLE,
    NEST_ASKED_MOE,
    NEST_ASKED_TP,
    NEST_ASKED_CP,
    NEST_ASKED_EP,
    NEST_ASKED_ETP,
    NEST_ASKED_SP,
    NEST_ASKED_MICRO_BATCH,
    NEST_ASKED_RECOMPUTE,
    NEST_ASKED_ZERO,
    NEST_ASKED_SHARD,
    NEST_ASKED_DP,
    NEST_ASKED_FIRST,
    NEST_ASKED_LAST,
    NEST_ASKED_VIRTUAL_STAGES,
    NEST_ASKED_STAGES,
    NEST_ASKED_MICROBATCHES,
    NEST_ASKED_KIND,
    NEST_ASKED_BYTES,
    NEST_ASKED_MEMBERS,
    NEST_ASKED_LEVEL,
    NEST_ASKED_SECONDS, /* by default; behind those that a collective is told from others by */
    NEST_ASKED_LEVEL_NAME,
    NEST_ASKED_BLOCK,
    NEST_ASKED_DIRECTION,
    NEST_ASKED_BEFORE,
    NEST_ASKED_AFTER,
    NEST_ASKED_FIELDS,
    NEST_ASKED_DEFAULT = NEST_ASKED_FIELDS,
    NEST_ASKED_COLLECTIVE,
    NEST_ASKED_ALL
};

/* The arguments of a hook. Only the fields that its table has count. */
struct nest_question {
    int hook, source;
    union {
        int64_t count; /* flags and words as well */
        double real;
        const char *text; /* or NULL: the table has no such field */
    } field[NEST_ASKED_FIELDS];
    struct nest_hook_answer given;
};

/* Fields in the order in which they were looked at. */
struct nest_reads {
    uint32_t set; /* bits */
    int count;
    uint8_t order[NEST_ASKED_ALL];
};

/* Pushes an object that holds the question and what was looked at, which is returned: both last as
 * long as the object. */
const struct nest_reads *nest_asked_new(lua_State *L, const struct nest_question *question);

/* Pushes the table of the object at index. */
void nest_asked_push(lua_State *L, int index);

/* The question of such an object, whose default is looked at from now on. */
const struct nest_question *nest_asked_default(void *object);

/* Fills the value at index whole if it is such a table, which then is like any other. */
void nest_asked_complete(lua_State *L, int index);

/* Fields that the hook's table has, and the default, as bits. */
uint32_t nest_asked_fields(int hook);

#endif
