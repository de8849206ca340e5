/* Where communicators lie: the closed form against explicit sets of members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/strategy.h"
#include "support/cluster.h"

enum { MOST = 1 << 13 };

/* Members of all communicators of one kind, as the definition of positions lists them. */
struct sets {
    int64_t size;
    int64_t count;
    int64_t member[MOST]; /* [count][size] */
};

static int64_t position(const struct nest_strategy *s, int64_t x, int64_t o, int64_t r, int64_t q)
{
    return o * s->span + x + r * nest_strategy_width(s) + q;
}

/* Position of rank u in the numbering of experts: q fastest, then r, then o. */
static int64_t expert_position(const struct nest_strategy *s, int64_t x, int64_t u)
{
    const int64_t a = nest_strategy_width(s);
    return position(s, x, u / (a * s->dp_in), u / a % s->dp_in, u % a);
}

static void list_tp(const struct nest_strategy *s, int64_t x, struct sets *out)
{
    out->size = s->tp;
    for (int64_t o = 0; o < s->dp_out; o++) {
        for (int64_t r = 0; r < s->dp_in; r++) {
            for (int64_t q = 0; q < nest_strategy_width(s); q++) {
                out->member[out->count * 1 + 0] = position(s, x, o, r, q);
                out->count++;
            }
        }
    }
    out->count /= s->tp;
}

static void list_cp(const struct nest_strategy *s, int64_t x, struct sets *out)
{
    int64_t n = 0;
    out->size = s->cp;
    for (int64_t o = 0; o < s->dp_out; o++) {
        for (int64_t r = 0; r < s->dp_in; r++) {
            for (int64_t j = 0; j < s->tp; j++) {
                for (int64_t c = 0; c < s->cp; c++) {
                    out->member[n++] = position(s, x, o, r, j + s->tp * c);
                }
            }
        }
    }
    out->count = n / out->size;
}

/* All ranks with the same place inside tp, nearest first. */
static int64_t list_dense_of(const struct nest_strategy *s, int64_t x, int64_t j, int64_t *out)
{
    int64_t n = 0;
    for (int64_t o = 0; o < s->dp_out; o++) {
        for (int64_t r = 0; r < s->dp_in; r++) {
            for (int64_t c = 0; c < s->cp; c++) {
                out[n++] = position(s, x, o, r, j + s->tp * c);
            }
        }
    }
    return n;
}

static void list_dense(const struct nest_strategy *s, int64_t x, struct sets *out)
{
    int64_t n = 0;
    for (int64_t j = 0; j < s->tp; j++) {
        n += list_dense_of(s, x, j, out->member + n);
    }
    out->size = n / s->tp;
    out->count = s->tp;
}

static void list_shard(const struct nest_strategy *s, int64_t x, struct sets *out)
{
    list_dense(s, x, out);
    out->count = out->size * out->count / s->shard;
    out->size = s->shard;
}

static void list_replicate(const struct nest_strategy *s, int64_t x, struct sets *out)
{
    static struct sets dense;
    memset(&dense, 0, sizeof dense);
    list_dense(s, x, &dense);
    int64_t n = 0;
    out->size = dense.size / s->shard;
    for (int64_t j = 0; j < s->tp; j++) {
        for (int64_t i = 0; i < s->shard; i++) {
            for (int64_t t = 0; t < out->size; t++) {
                out->member[n++] = dense.member[j * dense.size + t * s->shard + i];
            }
        }
    }
    out->count = n / out->size;
}

/* etp fastest, then ep, then copies of the experts. */
static void list_experts(const struct nest_strategy *s, int64_t x, int axis, struct sets *out)
{
    const int64_t devices = nest_strategy_width(s) * nest_strategy_dp(s);
    const int64_t extent[3] = {s->etp, s->ep, devices / (s->etp * s->ep)};
    const int64_t stride[3] = {1, s->etp, s->etp * s->ep};
    int64_t n = 0;
    out->size = extent[axis];
    for (int64_t u = 0; u < devices; u++) {
        if (u / stride[axis] % extent[axis] == 0) {
            for (int64_t i = 0; i < extent[axis]; i++) {
                out->member[n++] = expert_position(s, x, u + i * stride[axis]);
            }
        }
    }
    out->count = n / out->size;
}

/* How many members of the communicator lie in group g of the level; level -1 is the device. */
static int64_t group_of(const struct nest_cluster *cluster, int level, int64_t p)
{
    return level < 0 ? p : nest_cluster_group(cluster, level, p);
}

