/* Every way in which a file in use can be saved is noticed. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/watch.h"
#include "support/folder.h"

enum { GUARD = 60 * 1000 };

struct world {
    struct nest_arena arena;
    struct nest_session *session;
    struct nest_watch *watch;
    struct test_folder folder;
    FILE *open; /* by somebody who still writes */
};

static const char *path(struct world *world, const char *name)
{
    return test_folder_path(&world->folder, name);
}

/* A model in one file, so that no other can be meant. */
static const char *model(struct world *world, int layers)
{
    return nest_arena_printf(
        &world->arena,
        "name: Mine\nlayers: %d\nhidden: 1024\nffn: 4096\nheads: 16\nvocab: 32000\nseq: 1024\n",
        layers);
}

/* Before the session is there; the scenario names in/m.yaml. */
struct kind {
    void (*prepare)(struct world *world);
    void (*save)(struct world *world, const char *text);
};

static void make_folder(struct world *world, const char *name)
{
    assert_int_equal(mkdir(path(world, name), 0755), 0);
}

static void link_to(struct world *world, const char *name, const char *target)
{
    assert_int_equal(symlink(target, path(world, name)), 0);
}

static void move(struct world *world, const char *from, const char *to)
{
    assert_int_equal(rename(path(world, from), path(world, to)), 0);
}

static void prepare_file(struct world *world)
{
    make_folder(world, "in");
    test_folder_write(&world->folder, "in/m.yaml", model(world, 8));
}

static void save_in_place(struct world *world, const char *text)
{
    test_folder_write(&world->folder, "in/m.yaml", text);
}

static void save_by_rename(struct world *world, const char *text)
{
    test_folder_replace(&world->folder, "in/m.yaml", text);
}

/* vim with a backup. */
static void save_with_backup(struct world *world, const char *text)
{
    move(world, "in/m.yaml", "in/m.yaml~");
    test_folder_write(&world->folder, "in/m.yaml", text);
    assert_int_equal(unlink(path(world, "in/m.yaml~")), 0);
}

static void save_without_closing(struct world *world, const char *text)
{
    world->open = fopen(path(world, "in/m.yaml"), "w");
    assert_non_null(world->open);
    assert_true(fputs(text, world->open) >= 0);
    assert_int_equal(fflush(world->open), 0);
}

/* Gone for so long that somebody looks in between. */
static void save_after_a_while(struct world *world, const char *text)
{
    struct nest_notice notice;
    assert_int_equal(unlink(path(world, "in/m.yaml")), 0);
    nest_watch_look(world->watch, &notice);
    nest_watch_wait(world->watch, &notice);
    assert_string_equal(notice.text, "");
    test_folder_write(&world->folder, "in/m.yaml", text);
}

static void save_quickly(struct world *world, const char *text)
{
    struct nest_notice notice;
    test_folder_write(&world->folder, "in/m.yaml", "name: half of it\nlay");
    nest_watch_look(world->watch, &notice);
    test_folder_replace(&world->folder, "in/m.yaml", model(world, 6));
    nest_watch_look(world->watch, &notice);
    test_folder_replace(&world->folder, "in/m.yaml", "");
    nest_watch_look(world->watch, &notice);
    test_folder_replace(&world->folder, "in/m.yaml", text);
}

static void prepare_link(struct world *world)
{
    make_folder(world, "in");
    make_folder(world, "out");
    test_folder_write(&world->folder, "out/a.yaml", model(world, 8));
    link_to(world, "in/m.yaml", "../out/a.yaml");
}

static void save_behind_the_link(struct world *world, const char *text)
{
    test_folder_replace(&world->folder, "out/a.yaml", text);
}

static void save_another_link(struct world *world, const char *text)
{
    test_folder_write(&world->folder, "out/b.yaml", text);
    link_to(world, "in/other", "../out/b.yaml");
    move(world, "in/other", "in/m.yaml");
}

static void prepare_folder_link(struct world *world)
{
    make_folder(world, "a");
    test_folder_write(&world->folder, "a/m.yaml", model(world, 8));
    link_to(world, "in", "a");
}

