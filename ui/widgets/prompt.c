#include "ui/widgets/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/input.h"
#include "ui/utf8.h"

/* ---- History ---- */

void nest_history_add(struct nest_history *history, const char *line)
{
    char *copy = *line ? strdup(line) : NULL;
    if (!copy) {
        return;
    }
    int gone = history->count == NEST_HISTORY_MAX ? 0 : -1;
    for (int i = 0; i < history->count; i++) {
        if (strcmp(history->line[i], line) == 0) {
            gone = i;
        }
    }
    if (gone >= 0) {
        free(history->line[gone]);
        history->count--;
        memmove(&history->line[gone], &history->line[gone + 1],
                (size_t)(history->count - gone) * sizeof history->line[0]);
    }
    history->line[history->count++] = copy;
}

void nest_history_free(struct nest_history *history)
{
    for (int i = 0; i < history->count; i++) {
        free(history->line[i]);
    }
    history->count = 0;
}

/* ---- Editing ---- */

static void set_text(struct nest_prompt *prompt, const char *text)
{
    (void)snprintf(prompt->text, sizeof prompt->text, "%s", text);
    prompt->length = prompt->cursor = (int)strlen(prompt->text);
}

void nest_prompt_open(struct nest_prompt *prompt, const char *label, const char *text,
                      struct nest_history *history)
{
    *prompt = (struct nest_prompt){.history = history, .fresh = *text != '\0'};
    prompt->recalled = history ? history->count : 0;
    (void)snprintf(prompt->label, sizeof prompt->label, "%s", label);
    set_text(prompt, text);
}

static void remove_bytes(struct nest_prompt *prompt, int from, int to)
{
    memmove(prompt->text + from, prompt->text + to, (size_t)(prompt->length - to + 1));
    prompt->length -= to - from;
    prompt->cursor = from;
}

static void insert(struct nest_prompt *prompt, const char *bytes)
{
    const int count = (int)strlen(bytes);
    if (prompt->length + count >= NEST_PROMPT_MAX) {
        return;
    }
    memmove(prompt->text + prompt->cursor + count, prompt->text + prompt->cursor,
            (size_t)(prompt->length - prompt->cursor + 1));
    memcpy(prompt->text + prompt->cursor, bytes, (size_t)count);
    prompt->length += count;
    prompt->cursor += count;
}

/* Neighbouring character boundaries. */
static int before(const struct nest_prompt *prompt)
{
    int at = prompt->cursor;
    while (at > 0 && ((unsigned char)prompt->text[--at] & 0xc0) == 0x80) {
    }
    return at;
}

static int after(const struct nest_prompt *prompt)
{
    uint32_t code = 0;
    return prompt->cursor < prompt->length
               ? prompt->cursor + (int)nest_utf8_decode(prompt->text + prompt->cursor, &code)
               : prompt->length;
}

static int word_start(const struct nest_prompt *prompt)
{
    int at = prompt->cursor;
    while (at > 0 && prompt->text[at - 1] == ' ') {
        at--;
    }
    while (at > 0 && prompt->text[at - 1] != ' ') {
        at--;
    }
    return at;
}

static void recall(struct nest_prompt *prompt, int step)
{
    const int count = prompt->history ? prompt->history->count : 0;
    const int next = prompt->recalled + step;
    if (next < 0 || next > count) {
        return;
    }
    if (prompt->recalled == count) {
        (void)snprintf(prompt->kept, sizeof prompt->kept, "%s", prompt->text);
    }
    prompt->recalled = next;
    set_text(prompt, next == count ? prompt->kept : prompt->history->line[next]);
}

