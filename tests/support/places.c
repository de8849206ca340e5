#include "support/places.h"

/* True if a group of the level starts at p, or p is the cluster's end. */
static bool is_boundary(const struct nest_cluster *cluster, int level, int64_t p)
{
    return p == 0 || p == cluster->devices ||
           nest_cluster_group(cluster, level, p) != nest_cluster_group(cluster, level, p - 1);
}

int64_t test_place_end(const struct nest_cluster *cluster, int level, int64_t start)
{
    int64_t end = start;
    while (level >= 0 && !is_boundary(cluster, level, end)) {
        end--;
    }
    return end;
}

static bool sums_to(int stages, int widths, const int64_t *block, int64_t sum)
{
    if (stages == 0) {
        return sum == 0;
    }
    for (int w = 0; w < widths; w++) {
        if (sum >= block[w] && sums_to(stages - 1, widths, block, sum - block[w])) {
            return true;
        }
    }
    return false;
}

bool test_place_is_span(const struct nest_cluster *cluster, int stages, int widths,
                        const int64_t *block, int64_t span)
{
    for (int64_t sum = 1; sum <= span; sum++) {
        if (!sums_to(stages, widths, block, sum)) {
            continue;
        }
        if (sum == span) {
            return true;
        }
        for (int m = 0; m < cluster->levels; m++) {
            int64_t up = sum;
            while (!is_boundary(cluster, m, up)) {
                up++;
            }
            if (up == span) {
                return true;
            }
        }
    }
    return false;
}
