#include <string.h>

#include "input/records.h"

struct nest_field nest_knob_field(const struct nest_param_spec *param)
{
    return (struct nest_field){.key = param->name,
                               .type = NEST_FIELD_NUMBER,
                               .unit = param->unit,
                               .offset = offsetof(struct nest_param_spec, value),
                               .low = param->low,
                               .high = param->high};
}

bool nest_is_knob(const struct nest_cluster_spec *cluster, const char *full)
{
    for (int i = 0; i < cluster->params; i++) {
        if (strncmp(full, "cluster.", 8) == 0 && strcmp(full + 8, cluster->param[i].name) == 0) {
            return true;
        }
    }
    return false;
}

bool nest_knobs_own(struct nest_cluster_spec *cluster, struct nest_arena *arena)
{
    if (cluster->params == 0) {
        return true;
    }
    struct nest_param_spec *own = NEST_NEW(arena, struct nest_param_spec, cluster->params);
    if (own) {
        memcpy(own, cluster->param, (size_t)cluster->params * sizeof *own);
        cluster->param = own;
    }
    return own != NULL;
}