static void save_another_folder_link(struct world *world, const char *text)
{
    make_folder(world, "b");
    test_folder_write(&world->folder, "b/m.yaml", text);
    link_to(world, "other", "b");
    move(world, "other", "in");
}

static void save_another_folder(struct world *world, const char *text)
{
    make_folder(world, "b");
    test_folder_write(&world->folder, "b/m.yaml", text);
    move(world, "in", "a");
    move(world, "b", "in");
}

static void save_a_new_folder(struct world *world, const char *text)
{
    struct nest_notice notice;
    assert_int_equal(unlink(path(world, "in/m.yaml")), 0);
    assert_int_equal(rmdir(path(world, "in")), 0);
    nest_watch_look(world->watch, &notice);
    make_folder(world, "in");
    test_folder_write(&world->folder, "in/m.yaml", text);
}

static const struct kind kinds[] = {
    {prepare_file, save_in_place},         {prepare_file, save_by_rename},
    {prepare_file, save_with_backup},      {prepare_file, save_without_closing},
    {prepare_file, save_after_a_while},    {prepare_file, save_quickly},
    {prepare_file, save_another_folder},   {prepare_file, save_a_new_folder},
    {prepare_link, save_behind_the_link},  {prepare_link, save_another_link},
    {prepare_link, save_by_rename},        {prepare_folder_link, save_in_place},
    {prepare_folder_link, save_by_rename}, {prepare_folder_link, save_another_folder_link},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void open_world(struct world *world, const struct kind *kind)
{
    struct nest_errors errors;
    *world = (struct world){0};
    test_folder_open(&world->folder);
    kind->prepare(world);
    const struct nest_session_options plain = {
        .request = {.model = path(world, "in/m.yaml"), .cluster = "hgx-h100-8"},
        .top = 1,
        .threads = 1};
    struct nest_session_options options = plain;
    nest_errors_init(&errors, &world->arena);
    assert_int_equal(nest_library_find(&world->arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world->session, &errors), NEST_OK);
    assert_int_equal(nest_watch_open(world->session, NULL, &world->watch), NEST_OK);
}

static void close_world(struct world *world)
{
    if (world->open) {
        (void)fclose(world->open);
    }
    nest_watch_close(world->watch);
    nest_session_close(world->session);
    test_folder_close(&world->folder);
    nest_arena_free(&world->arena);
}

static int layers(struct world *world)
{
    const struct nest_snapshot *snapshot = nest_session_snapshot(world->session);
    const int count = (int)snapshot->scenario->model.layers;
    nest_snapshot_release(snapshot);
    return count;
}

/* As the explorer's loop: looks when it is told to, or when it was told to look again. The system
 * tells within the call that changes the file, and a time says no more than that nothing came. */
static void await(struct world *world, int expected, int kind)
{
    for (int looks = 0; layers(world) != expected; looks++) {
        struct nest_notice notice;
        struct pollfd source = {.fd = nest_watch_descriptor(world->watch), .events = POLLIN};
        const int timeout = nest_watch_timeout(world->watch);
        const int ready = poll(&source, 1, timeout < 0 ? GUARD : timeout);
        if ((ready == 0 && timeout < 0) || looks > 1000) {
            fail_msg("save number %d is not noticed", kind);
        }
        nest_watch_look(world->watch, &notice);
        nest_watch_wait(world->watch, &notice);
    }
}

static void every_kind_of_save_is_noticed(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct world world;
        open_world(&world, &kinds[kind]);
        assert_int_equal(layers(&world), 8);
        kinds[kind].save(&world, model(&world, 4));
        await(&world, 4, kind);
        /* And the one after it. */
        if (!world.open) {
            test_folder_replace(&world.folder, "in/m.yaml", model(&world, 2));
            await(&world, 2, kind);
        }
        close_world(&world);
    }
}

