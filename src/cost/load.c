#include "cost/table.h"

static double row_value(const struct nest_load_row *row, const struct nest_stage_cost *stage)
{
    return row->forward * (double)stage->fw +
           row->backward * (double)(stage->bw - stage->recompute) +
           row->recompute * (double)stage->recompute + row->in * (double)stage->in +
           row->out * (double)stage->out;
}

static nest_ps whole(double value)
{
    return value < (double)NEST_PS_MAX ? (nest_ps)value : NEST_PS_MAX;
}

nest_ps nest_stage_load(const struct nest_cost_table *table, enum nest_recompute recompute,
                        bool first, bool last, const struct nest_stage_cost *stage, nest_ps plain)
{
    const struct nest_load_rule *rule = &table->load[recompute][first][last];
    if (table->endless[recompute] || stage->in >= table->longest_link ||
        stage->out >= table->longest_link) {
        return NEST_PS_MAX;
    }
    nest_ps most = rule->rows == 0 ? plain : 0;
    for (int i = 0; i < rule->rows; i++) {
        const nest_ps value = whole(row_value(&rule->row[i], stage));
        most = value > most ? value : most;
    }
    return most;
}

/* A sum over rows' largest values is no bound of the largest sum, but a sum over one row is. The
 * picosecond makes up for rounding each layer apart. */
nest_ps nest_load_least(const struct nest_load_rule rule[2][2], nest_ps fw, nest_ps bw,
                        nest_ps recompute)
{
    const struct nest_stage_cost layer = {.fw = fw, .bw = bw, .recompute = recompute};
    nest_ps least = NEST_PS_MAX;
    for (int ends = 0; ends < 4; ends++) {
        const struct nest_load_rule *one = &rule[ends & 1][ends >> 1];
        nest_ps value = fw + bw;
        if (one->rows > 0) {
            value = whole(row_value(&one->row[0], &layer));
            value = value > 0 ? value - 1 : 0;
        }
        least = value < least ? value : least;
    }
    return least;
}
