#include "cost/spread.h"

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t nest_greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void add_run(struct nest_cut *cut, int64_t first, int64_t length, int64_t count,
                    int64_t step)
{
    if (length > 0 && count > 0) {
        cut->run[cut->runs++] = (struct nest_interval_run){first, length, count, step};
    }
}

static void cut_copies(const struct nest_spread *spread, int64_t capacity, struct nest_cut *cut)
{
    const int64_t block = spread->block;
    const int64_t past = spread->x % capacity;
    const int64_t head = past == 0 ? 0 : least(capacity - past, block);
    const int64_t body = (block - head) / capacity;
    cut->known = true;
    cut->repeats = spread->copies;
    cut->edge = head;
    cut->step = capacity;
    add_run(cut, 0, head, 1, 0);
    add_run(cut, head, capacity, body, capacity);
    add_run(cut, head + body * capacity, block - head - body * capacity, 1, 0);
}

static void cut_between_copies(const struct nest_spread *spread, int64_t held, struct nest_cut *cut)
{
    const int64_t full = spread->copies / held;
    const int64_t step = held * spread->block;
    cut->known = cut->whole = true;
    cut->repeats = 1;
    cut->step = step;
    add_run(cut, 0, step, full, step);
    add_run(cut, full * step, (spread->copies - full * held) * spread->block, 1, 0);
}

void nest_spread_init(struct nest_spread *spread)
{
    const int levels = spread->cluster->levels;
    for (int k = 1; k <= levels; k++) {
        struct nest_cut *cut = &spread->cut[k];
        const int64_t capacity = spread->cluster->level[k - 1].capacity;
        cut->known = cut->whole = false;
        cut->runs = 0;
        cut->edge = 0;
        if (k == levels) {
            cut_between_copies(spread, spread->copies, cut); /* one group holds everything */
            cut->whole = spread->copies > 1;
        } else if (!spread->cluster->uniform) {
            continue;
        } else if (spread->copies == 1 || spread->span % capacity == 0) {
            cut_copies(spread, capacity, cut);
        } else if (capacity % spread->span == 0) {
            cut_between_copies(spread, capacity / spread->span, cut);
        }
    }
}

/* After how many steps the offset into a tile returns. */
static int64_t period(int64_t step, int64_t tile, int64_t count)
{
    if (count <= 1 || step % tile == 0) {
        return 1;
    }
    return least(count, tile / nest_greatest_divisor(tile, step));
}

/* How many steps and copies of a run must be looked at to see every offset into a tile that
 * matters: one, where no interval of the run is cut by a tile's edge. */
struct extent {
    int64_t steps, copies;
};

static struct extent different(const struct nest_spread *spread, const struct nest_cut *cut,
                               const struct nest_interval_run *run, int64_t tile)
{
    const int64_t block = spread->block;
    const bool whole_copies = !cut->whole && tile % block == 0;
    const bool aligned = tile % run->length == 0 && run->first % run->length == 0 &&
                         (cut->repeats == 1 || block % run->length == 0);
    if (whole_copies || aligned) {
        return (struct extent){1, 1};
    }
    return (struct extent){period(run->step, tile, run->count), period(block, tile, cut->repeats)};
}

/* q, p and g from the intervals of one cut. */
static struct nest_pieces measure(const struct nest_spread *spread, const struct nest_cut *cut,
                                  int64_t stride, int64_t size)
{
    const int64_t tile = stride * size;
    struct nest_pieces pieces = {.fewest = size, .shortest = spread->block * spread->copies};
    for (int f = 0; f < cut->runs; f++) {
        const struct nest_interval_run *run = &cut->run[f];
        const struct extent seen = different(spread, cut, run, tile);
        for (int64_t o = 0; o < seen.copies; o++) {
            for (int64_t i = 0; i < seen.steps; i++) {
                const int64_t at = o * spread->block + run->first + i * run->step;
                nest_pieces_add(&pieces, at % tile, run->length, stride, size);
            }
        }
    }
    return pieces;
}

/* Most groups of the cut that one communicator touches inside u = begin … end-1, which lies in one
 * tile. Groups in the middle are longer than the stride, so every communicator touches them; a
 * short one at either end is touched by some communicators only. */
