#include "script/topology.h"

#include <string.h>

#include "input/doc.h"
#include "script/builder.h"
#include "script/sandbox.h"
#include "script/tree.h"

struct build {
    const struct nest_library *library;
    const char *path;
    struct nest_params params;
    struct nest_arena *arena;
    struct nest_cluster_spec *out;
    struct nest_errors *errors;
};

static const char *stem_of(struct nest_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    const char *dot = strrchr(file, '.');
    return nest_arena_strndup(arena, file, dot ? (size_t)(dot - file) : strlen(file));
}

/* Runs the file and reads the cluster that it returns. */
static int run_build(lua_State *L)
{
    struct build *build = lua_touserdata(L, 1);
    nest_builder_open(L, &build->params);
    nest_sandbox_load_file(L, build->path);
    lua_call(L, 0, 1);
    if (!lua_istable(L, -1)) {
        nest_errors_add(build->errors, (struct nest_mark){build->path, 0, 0}, NULL,
                        "end it with: return cluster{…}", "this topology returns no cluster");
        return 0;
    }
    const struct nest_node *root = nest_tree_of(L, -1, build->arena);
    (void)nest_cluster_from_tree(build->library, root, stem_of(build->arena, build->path),
                                 build->arena, build->out, build->errors);
    return 0;
}

/* A value that was given for a knob that the script does not declare (any more). */
static void check_given(const struct build *build)
{
    for (int i = 0; i < build->params.given_count; i++) {
        bool declared = false;
        for (int j = 0; j < build->params.count; j++) {
            declared |= strcmp(build->params.given[i].name, build->params.declared[j].name) == 0;
        }
        if (!declared) {
            nest_errors_add(build->errors, (struct nest_mark){build->path, 0, 0}, NULL, NULL,
                            "the script has no knob '%s' now", build->params.given[i].name);
        }
    }
}

static enum nest_status build_cluster(void *context, const struct nest_build_request *request,
                                      struct nest_arena *arena, struct nest_cluster_spec *out,
                                      struct nest_errors *errors)
{
    const struct nest_sandbox_options options = {
        .limits = NEST_SANDBOX_BUILDER, .seed = 1, .cancel = request->cancel};
    struct build build = {
        .library = context,
        .path = nest_arena_strdup(arena, request->path),
        .params = {.given = request->param, .given_count = request->params, .arena = arena},
        .arena = arena,
        .out = out,
        .errors = errors,
    };
    const size_t before = errors->count + errors->dropped;
    struct nest_sandbox *sandbox = NULL;
    enum nest_status status = nest_sandbox_open(&options, &sandbox);
    if (status == NEST_OK) {
        status = nest_sandbox_run(sandbox, run_build, &build, errors);
        nest_sandbox_close(sandbox);
    }
    if (status == NEST_NO_MEMORY || status == NEST_CANCELLED) {
        nest_errors_add(errors, (struct nest_mark){build.path, 0, 0}, NULL, NULL,
                        status == NEST_CANCELLED ? "stopped" : "memory is out");
    }
    if (status == NEST_OK) {
        check_given(&build);
    }
    if (errors->count + errors->dropped > before) {
        return status == NEST_NO_MEMORY ? status : NEST_BAD_INPUT;
    }
    out->params = build.params.count;
    out->param = build.params.declared;
    out->build = build_cluster;
    out->build_context = context;
    out->build_path = build.path;
    return NEST_OK;
}

void nest_topology_install(struct nest_library *library)
{
    library->build = build_cluster;
    library->build_context = library;
}
