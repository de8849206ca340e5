#include "cost/table.h"

static double lines_at(const struct nest_lines *lines, double size)
{
    double least = lines->count > 0 ? lines->intercept[0] + lines->slope[0] * size : 0.0;
    for (int i = 1; i < lines->count; i++) {
        const double value = lines->intercept[i] + lines->slope[i] * size;
        if (value < least) {
            least = value;
        }
    }
    return least;
}

void nest_stage_update(const struct nest_cost_table *table, int64_t dense_sync, int64_t expert_sync,
                       int64_t optimized, nest_ps bw, nest_ps *sync, nest_ps *optimizer)
{
    double traffic = 0.0;
    for (int i = 0; i < table->sync_parts; i++) {
        const int64_t size = table->sync[i].expert ? expert_sync : dense_sync;
        if (size > 0) {
            traffic += lines_at(&table->sync[i].time, (double)size);
        }
    }
    const nest_ps exposed = nest_to_ps(traffic) - (nest_ps)(table->dp_overlap * (double)bw);
    *sync = exposed > 0 ? exposed : 0;
    *optimizer = nest_to_ps(table->optimizer_seconds * (double)optimized);
}