static int64_t touched(const struct nest_cut *cut, int64_t begin, int64_t end, int64_t stride)
{
    const int64_t low = begin < cut->edge ? 0 : 1 + (begin - cut->edge) / cut->step;
    const int64_t high = end - 1 < cut->edge ? 0 : 1 + (end - 1 - cut->edge) / cut->step;
    if (low == high) {
        return 1;
    }
    const int64_t head = cut->edge + low * cut->step - begin;
    const int64_t last = cut->edge + (high - 1) * cut->step;
    const int64_t tail = end - last;
    const int64_t sure = high - low - 1 + (head >= stride) + (tail >= stride);
    if (head >= stride || tail >= stride) {
        return sure + (head < stride || tail < stride);
    }
    const int64_t apart = (last - begin) % stride;
    const bool both = apart < head || (stride - apart) % stride < tail;
    return sure + (both ? 2 : 1);
}

/* The same over all tiles inside begin … end-1; offset: how far into a tile begin lies. */
static int64_t touched_in_tiles(const struct nest_cut *cut, int64_t begin, int64_t end,
                                int64_t offset, int64_t stride, int64_t tile)
{
    if (offset + (end - begin) <= tile) {
        return touched(cut, begin, end, stride);
    }
    const int64_t first = begin + tile - offset;
    const int64_t whole = (end - first) / tile;
    const int64_t last = first + whole * tile;
    int64_t most = touched(cut, begin, first, stride);
    const int64_t different = least(whole, period(tile, cut->step, whole));
    for (int64_t i = 0; i < different; i++) {
        most = largest(most, touched(cut, first + i * tile, first + (i + 1) * tile, stride));
    }
    return last < end ? largest(most, touched(cut, last, end, stride)) : most;
}

/* m of the level whose groups cut as `outer` and whose children cut as `inner`, where a child holds
 * two members or more of some communicator; 0 where no closed form is known. */
static int64_t touched_children(const struct nest_spread *spread, const struct nest_cut *outer,
                                const struct nest_cut *inner, int64_t stride, int64_t size)
{
    const int64_t tile = stride * size;
    if (outer->whole && !inner->whole) {
        const int64_t block = spread->block;
        if (block % tile == 0) {
            return touched_in_tiles(inner, 0, block, 0, stride, tile);
        }
        if (tile % block == 0 && block % stride == 0) {
            const int64_t copies = least(tile / block, outer->run[0].length / block);
            return copies * touched(inner, 0, block, stride);
        }
        return 0;
    }
    int64_t most = 0;
    for (int f = 0; f < outer->runs; f++) {
        const struct nest_interval_run *run = &outer->run[f];
        const struct extent seen = different(spread, outer, run, tile);
        for (int64_t o = 0; o < seen.copies; o++) {
            for (int64_t i = 0; i < seen.steps; i++) {
                const int64_t begin = run->first + i * run->step;
                most = largest(most,
                               touched_in_tiles(inner, begin, begin + run->length,
                                                (o * spread->block + begin) % tile, stride, tile));
            }
        }
    }
    return most;
}

/* m of level k, given q of the level outside it. */
static int64_t groups_touched(const struct nest_spread *spread, int64_t stride, int64_t size, int k,
                              int64_t outside, const struct nest_comm *comm)
{
    if (k == 0 || comm->q[k] == 1) {
        return outside;
    }
    if (comm->p[k] == size) {
        return 1;
    }
    const struct nest_cut *inner = &spread->cut[k];
    const struct nest_cut *outer = &spread->cut[k + 1];
    const int64_t m = inner->known && outer->known
                          ? touched_children(spread, outer, inner, stride, size)
                          : comm->m[k];
    if (m > 0) {
        return m;
    }
    struct nest_comm scanned;
    nest_spread_scan(spread, stride, size, k, &scanned);
    return scanned.m[k];
}

void nest_spread_communicators(const struct nest_spread *spread, int64_t stride, int64_t size,
                               struct nest_comm *out)
{
    const int levels = spread->cluster->levels;
    out->size = size;
    out->q[0] = out->p[0] = out->g[0] = 1;
    for (int k = 1; k <= levels; k++) {
        int64_t most = size;
        if (k < levels && spread->cut[k].known) {
            const struct nest_pieces pieces = measure(spread, &spread->cut[k], stride, size);
            out->q[k] = most = pieces.most;
            out->p[k] = pieces.fewest;
            out->g[k] = pieces.active;
        } else if (k < levels) {
            nest_spread_scan(spread, stride, size, k, out);
            most = out->q[k];
        }
        out->m[k - 1] = groups_touched(spread, stride, size, k - 1, most, out);
        out->top = out->m[k - 1] > 1 ? k - 1 : out->top;
    }
}
