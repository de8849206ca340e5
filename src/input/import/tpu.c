/* TPU slices: "4x4x8", "v4-128", "v5litepod-16", alone or as a line of a table with a generation.
 */
#include <string.h>

#include "input/import/cluster_text.h"

struct generation {
    const char *name;
    const char *device;
    int dimensions;
    int cores;    /* counted by the number of an accelerator type, per chip */
    double link;  /* bytes/s of one link, one direction */
    int64_t side; /* a dimension of so many chips (3-D: a multiple) wraps around */
};

/* Links per direction: arXiv 2304.01433 (v4), the Cloud TPU pages (v5e, v5p, v6e, v7x). */
static const struct generation generations[] = {
    {"v4", "tpu-v4", 3, 2, 50e9, 4},          {"v5p", "tpu-v5p", 3, 2, 100e9, 4},
    {"v5litepod", "tpu-v5e", 2, 1, 50e9, 16}, {"v5e", "tpu-v5e", 2, 1, 50e9, 16},
    {"v6e", "tpu-v6e", 2, 1, 90e9, 16},       {"v7x", "tpu-v7x", 3, 2, 100e9, 4},
    {"tpu7x", "tpu-v7x", 3, 2, 100e9, 4},     {"v5p-slice", "tpu-v5p", 3, 2, 100e9, 4},
};

struct slice {
    const struct generation *generation;
    int dimensions;
    int64_t side[3];
    int64_t chips;
};

static const struct generation *find_generation(struct nest_piece word)
{
    if (nest_piece_begins(word, "tpu-")) {
        word = (struct nest_piece){word.text + 4, word.length - 4, 1};
    }
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        if (nest_piece_is(word, generations[i].name)) {
            return &generations[i];
        }
    }
    return NULL;
}

static bool read_shape(struct nest_piece word, struct slice *out)
{
    struct nest_piece field;
    out->dimensions = 0;
    out->chips = 1;
    while (nest_piece_field(&word, 'x', &field)) {
        int64_t side;
        if (out->dimensions == 3 || !nest_piece_int(field, &side) || side < 1 || side > 4096) {
            return false;
        }
        out->side[out->dimensions++] = side;
        out->chips *= side;
    }
    return out->dimensions >= 2;
}

/* Sides of a 3-D slice: 1, 2, or a multiple of 4. */
static bool is_side(int64_t side)
{
    return side == 1 || side == 2 || side % 4 == 0;
}

/* The shape that is offered for a number of chips: as near to a cube (or square) as possible. */
static bool usual_shape(int64_t chips, struct slice *out)
{
    int64_t best = -1;
    for (int64_t a = 1; a <= 64 && a <= chips; a++) {
        if (chips % a != 0 || (out->generation->dimensions == 2 && a > 1)) {
            continue;
        }
        for (int64_t b = a; b <= chips / a / b; b++) {
            const int64_t c = chips / a / b;
            const bool fits = chips / a % b == 0 && is_side(a) && is_side(b) && is_side(c);
            const int64_t first = out->generation->dimensions == 2 ? b : a;
            if (fits && (best < 0 || c - first < best)) {
                best = c - first;
                out->side[0] = a;
                out->side[1] = b;
                out->side[2] = c;
            }
        }
    }
    if (best < 0) {
        return false;
    }
    out->chips = chips;
    out->dimensions = out->generation->dimensions;
    if (out->dimensions == 3 && chips == 4) { /* one host */
        out->side[0] = 2;
        out->side[2] = 1;
    }
    if (out->dimensions == 2) {
        out->side[0] = out->side[1];
        out->side[1] = out->side[2];
    }
    return true;
}

/* What stands between a generation and the rest: the last dash or colon. */
static const char *find_dash(struct nest_piece word)
{
    for (size_t i = word.length; i-- > 0;) {
        if (word.text[i] == '-' || word.text[i] == ':') {
            return word.text + i;
        }
    }
    return NULL;
}

