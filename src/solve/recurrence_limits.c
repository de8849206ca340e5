#include "solve/recurrence_state.h"

/* ---- Sums over the layers before a cut ---- */

static nest_ps plus(nest_ps a, nest_ps b)
{
    return nest_ps_min(a + b, NEST_PS_MAX);
}

/* The least that the layers between two cuts take, each figure by the option and place that suits
 * it best. */
static struct nest_least least_between(const struct nest_recurrence *r, int first, int last)
{
    struct nest_least least = {NEST_PS_MAX, NEST_PS_MAX, NEST_PS_MAX};
    for (size_t t = 0; t < r->tables; t++) {
        const struct nest_cost_table *table = r->table[t];
        for (int m = 0; m < r->chain->modes; m++) {
            const enum nest_recompute mode = r->chain->mode[m];
            const struct nest_layer_sum *sum = table->sum[mode];
            least.busy = nest_ps_min(least.busy, nest_table_least(table, first, last, mode));
            least.fw = nest_ps_min(least.fw, sum[last + 1].fw - sum[first].fw);
            least.bw = nest_ps_min(least.bw, sum[last + 1].bw - sum[first].bw);
        }
    }
    return least;
}

static nest_ps least_transfer(const struct nest_recurrence *r, int after)
{
    nest_ps least = NEST_PS_MAX;
    for (int w = 0; w < r->chain->layout->widths; w++) {
        for (int l = 0; r->crossed[w] >> l > 0; l++) {
            if (r->crossed[w] >> l & 1) {
                const struct nest_link link = {l, w};
                least = nest_ps_min(
                    least, nest_ps_min(transfer(r, after, link), gradient(r, after, link)));
            }
        }
    }
    return least;
}

/* True where a rule may leave transfers out of loads. */
static bool composed(const struct nest_chain *chain)
{
    return chain->layout->place[1][0].table[0]->load[chain->mode[0]][0][0].rows > 0;
}

/* Cut `cut` has the layers of cut `before` and one more. */
static void add_layer(struct nest_recurrence *r, int cut, int before, struct nest_least layer)
{
    const struct nest_least *sum = &r->ahead[before];
    r->ahead[cut] = (struct nest_least){plus(sum->busy, layer.busy), plus(sum->fw, layer.fw),
                                        plus(sum->bw, layer.bw)};
    r->largest[cut] = nest_ps_max(layer.busy, r->largest[before]);
}

static void prepare_cuts(struct nest_recurrence *r)
{
    const struct nest_cuts *cuts = r->chain->cuts;
    r->link[0] = 0;
    for (int c = 1; c < cuts->count; c++) {
        const int before = cuts->parent[c];
        add_layer(r, c, before, least_between(r, before, c - 1));
        r->run_start[c - 1] = c - 1;
        r->link[c] = c + 1 < cuts->count ? least_transfer(r, c - 1) : NEST_PS_MAX;
        r->least_link = nest_ps_min(r->least_link, r->link[c]);
    }
}

static void prepare_layers(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    struct nest_least layer = {0};
    for (int i = 0; i < chain->layers; i++) {
        const bool same = i > 0 && chain->kind_of[i] == chain->kind_of[i - 1];
        layer = same ? layer : least_between(r, i, i);
        add_layer(r, i + 1, i, layer);
        r->run_start[i] = same ? r->run_start[i - 1] : i;
        const bool inside = same && !chain->uneven && i + 1 < chain->layers &&
                            chain->kind_of[i + 1] == chain->kind_of[i];
        if (!inside && i + 1 < chain->layers) {
            r->least_link = nest_ps_min(r->least_link, least_transfer(r, i));
        }
    }
}

/* To *sum so many times what one takes. */
static void add_times(struct nest_least *sum, int times, const struct nest_least *one)
{
    sum->busy += times * one->busy;
    sum->fw += times * one->fw;
    sum->bw += times * one->bw;
}

