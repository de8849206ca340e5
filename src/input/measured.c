/* Measured times of a transformer's layers: a CSV table, or a YAML list of the same keys.
 *
 *     layer,tp,micro_batch,fw_ms,bw_ms
 *     block,8,1,10.4,20.9
 *     81,8,1,3.1,6.0
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/import/csv_table.h"
#include "input/records.h"

enum { ROWS_MAX = 1 << 16, MOST_WIDTH = 1 << 20, MOST_TOKENS = 1 << 28 };

static const double LONGEST = 1e5; /* seconds of one layer */

/* Rows while they are read. */
struct rows {
    struct nest_model_spec *model;
    struct nest_arena *arena;
    int count, room;
    struct nest_measured *row;
    struct nest_mark *mark; /* of each row's layer */
};

struct nest_measured_shape nest_measured_shape(const struct nest_model_spec *m)
{
    return (struct nest_measured_shape){{m->hidden, m->ffn, m->heads, m->kv_heads, m->head_dim,
                                         m->vocab, m->mlp, m->attention, m->window, m->experts,
                                         m->top_k, m->moe_ffn, m->shared_experts, m->shared_ffn,
                                         m->q_lora_rank, m->kv_lora_rank}};
}

static bool push(struct rows *rows, const struct nest_measured *row, struct nest_mark mark)
{
    if (rows->count == rows->room) {
        const int room = rows->room ? 2 * rows->room : 64;
        struct nest_measured *row_room = NEST_NEW(rows->arena, struct nest_measured, room);
        struct nest_mark *mark_room = NEST_NEW(rows->arena, struct nest_mark, room);
        if (!row_room || !mark_room) {
            return false;
        }
        if (rows->count > 0) {
            memcpy(row_room, rows->row, sizeof *row * (size_t)rows->count);
            memcpy(mark_room, rows->mark, sizeof mark * (size_t)rows->count);
        }
        rows->row = row_room;
        rows->mark = mark_room;
        rows->room = room;
    }
    rows->row[rows->count] = *row;
    if (row->seq == 0) {
        rows->row[rows->count].seq = rows->model->seq;
    }
    rows->mark[rows->count++] = mark;
    return true;
}

/* ---- Which layers --------------------------------------------------------------------------- */

static bool is_word(const char *text, const char *words)
{
    const size_t n = strlen(text);
    for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ') {
        if (strcspn(p, " ") == n && strncasecmp(p, text, n) == 0) {
            return true;
        }
    }
    return false;
}

/* "5", "1-80", "1..80". */
static bool read_range(const char *text, int64_t *first, int64_t *last)
{
    const size_t n = strspn(text, "0123456789");
    const char *rest = text + n;
    char number[24];
    if (n == 0 || n >= sizeof number) {
        return false;
    }
    memcpy(number, text, n);
    number[n] = 0;
    rest += strspn(rest, " ");
    rest += rest[0] == '-' ? 1 : strncmp(rest, "..", 2) == 0 ? 2 : 0;
    rest += strspn(rest, " ");
    if (!nest_text_int(number, first)) {
        return false;
    }
    *last = *first;
    return text[n] == 0 || nest_text_int(rest, last);
}

/* The layers that a text names. False, with *message, where there are none such. */
static bool read_layers(const struct nest_model_spec *model, const char *text,
                        struct nest_measured *row, const char **message)
{
    int64_t first, last;
    *message = "there is no such layer";
    if (is_word(text, "embedding embeddings embed emb")) {
        row->part = NEST_MEASURED_EMBEDDING;
        return true;
    }
    if (is_word(text, "head lm_head output")) {
        row->part = NEST_MEASURED_HEAD;
        return true;
    }
    if (is_word(text, "block blocks layer layers")) {
        row->part = NEST_MEASURED_BLOCKS;
        return true;
    }
    if (!read_range(text, &first, &last) || last > model->layers + 1) {
        return false;
    }
    if (last < first) {
        *message = "the range runs backwards";
        return false;
    }
    if (first == last && (first == 0 || first == model->layers + 1)) {
        row->part = first == 0 ? NEST_MEASURED_EMBEDDING : NEST_MEASURED_HEAD;
        return true;
    }
    if (first == 0 || last == model->layers + 1) {
        *message = "a range holds blocks only";
        return false;
    }
    row->part = NEST_MEASURED_BLOCKS;
    row->first = first;
    row->last = last;
    return true;
}