static void measure_level(const struct nest_cluster *cluster, const struct sets *sets, int k,
                          struct nest_comm *out)
{
    static int64_t inside[MOST];
    static int64_t active[MOST];
    memset(active, 0, sizeof active);
    out->p[k] = sets->size;
    for (int64_t c = 0; c < sets->count; c++) {
        const int64_t *member = sets->member + c * sets->size;
        memset(inside, 0, sizeof inside);
        static int64_t touched[MOST];
        memset(touched, 0, sizeof touched);
        for (int64_t i = 0; i < sets->size; i++) {
            const int64_t child = group_of(cluster, k - 1, member[i]);
            if (inside[child]++ == 0) {
                active[child]++;
                const int64_t m = ++touched[group_of(cluster, k, member[i])];
                out->m[k] = m > out->m[k] ? m : out->m[k];
            }
            out->g[k] = active[child] > out->g[k] ? active[child] : out->g[k];
            out->q[k] = inside[child] > out->q[k] ? inside[child] : out->q[k];
        }
        for (int64_t i = 0; i < sets->size; i++) {
            const int64_t n = inside[group_of(cluster, k - 1, member[i])];
            out->p[k] = n < out->p[k] ? n : out->p[k];
        }
    }
}

static struct nest_comm measure(const struct nest_cluster *cluster, const struct sets *sets)
{
    struct nest_comm comm = {.size = sets->size};
    for (int k = 0; k < cluster->levels; k++) {
        if (sets->size == 1) { /* no communicator: it lies the same everywhere */
            comm.m[k] = comm.q[k] = comm.p[k] = comm.g[k] = 1;
            continue;
        }
        measure_level(cluster, sets, k, &comm);
        comm.top = comm.m[k] > 1 ? k : comm.top;
    }
    return comm;
}

static void same(const char *kind, const struct nest_comm *got, const struct nest_comm *want,
                 const struct nest_cluster *cluster, const struct nest_strategy *s, int64_t x)
{
    bool equal = got->size == want->size && got->top == want->top;
    for (int k = 0; k < cluster->levels; k++) {
        equal = equal && got->m[k] == want->m[k] && got->q[k] == want->q[k] &&
                got->p[k] == want->p[k] && got->g[k] == want->g[k];
    }
    if (equal) {
        return;
    }
    print_message("%s: tp %lld cp %lld ep %lld etp %lld shard %lld dp %lld*%lld span %lld x %lld\n",
                  kind, (long long)s->tp, (long long)s->cp, (long long)s->ep, (long long)s->etp,
                  (long long)s->shard, (long long)s->dp_in, (long long)s->dp_out,
                  (long long)s->span, (long long)x);
    for (int k = 0; k < cluster->levels; k++) {
        print_message("  level %d capacity %lld: m %lld/%lld q %lld/%lld p %lld/%lld g %lld/%lld\n",
                      k, (long long)cluster->level[k].capacity, (long long)got->m[k],
                      (long long)want->m[k], (long long)got->q[k], (long long)want->q[k],
                      (long long)got->p[k], (long long)want->p[k], (long long)got->g[k],
                      (long long)want->g[k]);
    }
    fail_msg("%s: closed form and member sets differ", kind);
}

static void check_placement(const struct nest_cluster *cluster, const struct nest_strategy *s,
                            int64_t x)
{
    static struct sets sets;
    struct nest_placement got;
    nest_placement_at(cluster, s, x, &got);
    const struct {
        const char *kind;
        const struct nest_comm *got;
    } kinds[] = {{"tp", &got.tp},
                 {"cp", &got.cp},
                 {"dense", &got.dense},
                 {"shard", &got.shard},
                 {"replicate", &got.replicate},
                 {"etp", &got.etp},
                 {"ep", &got.ep},
                 {"expert", &got.expert}};
    for (int i = 0; i < 8; i++) {
        memset(&sets, 0, sizeof sets);
        switch (i) {
        case 0:
            list_tp(s, x, &sets);
            break;
        case 1:
            list_cp(s, x, &sets);
            break;
        case 2:
            list_dense(s, x, &sets);
            break;
        case 3:
            list_shard(s, x, &sets);
            break;
        case 4:
            list_replicate(s, x, &sets);
            break;
        default:
            list_experts(s, x, i - 5, &sets);
            break;
        }
        const struct nest_comm want = measure(cluster, &sets);
        same(kinds[i].kind, kinds[i].got, &want, cluster, s, x);
    }
}

static int64_t pick_divisor(struct test_random *random, int64_t n)
{
    int64_t divisor[64];
    int count = 0;
    for (int64_t d = 1; d <= n && count < 64; d++) {
        if (n % d == 0) {
            divisor[count++] = d;
        }
    }
    return divisor[test_random_below(random, count)];
}

/* Half of the draws are powers of two, as real strategies are; the rest is anything. */
static int64_t pick_degree(struct test_random *random, int64_t most)
{
    if (test_random_below(random, 2) == 0) {
        int64_t d = (int64_t)1 << test_random_below(random, 5);
        return d <= most ? d : 1;
    }
    return 1 + test_random_below(random, most);
}