/* The least time of each column; transfers may hide entirely. */
static void prepare_columns(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_interleave *in = chain->interleave;
    const struct nest_cost_table *table = chain->layout->place[1][0].table[0];
    const int lead = nest_table_cut(table, in->lead);
    const int trail = nest_table_cut(table, table->layers - in->trail);
    const struct nest_least block = least_between(r, lead, nest_table_cut(table, in->lead + 1) - 1);
    r->least_link = 0;
    for (int i = 0; i < chain->layers; i++) {
        struct nest_least column = {0};
        add_times(&column, in->chunks, &block);
        if (i == 0) {
            const struct nest_least front = least_between(r, 0, lead - 1);
            add_times(&column, in->lead > 0, &front);
            add_times(&column, in->short_first ? -1 : 0, &block);
        }
        if (i == chain->layers - 1) {
            const struct nest_least behind = least_between(r, trail, table->cuts - 2);
            add_times(&column, in->trail > 0, &behind);
            add_times(&column, in->short_last ? -1 : 0, &block);
        }
        add_layer(r, i + 1, i, column);
    }
}

static void prepare_sums(struct nest_recurrence *r)
{
    r->ahead[0] = (struct nest_least){0};
    r->largest[0] = 0;
    r->least_link = composed(r->chain) ? 0 : NEST_PS_MAX;
    if (r->chain->cuts) {
        prepare_cuts(r);
    } else if (r->chain->interleave) {
        prepare_columns(r);
    } else {
        prepare_layers(r);
    }
    /* Capped, so that no sum of links leaves int64: a bound may always be less. */
    const int stages = r->chain->layout->stages;
    r->least_link = stages > 1 ? nest_ps_min(r->least_link, NEST_PS_MAX / (2 * stages)) : 0;
}

/* ---- What the limit leaves ---- */

/* The least bottleneck of so many stages with these loads. */
static nest_ps evenly(nest_ps fill, int stages)
{
    return (fill + stages - 1) / stages;
}

