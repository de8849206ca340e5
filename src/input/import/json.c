#include "input/import/json.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

enum { DEPTH = 48 };

/* Walks the text beside the values: json-c keeps order but no places. */
struct walk {
    const struct nest_import_file *file;
    struct nest_arena *arena;
    size_t at;
    int line;
    size_t line_start;
    int nodes;
    bool failed;
};

static void advance(struct walk *walk, size_t to)
{
    for (; walk->at < to; walk->at++) {
        if (walk->file->text[walk->at] == '\n') {
            walk->line++;
            walk->line_start = walk->at + 1;
        }
    }
}

static struct nest_mark here(const struct walk *walk)
{
    return (struct nest_mark){walk->file->name, walk->line, (int)(walk->at - walk->line_start) + 1};
}

/* End of the string that starts at the quote, as an offset after its closing quote. */
static size_t string_end(const struct walk *walk, size_t at)
{
    const char *text = walk->file->text;
    const char quote = text[at++];
    while (at < walk->file->length && text[at] != quote) {
        at += text[at] == '\\' ? 2 : 1;
    }
    return at < walk->file->length ? at + 1 : walk->file->length;
}

/* Moves to the next character that begins a value or a key, over separators and closing brackets
 * of what was read before. */
static void to_token(struct walk *walk)
{
    const char *text = walk->file->text;
    size_t at = walk->at;
    while (at < walk->file->length && strchr(" \t\r\n,:]}", text[at])) {
        at++;
    }
    advance(walk, at);
}

static void over_scalar(struct walk *walk)
{
    const char *text = walk->file->text;
    if (walk->at >= walk->file->length) {
        return;
    }
    size_t at = walk->at;
    if (text[at] == '"' || text[at] == '\'') {
        at = string_end(walk, at);
    } else {
        while (at < walk->file->length && !strchr(" \t\r\n,:]}", text[at])) {
            at++;
        }
    }
    advance(walk, at);
}

static struct nest_node *convert(struct walk *walk, struct json_object *value,
                                 const struct nest_node *parent);

static void append(struct nest_node *parent, struct nest_node **last, struct nest_node *child)
{
    child->index = parent->count++;
    if (*last) {
        (*last)->next = child;
    } else {
        parent->first = child;
    }
    *last = child;
}

static void convert_children(struct walk *walk, struct json_object *value, struct nest_node *node)
{
    struct nest_node *last = NULL;
    if (json_object_is_type(value, json_type_array)) {
        const size_t count = json_object_array_length(value);
        for (size_t i = 0; i < count && !walk->failed; i++) {
            struct nest_node *child = convert(walk, json_object_array_get_idx(value, i), node);
            if (child) {
                append(node, &last, child);
            }
        }
        return;
    }
    json_object_object_foreach(value, key, member)
    {
        to_token(walk);
        const struct nest_mark mark = here(walk);
        over_scalar(walk);
        struct nest_node *child = walk->failed ? NULL : convert(walk, member, node);
        if (child) {
            child->key = nest_arena_strdup(walk->arena, key);
            child->key_mark = mark;
            walk->failed |= !child->key;
            append(node, &last, child);
        }
    }
}

/* Depth is limited by json-c's tokener, so the recursion is. */
static struct nest_node *convert(struct walk *walk, struct json_object *value,
                                 const struct nest_node *parent)
{
    struct nest_node *node = NEST_NEW(walk->arena, struct nest_node, 1);
    if (!node || ++walk->nodes > NEST_DOC_NODES) {
        walk->failed = true;
        return NULL;
    }
    to_token(walk);
    *node = (struct nest_node){.mark = here(walk), .text = "", .parent = parent};
    node->key_mark = node->mark;
    switch (json_object_get_type(value)) {
    case json_type_object:
    case json_type_array:
        node->kind =
            json_object_is_type(value, json_type_array) ? NEST_NODE_SEQUENCE : NEST_NODE_MAPPING;
        if (walk->at < walk->file->length) {
            advance(walk, walk->at + 1);
        }
        convert_children(walk, value, node);
        return node;
    case json_type_string:
        node->quoted = true;
        node->text = nest_arena_strndup(walk->arena, json_object_get_string(value),
                                        (size_t)json_object_get_string_len(value));
        break;
    default:
        node->text = nest_arena_strdup(walk->arena, value ? json_object_get_string(value) : "null");
        break;
    }
    walk->failed |= !node->text;
    over_scalar(walk);
    return node;
}

static void place(const struct nest_import_file *file, size_t offset, struct nest_mark *mark)
{
    *mark = (struct nest_mark){file->name, 1, 1};
    for (size_t i = 0; i < offset && i < file->length; i++) {
        mark->column++;
        if (file->text[i] == '\n') {
            mark->line++;
            mark->column = 1;
        }
    }
}

static struct json_object *read_text(const struct nest_import_file *file,
                                     struct nest_errors *errors)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
    if (!tokener) {
        nest_errors_add(errors, (struct nest_mark){file->name, 0, 0}, NULL, NULL, "out of memory");
        return NULL;
    }
    struct json_object *value = json_tokener_parse_ex(tokener, file->text, (int)file->length);
    enum json_tokener_error fault = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    while (fault == json_tokener_success && end < file->length) {
        if (!strchr(" \t\r\n", file->text[end])) {
            fault = json_tokener_error_parse_unexpected;
            break;
        }
        end++;
    }
    struct nest_mark mark;
    place(file, end, &mark);
    if (fault == json_tokener_continue) {
        nest_errors_add(errors, mark, NULL, "a closing bracket or quote is missing",
                        "the file ends in the middle of a JSON value");
    } else if (fault == json_tokener_error_depth) {
        nest_errors_add(errors, mark, NULL, NULL, "nested deeper than %d", (int)DEPTH);
    } else if (fault != json_tokener_success) {
        nest_errors_add(errors, mark, NULL, NULL, "not JSON: %s", json_tokener_error_desc(fault));
    }
    json_tokener_free(tokener);
    if (fault != json_tokener_success) {
        json_object_put(value);
        return NULL;
    }
    return value;
}

enum nest_status nest_json_parse(const struct nest_import_file *file, struct nest_arena *arena,
                                 const struct nest_node **out, struct nest_errors *errors)
{
    const struct nest_mark whole = {file->name, 0, 0};
    if (file->length > NEST_DOC_BYTES || memchr(file->text, 0, file->length)) {
        nest_errors_add(errors, whole, NULL, NULL,
                        file->length > NEST_DOC_BYTES ? "larger than 16 MiB"
                                                      : "contains a zero byte, so it is no text");
        return NEST_BAD_INPUT;
    }
    struct json_object *value = read_text(file, errors);
    if (!value) {
        return NEST_BAD_INPUT;
    }
    struct walk walk = {.file = file, .arena = arena, .line = 1};
    const struct nest_node *root = convert(&walk, value, NULL);
    json_object_put(value);
    if (walk.failed || !root) {
        nest_errors_add(errors, whole, NULL, NULL, "more values than memory or %d allow",
                        (int)NEST_DOC_NODES);
        return NEST_BAD_INPUT;
    }
    *out = root;
    return NEST_OK;
}
