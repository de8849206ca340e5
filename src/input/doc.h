/* YAML (and JSON) text → a tree of nodes that know their place.
 *
 * Read from libyaml's event stream, never from its document API: depth, size and node count are
 * limited while reading, and what our files never need (aliases, anchors, tags, a second document,
 * duplicate keys) is refused with its place. Marks are 1-based; columns count characters. Trees
 * live in the arena. */
#ifndef NEST_INPUT_DOC_H
#define NEST_INPUT_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum { NEST_DOC_DEPTH = 64, NEST_DOC_NODES = 400000, NEST_DOC_BYTES = 16 << 20 };

enum nest_node_kind { NEST_NODE_SCALAR, NEST_NODE_SEQUENCE, NEST_NODE_MAPPING };

struct nest_node {
    enum nest_node_kind kind;
    bool quoted;               /* a scalar in quotes or block style */
    bool broken;               /* a fault of it is reported already; readers pass over it */
    struct nest_mark mark;     /* where the value begins */
    struct nest_mark key_mark; /* where its key begins; the value's own mark outside a mapping */
    const char *key;           /* in a mapping: its key, else NULL */
    const char *text;          /* of a scalar; "" for collections */
    int index;                 /* position among its siblings */
    int count;                 /* children */
    const struct nest_node *first, *next, *parent;
};

/* Reads a whole file ("-" is standard input) into the arena. Faults go to errors. */
enum nest_status nest_file_read(const char *path, struct nest_arena *arena, const char **text,
                                size_t *length, struct nest_errors *errors);

/* Parses text; file names it in marks. On NEST_OK *out is the root; duplicate keys, anchors, tags
 * and aliases are faults in errors that do not stop the reading. */
enum nest_status nest_doc_parse(const char *file, const char *text, size_t length,
                                struct nest_arena *arena, const struct nest_node **out,
                                struct nest_errors *errors);

/* Where standard input is named in marks. */
#define NEST_DOC_STDIN "<stdin>"

/* Reads and parses a file. NEST_BAD_INPUT also where the reading went on after a fault. */
enum nest_status nest_doc_load(const char *path, struct nest_arena *arena,
                               const struct nest_node **out, struct nest_errors *errors);

/* The value of a key of a mapping, or NULL. */
const struct nest_node *nest_node_get(const struct nest_node *mapping, const char *key);

/* Whether this is an empty value: nothing, ~ or null, unquoted. */
bool nest_node_is_null(const struct nest_node *node);

/* "levels[2].bandwidth", in the arena; NULL for the root. */
const char *nest_node_path(const struct nest_node *node, struct nest_arena *arena);

/* "a list", "a mapping", "'text'" … for messages. */
const char *nest_node_describe(const struct nest_node *node, struct nest_arena *arena);

#endif