static const char *layer_hint(const struct nest_model_spec *model, struct nest_arena *arena)
{
    return nest_arena_printf(arena,
                             "expected embedding, block, head, a number from 0 (embedding) to "
                             "%" PRId64 " (head), or a range 1-%" PRId64,
                             model->layers + 1, model->layers);
}

/* ---- Twice the same ------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct nest_measured *x = *(const struct nest_measured *const *)a;
    const struct nest_measured *y = *(const struct nest_measured *const *)b;
    const int64_t keys[][2] = {
        {x->part, y->part}, {x->time.tp, y->time.tp}, {x->time.micro_batch, y->time.micro_batch},
        {x->seq, y->seq},   {x->first, y->first},     {x->line, y->line}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static bool same_point(const struct nest_measured *a, const struct nest_measured *b)
{
    return a->part == b->part && a->time.tp == b->time.tp &&
           a->time.micro_batch == b->time.micro_batch && a->seq == b->seq;
}

/* Layers given by number go before those given as "block", so only equals can meet. */
static bool overlap(const struct nest_measured *a, const struct nest_measured *b)
{
    return same_point(a, b) && (a->first == 0) == (b->first == 0) && b->first <= a->last;
}

static void report_duplicates(struct nest_field_reader *reader, const struct rows *rows)
{
    const struct nest_measured **sorted =
        NEST_NEW(reader->arena, const struct nest_measured *, rows->count + 1);
    for (int i = 0; sorted && i < rows->count; i++) {
        sorted[i] = &rows->row[i];
    }
    if (!sorted || rows->count == 0) {
        return;
    }
    qsort(sorted, (size_t)rows->count, sizeof *sorted, compare);
    const struct nest_measured *widest = sorted[0];
    for (int i = 1; i < rows->count; i++) {
        const struct nest_measured *row = sorted[i];
        if (overlap(widest, row)) {
            const bool later = row->line >= widest->line;
            const struct nest_measured *second = later ? row : widest;
            nest_errors_add(reader->errors, rows->mark[second - rows->row], NULL, "give it once",
                            "these layers are measured at tp %" PRId64 " in line %d already",
                            row->time.tp, later ? widest->line : row->line);
        }
        widest = same_point(widest, row) && widest->last > row->last ? widest : row;
    }
}

/* ---- CSV ------------------------------------------------------------------------------------ */

struct columns {
    int layer, tp, micro_batch, seq, time[2];
    double scale[2]; /* seconds of one of the unit that the head names; 0 = it names none */
};

static double unit_of(const char *head)
{
    static const struct {
        const char *word;
        double scale;
    } units[] = {{"ns", 1e-9},   {"us", 1e-6}, {"µs", 1e-6}, {"usec", 1e-6}, {"ms", 1e-3},
                 {"msec", 1e-3}, {"s", 1},     {"sec", 1},   {"seconds", 1}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (nest_csv_has_word(head, units[i].word)) {
            return units[i].scale;
        }
    }
    return 0;
}

