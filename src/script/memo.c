#include "script/memo.h"

#include <string.h>

struct nest_memo_edge {
    size_t hash;
    const struct nest_memo_node *from;
    struct nest_memo_node to;
    size_t size;
    unsigned char value[]; /* [size] bytes of the field */
};

/* What may be looked at as bytes. In the owner's own tree a collective is without its default. */
struct value {
    const void *bytes;
    size_t size;
};

static struct value value_of(const struct nest_question *question, int field)
{
    if (field == NEST_ASKED_DEFAULT) {
        return (struct value){question->given.value,
                              (size_t)question->given.count * sizeof(double)};
    }
    if (field == NEST_ASKED_COLLECTIVE) {
        const int end =
            question->hook == NEST_HOOK_COLLECTIVE ? NEST_ASKED_SECONDS + 1 : NEST_ASKED_SECONDS;
        return (struct value){&question->field[NEST_ASKED_KIND],
                              (size_t)(end - NEST_ASKED_KIND) * sizeof question->field[0]};
    }
    return (struct value){&question->field[field], sizeof question->field[field]};
}

static size_t hash_of(const struct nest_memo_node *from, struct value value)
{
    uint64_t hash = (uint64_t)(uintptr_t)from;
    for (size_t i = 0; i + sizeof hash <= value.size; i += sizeof hash) {
        uint64_t word;
        memcpy(&word, (const unsigned char *)value.bytes + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xD6E8FEB86659FD93);
        hash ^= hash >> 32;
    }
    return (size_t)hash;
}

static struct nest_memo_edge **slot(struct nest_memo_edge **table, size_t room, size_t hash,
                                    const struct nest_memo_node *from, struct value value)
{
    size_t at = hash & (room - 1);
    while (table[at] &&
           (table[at]->hash != hash || table[at]->from != from || table[at]->size != value.size ||
            memcmp(table[at]->value, value.bytes, value.size) != 0)) {
        at = (at + 1) & (room - 1);
    }
    return &table[at];
}

/* Doubles the table when it is half full. */
static bool make_room(struct nest_memo *memo)
{
    if (2 * memo->count < memo->room) {
        return true;
    }
    const size_t room = memo->room ? 2 * memo->room : 256;
    struct nest_memo_edge **larger = NEST_NEW(memo->arena, struct nest_memo_edge *, room);
    if (!larger) {
        return false;
    }
    for (size_t i = 0; i < memo->room; i++) {
        struct nest_memo_edge *edge = memo->edge[i];
        if (edge) {
            const struct value value = {edge->value, edge->size};
            *slot(larger, room, edge->hash, edge->from, value) = edge;
        }
    }
    memo->edge = larger;
    memo->room = room;
    return true;
}

void nest_memo_init(struct nest_memo *memo, struct nest_arena *arena)
{
    *memo = (struct nest_memo){.arena = arena};
    for (int i = 0; i < NEST_MEMO_SOURCES * NEST_MEMO_TREES; i++) {
        memo->root[i / NEST_MEMO_TREES][i % NEST_MEMO_TREES].field = -1;
    }
}

struct nest_hook_answer *nest_memo_find(const struct nest_memo *memo,
                                        const struct nest_question *question)
{
    const struct nest_memo_node *node = &memo->root[question->source][question->hook];
    while (node->field >= 0 && memo->room > 0) {
        const struct value value = value_of(question, node->field);
        const struct nest_memo_edge *edge =
            *slot(memo->edge, memo->room, hash_of(node, value), node, value);
        if (!edge) {
            return NULL;
        }
        node = &edge->to;
    }
    return node->answer;
}

/* The node behind the field's value, made if need be; NULL when memory is out. */
static struct nest_memo_node *follow(struct nest_memo *memo, const struct nest_memo_node *node,
                                     const struct nest_question *question)
{
    if (!make_room(memo)) {
        return NULL;
    }
    const struct value value = value_of(question, node->field);
    const size_t hash = hash_of(node, value);
    struct nest_memo_edge **at = slot(memo->edge, memo->room, hash, node, value);
    if (!*at) {
        struct nest_memo_edge *edge = nest_arena_alloc(memo->arena, 1, sizeof *edge + value.size);
        if (!edge) {
            return NULL;
        }
        edge->hash = hash;
        edge->from = node;
        edge->to.field = -1;
        edge->size = value.size;
        memcpy(edge->value, value.bytes, value.size);
        *at = edge;
        memo->count++;
    }
    return &(*at)->to;
}

/* The first that was read of those left. */
static int first_read(const struct nest_reads *reads, uint32_t left)
{
    int i = 0;
    while (!(left & (UINT32_C(1) << reads->order[i]))) {
        i++;
    }
    return reads->order[i];
}

/* A node's field is followed even where this time it was not read: the answer then is kept for more
 * than it depends on. */
struct nest_hook_answer *nest_memo_keep(struct nest_memo *memo,
                                        const struct nest_question *question,
                                        const struct nest_reads *reads,
                                        const struct nest_hook_answer *answer)
{
    struct nest_memo_node *node = &memo->root[question->source][question->hook];
    uint32_t left = reads->set;
    while (node && !node->answer && (node->field >= 0 || left)) {
        node->field = node->field >= 0 ? node->field : first_read(reads, left);
        left &= ~(UINT32_C(1) << node->field);
        node = follow(memo, node, question);
    }
    struct nest_hook_answer *kept =
        node && !node->answer ? NEST_NEW(memo->arena, struct nest_hook_answer, 1) : NULL;
    if (kept) {
        *kept = *answer;
        node->answer = kept;
    }
    return kept;
}
