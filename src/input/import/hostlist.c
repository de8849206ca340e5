#include "input/import/hostlist.h"

#include <stdio.h>
#include <string.h>

enum { BRACKETS = 8, NAME_MAX_LENGTH = 255 };

/* One range of a bracket, or a fixed text between brackets. */
struct range {
    int64_t low, high;
    int width; /* zero-padded to this many digits; 0 = not padded */
};

/* One element of the list: text, bracket, text, bracket … */
struct part {
    struct nest_piece text;
    int first, ranges; /* of the bracket after the text; ranges = 0: none */
};

struct element {
    int parts;
    struct part part[BRACKETS + 1];
    int ranges, room;
    struct range *range;
};

struct expansion {
    struct nest_job *job;
    int line;
    int64_t left, limit;
    nest_hostlist_visit *visit;
    void *context;
};

static enum nest_status add_range(struct expansion *x, struct element *e, struct nest_piece text)
{
    struct nest_piece rest = text, low, high;
    if (!nest_piece_field(&rest, '-', &low)) {
        low = text;
    }
    const bool single = !rest.text;
    high = single ? low : rest;
    struct range r;
    if (!nest_piece_int(low, &r.low) || !nest_piece_int(high, &r.high) || low.length > 18 ||
        high.length > 18) {
        return nest_job_fault(x->job, x->line, text.column, "such as [001-032] or [1,4,7-9]",
                              "'%.*s' is not a range of numbers", (int)text.length, text.text);
    }
    if (r.high < r.low) {
        return nest_job_fault(x->job, x->line, text.column, "the smaller number first",
                              "the range %.*s runs backwards", (int)text.length, text.text);
    }
    r.width = low.length > 1 && low.text[0] == '0' ? (int)low.length : 0;
    if (e->ranges == e->room) {
        const int room = e->room ? e->room * 2 : 8;
        struct range *grown = NEST_NEW(x->job->arena, struct range, room);
        if (!grown) {
            return nest_job_no_memory(x->job);
        }
        if (e->ranges > 0) {
            memcpy(grown, e->range, sizeof *grown * (size_t)e->ranges);
        }
        e->range = grown;
        e->room = room;
    }
    e->range[e->ranges++] = r;
    return NEST_OK;
}

/* Reads the bracket whose text (without the brackets) is given. */
static enum nest_status read_bracket(struct expansion *x, struct element *e,
                                     struct nest_piece inside)
{
    struct part *part = &e->part[e->parts - 1];
    part->first = e->ranges;
    struct nest_piece field;
    while (nest_piece_field(&inside, ',', &field)) {
        const enum nest_status status = add_range(x, e, field);
        if (status != NEST_OK) {
            return status;
        }
    }
    part->ranges = e->ranges - part->first;
    return NEST_OK;
}

/* Cuts text into parts; brackets are balanced, as cut_element saw to it. */
static enum nest_status read_element(struct expansion *x, struct nest_piece text, struct element *e)
{
    size_t at = 0;
    while (at < text.length || e->parts == 0) {
        if (e->parts == BRACKETS) {
            return nest_job_fault(x->job, x->line, text.column, NULL,
                                  "more than %d brackets in one name", (int)BRACKETS);
        }
        size_t open = at;
        while (open < text.length && text.text[open] != '[') {
            open++;
        }
        e->part[e->parts++] =
            (struct part){.text = {text.text + at, open - at, text.column + (int)at}};
        if (open == text.length) {
            break;
        }
        const char *close = memchr(text.text + open, ']', text.length - open);
        const size_t end = (size_t)(close - text.text);
        const enum nest_status status = read_bracket(
            x, e,
            (struct nest_piece){text.text + open + 1, end - open - 1, text.column + (int)open + 1});
        if (status != NEST_OK) {
            return status;
        }
        at = end + 1;
    }
    return NEST_OK;
}

/* The odometer over the brackets of one element: range and value of each. */
struct odometer {
    int range[BRACKETS + 1];
    int64_t value[BRACKETS + 1];
};

