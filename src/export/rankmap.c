/* The rank map: which rank runs on which device, and what it is there. */
#include <inttypes.h>

#include "export/export.h"

struct seat {
    int64_t device, replica, tp, cp;
    int stage;
};

/* Calls visit for every used device in ascending order of position, which is the frameworks' rank
 * order: fastest tp, then cp, then what the device order says. */
static void each_seat(const struct nest_plan *plan,
                      void (*visit)(void *context, const struct seat *seat), void *context)
{
    const struct nest_strategy *s = &plan->strategy;
    for (int64_t o = 0; o < s->dp_out; o++) {
        for (int i = 0; i < plan->stages; i++) {
            const int64_t width = plan->stage[i].tp * s->cp;
            for (int64_t r = 0; r < s->dp_in; r++) {
                for (int64_t q = 0; q < width; q++) {
                    const struct seat seat = {
                        .device = o * s->span + plan->stage[i].first_device + r * width + q,
                        .replica = o * s->dp_in + r,
                        .tp = q % plan->stage[i].tp,
                        .cp = q / plan->stage[i].tp,
                        .stage = i,
                    };
                    visit(context, &seat);
                }
            }
        }
    }
}

struct table {
    const struct nest_cluster *cluster;
    const struct nest_cluster *selected; /* what of it the plan uses */
    struct nest_strbuf *out;
    int64_t rank;
};

static void add_row(void *context, const struct seat *seat)
{
    struct table *table = (struct table *)context;
    const int64_t device = nest_cluster_origin(table->selected, seat->device);
    nest_strbuf_printf(table->out, "%" PRId64 "\t%" PRId64, table->rank++, device);
    for (int l = table->cluster->levels - 2; l >= 0; l--) {
        nest_strbuf_printf(table->out, "\t%" PRId64, nest_cluster_group(table->cluster, l, device));
    }
    const int64_t node = nest_cluster_group(table->cluster, 0, device);
    nest_strbuf_printf(table->out, "\t%" PRId64 "\t%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n",
                       device - nest_cluster_group_start(table->cluster, 0, node), seat->stage,
                       seat->replica, seat->tp, seat->cp);
}

enum nest_status nest_export_rankmap(const struct nest_export *in, struct nest_strbuf *out,
                                     struct nest_notes *notes, struct nest_errors *errors)
{
    (void)notes;
    (void)errors;
    const struct nest_cluster *cluster = in->problem->cluster;
    struct table table = {cluster, nest_cluster_selected(cluster, in->plan->strategy.selection),
                          out, 0};
    nest_strbuf_add(out, "rank\tdevice");
    for (int l = table.cluster->levels - 2; l >= 0; l--) {
        nest_strbuf_printf(out, "\t%s", table.cluster->level[l].name);
    }
    nest_strbuf_add(out, "\tlocal\tstage\treplica\ttp_rank\tcp_rank\n");
    each_seat(in->plan, add_row, &table);
    return out->failed ? NEST_NO_MEMORY : NEST_OK;
}