/* A script that is saved while the one before it still runs is not kept waiting. */
static void a_save_ends_the_reading_of_the_one_before(void **state)
{
    (void)state;
    struct world world;
    struct nest_errors errors;
    struct nest_notice notice;
    static const char fabric[] =
        "return cluster { name = '%s', device = 'h100-sxm',\n"
        "  node { fanout = 8, bandwidth = '450GB/s', latency = '1us' } }\n";
    const struct kind *kind = &kinds[0];
    open_world(&world, kind);
    nest_errors_init(&errors, &world.arena);
    test_folder_write(&world.folder, "c.lua", nest_arena_printf(&world.arena, fabric, "First"));
    assert_int_equal(nest_session_cluster(world.session, path(&world, "c.lua"), &errors), NEST_OK);
    (void)nest_watch_collect(world.watch, &notice);
    test_folder_replace(&world.folder, "c.lua", "while true do end\n");
    nest_watch_look(world.watch, &notice);
    assert_string_equal(nest_watch_doing(world.watch), "c.lua");
    test_folder_replace(&world.folder, "c.lua", nest_arena_printf(&world.arena, fabric, "Second"));
    nest_watch_look(world.watch, &notice);
    nest_watch_wait(world.watch, &notice);
    assert_string_equal(notice.text, "c.lua was saved: read again");
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_string_equal(snapshot->scenario->cluster.name, "Second");
    nest_snapshot_release(snapshot);
    /* Nor does one that runs keep the user waiting. */
    test_folder_replace(&world.folder, "c.lua", "while true do end\n");
    nest_watch_look(world.watch, &notice);
    assert_true(nest_watch_cancel(world.watch));
    nest_watch_wait(world.watch, &notice);
    assert_string_equal(notice.text, "c.lua: stopped, the last good state stays");
    assert_false(nest_watch_cancel(world.watch));
    assert_null(nest_watch_doing(world.watch));
    close_world(&world);
}

/* Nothing but what a file of the cluster names, and what the command line does. */
static void devices_and_measured_times_are_in_use_too(void **state)
{
    (void)state;
    static const char device[] =
        "name: Mine\nmemory: %dGiB\nmemory_bandwidth: 2000GB/s\npeak: {bf16: 300TFLOP/s}\n"
        "efficiency: {gemm: [[1e9, 0.35], [1e11, 0.75]], attention: 0.5, memory: 0.85}\n";
    static const char times[] = "layer,tp,micro_batch,seq,fw_ms,bw_ms\nblock,1,1,1024,%d,20\n";
    struct world world = {0};
    struct nest_errors errors;
    struct nest_notice notice;
    test_folder_open(&world.folder);
    prepare_file(&world);
    test_folder_write(&world.folder, "d.yaml", nest_arena_printf(&world.arena, device, 80));
    test_folder_write(&world.folder, "p.csv", nest_arena_printf(&world.arena, times, 10));
    test_folder_write(&world.folder, "c.yaml",
                      "name: C\ndevice: d.yaml\nlevels:\n"
                      "  - {name: node, fanout: 8, bandwidth: 100GB/s, latency: 1us}\n");
    struct nest_session_options options = {.request = {.model = path(&world, "in/m.yaml"),
                                                       .cluster = path(&world, "c.yaml"),
                                                       .profile = path(&world, "p.csv")},
                                           .top = 1,
                                           .threads = 1};
    nest_errors_init(&errors, &world.arena);
    assert_int_equal(nest_library_find(&world.arena, &options.library), NEST_OK);
    assert_int_equal(nest_session_open(&options, &world.session, &errors), NEST_OK);
    assert_int_equal(nest_watch_open(world.session, NULL, &world.watch), NEST_OK);
    test_folder_replace(&world.folder, "d.yaml", nest_arena_printf(&world.arena, device, 40));
    nest_watch_look(world.watch, &notice);
    nest_watch_wait(world.watch, &notice);
    assert_string_equal(notice.text, "d.yaml was saved: read again");
    const struct nest_snapshot *snapshot = nest_session_snapshot(world.session);
    assert_int_equal(snapshot->problem->memory_limit >> 30, 40);
    nest_snapshot_release(snapshot);
    test_folder_replace(&world.folder, "p.csv", nest_arena_printf(&world.arena, times, 12));
    nest_watch_look(world.watch, &notice);
    nest_watch_wait(world.watch, &notice);
    assert_string_equal(notice.text, "p.csv was saved: read again");
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_save_is_noticed),
        cmocka_unit_test(a_save_ends_the_reading_of_the_one_before),
        cmocka_unit_test(devices_and_measured_times_are_in_use_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