static const char *spell(struct expansion *x, const struct element *e, const struct odometer *o)
{
    char name[NAME_MAX_LENGTH + 32];
    size_t n = 0;
    for (int i = 0; i < e->parts; i++) {
        const struct nest_piece *text = &e->part[i].text;
        if (n + text->length > NAME_MAX_LENGTH) {
            return NULL;
        }
        memcpy(name + n, text->text, text->length);
        n += text->length;
        if (e->part[i].ranges > 0) {
            n += (size_t)snprintf(name + n, 24, "%0*lld", e->range[o->range[i]].width,
                                  (long long)o->value[i]);
        }
        if (n > NAME_MAX_LENGTH) {
            return NULL;
        }
    }
    return nest_arena_strndup(x->job->arena, name, n);
}

/* Steps to the next name, the last bracket fastest; false after the last one. */
static bool step(const struct element *e, struct odometer *o)
{
    for (int i = e->parts - 1; i >= 0; i--) {
        const struct part *part = &e->part[i];
        if (part->ranges == 0) {
            continue;
        }
        if (o->value[i] < e->range[o->range[i]].high) {
            o->value[i]++;
            return true;
        }
        if (o->range[i] + 1 < part->first + part->ranges) {
            o->range[i]++;
            o->value[i] = e->range[o->range[i]].low;
            return true;
        }
        o->range[i] = part->first;
        o->value[i] = e->range[part->first].low;
    }
    return false;
}

static enum nest_status expand_element(struct expansion *x, struct nest_piece text)
{
    struct element e = {0};
    const enum nest_status status = read_element(x, text, &e);
    if (status != NEST_OK) {
        return status;
    }
    struct odometer o = {0};
    for (int i = 0; i < e.parts; i++) {
        if (e.part[i].ranges > 0) {
            o.range[i] = e.part[i].first;
            o.value[i] = e.range[e.part[i].first].low;
        }
    }
    do {
        if (x->left-- == 0) {
            return nest_job_fault(x->job, x->line, text.column, NULL, "more than %lld names",
                                  (long long)x->limit);
        }
        const char *name = spell(x, &e, &o);
        if (!name) {
            return nest_job_fault(x->job, x->line, text.column, NULL,
                                  "a name longer than %d characters", (int)NAME_MAX_LENGTH);
        }
        if (!x->visit(x->context, name)) {
            return nest_job_no_memory(x->job);
        }
    } while (step(&e, &o));
    return NEST_OK;
}

/* Length of the first element: up to a comma outside brackets. 0 and a fault if malformed. */
static size_t cut_element(struct expansion *x, struct nest_piece list)
{
    int depth = 0;
    int open = 0;
    size_t n = 0;
    for (; n < list.length && (depth > 0 || list.text[n] != ','); n++) {
        const char c = list.text[n];
        if (c == '[') {
            depth++;
            open = list.column + (int)n;
        } else if (c == ']') {
            depth--;
        }
        if (depth < 0 || depth > 1) {
            nest_job_fault(x->job, x->line, list.column + (int)n, "such as node[01-16]",
                           "unexpected '%c' in a host list", c);
            return 0;
        }
    }
    if (depth > 0) {
        nest_job_fault(x->job, x->line, open, "such as node[01-16]", "'[' without its ']'");
        return 0;
    }
    if (n == 0) {
        nest_job_fault(x->job, x->line, list.column, "names separated by single commas",
                       "an empty name in a host list");
    }
    return n;
}

enum nest_status nest_hostlist_expand(struct nest_job *job, struct nest_piece list, int line,
                                      int64_t limit, nest_hostlist_visit *visit, void *context)
{
    struct expansion x = {job, line, limit, limit, visit, context};
    list = nest_piece_trim(list);
    for (;;) {
        const size_t n = cut_element(&x, list);
        if (n == 0) {
            return NEST_BAD_INPUT;
        }
        const enum nest_status status =
            expand_element(&x, nest_piece_trim((struct nest_piece){list.text, n, list.column}));
        if (status != NEST_OK) {
            return status;
        }
        if (n == list.length) {
            return NEST_OK;
        }
        list.text += n + 1;
        list.length -= n + 1;
        list.column += (int)n + 1;
    }
}
