/* The layout holds its promises at every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ui/layout.h"

enum { PANES = 8, AT_80_BY_24 = 7, WIDTH_MAX = 250, HEIGHT_MAX = 100 };

static void panes_of(const struct nest_layout *layout, struct nest_rect pane[PANES])
{
    pane[0] = layout->cluster;
    pane[1] = layout->settings;
    pane[2] = layout->plan;
    pane[3] = layout->alternatives;
    pane[4] = layout->stages;
    pane[5] = layout->step;
    pane[6] = layout->why;
    pane[7] = layout->placement; /* only on large screens */
}

static bool overlap(struct nest_rect a, struct nest_rect b)
{
    return a.width > 0 && b.width > 0 && a.height > 0 && b.height > 0 && a.x < b.x + b.width &&
           b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

static void check(int width, int height, const struct nest_layout_wants *wants)
{
    struct nest_layout layout;
    struct nest_rect pane[PANES];
    nest_layout_plan(width, height, wants, &layout);
    assert_int_equal(layout.too_small,
                     width < NEST_LAYOUT_LEAST_WIDTH || height < NEST_LAYOUT_LEAST_HEIGHT);
    if (layout.too_small) {
        return;
    }
    panes_of(&layout, pane);
    for (int i = 0; i < PANES; i++) {
        if (pane[i].height > 0) {
            assert_true(pane[i].x >= 1 && pane[i].x + pane[i].width <= width - 1);
            assert_true(pane[i].y >= 1 && pane[i].y + pane[i].height <= layout.status);
            assert_true(pane[i].width > 0);
        }
        for (int k = 0; k < i; k++) {
            assert_false(overlap(pane[i], pane[k]));
        }
        if (layout.rule >= 0 && pane[i].height > 0) {
            assert_false(pane[i].y <= layout.rule && layout.rule < pane[i].y + pane[i].height);
        }
        if (layout.divider >= 0 && layout.rule < 0 && pane[i].height > 0) {
            assert_false(pane[i].x <= layout.divider && layout.divider < pane[i].x + pane[i].width);
        }
    }
    /* The cluster and the stages are never given up. */
    assert_true(layout.cluster.height >= 2);
    assert_true(layout.stages.height >= 2);
}

static void panes_never_overlap_nor_leave_the_frame(void **state)
{
    (void)state;
    static const struct nest_layout_wants wants[] = {
        {.cluster = 2, .settings = 1, .plan = 2, .stages = 1, .step_parts = 0, .alternatives = 0},
        {.cluster = 4, .settings = 2, .plan = 5, .stages = 9, .step_parts = 6, .alternatives = 12},
        {.cluster = 100,
         .settings = 3,
         .plan = 7,
         .stages = 129,
         .step_parts = 9,
         .alternatives = 12},
        {.cluster = 13, .settings = 2, .plan = 4, .stages = 65, .step_parts = 9, .alternatives = 1},
    };
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        for (int width = 1; width <= WIDTH_MAX; width++) {
            for (int height = 1; height <= HEIGHT_MAX; height++) {
                check(width, height, &wants[i]);
            }
        }
    }
}

static void eighty_by_twenty_four_shows_every_pane(void **state)
{
    (void)state;
    const struct nest_layout_wants wants = {
        .cluster = 4, .settings = 2, .plan = 5, .stages = 9, .step_parts = 6, .alternatives = 12};
    struct nest_layout layout;
    struct nest_rect pane[PANES];
    nest_layout_plan(80, 24, &wants, &layout);
    panes_of(&layout, pane);
    for (int i = 0; i < AT_80_BY_24; i++) {
        assert_true(pane[i].height > 0);
    }
    assert_true(layout.cluster.height >= wants.cluster);
    assert_true(layout.settings.height >= wants.settings);
    assert_true(layout.plan.height >= wants.plan);
    assert_true(layout.stages.height >= wants.stages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panes_never_overlap_nor_leave_the_frame),
        cmocka_unit_test(eighty_by_twenty_four_shows_every_pane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