static enum nest_status find_columns(struct nest_csv *t, struct columns *c)
{
    static const char *const missing[] = {"layer", "fw", "bw"};
    c->layer = nest_csv_column(t, "layer layers layer_id block module name");
    c->tp = nest_csv_column(t, "tp tp_size tensor_parallel tensor");
    c->micro_batch = nest_csv_column(t, "micro_batch microbatch micro mbs mb batch_size batch");
    c->seq = nest_csv_column(t, "seq seq_len seqlen sequence tokens");
    c->time[0] = nest_csv_column(t, "fw fwd forward");
    c->time[1] = nest_csv_column(t, "bw bwd backward");
    const int needed[] = {c->layer, c->time[0], c->time[1]};
    for (int i = 0; i < 3; i++) {
        if (needed[i] < 0) {
            return nest_job_fault(t->job, t->line, 1, "such as layer,tp,micro_batch,fw_ms,bw_ms",
                                  "no column '%s'", missing[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        c->scale[i] = unit_of(t->head[c->time[i]]);
    }
    return NEST_OK;
}

static bool read_count(struct nest_csv *t, int column, int64_t most, int64_t *out)
{
    if (column < 0 || !*t->cell[column]) {
        return true;
    }
    if (nest_text_int(t->cell[column], out) && *out >= 1 && *out <= most) {
        return true;
    }
    nest_job_fault(t->job, t->line, t->at[column], "a whole number from 1", "%s: '%.40s' is none",
                   t->head[column], t->cell[column]);
    return false;
}

static bool read_time(struct nest_csv *t, const struct columns *c, int i, double *out)
{
    const int column = c->time[i];
    double plain;
    if (c->scale[i] <= 0 && nest_text_number(t->cell[column], &plain)) {
        nest_job_fault(t->job, t->line, t->at[column],
                       "name the unit in the column's head, such as fw_ms, or in the cell: 1.2ms",
                       "%s: a time without a unit", t->head[column]);
        return false;
    }
    if (nest_csv_quantity(t, column, NEST_UNIT_SECONDS, c->scale[i], out) != NEST_OK) {
        return false;
    }
    if (*out >= 0 && *out <= LONGEST) {
        return true;
    }
    nest_job_fault(t->job, t->line, t->at[column], "from 0 to a day", "%s: %.40s is no time",
                   t->head[column], t->cell[column]);
    return false;
}

static bool read_row(struct nest_csv *t, const struct columns *c, struct rows *rows)
{
    struct nest_measured row = {.time = {.tp = 1, .micro_batch = 1}, .line = t->line};
    const struct nest_mark mark = {t->file->name, t->line, t->at[c->layer]};
    const char *message;
    bool fine = true;
    if (!read_layers(rows->model, t->cell[c->layer], &row, &message)) {
        nest_job_fault(t->job, t->line, t->at[c->layer], layer_hint(rows->model, rows->arena),
                       "layer '%.40s': %s", t->cell[c->layer], message);
        fine = false;
    }
    fine = read_count(t, c->tp, MOST_WIDTH, &row.time.tp) && fine;
    fine = read_count(t, c->micro_batch, MOST_WIDTH, &row.time.micro_batch) && fine;
    fine = read_count(t, c->seq, MOST_TOKENS, &row.seq) && fine;
    fine = read_time(t, c, 0, &row.time.fw) && fine;
    fine = read_time(t, c, 1, &row.time.bw) && fine;
    return !fine || push(rows, &row, mark);
}

static void read_csv(struct nest_field_reader *reader, const struct nest_import_file *file,
                     struct rows *rows)
{
    struct nest_job job = {
        .files = 1, .file = file, .arena = reader->arena, .errors = reader->errors};
    struct nest_csv table;
    struct columns columns;
    if (nest_csv_begin(&table, &job, file) != NEST_OK ||
        find_columns(&table, &columns) != NEST_OK) {
        return;
    }
    while (nest_csv_row(&table) > 0) {
        if (rows->count == ROWS_MAX) {
            nest_job_fault(&job, table.line, 1, NULL, "more than %d rows", (int)ROWS_MAX);
            return;
        }
        if (!read_row(&table, &columns, rows)) {
            return;
        }
    }
}

/* ---- YAML ----------------------------------------------------------------------------------- */

/* A row as the table reads it, and the model it belongs to. */
struct entry {
    struct nest_measured row;
    struct rows *rows;
};

static void read_layer(struct nest_field_reader *reader, const struct nest_node *node, void *record)
{
    struct entry *entry = record;
    const char *message;
    if (node->kind != NEST_NODE_SCALAR ||
        !read_layers(entry->rows->model, node->text, &entry->row, &message)) {
        nest_node_fault(reader, node, layer_hint(entry->rows->model, reader->arena), "layer %s: %s",
                        nest_node_describe(node, reader->arena),
                        node->kind == NEST_NODE_SCALAR ? message : "not a name or number");
    }
}

#define COUNT(word, member, most)                                                                  \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_COUNT, .offset = offsetof(struct entry, member),         \
        .low = 1, .high = (most)                                                                   \
    }
#define TIME(word, member)                                                                         \
    {                                                                                              \
        .key = (word), .type = NEST_FIELD_NUMBER, .unit = NEST_UNIT_SECONDS,                       \
        .offset = offsetof(struct entry, member), .low = 0, .high = 1e5, .required = true          \
    }
static const struct nest_field entry_fields[] = {
    {.key = "layer", .type = NEST_FIELD_CUSTOM, .read = read_layer, .required = true},
    COUNT("tp", row.time.tp, MOST_WIDTH),
    COUNT("micro_batch", row.time.micro_batch, MOST_WIDTH),
    COUNT("seq", row.seq, MOST_TOKENS),
    TIME("fw", row.time.fw),
    TIME("bw", row.time.bw),
    NEST_FIELD_END,
};

static void read_yaml(struct nest_field_reader *reader, const struct nest_node *root,
                      struct rows *rows)
{
    const struct nest_node *named = nest_node_get(root, "measured");
    const struct nest_node *list = named ? named : root;
    if (list->kind != NEST_NODE_SEQUENCE || list->count > ROWS_MAX) {
        nest_node_fault(
            reader, list, "expected a list such as [{layer: block, tp: 8, fw: 1ms, bw: 2ms}]",
            "%s is not a list of measured layers", nest_node_describe(list, reader->arena));
        return;
    }
    for (const struct nest_node *node = list->first; node; node = node->next) {
        struct entry entry = {.row = {.time = {.tp = 1, .micro_batch = 1}, .line = node->mark.line},
                              .rows = rows};
        const size_t before = reader->errors->count + reader->errors->dropped;
        nest_fields_read(reader, node, entry_fields, "a measured layer", &entry);
        if (reader->errors->count + reader->errors->dropped == before &&
            !push(rows, &entry.row, node->mark)) {
            return;
        }
    }
}

/* A YAML list or mapping begins with a dash, a bracket, a brace or the key; a table with a head. */
static bool is_yaml(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (*text != '#') {
            return strncmp(text, "- ", 2) == 0 || strncmp(text, "---", 3) == 0 ||
                   strncmp(text, "measured:", 9) == 0 || *text == '[' || *text == '{';
        }
        text += strcspn(text, "\n");
    }
}

void nest_measured_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                        const char *folder, struct nest_model_spec *model)
{
    struct rows rows = {.model = model, .arena = reader->arena};
    const char *path = nest_path_find(reader, name, folder);
    const char *text;
    size_t length;
    if (model->profile_layers > 0) {
        nest_errors_add(reader->errors, mark, NULL, "leave the file away",
                        "the model consists of measured layers already");
        return;
    }
    if (!path) {
        nest_errors_add(reader->errors, mark, NULL, "a CSV table or a YAML list",
                        "there is no file '%.200s' of measured times", name);
        return;
    }
    if (nest_file_read(path, reader->arena, &text, &length, reader->errors) != NEST_OK) {
        return;
    }
    const size_t before = reader->errors->count + reader->errors->dropped;
    if (is_yaml(text)) {
        const struct nest_node *root = NULL;
        if (nest_doc_parse(path, text, length, reader->arena, &root, reader->errors) == NEST_OK) {
            read_yaml(reader, root, &rows);
        }
    } else {
        const struct nest_import_file file = {path, text, length};
        read_csv(reader, &file, &rows);
    }
    report_duplicates(reader, &rows);
    if (rows.count == 0 && reader->errors->count + reader->errors->dropped == before) {
        nest_errors_add(reader->errors, (struct nest_mark){path, 0, 0}, NULL, NULL,
                        "no measured layers");
    }
    model->measured_ref = path;
    model->measured = rows.row;
    model->measurements = rows.count;
    model->measured_shape = nest_measured_shape(model);
}
