#include "cli/lua.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/request.h"
#include "script/api.h"
#include "script/reference.h"
#include "script/repl.h"
#include "session/lesson.h"

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

const char *const *nest_cli_edits(struct nest_cli *cli, int *count)
{
    enum { EDITS_MAX = 64 };
    const char **edit = NEST_NEW(&cli->arena, const char *, EDITS_MAX);
    const struct nest_scenario_request request = nest_cli_request(cli, false);
    *count = 0;
    for (int i = 0; edit && i < request.sets && *count < EDITS_MAX; i++) {
        edit[(*count)++] = request.set[i];
    }
    for (int i = 0; edit && i < request.pins; i++) {
        *count += split_pins(cli, request.pin[i], edit + *count, EDITS_MAX - *count);
    }
    return edit;
}

int nest_cli_lesson(struct nest_cli *cli, int number)
{
    int edits = 0;
    const char *const *edit = nest_cli_edits(cli, &edits);
    const char *path = nest_lesson_path(&cli->library, number, &cli->arena);
    return path ? nest_cli_script(cli, path, edits, edit) : nest_cli_no_lesson(cli, number);
}

int nest_cli_no_lesson(struct nest_cli *cli, int number)
{
    return nest_cli_usage(cli, "nest --lesson lists them", "there is no lesson %d", number);
}

/* A title needs the lesson's program to run. */
static const char *title_of(struct nest_cli *cli, const char *path)
{
    const struct nest_repl_options plain = {.library = &cli->library, .threads = 1};
    struct nest_repl *repl = NULL;
    struct nest_lesson_text text = {0};
    struct nest_scenario_spec scenario;
    enum nest_status status = nest_repl_open(&plain, &repl);
    if (status == NEST_OK) {
        status = nest_repl_lesson(repl, path, &cli->arena, &text, &scenario, &cli->errors);
    }
    nest_repl_close(repl);
    return status == NEST_OK ? text.title : NULL;
}

int nest_cli_lessons(struct nest_cli *cli)
{
    const int count = nest_lesson_count(&cli->library);
    for (int number = 1; number <= count; number++) {
        const char *path = nest_lesson_path(&cli->library, number, &cli->arena);
        const char *title = path ? title_of(cli, path) : NULL;
        if (!title) {
            return nest_cli_fail(cli, NEST_BAD_INPUT);
        }
        (void)fprintf(cli->out, "%s\n", title);
    }
    (void)fprintf(cli->out, "\nnest --lesson N starts one.\n");
    return NEST_EXIT_DONE;
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
