#include "cli/lua.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/request.h"
#include "script/api.h"
#include "script/reference.h"

static int run(struct nest_cli *cli);

static const struct nest_option options[] = {
    {NEST_OPT_UNSAFE_LUA, "unsafe-lua", 0, NULL,
     "Give the script all of Lua, files and processes included", NULL},
    {NEST_OPT_REFERENCE, "reference", 0, NULL, "Print the reference of the scripting API", NULL},
    {NEST_OPT_THREADS, "threads", 0, "N", "Threads of a solve", NULL},
    {NEST_OPT_SEED, "seed", 0, "N", "Seed of math.random", NULL},
    NEST_OPTIONS_END,
};

const struct nest_command nest_command_lua = {
    .name = "lua",
    .operands = "FILE [ARG…]",
    .summary = "Run a Lua script against the planner",
    .text = "The script sees the table nest (scenarios, solving, sweeps, charts), the words in\n"
            "which topologies are written, and its arguments in arg. It runs in a sandbox: no\n"
            "files, no processes, limits on time, memory and output. Put -- in front of arguments\n"
            "that begin with a dash.\n"
            "\n"
            "Examples:\n"
            "  nest lua scripts/lessons/bubbles.lua\n"
            "  echo 'print(nest.model(\"llama3-8b\").params)' | nest lua -",
    .options = options,
    .complete = NEST_COMPLETE_FILE,
    .least = 0,
    .most = -1,
    .run = run,
};

static void print_text(void *context, const char *text, size_t length)
{
    (void)fwrite(text, 1, length, context);
}

int nest_cli_script(struct nest_cli *cli, const char *path, int arguments,
                    const char *const *argument)
{
    const struct nest_script script = {
        .library = &cli->library,
        .path = path,
        .argument = argument,
        .arguments = arguments,
        .threads = nest_cli_threads(cli),
        .seed = (uint64_t)nest_cli_seed(cli),
        .unsafe = nest_args_has(&cli->args, NEST_OPT_UNSAFE_LUA),
        .print = print_text,
        .context = cli->out,
    };
    if (cli->errors.count > 0) {
        return nest_cli_usage_failure(cli);
    }
    const char *traceback = "";
    const enum nest_status status = nest_script_run(&script, &cli->arena, &traceback, &cli->errors);
    const int exit = nest_cli_fail(cli, status);
    if (status != NEST_OK && traceback && *traceback) {
        (void)fprintf(cli->err, "%s", traceback);
    }
    return exit;
}

/* Each KEY=VALUE of a list of pins is an edit of its own. */
static int split_pins(struct nest_cli *cli, const char *pins, const char **out, int room)
{
    int count = 0;
    for (const char *at = pins; *at != '\0' && count < room;) {
        const size_t length = strcspn(at, ",");
        out[count++] = nest_arena_strndup(&cli->arena, at, length);
        at += length + (at[length] == ',');
    }
    return count;
}

int nest_cli_lesson(struct nest_cli *cli, int number)
{
    enum { EDITS_MAX = 64 };
    const char *edit[EDITS_MAX];
    const struct nest_scenario_request request = nest_cli_request(cli, false);
    int edits = 0;
    for (int i = 0; i < request.sets && edits < EDITS_MAX; i++) {
        edit[edits++] = request.set[i];
    }
    for (int i = 0; i < request.pins; i++) {
        edits += split_pins(cli, request.pin[i], edit + edits, EDITS_MAX - edits);
    }
    const char *folder = "scripts/lessons";
    const char *prefix = nest_arena_printf(&cli->arena, "%d-", number);
    const char **name = nest_library_list(&cli->library, folder, &cli->arena);
    for (; name != NULL && *name != NULL; name++) {
        if (strncmp(*name, prefix, strlen(prefix)) == 0) {
            return nest_cli_script(
                cli,
                nest_arena_printf(&cli->arena, "%s/%s/%s.lua", cli->library.root, folder, *name),
                edits, edit);
        }
    }
    return nest_cli_usage(cli, "see scripts/lessons", "there is no lesson %d", number);
}

static int print_reference(struct nest_cli *cli)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(1 << 20);
    nest_reference_write(&text);
    (void)fputs(nest_strbuf_text(&text), cli->out);
    nest_strbuf_free(&text);
    return NEST_EXIT_DONE;
}

static int run(struct nest_cli *cli)
{
    if (nest_args_has(&cli->args, NEST_OPT_REFERENCE)) {
        return print_reference(cli);
    }
    if (cli->args.operand_count == 0) {
        return nest_cli_usage(cli, "a path, or - for standard input", "no FILE is given");
    }
    return nest_cli_script(cli, cli->args.operand[0], cli->args.operand_count - 1,
                           cli->args.operand + 1);
}
