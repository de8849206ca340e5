/* Graphs that branch, worked by hand: what a stage costs, what crosses its boundaries, and what
 * must not depend on how the graph is written down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/problem.h"
#include "solve/solve.h"
#include "support/input.h"

enum { STAGES_MAX = 4, PARTS_MAX = 4 };

static const nest_ps MS = 1000000000;

/* A graph on four devices; microbatches of one sequence, four a step. */
struct world {
    struct test_input input;
    struct nest_scenario_spec spec;
    struct nest_problem problem;
};

static void open_with(struct world *w, const char *model, const char *more)
{
    test_input_begin(&w->input);
    const char *text =
        nest_arena_printf(&w->input.arena,
                          "model:\n  name: Graph\n  seq: 16\n%s"
                          "cluster:\n  name: Four\n  device: h100-sxm\n"
                          "  levels: [{name: node, fanout: 4, bandwidth: 50GB/s, latency: 2us}]\n"
                          "train: {global_batch: 4}\n%s",
                          model, more);
    if (test_input_scenario(&w->input, text, &w->spec) != NEST_OK ||
        nest_problem_build(&w->spec, &w->input.arena, &w->problem, &w->input.errors) != NEST_OK) {
        fail_msg("%s", test_input_faults(&w->input));
    }
}

static void open(struct world *w, const char *model)
{
    open_with(w, model, "");
}

/* "0 2-3 | 1": stages of layers. One device each. */
static struct nest_prediction price(struct world *w, const char *stages)
{
    struct nest_arena *arena = &w->input.arena;
    struct nest_plan plan = {
        .strategy = {.tp = 1,
                     .cp = 1,
                     .ep = 1,
                     .etp = 1,
                     .micro_batch = 1,
                     .virtual_stages = 1,
                     .shard = 1,
                     .dp_in = 1,
                     .dp_out = 1},
        .stages = 1,
        .stage = NEST_NEW(arena, struct nest_plan_stage, STAGES_MAX),
    };
    struct nest_plan_stage *stage = plan.stage;
    for (const char *c = stages; *c; c++) {
        if (*c == '|') {
            stage++;
            plan.stages++;
        } else if (*c != ' ') {
            const int64_t low = *c - '0';
            const bool range = c[1] == '-';
            if (!stage->layers) {
                stage->layers = NEST_NEW(arena, struct nest_range, PARTS_MAX);
            }
            stage->layers[stage->ranges++] = (struct nest_range){low, range ? c[2] - '0' : low};
            c += range ? 2 : 0;
        }
    }
    for (int i = 0; i < plan.stages; i++) {
        plan.stage[i].tp = 1;
    }
    struct nest_prediction prediction;
    assert_true(nest_plan_covers(w->problem.model, &plan));
    nest_plan_pack(&plan);
    nest_plan_settle(&w->problem, &plan);
    assert_true(nest_plan_evaluate(&w->problem, &plan, arena, &prediction));
    return prediction;
}

static nest_ps transfer(const struct world *w, double bytes)
{
    return nest_problem_transfer(&w->problem, &(struct nest_message){.block = 1, .bytes = bytes});
}

#define LAYER(name, fw, bw, kept, sent)                                                            \
    "      - {name: " name ", measured: [{tp: 1, fw: " fw "ms, bw: " bw                            \
    "ms, weights: 0, activations: " kept "MB, boundary: " sent "MB}]}\n"

static const char diamond[] = "  graph:\n"
                              "    layers:\n" /* */
    LAYER("a", "1", "2", "10", "1") LAYER("b", "2", "4", "20", "2") LAYER("c", "3", "6", "30", "4")
        LAYER("d", "4", "8", "40", "8") "    edges: [[a, b, d], [a, c, d]]\n";

/* {a, c} and {b, d}: the second stage needs a's tensor for b and c's for d. */
static void a_stage_may_take_one_side_of_a_diamond(void **state)
{
    (void)state;
    struct world w;
    open(&w, diamond);
    const struct nest_prediction p = price(&w, "0 2 | 1 3");
    const nest_ps c = transfer(&w, 5e6);
    assert_true(c > 0);
    assert_int_equal(p.stage[0].fw, 4 * MS);
    assert_int_equal(p.stage[0].bw, 8 * MS);
    assert_int_equal(p.stage[0].out, c);
    assert_int_equal(p.stage[1].in, c);
    assert_int_equal(p.stage[0].load, 12 * MS + c);
    assert_int_equal(p.stage[1].load, 18 * MS + c);
    assert_int_equal(p.stage[0].memory.activations, 2 * (10 + 30) * 1000000);
    assert_int_equal(p.stage[1].memory.activations, (20 + 40) * 1000000);
    /* Four microbatches of the slower stage, and once the other. */
    assert_int_equal(p.step, 4 * (18 * MS + c) + 12 * MS + c);
    test_input_end(&w.input);
}

/* a's tensor is sent once to both of its consumers; and on, while one of them is still to run. */
static void a_tensor_crosses_once_for_all_its_consumers(void **state)
{
    (void)state;
    struct world w;
    open(&w, diamond);
    const struct nest_prediction p = price(&w, "0 | 1 | 2 | 3");
    assert_int_equal(p.stage[0].out, transfer(&w, 1e6));
    assert_int_equal(p.stage[1].out, transfer(&w, 1e6 + 2e6));
    assert_int_equal(p.stage[2].out, transfer(&w, 2e6 + 4e6));
    assert_int_equal(p.stage[3].out, 0);
    test_input_end(&w.input);
}

