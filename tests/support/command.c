#include "tests/support/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"

enum { OUTPUT_MAX = 64 << 20, FILES_MAX = 256 };

static char folder[64];
static char *files[FILES_MAX];
static int file_count;

static void remove_folder(void)
{
    for (int i = 0; i < file_count; i++) {
        (void)unlink(files[i]);
        free(files[i]);
    }
    (void)rmdir(folder);
}

const char *command_folder(void)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "/tmp/nest-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
        (void)atexit(remove_folder);
    }
    return folder;
}

/* command_folder()/name, remembered until exit. */
static const char *path_of(const char *name)
{
    const size_t size = strlen(command_folder()) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    (void)snprintf(path, size, "%s/%s", command_folder(), name);
    for (int i = 0; i < file_count; i++) {
        if (strcmp(files[i], path) == 0) {
            free(path);
            return files[i];
        }
    }
    assert_true(file_count < FILES_MAX);
    files[file_count] = path;
    return files[file_count++];
}

const char *command_file(const char *name, const char *text)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static char *read_output(const char *name)
{
    FILE *file = fopen(path_of(name), "rb");
    assert_non_null(file);
    struct nest_strbuf text = NEST_STRBUF_INIT(OUTPUT_MAX);
    char chunk[65536];
    for (size_t got = 1; got > 0;) {
        got = fread(chunk, 1, sizeof chunk, file);
        nest_strbuf_add_bytes(&text, chunk, got);
    }
    (void)fclose(file);
    char *copy = strdup(nest_strbuf_text(&text));
    assert_non_null(copy);
    nest_strbuf_free(&text);
    return copy;
}

/* Every test program has a folder of its own, so that their files do not meet. */
static struct command_result run(const char *line, const char *input)
{
    static const char setup[] =
        "export DIR='%s' NEST=\"${NEST_BINARY:-$PWD/build/nest}\" TERM=dumb "
        "NO_COLOR= LC_ALL=C.UTF-8\n"
        "{ \"$NEST\" %s\n} >\"$DIR/out\" 2>\"$DIR/err\" <%s";
    char command[12288];
    const char *from = input ? command_file("in", input) : "/dev/null";
    assert_in_range(snprintf(command, sizeof command, setup, command_folder(), line, from), 0,
                    sizeof command - 1);
    const int status = system(command);
    return (struct command_result){
        .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        .out = read_output("out"),
        .err = read_output("err"),
    };
}

struct command_result command_run(const char *line)
{
    return run(line, NULL);
}

struct command_result command_run_with_input(const char *line, const char *input)
{
    return run(line, input);
}

struct command_result shell_run(const char *format, ...)
{
    char line[8192];
    va_list args;
    va_start(args, format);
    assert_in_range(vsnprintf(line, sizeof line, format, args), 0, sizeof line - 1);
    va_end(args);
    return run(line, NULL);
}

void command_free(struct command_result *result)
{
    free(result->out);
    free(result->err);
    *result = (struct command_result){0};
}

void assert_status(const struct command_result *result, int status)
{
    if (result->status != status) {
        fail_msg("status %d, expected %d\n%s\n%s", result->status, status, result->err,
                 result->out);
    }
}

void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

struct json_object *command_json(const struct command_result *result)
{
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    struct json_object *root =
        json_tokener_parse_ex(tokener, result->out, (int)strlen(result->out) + 1);
    json_tokener_free(tokener);
    if (!root) {
        fail_msg("no JSON (status %d): %s\n%s", result->status, result->out, result->err);
    }
    return root;
}

static struct json_object *step_into(struct json_object *at, const char **path)
{
    if (**path == '[') {
        char *end = NULL;
        const size_t index = strtoul(*path + 1, &end, 10);
        *path = end + 1;
        return json_object_array_get_idx(at, index);
    }
    char key[64];
    const size_t length = strcspn(*path, ".[");
    assert_true(length < sizeof key);
    memcpy(key, *path, length);
    key[length] = '\0';
    *path += length;
    struct json_object *value = NULL;
    return json_object_object_get_ex(at, key, &value) ? value : NULL;
}

struct json_object *json_at(struct json_object *root, const char *path)
{
    struct json_object *at = root;
    for (const char *rest = path; *rest != '\0';) {
        rest += *rest == '.';
        at = step_into(at, &rest);
        if (!at && *rest != '\0') {
            fail_msg("%s is missing in %s", path, json_object_to_json_string(root));
        }
    }
    return at;
}

double json_number(struct json_object *root, const char *path)
{
    struct json_object *value = json_at(root, path);
    if (!value) {
        fail_msg("%s is missing or null in %s", path, json_object_to_json_string(root));
    }
    return json_object_get_double(value);
}

const char *json_text(struct json_object *root, const char *path)
{
    return json_object_get_string(json_at(root, path));
}
