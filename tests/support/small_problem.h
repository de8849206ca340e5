/* Small random training problems whose every plan can be listed. */
#ifndef NEST_TESTS_SUPPORT_SMALL_PROBLEM_H
#define NEST_TESTS_SUPPORT_SMALL_PROBLEM_H

#include "cost/problem.h"
#include "support/cluster.h"
#include "support/seed.h"

struct test_small {
    struct test_cluster cluster;
    struct nest_arena arena;
    struct nest_model_spec spec;
    struct nest_model model;
    struct nest_problem problem;
};

/* A transformer of one to four blocks, dense or with experts, on at most `devices` devices, with
 * random training settings, memory limits and pins. */
void test_small_problem(struct test_small *made, uint64_t seed, int64_t devices);

/* The same on two levels of groups of which some have other devices or links. */
void test_small_mixed(struct test_small *made, uint64_t seed, int64_t devices);

/* Expands the model again after spec was changed. */
void test_small_expand(struct test_small *made);

/* Gives the problem a model that branches instead: an image tower beside the embedding, an encoder
 * in front of a decoder, or a graph of at most five measured layers. */
void test_small_branch(struct test_small *made, uint64_t seed);

void test_small_free(struct test_small *made);

#endif
