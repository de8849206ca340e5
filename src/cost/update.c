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

static double points_at(const struct nest_points *points, double size)
{
    double low = 1024.0;
    int i = 0;
    while (i + 2 < NEST_POINTS && size > 4.0 * low) {
        low *= 4.0;
        i++;
    }
    const double slope = (points->seconds[i + 1] - points->seconds[i]) / (3.0 * low);
    const double value = points->seconds[i] + slope * (size - low);
    return value > 0.0 ? value : 0.0;
}

void nest_stage_update(const struct nest_cost_table *table, int64_t dense_sync, int64_t expert_sync,
                       int64_t optimized, nest_ps bw, nest_ps *sync, nest_ps *optimizer)
{
    double traffic = 0.0;
    for (int i = 0; i < table->sync_parts; i++) {
        const int64_t size = table->sync[i].expert ? expert_sync : dense_sync;
        if (size > 0) {
            const struct nest_sync_part *part = &table->sync[i];
            traffic += part->overridden ? points_at(&part->points, (double)size)
                                        : lines_at(&part->time, (double)size);
        }
    }
    const nest_ps exposed = nest_to_ps(traffic) - (nest_ps)(table->dp_overlap * (double)bw);
    *sync = exposed > 0 ? exposed : 0;
    *optimizer = nest_to_ps(table->optimizer_seconds * (double)optimized);
}
