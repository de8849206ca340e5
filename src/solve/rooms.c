#include "solve/rooms.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BITS = 4, MOST_BITS = 12 };

/* What a room of a family depends on. */
struct key {
    int64_t family, zero, shard, dp_in, dp_out;
    int64_t pp, selection; /* 0 while the order is open */
};

struct slot {
    struct key key; /* dp_in is 0 while the slot is empty */
    struct nest_room room;
};

/* The order that was measured last. */
struct last_order {
    struct nest_placement placement;
    struct nest_room room; /* of no strategy before the first one */
};

struct nest_rooms {
    int bits;
    struct last_order last;
    struct slot slot[]; /* [2^bits] each key where its hash falls; the newest stays */
};

struct nest_rooms *nest_rooms_create(int families)
{
    int bits = LEAST_BITS;
    while (bits < MOST_BITS && 1 << bits < 8 * families) {
        bits++;
    }
    struct nest_rooms *rooms = calloc(1, sizeof *rooms + ((size_t)1 << bits) * sizeof(struct slot));
    if (rooms) {
        rooms->bits = bits;
    }
    return rooms;
}

void nest_rooms_free(struct nest_rooms *rooms)
{
    free(rooms);
}

static uint64_t hash_of(const struct key *key)
{
    const int64_t part[] = {key->family, key->zero, key->shard, key->dp_in, key->dp_out, key->pp};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        hash = (hash ^ (uint64_t)part[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Strategies that differ in nothing but the order of replicas, on the same devices. */
static bool differ_in_order(const struct nest_strategy *a, const struct nest_strategy *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->etp == b->etp &&
           a->sp == b->sp && a->micro_batch == b->micro_batch && a->zero == b->zero &&
           a->shard == b->shard && a->selection == b->selection;
}

/* Many orders of one sharding have the same least communicators: their times are those of the one
 * before, but for the link. */
static void measure_order(struct nest_rooms *rooms, const struct nest_bounds *bounds,
                          struct nest_room *room)
{
    struct last_order *last = &rooms->last;
    struct nest_placement placement;
    nest_room_place(bounds, room, &placement);
    if (differ_in_order(&last->room.strategy, &room->strategy) &&
        memcmp(&last->placement, &placement, sizeof placement) == 0) {
        nest_room_retime(bounds, &last->room, room);
        return;
    }
    nest_room_measure_time(bounds, &placement, room);
    last->placement = placement;
    last->room = *room;
}

const struct nest_room *nest_rooms_get(struct nest_rooms *rooms, const struct nest_bounds *bounds,
                                       int family, const struct nest_bound *bound,
                                       const struct nest_strategy *s, enum nest_knowledge knowledge,
                                       int pp, unsigned parts)
{
    const bool ordered = knowledge == NEST_KNOWS_ORDER;
    const struct key key = {family,
                            s->zero,
                            s->shard,
                            s->dp_in,
                            s->dp_out,
                            ordered ? pp : 0,
                            ordered ? s->selection : 0};
    struct slot *slot = &rooms->slot[hash_of(&key) >> (64 - rooms->bits)];
    if (memcmp(&slot->key, &key, sizeof key) != 0) {
        slot->key = key;
        nest_room_begin(bounds, &bounds->space->family[family], bound, s, knowledge, pp,
                        &slot->room);
    }
    if (ordered && (parts & ~slot->room.measured & NEST_MEASURE_TIME)) {
        measure_order(rooms, bounds, &slot->room);
    }
    nest_room_measure(bounds, parts, &slot->room);
    return &slot->room;
}
