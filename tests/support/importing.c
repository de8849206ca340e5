#include "support/importing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEXT_MAX = 64 << 20 };

void importing_begin(struct importing *in)
{
    memset(in, 0, sizeof *in);
    nest_errors_init(&in->errors, &in->arena);
    assert_int_equal(nest_library_find(&in->arena, &in->library), NEST_OK);
    in->options.library = &in->library;
    in->yaml = "";
}

void importing_end(struct importing *in)
{
    nest_arena_free(&in->arena);
}

static void run(struct importing *in, const char *format, int files,
                const struct nest_import_file *file)
{
    struct nest_strbuf out = NEST_STRBUF_INIT(TEXT_MAX);
    nest_errors_init(&in->errors, &in->arena);
    in->status = nest_import(format, files, file, &in->options, &in->arena, &out, &in->errors);
    in->yaml = in->status == NEST_OK ? nest_arena_strdup(&in->arena, nest_strbuf_text(&out)) : "";
    nest_strbuf_free(&out);
}

void importing_text(struct importing *in, const char *format, const char *name, const char *text,
                    size_t length)
{
    const struct nest_import_file file = {name, text, length};
    run(in, format, 1, &file);
}

char *importing_read(struct importing *in, const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    char block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof block, file)) > 0) {
        nest_strbuf_add_bytes(&text, block, n);
    }
    (void)fclose(file);
    char *copy = nest_arena_strndup(&in->arena, nest_strbuf_text(&text), text.length);
    *length = text.length;
    nest_strbuf_free(&text);
    return copy;
}

void importing_files(struct importing *in, const char *format, const char *first,
                     const char *second)
{
    const char *path[2] = {first, second};
    struct nest_import_file file[2];
    const int files = second ? 2 : 1;
    for (int i = 0; i < files; i++) {
        file[i].name = path[i];
        file[i].text = importing_read(in, path[i], &file[i].length);
        if (!file[i].text) {
            fail_msg("cannot read %s", path[i]);
        }
    }
    run(in, format, files, file);
}

/* The YAML in a file of its own, as the loaders want it; removed by the caller. */
static const char *store(struct importing *in)
{
    if (in->status != NEST_OK) {
        fail_msg("not imported: %s", importing_faults(in));
    }
    char path[] = "/tmp/nest-import-XXXXXX.yaml";
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, in->yaml, strlen(in->yaml)), (ssize_t)strlen(in->yaml));
    assert_int_equal(close(fd), 0);
    return nest_arena_strdup(&in->arena, path);
}

static void finish(struct importing *in, const char *path, enum nest_status status)
{
    (void)unlink(path);
    if (status != NEST_OK) {
        fail_msg("%s%s", importing_faults(in), in->yaml);
    }
}

void importing_model(struct importing *in, struct nest_model_spec *out)
{
    const char *path = store(in);
    finish(in, path, nest_load_model(&in->library, path, &in->arena, out, &in->errors));
}

void importing_cluster(struct importing *in, struct nest_cluster_spec *out)
{
    const char *path = store(in);
    finish(in, path, nest_load_cluster(&in->library, path, &in->arena, out, &in->errors));
}

void importing_scenario(struct importing *in, struct nest_scenario_spec *out)
{
    const char *path = store(in);
    const struct nest_scenario_request request = {.scenario = path};
    finish(in, path, nest_load_scenario(&in->library, &request, &in->arena, out, &in->errors));
}

const char *importing_faults(struct importing *in)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
    nest_errors_sort(&in->errors);
    for (size_t i = 0; i < in->errors.count; i++) {
        nest_error_format(&in->errors.item[i], &text);
    }
    const char *copy = nest_arena_strdup(&in->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    nest_errors_init(&in->errors, &in->arena);
    return copy;
}

const char *importing_shared(struct importing *in, const char *path)
{
    const char *given = getenv("NEST_SHARED");
    const char *const root[] = {given, "../shared", "../../shared"};
    for (size_t i = 0; i < sizeof root / sizeof root[0]; i++) {
        if (!root[i] || !*root[i]) {
            continue;
        }
        const char *whole = nest_arena_printf(&in->arena, "%s/reference/%s", root[i], path);
        if (access(whole, R_OK) == 0) {
            return whole;
        }
    }
    return NULL;
}

const char *importing_example(struct importing *in, const char *name)
{
    return nest_arena_printf(&in->arena, "tests/data/import/%s", name);
}
