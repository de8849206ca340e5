#include "ui/views/lesson.h"

#include <stdio.h>
#include <string.h>

enum {
    ROWS_MAX = 400,
    TEXT_MAX = 1024,
    FIGURES = 80, /* columns that figures are printed for */
    PROSE = 48,   /* columns from which on prose stands beside them */
    GAP = 3
};

/* One column of rows: text is drawn as if the column had no end, from row `from` on. */
struct column {
    struct nest_canvas *canvas;
    struct nest_rect rect;
    int from;
    int rows;
};

static void add_row(struct column *column, enum nest_role role, const char *text)
{
    const int y = column->rows - column->from;
    if (y >= 0 && y < column->rect.height) {
        (void)nest_canvas_text(column->canvas, column->rect.x, column->rect.y + y,
                               column->rect.width, role, text);
    }
    column->rows++;
}

/* A word in front of the text in bold, then whole words. */
static void add_prose(struct column *column, enum nest_role role, const char *label,
                      const char *text)
{
    char all[TEXT_MAX];
    char row[TEXT_MAX];
    (void)snprintf(all, sizeof all, "%s%s", label, text);
    const int first = column->rows;
    for (const char *at = all; *at;) {
        const size_t length = nest_canvas_line(column->canvas, at, column->rect.width);
        (void)snprintf(row, sizeof row, "%.*s", (int)length, at);
        add_row(column, role, row);
        at += length;
        at += strspn(at, " ");
    }
    const int y = first - column->from;
    if (*label && y >= 0 && y < column->rect.height) {
        (void)nest_canvas_text(column->canvas, column->rect.x, column->rect.y + y,
                               column->rect.width, NEST_ROLE_HEADING, label);
    }
}

static void add_words(struct column *column, const struct nest_lesson_report *report)
{
    add_prose(column, NEST_ROLE_TEXT, "", report->text);
    add_row(column, NEST_ROLE_TEXT, "");
    add_prose(column, NEST_ROLE_VALUE, "Try: ", report->attempt);
    add_prose(column, NEST_ROLE_VALUE, "Question: ", report->question);
    add_row(column, NEST_ROLE_TEXT, "");
}

static void add_figures(struct column *column, const struct nest_lesson_report *report)
{
    if (report->figures->count == 0) {
        add_row(column, NEST_ROLE_DIM, "The figures are on their way …");
    }
    for (int i = 0; i < report->figures->count && column->rows < ROWS_MAX; i++) {
        const struct nest_line *line = &report->figures->line[i];
        const bool bad = line->kind == NEST_LINE_ERROR;
        if (bad) {
            add_prose(column, NEST_ROLE_BAD, "", line->text);
        } else {
            add_row(column, report->stale ? NEST_ROLE_DIM : NEST_ROLE_TEXT, line->text);
        }
    }
}

/* Title, tick, and the lesson's word on what the learner did: always in sight. Returns the rows. */
static int draw_head(const struct nest_lesson_report *report, struct nest_canvas *canvas,
                     struct nest_rect rect)
{
    char tick[64];
    (void)snprintf(tick, sizeof tick, "%s %d of %d", report->done ? "[x] done " : "[ ]",
                   report->number, report->count);
    const int columns = nest_canvas_columns(canvas, tick);
    (void)nest_canvas_text(canvas, rect.x, rect.y, rect.width - columns - 2, NEST_ROLE_HEADING,
                           report->title);
    nest_canvas_right(canvas, rect.x, rect.y, rect.width,
                      report->done ? NEST_ROLE_GOOD : NEST_ROLE_DIM, tick);
    if (!report->edited || rect.height < 2) {
        return 1;
    }
    (void)nest_canvas_printf(canvas, rect.x, rect.y + 1, rect.width,
                             report->held ? NEST_ROLE_GOOD : NEST_ROLE_WARN, "%s%s%s",
                             report->held ? "Done" : "Not yet", *report->verdict ? ": " : ".",
                             report->verdict);
    return 2;
}

/* There is more than fits: in the rule above, where it hides nothing. */
static void draw_hint(struct nest_canvas *canvas, struct nest_rect rect, int scroll, int most)
{
    if (most > 0 && rect.y > 0) {
        nest_canvas_right(canvas, rect.x, rect.y - 1, rect.width, NEST_ROLE_WARN,
                          scroll < most ? " PgDn … " : " PgUp … ");
    }
}

static int clamp(int value, int most)
{
    value = value > most ? most : value;
    return value < 0 ? 0 : value;
}

void nest_lesson_draw(const struct nest_lesson_report *report, struct nest_canvas *canvas,
                      struct nest_rect rect, int *scroll)
{
    if (rect.height < 1 || report->number == 0) {
        return;
    }
    const int head = draw_head(report, canvas, rect);
    const struct nest_rect body = {rect.x, rect.y + head, rect.width, rect.height - head};
    const bool beside = rect.width >= PROSE + GAP + FIGURES;
    struct column measure = {canvas, {body.x, body.y, body.width, 0}, 0, 0};
    struct column words = {canvas, body, 0, 0};
    if (beside) {
        words.rect.width = body.width - FIGURES - GAP;
        struct column figures = {
            canvas, {body.x + body.width - FIGURES, body.y, FIGURES, body.height}, 0, 0};
        measure.rect.width = FIGURES;
        add_figures(&measure, report);
        *scroll = clamp(*scroll, measure.rows - body.height);
        figures.from = *scroll;
        add_words(&words, report);
        add_figures(&figures, report);
        draw_hint(canvas, rect, *scroll, measure.rows - body.height);
        return;
    }
    add_words(&measure, report);
    add_figures(&measure, report);
    *scroll = clamp(*scroll, measure.rows - body.height);
    words.from = *scroll;
    add_words(&words, report);
    add_figures(&words, report);
    draw_hint(canvas, rect, *scroll, measure.rows - body.height);
}