static void a_skip_connection_is_carried_along(void **state)
{
    (void)state;
    struct world w;
    open(&w, "  graph:\n"
             "    layers:\n" LAYER("a", "1", "2", "10", "1") LAYER("b", "2", "4", "20", "2")
                 LAYER("c", "3", "6", "30", "4")
                     LAYER("d", "4", "8", "40", "8") "    edges: [[a, b, c, d], [a, d]]\n");
    const struct nest_prediction p = price(&w, "0-1 | 2 | 3");
    assert_null(w.problem.model->cuts);
    assert_int_equal(p.stage[0].out, transfer(&w, 1e6 + 2e6));
    assert_int_equal(p.stage[1].out, transfer(&w, 1e6 + 4e6));
    test_input_end(&w.input);
}

static void an_encoder_feeds_every_decoder_layer(void **state)
{
    (void)state;
    struct world w;
    open(&w,
         "  graph:\n"
         "    layers:\n" LAYER("encoder", "1", "2", "10", "1") LAYER("first", "2", "4", "20", "2")
             LAYER("second", "3", "6", "30", "4")
                 LAYER("third", "4", "8", "40", "8") "    edges: [[encoder, first, second, third], "
                                                     "[encoder, second], [encoder, third]]\n");
    const struct nest_prediction p = price(&w, "0 | 1 | 2 | 3");
    assert_int_equal(p.stage[0].out, transfer(&w, 1e6));
    assert_int_equal(p.stage[1].out, transfer(&w, 1e6 + 2e6));
    assert_int_equal(p.stage[2].out, transfer(&w, 1e6 + 4e6));
    test_input_end(&w.input);
}

static nest_ps best(const char *model, const char *more, struct nest_plan *plan, struct world *w)
{
    open_with(w, model, more);
    const struct nest_solve_options options = {.top = 1, .threads = 1};
    struct nest_result result;
    assert_int_equal(nest_solve(&w->problem, &options, &w->input.arena, &result), NEST_OK);
    *plan = result.solution[0].plan;
    return result.solution[0].prediction.step;
}

#define FOUR                                                                                       \
    LAYER("a", "1", "2", "10", "1")                                                                \
    LAYER("b", "2", "4", "20", "2") LAYER("c", "3", "6", "30", "4") LAYER("d", "4", "8", "40", "8")

/* A chain is a chain, whether it says so or its edges do. */
static void a_chain_of_edges_is_a_profile(void **state)
{
    (void)state;
    struct world profile, graph;
    struct nest_plan a, b;
    const nest_ps first = best("  collectives: separate\n  profile:\n" FOUR, "", &a, &profile);
    const nest_ps second =
        best("  collectives: separate\n  graph:\n    layers:\n" FOUR "    edges: [[a, b, c, d]]\n",
             "", &b, &graph);
    assert_null(graph.problem.model->cuts);
    assert_null(graph.problem.model->crossing);
    assert_int_equal(nest_plan_compare(&a, first, &b, second), 0);
    test_input_end(&profile.input);
    test_input_end(&graph.input);
}

/* The order in which independent branches are listed changes the numbers, not the optimum. */
static void the_order_of_the_list_does_not_matter(void **state)
{
    (void)state;
    struct world one, two;
    struct nest_plan a, b;
    const nest_ps first = best(diamond, "", &a, &one);
    const nest_ps second =
        best("  graph:\n"
             "    layers:\n" LAYER("d", "4", "8", "40", "8") LAYER("c", "3", "6", "30", "4")
                 LAYER("b", "2", "4", "20", "2")
                     LAYER("a", "1", "2", "10", "1") "    edges: [[a, c, d], [a, b, d]]\n",
             "", &b, &two);
    assert_int_equal(first, second);
    assert_int_equal(a.stages, b.stages);
    /* Canonical: a layer follows those that feed it. */
    assert_string_equal(two.problem.model->kind[two.problem.model->kind_of[0]].name, "a");
    assert_string_equal(two.problem.model->kind[two.problem.model->kind_of[1]].name, "c");
    test_input_end(&one.input);
    test_input_end(&two.input);
}

#define UNEVEN                                                                                     \
    LAYER("a", "1", "2", "10", "0")                                                                \
    LAYER("b", "1", "2", "20", "0") LAYER("c", "3", "6", "30", "0") LAYER("d", "3", "6", "40", "0")

/* Loads of 3, 3, 9 and 9 ms in two stages: a chain has a b | c d (6 and 18) or a b c | d (15 and
 * 9), the diamond also a c | b d: 12 and 12. */
static void branches_balance_better_than_their_chain(void **state)
{
    (void)state;
    struct world graph, chain;
    struct nest_plan a, b;
    const char *two = "pin: {tp: 1, pp: 2, dp: 1}\n";
    const nest_ps with = best(
        "  graph:\n    layers:\n" UNEVEN "    edges: [[a, b, d], [a, c, d]]\n", two, &a, &graph);
    const nest_ps without = best("  profile:\n" UNEVEN, two, &b, &chain);
    assert_int_equal(with, (4 + 1) * 12 * MS);
    assert_int_equal(without, 4 * 15 * MS + 9 * MS);
    assert_int_equal(a.stage[0].ranges, 2);
    assert_int_equal(a.stage[0].layers[0].high, 0);
    assert_int_equal(a.stage[0].layers[1].low, 2);
    test_input_end(&graph.input);
    test_input_end(&chain.input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_may_take_one_side_of_a_diamond),
        cmocka_unit_test(a_tensor_crosses_once_for_all_its_consumers),
        cmocka_unit_test(a_skip_connection_is_carried_along),
        cmocka_unit_test(an_encoder_feeds_every_decoder_layer),
        cmocka_unit_test(a_chain_of_edges_is_a_profile),
        cmocka_unit_test(the_order_of_the_list_does_not_matter),
        cmocka_unit_test(branches_balance_better_than_their_chain),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
