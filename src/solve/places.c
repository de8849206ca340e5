#include "solve/places.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BITS = 3, MOST_BITS = 9 };

/* What a placement depends on. */
struct key {
    int64_t tp, cp, ep, etp, shard, dp_in, dp_out, span, selection, x;
};

struct slot {
    struct key key; /* tp is 0 while the slot is empty */
    uint64_t mark;
    struct nest_placement placement;
};

struct nest_places {
    const struct nest_cluster *cluster;
    int bits;
    struct slot slot[]; /* [2^bits] each key where its hash falls; the newest stays */
};

struct nest_places *nest_places_create(const struct nest_cluster *cluster, int families)
{
    int bits = LEAST_BITS;
    while (bits < MOST_BITS && 1 << bits < families) {
        bits++;
    }
    struct nest_places *places =
        calloc(1, sizeof *places + ((size_t)1 << bits) * sizeof(struct slot));
    if (places) {
        places->cluster = cluster;
        places->bits = bits;
    }
    return places;
}

void nest_places_free(struct nest_places *places)
{
    free(places);
}

static uint64_t mix(uint64_t hash, int64_t value)
{
    hash = (hash ^ (uint64_t)value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t mix_all(const int64_t *value, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        hash = mix(hash, value[i]);
    }
    return hash;
}

static uint64_t mark_of(const struct nest_placement *p, size_t levels)
{
    const struct nest_comm *const comm[] = {&p->tp,        &p->cp, &p->dense, &p->shard,
                                            &p->replicate, &p->ep, &p->etp,   &p->expert};
    uint64_t hash = mix(p->kinds, p->reach);
    for (size_t i = 0; i < sizeof comm / sizeof comm[0]; i++) {
        hash = mix(mix(hash, comm[i]->size), comm[i]->top);
        hash = mix(hash, (int64_t)mix_all(comm[i]->m, levels));
        hash = mix(hash, (int64_t)mix_all(comm[i]->q, levels));
        hash = mix(hash, (int64_t)mix_all(comm[i]->p, levels));
        hash = mix(hash, (int64_t)mix_all(comm[i]->g, levels));
    }
    return hash;
}

const struct nest_placement *
nest_places_at(struct nest_places *places, const struct nest_strategy *s, int64_t x, uint64_t *mark)
{
    const struct key key = {s->tp,    s->cp,     s->ep,   s->etp,       s->shard,
                            s->dp_in, s->dp_out, s->span, s->selection, x};
    const uint64_t hash = mix_all(&key.tp, sizeof key / sizeof key.tp);
    struct slot *slot = &places->slot[hash >> (64 - places->bits)];
    if (memcmp(&slot->key, &key, sizeof key) != 0) {
        slot->key = key;
        nest_placement_at(places->cluster, s, x, &slot->placement);
        slot->mark = mark_of(&slot->placement, (size_t)places->cluster->levels);
    }
    *mark = slot->mark;
    return &slot->placement;
}
