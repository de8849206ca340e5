#include "cost/spread.h"

/* Intervals of u that the groups of one level cut, where block, span and groups are aligned. */
struct family {
    int64_t first, length;
    int64_t count, step; /* first, first + step, … */
};

struct cut {
    bool whole;   /* every group holds whole copies; else every copy is cut alike */
    int families; /* head, body, tail */
    struct family family[3];
    int64_t repeats; /* copies that are cut alike */
    /* Boundaries lie at edge, edge + step, … up to end. */
    int64_t edge, step, end;
};

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void add_family(struct cut *cut, int64_t first, int64_t length, int64_t count, int64_t step)
{
    if (length > 0 && count > 0) {
        cut->family[cut->families++] = (struct family){first, length, count, step};
    }
}

/* Cuts u at multiples of the capacity; false where neither span nor capacity divides the other. */
static bool cut_at(const struct nest_spread *spread, int64_t capacity, struct cut *cut)
{
    const int64_t block = spread->block;
    cut->families = 0;
    if (spread->copies == 1 || spread->span % capacity == 0) {
        const int64_t past = spread->x % capacity;
        const int64_t head = past == 0 ? 0 : least(capacity - past, block);
        const int64_t body = (block - head) / capacity;
        *cut =
            (struct cut){.repeats = spread->copies, .edge = head, .step = capacity, .end = block};
        add_family(cut, 0, head, 1, 0);
        add_family(cut, head, capacity, body, capacity);
        add_family(cut, head + body * capacity, block - head - body * capacity, 1, 0);
        return true;
    }
    if (capacity % spread->span == 0) {
        const int64_t held = capacity / spread->span;
        const int64_t full = spread->copies / held;
        const int64_t step = held * block;
        *cut =
            (struct cut){.whole = true, .repeats = 1, .step = step, .end = block * spread->copies};
        add_family(cut, 0, step, full, step);
        add_family(cut, full * step, (spread->copies - full * held) * block, 1, 0);
        return true;
    }
    return false;
}

/* After how many steps the offset into a tile returns. */
static int64_t period(int64_t step, int64_t tile, int64_t count)
{
    if (count <= 1 || step % tile == 0) {
        return 1;
    }
    return least(count, tile / greatest_divisor(tile, step));
}

/* How many steps and copies of a family must be looked at to see every offset into a tile that
 * matters: one, where no interval of the family is cut by a tile's edge. */
struct extent {
    int64_t steps, copies;
};

static struct extent different(const struct nest_spread *spread, const struct cut *cut,
                               const struct family *family, int64_t tile)
{
    const int64_t block = spread->block;
    const bool whole_copies = !cut->whole && tile % block == 0;
    const bool aligned = tile % family->length == 0 && family->first % family->length == 0 &&
                         (cut->repeats == 1 || block % family->length == 0);
    if (whole_copies || aligned) {
        return (struct extent){1, 1};
    }
    return (struct extent){period(family->step, tile, family->count),
                           period(block, tile, cut->repeats)};
}

/* q, p and g from the intervals of one cut. */
static struct nest_pieces measure(const struct nest_spread *spread, const struct cut *cut,
                                  int64_t stride, int64_t size)
{
    const int64_t tile = stride * size;
    struct nest_pieces pieces = {.fewest = size, .shortest = spread->block * spread->copies};
    for (int f = 0; f < cut->families; f++) {
        const struct family *family = &cut->family[f];
        const struct extent seen = different(spread, cut, family, tile);
        for (int64_t o = 0; o < seen.copies; o++) {
            for (int64_t i = 0; i < seen.steps; i++) {
                const int64_t at = o * spread->block + family->first + i * family->step;
                nest_pieces_add(&pieces, at % tile, family->length, stride, size);
            }
        }
    }
    return pieces;
}

/* Most groups of the cut that one communicator touches inside u = begin … end-1, which lies in one
 * tile. Groups in the middle are longer than the stride, so every communicator touches them; a
 * short one at either end is touched by some communicators only. */
static int64_t touched(const struct cut *cut, int64_t begin, int64_t end, int64_t stride)
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
static int64_t touched_in_tiles(const struct cut *cut, int64_t begin, int64_t end, int64_t offset,
                                int64_t stride, int64_t tile)
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
static int64_t touched_children(const struct nest_spread *spread, const struct cut *outer,
                                const struct cut *inner, int64_t stride, int64_t size)
{
    const int64_t tile = stride * size;
    if (outer->whole && !inner->whole) {
        const int64_t block = spread->block;
        if (block % tile == 0) {
            return touched_in_tiles(inner, 0, block, 0, stride, tile);
        }
        if (tile % block == 0 && block % stride == 0) {
            const int64_t copies = least(tile / block, outer->family[0].length / block);
            return copies * touched(inner, 0, block, stride);
        }
        return 0;
    }
    int64_t most = 0;
    for (int f = 0; f < outer->families; f++) {
        const struct family *family = &outer->family[f];
        const struct extent seen = different(spread, outer, family, tile);
        for (int64_t o = 0; o < seen.copies; o++) {
            for (int64_t i = 0; i < seen.steps; i++) {
                const int64_t begin = family->first + i * family->step;
                most = largest(most,
                               touched_in_tiles(inner, begin, begin + family->length,
                                                (o * spread->block + begin) % tile, stride, tile));
            }
        }
    }
    return most;
}

/* The outermost group holds everything. */
static void cut_nothing(const struct nest_spread *spread, struct cut *cut)
{
    const int64_t all = spread->block * spread->copies;
    const bool one = spread->copies == 1;
    *cut = (struct cut){.whole = !one, .repeats = 1, .step = all, .end = all};
    add_family(cut, 0, all, 1, 0);
}

static bool closed_form(const struct nest_spread *spread, int64_t stride, int64_t size,
                        struct nest_comm *out)
{
    const int levels = spread->cluster->levels;
    struct cut inner;
    struct cut outer;
    out->size = size;
    out->q[0] = out->p[0] = out->g[0] = 1;
    out->m[0] = 0;
    for (int k = 1; k <= levels; k++) {
        if (k == levels) {
            cut_nothing(spread, &outer);
        } else if (!cut_at(spread, spread->cluster->level[k - 1].capacity, &outer)) {
            return false;
        }
        int64_t most = size;
        if (k < levels) {
            const struct nest_pieces pieces = measure(spread, &outer, stride, size);
            out->q[k] = most = pieces.most;
            out->p[k] = pieces.fewest;
            out->g[k] = pieces.active;
        }
        /* m of level k-1, now that its groups are known to be `outer` and its children `inner`. */
        if (k == 1 || out->q[k - 1] == 1) {
            out->m[k - 1] = most;
        } else if (out->p[k - 1] == size) {
            out->m[k - 1] = 1;
        } else {
            out->m[k - 1] = touched_children(spread, &outer, &inner, stride, size);
            if (out->m[k - 1] == 0) {
                return false;
            }
        }
        out->top = out->m[k - 1] > 1 ? k - 1 : out->top;
        inner = outer;
    }
    return true;
}

void nest_spread_communicators(const struct nest_spread *spread, int64_t stride, int64_t size,
                               struct nest_comm *out)
{
    if (!spread->cluster->uniform || !closed_form(spread, stride, size, out)) {
        *out = (struct nest_comm){0};
        nest_spread_scan(spread, stride, size, out);
    }
}