/* Returns false where the draw does not fit the devices. */
static bool pick_strategy(struct test_random *random, int64_t devices, struct nest_strategy *s,
                          int64_t *x)
{
    *s = (struct nest_strategy){.tp = pick_degree(random, 12),
                                .cp = pick_degree(random, 4),
                                .dp_in = pick_degree(random, 12),
                                .dp_out = pick_degree(random, 9),
                                .micro_batch = 1,
                                .virtual_stages = 1};
    const int64_t block = nest_strategy_width(s) * s->dp_in;
    const int64_t room = devices / s->dp_out;
    if (block > room) {
        return false;
    }
    switch (test_random_below(random, 3)) {
    case 0:
        s->span = room;
        break;
    case 1:
        s->span = block * (1 + test_random_below(random, room / block));
        break;
    default:
        s->span = block + test_random_below(random, room - block + 1);
        break;
    }
    *x = test_random_below(random, s->span - block + 1);
    if (test_random_below(random, 2) == 0) {
        *x -= *x % block;
    }
    s->shard = pick_divisor(random, s->cp * nest_strategy_dp(s));
    s->ep = pick_divisor(random, block * s->dp_out);
    s->etp = pick_divisor(random, block * s->dp_out / s->ep);
    return true;
}

static void check_random(uint64_t seed, int trials, bool irregular)
{
    struct test_random random = {seed};
    print_message("seed %llu\n", (unsigned long long)seed);
    int checked = 0;
    while (checked < trials) {
        struct test_cluster cluster;
        if (irregular) {
            test_cluster_irregular(&cluster, &random, 300);
        } else {
            test_cluster_uniform(&cluster, &random, 600);
        }
        for (int i = 0; i < 20; i++) {
            struct nest_strategy s;
            int64_t x = 0;
            if (pick_strategy(&random, cluster.tree.devices, &s, &x)) {
                check_placement(&cluster.tree, &s, x);
                checked++;
            }
        }
        test_cluster_free(&cluster);
    }
}

static void closed_form_equals_member_sets(void **state)
{
    (void)state;
    check_random(20260401, 4000, false);
}

static void irregular_trees_equal_member_sets(void **state)
{
    (void)state;
    check_random(20260402, 1000, true);
}

static void link_level_is_the_worst_pair(void **state)
{
    (void)state;
    struct test_random random = {20260403};
    for (int trial = 0; trial < 4000; trial++) {
        struct test_cluster cluster;
        if (trial % 4 == 0) {
            test_cluster_irregular(&cluster, &random, 300);
        } else {
            test_cluster_uniform(&cluster, &random, 600);
        }
        struct nest_strategy s;
        int64_t x = 0;
        if (pick_strategy(&random, cluster.tree.devices, &s, &x)) {
            const int64_t block = nest_strategy_width(&s) * s.dp_in;
            const int64_t y = test_random_below(&random, s.span - block + 1);
            int worst = 0;
            for (int64_t o = 0; o < s.dp_out; o++) {
                for (int64_t i = 0; i < block; i++) {
                    const int64_t at = o * s.span + i;
                    const int level = nest_cluster_meet(&cluster.tree, at + x, at + y);
                    worst = level > worst ? level : worst;
                }
            }
            assert_int_equal(nest_link_level(&cluster.tree, &s, x, y), worst);
        }
        test_cluster_free(&cluster);
    }
}

/* Two stages of tp 8 on nodes of 8, four nodes to a rack, dp 4 inside: each tp group fills a node;
 * gradients of one tp rank meet one member per node, eight communicators at each uplink. */
static void tp_fills_a_node(void **state)
{
    (void)state;
    struct test_cluster cluster;
    const int64_t fanout[] = {8, 4, 2};
    test_cluster_of(&cluster, 3, fanout);
    const struct nest_strategy s = {
        .tp = 8, .cp = 1, .ep = 1, .etp = 1, .shard = 4, .dp_in = 4, .dp_out = 1, .span = 64};
    struct nest_placement at;
    nest_placement_at(&cluster.tree, &s, 32, &at);
    assert_int_equal(at.tp.size, 8);
    assert_int_equal(at.tp.top, 0);
    assert_int_equal(at.tp.m[0], 8);
    assert_int_equal(at.dense.size, 4);
    assert_int_equal(at.dense.top, 1);
    assert_int_equal(at.dense.m[1], 4);
    assert_int_equal(at.dense.q[1], 1);
    assert_int_equal(at.dense.g[1], 8);
    assert_int_equal(nest_link_level(&cluster.tree, &s, 0, 32), 2);
    test_cluster_free(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tp_fills_a_node),
        cmocka_unit_test(closed_form_equals_member_sets),
        cmocka_unit_test(irregular_trees_equal_member_sets),
        cmocka_unit_test(link_level_is_the_worst_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