/* The longest that a stage may be busy in a plan within the limit; less than any layer if none. */
static nest_ps most_busy(const struct nest_recurrence *r)
{
    const struct nest_step_frame *frame = &r->chain->frame;
    const int stages = r->chain->layout->stages;
    const nest_ps fill =
        plus(r->ahead[r->chain->layers].busy, 2 * (nest_ps)(stages - 1) * r->least_link);
    nest_ps low = -1;
    nest_ps high = NEST_PS_MAX;
    while (low < high) {
        const nest_ps middle = low + (high - low + 1) / 2;
        const struct nest_step step = {middle, nest_ps_max(middle, fill), 0};
        if (nest_step_time(frame, step, 0) <= r->limit) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The transfers of the s-th stage from the end. */
static nest_ps links_of(const struct nest_recurrence *r, int s)
{
    return ((s > 1) + (s < r->chain->layout->stages)) * r->least_link;
}

/* What a stage keeps of its first layer alone (struct nest_layer_memory) may be less for the layer
 * in front; then a stage may fit where a part of it does not. */
static bool is_steady(const struct nest_cost_table *table, enum nest_recompute mode)
{
    const int64_t *entering = table->entering[mode];
    for (int i = 1; i < table->layers; i++) {
        const struct nest_layer_sum *sum = &table->sum[mode][i - 1];
        if (entering[i] > entering[i - 1] + sum[1].activations - sum[0].activations +
                              sum[1].waiting - sum[0].waiting) {
            return false;
        }
    }
    return true;
}

static bool are_steady(const struct nest_recurrence *r)
{
    bool steady = !r->chain->interleave;
    for (size_t t = 0; t < r->tables && steady; t++) {
        for (int m = 0; m < r->chain->modes && steady; m++) {
            steady = is_steady(r->table[t], r->chain->mode[m]);
        }
    }
    return steady;
}

/* True if stage s can hold layers first…last by some option at some place while it is busy no
 * longer than b. */
static bool holds(struct nest_recurrence *r, int s, int first, int last, nest_ps b)
{
    const struct nest_chain *chain = r->chain;
    const struct nest_layout *layout = chain->layout;
    struct nest_choice c = {.s = s, .first = first, .last = last};
    const nest_ps time = b - links_of(r, s);
    for (int p = 0; p < layout->count[s]; p++) {
        c.place = &layout->place[s][p];
        for (c.mode = 0; c.mode < chain->modes; c.mode++) {
            for (c.zero = 0; c.zero < chain->zeros; c.zero++) {
                const struct nest_cost_table *table = c.place->table[c.zero];
                if (nest_table_least(table, first, last, chain->mode[c.mode]) <= time &&
                    nest_recurrence_fits(r, &c)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The last layer with which a stage s that starts at `first` holds what its time and its memory
 * allow; first - 1 if it cannot hold even one. */
static int last_held(struct nest_recurrence *r, int s, int first, nest_ps b)
{
    const nest_ps end = r->ahead[first].busy + b - links_of(r, s);
    int low = first - 1;
    int high = r->chain->layers - s;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        const bool timed = r->ahead[middle + 1].busy <= end;
        low = timed ? middle : low;
        high = timed ? high : middle - 1;
    }
    if (!r->steady || low < first || holds(r, s, first, low, b)) {
        return low;
    }
    high = low - 1;
    low = first - 1;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        const bool held = holds(r, s, first, middle, b);
        low = held ? middle : low;
        high = held ? high : middle - 1;
    }
    return low;
}

/* The same from the other end: the first layer with which a stage s that ends with `last` does. */
static int first_held(struct nest_recurrence *r, int s, int last, nest_ps b)
{
    const nest_ps start = r->ahead[last + 1].busy - b + links_of(r, s);
    int low = r->chain->layout->stages - s;
    int high = last + 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const bool timed = r->ahead[middle].busy >= start;
        high = timed ? middle : high;
        low = timed ? low : middle + 1;
    }
    if (!r->steady || low > last || holds(r, s, low, last, b)) {
        return low;
    }
    low++;
    high = last + 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const bool held = holds(r, s, middle, last, b);
        high = held ? middle : high;
        low = held ? low : middle + 1;
    }
    return low;
}

/* Where a chain may be cut if no stage is busy longer than b: each stage in turn, from the front,
 * takes all that it can hold. No cut lies further back, for a part of what a stage holds it holds,
 * too. False if layers are left over. */
static bool fill_from_front(struct nest_recurrence *r, nest_ps b)
{
    const int stages = r->chain->layout->stages;
    int cut = 0;
    for (int s = stages; s >= 1; s--) {
        r->window[s].to = cut;
        cut = last_held(r, s, cut, b) + 1;
    }
    r->window[0].to = cut;
    return cut == r->chain->layers;
}

/* The same from the back: no cut lies further in front. */
static void fill_from_back(struct nest_recurrence *r, nest_ps b)
{
    const int stages = r->chain->layout->stages;
    int cut = r->chain->layers;
    r->window[0].from = cut;
    for (int s = 1; s <= stages; s++) {
        const int first = first_held(r, s, cut - 1, b);
        cut = first < cut ? first : cut;
        r->window[s].from = cut > stages - s ? cut : stages - s;
    }
}

/* Raises the floor to the least b, to a thousandth, for which the stages hold all layers. */
static void raise_floor(struct nest_recurrence *r)
{
    nest_ps low = r->floor;
    nest_ps high = low;
    nest_ps stride = low / 256 + 1;
    while (high < r->ceiling && !fill_from_front(r, high)) {
        low = high + 1;
        high = nest_ps_min(plus(high, stride), r->ceiling);
        stride *= 2;
    }
    while (high - low > low / 1024) {
        const nest_ps middle = low + (high - low) / 2;
        if (fill_from_front(r, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    r->floor = low;
}

/* In a graph, what the number of layers leaves. */
static void open_windows(struct nest_recurrence *r)
{
    const int stages = r->chain->layout->stages;
    r->window[0] = (struct nest_window){r->chain->layers, r->chain->layers};
    for (int s = 1; s < stages; s++) {
        r->window[s] =
            (struct nest_window){cut_from(r->chain, stages - s), cut_leaving(r->chain, s)};
    }
    r->window[stages] = (struct nest_window){0, 0};
}

bool nest_recurrence_prepare(struct nest_recurrence *r)
{
    const struct nest_chain *chain = r->chain;
    const int stages = chain->layout->stages;
    const int all = chain->layers;
    prepare_sums(r);
    r->ceiling = most_busy(r);
    const nest_ps fill = plus(r->ahead[all].busy, 2 * (nest_ps)(stages - 1) * r->least_link);
    r->floor = nest_ps_max(evenly(fill, stages), r->largest[all]);
    r->plain = !composed(chain) && chain->frame.virtual_stages == 1 && !chain->frame.rule.given;
    if (r->floor > r->ceiling) {
        return false;
    }
    if (chain->cuts) {
        open_windows(r);
        r->link[all] = 0;
        return nest_recurrence_look_ahead(r);
    }
    r->looks_ahead = false;
    r->steady = are_steady(r);
    if (!fill_from_front(r, r->ceiling)) {
        return false;
    }
    raise_floor(r);
    (void)fill_from_front(r, r->ceiling);
    fill_from_back(r, r->ceiling);
    return true;
}

/* ---- The rest of the pipeline ---- */

void nest_recurrence_look(const struct nest_recurrence *r, int s, int first,
                          struct nest_outlook *out)
{
    const int64_t v = r->chain->frame.virtual_stages;
    const int ahead = r->chain->layout->stages - s;
    const struct nest_least *least = &r->ahead[first];
    const nest_ps behind = r->ahead[r->chain->layers].busy - least->busy;
    const int links = 2 * s - (ahead > 0 ? 1 : 2);
    *out = (struct nest_outlook){
        .ahead = ahead,
        .busy = nest_ps_max(r->floor, evenly(plus(behind, links * r->least_link), s))};
    out->late = nest_recurrence_late(r, ahead, first);
    out->spare = r->looks_ahead
                     ? r->limit - (r->chain->frame.microbatches - 1) * out->busy - out->late
                     : NEST_PS_MAX;
    if (ahead > 0) {
        out->fill = plus(least->busy, (2 * ahead - 1) * r->least_link);
        out->busy = nest_ps_max(out->busy, evenly(out->fill, ahead));
        out->forward = plus(least->fw, (ahead - 1) * r->least_link);
        out->drain = plus(least->bw, ahead * r->least_link) / v - (v > 1 ? ahead : 0);
    }
}

bool nest_recurrence_open(const struct nest_recurrence *r, const struct nest_outlook *outlook)
{
    return outlook->busy <= r->ceiling && outlook->late < NEST_PS_MAX;
}

bool nest_recurrence_hopeless(const struct nest_recurrence *r, const struct nest_outlook *outlook,
                              struct nest_step step)
{
    const struct nest_step_frame *frame = &r->chain->frame;
    struct nest_step whole = {nest_ps_max(step.bottleneck, outlook->busy),
                              plus(step.fill, outlook->fill), 0};
    if (nest_step_time(frame, whole, 0) > r->limit) {
        return true;
    }
    if (outlook->ahead > 0 && !r->plain) {
        return false;
    }
    whole.fill = step.fill + outlook->late;
    if (nest_step_time(frame, whole, 0) > r->limit) {
        return true;
    }
    /* What the stages in front take off the tail, bw and a transfer, they add to the fill, and
     * their fw and the other transfer as well. */
    whole.fill = step.fill + outlook->forward;
    whole.tail = step.tail;
    return nest_step_time(frame, whole, 0) > r->limit;
}