static void edit(struct nest_prompt *prompt, uint32_t key)
{
    char bytes[NEST_UTF8_MAX + 1];
    switch (key) {
    case NEST_KEY_LEFT:
        prompt->cursor = before(prompt);
        break;
    case NEST_KEY_RIGHT:
        prompt->cursor = after(prompt);
        break;
    case NEST_KEY_HOME:
    case 'A' - '@':
        prompt->cursor = 0;
        break;
    case NEST_KEY_END:
    case 'E' - '@':
        prompt->cursor = prompt->length;
        break;
    case NEST_KEY_UP:
        recall(prompt, -1);
        break;
    case NEST_KEY_DOWN:
        recall(prompt, 1);
        break;
    case NEST_KEY_DELETE:
        remove_bytes(prompt, prompt->cursor, after(prompt));
        break;
    case 'U' - '@':
        remove_bytes(prompt, 0, prompt->cursor);
        break;
    case 'W' - '@':
        remove_bytes(prompt, word_start(prompt), prompt->cursor);
        break;
    default:
        if (key >= ' ' && key < 0x110000) {
            if (prompt->fresh) {
                set_text(prompt, "");
            }
            insert(prompt, nest_utf8_encode(key, bytes));
        }
    }
    prompt->fresh = false;
}

enum nest_prompt_result nest_prompt_key(struct nest_prompt *prompt, uint32_t key)
{
    switch (key) {
    case NEST_KEY_ENTER:
        return NEST_PROMPT_ACCEPTED;
    case NEST_KEY_ESCAPE:
    case 'C' - '@':
        return NEST_PROMPT_CLOSED;
    case NEST_KEY_BACKSPACE:
        if (prompt->length == 0) {
            return NEST_PROMPT_CLOSED;
        }
        remove_bytes(prompt, before(prompt), prompt->cursor);
        prompt->fresh = false;
        return NEST_PROMPT_GOES_ON;
    default:
        edit(prompt, key);
        return NEST_PROMPT_GOES_ON;
    }
}

/* ---- Completion ---- */

int nest_prompt_complete(struct nest_prompt *prompt, const char *const *candidates)
{
    const int start = word_start(prompt);
    const size_t typed = (size_t)(prompt->cursor - start);
    const char *common = NULL;
    size_t length = 0;
    int count = 0;
    if (prompt->cursor > 0 && prompt->text[prompt->cursor - 1] == ' ') {
        prompt->fresh = false;
    }
    const bool blank = prompt->cursor > 0 && prompt->text[prompt->cursor - 1] == ' ';
    const char *word = blank ? "" : prompt->text + start;
    const size_t bytes = blank ? 0 : typed;
    for (; candidates && *candidates; candidates++) {
        if (strncmp(*candidates, word, bytes) != 0) {
            continue;
        }
        if (count++ == 0) {
            common = *candidates;
            length = strlen(common);
        }
        while (strncmp(common, *candidates, length) != 0) {
            length--;
        }
    }
    if (common && length > bytes) {
        char text[NEST_PROMPT_MAX];
        (void)snprintf(text, sizeof text, "%.*s%s", (int)(length - bytes), common + bytes,
                       count == 1 && common[length - 1] != '/' ? " " : "");
        insert(prompt, text);
    }
    prompt->fresh = false;
    return count;
}

void nest_prompt_draw(const struct nest_prompt *prompt, struct nest_canvas *canvas, int x, int y,
                      int width)
{
    char ahead[NEST_PROMPT_MAX];
    const char *text = prompt->text;
    int used = nest_canvas_text(canvas, x, y, width, NEST_ROLE_PROMPT, prompt->label);
    (void)snprintf(ahead, sizeof ahead, "%.*s", prompt->cursor, prompt->text);
    const char *start = ahead;
    /* Keep the cursor in sight of a long line. */
    while (nest_canvas_columns(canvas, start) > width - used - 1 && *start) {
        uint32_t code = 0;
        const size_t step = nest_utf8_decode(start, &code);
        start += step;
        text += step;
    }
    (void)nest_canvas_text(canvas, x + used, y, width - used,
                           prompt->fresh ? NEST_ROLE_CHANGED : NEST_ROLE_PROMPT, text);
    canvas->cursor_x = x + used + nest_canvas_columns(canvas, start);
    canvas->cursor_y = y;
}
