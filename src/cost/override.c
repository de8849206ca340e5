#include "cost/override.h"

const char *nest_hook_name(enum nest_hook hook)
{
    static const char *const name[NEST_HOOKS] = {"compute", "collective", "transfer", "memory",
                                                 "reserve", "load",       "step"};
    return name[hook];
}

bool nest_override_has(const struct nest_overrides *o, enum nest_hook hook)
{
    if (o == NULL) {
        return false;
    }
    const bool has[NEST_HOOKS] = {
        o->compute != NULL, o->collective != NULL, o->transfer != NULL, o->memory != NULL,
        o->reserve != NULL, o->load != NULL,       o->step != NULL,
    };
    return has[hook];
}

void nest_override_drop(struct nest_overrides *o, enum nest_hook hook)
{
    o->compute = hook == NEST_HOOK_COMPUTE ? NULL : o->compute;
    o->collective = hook == NEST_HOOK_COLLECTIVE ? NULL : o->collective;
    o->transfer = hook == NEST_HOOK_TRANSFER ? NULL : o->transfer;
    o->memory = hook == NEST_HOOK_MEMORY ? NULL : o->memory;
    o->reserve = hook == NEST_HOOK_RESERVE ? NULL : o->reserve;
    o->load = hook == NEST_HOOK_LOAD ? NULL : o->load;
    o->step = hook == NEST_HOOK_STEP ? NULL : o->step;
}