static enum nest_status read_slice(struct nest_job *job, struct nest_piece word,
                                   struct nest_piece named, int line, struct slice *out)
{
    const char *option = job->options->device;
    const char *dash = find_dash(word);
    const size_t n = dash ? (size_t)(dash - word.text) : 0;
    int64_t number = 0;
    const struct nest_piece stated = {word.text, n, word.column};
    if (n > 0 && find_generation(stated) && memchr(dash, 'x', word.length - n)) {
        named = stated; /* v5p-4x4x8, v5p:4x4x8 */
        word = (struct nest_piece){dash + 1, word.length - n - 1, word.column + (int)n + 1};
    }
    if (read_shape(word, out)) {
        out->generation = find_generation(named);
        if (!out->generation && option) {
            out->generation = find_generation((struct nest_piece){option, strlen(option), 1});
        }
        if (!out->generation) {
            out->generation = &generations[out->dimensions == 3 ? 0 : 3];
            nest_job_note(job,
                          "the generation is not said: %s assumed; say it with --device tpu-v5p",
                          out->generation->name);
        }
        if (out->generation->dimensions != out->dimensions) {
            return nest_job_fault(
                job, line, word.column,
                nest_arena_printf(job->arena, "%d sides", out->generation->dimensions),
                "%s slices have %d dimensions, not %d", out->generation->name,
                out->generation->dimensions, out->dimensions);
        }
        return NEST_OK;
    }
    out->generation = n > 0 ? find_generation((struct nest_piece){word.text, n, 1}) : NULL;
    if (!out->generation ||
        !nest_piece_int((struct nest_piece){dash + 1, word.length - n - 1, 1}, &number)) {
        return nest_job_fault(job, line, word.column,
                              "such as 4x4x8, v4-128, v5p-32, v5litepod-16 or v6e-256",
                              "'%.*s' is no TPU slice", (int)word.length, word.text);
    }
    if (number < 1 || number % out->generation->cores != 0 || number > 1 << 20 ||
        !usual_shape(number / out->generation->cores, out)) {
        return nest_job_fault(job, line, word.column, NULL, "there is no %s slice of %lld %s",
                              out->generation->name, (long long)number,
                              out->generation->cores > 1 ? "TensorCores" : "chips");
    }
    if (out->generation->cores > 1) {
        nest_job_note(job, "the number counts TensorCores, two a chip; a device here is a chip");
    }
    nest_job_note(job, "the usual shape of %lld chips was taken", (long long)out->chips);
    return NEST_OK;
}

/* 3-D slices wrap around from one cube on; 2-D ones only in a dimension of the pod's full side. */
static bool wraps(const struct slice *slice, int dimension)
{
    if (slice->dimensions == 2) {
        return slice->side[dimension] >= slice->generation->side;
    }
    for (int i = 0; i < 3; i++) {
        if (slice->side[i] % slice->generation->side != 0) {
            return false;
        }
    }
    return true;
}

static enum nest_status write_slice(struct nest_job *job, const struct slice *slice)
{
    static const char *const axis[] = {"x", "y", "z"};
    struct nest_found_cluster found = {.device = slice->generation->device};
    struct nest_strbuf shape = NEST_STRBUF_INIT(256);
    for (int i = 0; i < slice->dimensions; i++) {
        nest_strbuf_printf(&shape, "%s%lld", i ? "x" : "", (long long)slice->side[i]);
    }
    const char *text = nest_arena_strdup(job->arena, nest_strbuf_text(&shape));
    nest_strbuf_free(&shape);
    found.name = nest_arena_printf(job->arena, "TPU %s %s", slice->generation->name, text);
    const bool wrap = wraps(slice, 0);
    bool mixed = false;
    for (int i = 1; i < slice->dimensions; i++) {
        mixed = mixed || wraps(slice, i) != wrap;
    }
    if (!mixed) {
        struct nest_found_level *level = nest_found_level_add(&found, "slice", slice->chips);
        level->kind = NEST_LEVEL_TORUS;
        level->shape = text;
        level->wrap = wrap;
        level->bandwidth = slice->generation->link;
        level->oversubscription = 1;
        level->note =
            wrap ? "per link; every dimension wraps around" : "per link; no wrap-around: a mesh";
        return nest_found_cluster_write(job, &found);
    }
    for (int i = 0; i < slice->dimensions; i++) {
        struct nest_found_level *level = nest_found_level_add(&found, axis[i], slice->side[i]);
        const bool ring = wraps(slice, i);
        level->kind = ring ? NEST_LEVEL_RING : NEST_LEVEL_MESH;
        level->bandwidth = slice->generation->link * (ring ? 2 : 1);
        level->oversubscription = 1;
        level->note = ring ? "wraps around" : "no wrap-around";
    }
    return nest_found_cluster_write(job, &found);
}

/* A file may hold a slice alone, or a table with a slice and its generation per line. */
enum nest_status nest_import_tpu(struct nest_job *job)
{
    struct nest_lines lines;
    struct nest_piece line, word, second, found = {NULL, 0, 1}, named = {"", 0, 1};
    int number = 0, slices = 0;
    nest_lines_begin(&lines, &job->file[0]);
    while (nest_lines_next(&lines, &line)) {
        if (!nest_piece_word(&line, &word) || word.text[0] == '#' ||
            nest_piece_is(word, "string") || nest_piece_is(word, "slice")) {
            continue;
        }
        const bool wanted = !job->options->root || nest_piece_is(word, job->options->root);
        if (!wanted) {
            continue;
        }
        slices++;
        found = word;
        number = lines.number;
        named = nest_piece_word(&line, &second) ? second : (struct nest_piece){"", 0, 1};
    }
    if (slices == 0) {
        return nest_job_fault(job, 0, 0, "such as 4x4x8, v4-128 or v5litepod-16",
                              job->options->root ? "no slice of that name" : "no TPU slice found");
    }
    if (slices > 1) {
        return nest_job_fault(job, 0, 0, "choose one with --root SLICE", "%d slices in one file",
                              slices);
    }
    struct slice slice = {.generation = NULL};
    const enum nest_status status = read_slice(job, found, named, number, &slice);
    return status == NEST_OK ? write_slice(job, &slice) : status;
}
