#include "tests/support/command.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"

enum { WORDS_MAX = 64, OUTPUT_MAX = 64 << 20, SECONDS_MAX = 120, FILES_MAX = 256 };

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

const char *command_file(const char *name, const char *text)
{
    assert_true(file_count < FILES_MAX);
    const size_t size = strlen(command_folder()) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    (void)snprintf(path, size, "%s/%s", command_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    files[file_count++] = path;
    return path;
}

/* Splits in place; quotes are removed. */
static void split(char *line, char **word)
{
    int count = 1;
    for (char *at = line; *at != '\0';) {
        while (*at == ' ') {
            at++;
        }
        if (*at == '\0') {
            break;
        }
        assert_true(count < WORDS_MAX - 1);
        const char stop = *at == '\'' ? '\'' : ' ';
        at += stop == '\'';
        word[count++] = at;
        while (*at != '\0' && *at != stop) {
            at++;
        }
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    word[count] = NULL;
}

struct pipes {
    int in[2], out[2], err[2];
};

static void run_child(const struct pipes *p, char *line)
{
    char *word[WORDS_MAX];
    const char *binary = getenv("NEST_BINARY");
    char path[] = "build/nest";
    word[0] = path;
    split(line, word);
    (void)dup2(p->in[0], STDIN_FILENO);
    (void)dup2(p->out[1], STDOUT_FILENO);
    (void)dup2(p->err[1], STDERR_FILENO);
    const int all[] = {p->in[0], p->in[1], p->out[0], p->out[1], p->err[0], p->err[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        (void)close(all[i]);
    }
    (void)execv(binary ? binary : path, word);
    _exit(127);
}

/* Reads what is there; false at the end. */
static bool drain(int fd, struct nest_strbuf *text)
{
    char chunk[65536];
    const ssize_t got = read(fd, chunk, sizeof chunk);
    if (got > 0) {
        nest_strbuf_add_bytes(text, chunk, (size_t)got);
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

static void collect(const struct pipes *p, struct nest_strbuf *out, struct nest_strbuf *err)
{
    struct pollfd fds[] = {{p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}};
    const time_t start = time(NULL);
    int open_ends = 2;
    while (open_ends > 0) {
        if (time(NULL) - start > SECONDS_MAX) {
            fail_msg("the command ran longer than %d s", SECONDS_MAX);
        }
        (void)poll(fds, 2, 1000);
        for (int i = 0; i < 2; i++) {
            if (fds[i].revents != 0 && !drain(fds[i].fd, i == 0 ? out : err)) {
                (void)close(fds[i].fd);
                fds[i].fd = -1;
                open_ends--;
            }
        }
    }
}

static char *take(struct nest_strbuf *text)
{
    char *copy = strdup(nest_strbuf_text(text));
    assert_non_null(copy);
    nest_strbuf_free(text);
    return copy;
}

struct command_result command_run_with_input(const char *line, const char *input)
{
    struct pipes p;
    assert_true(pipe(p.in) == 0 && pipe(p.out) == 0 && pipe(p.err) == 0);
    char *copy = strdup(line);
    assert_non_null(copy);
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_child(&p, copy);
    }
    free(copy);
    (void)close(p.in[0]);
    (void)close(p.out[1]);
    (void)close(p.err[1]);
    const size_t length = strlen(input);
    assert_true(length < 60000); /* fits the pipe, so that writing first cannot block */
    if (length > 0) {
        assert_int_equal(write(p.in[1], input, length), (ssize_t)length);
    }
    (void)close(p.in[1]);
    struct nest_strbuf out = NEST_STRBUF_INIT(OUTPUT_MAX);
    struct nest_strbuf err = NEST_STRBUF_INIT(OUTPUT_MAX);
    collect(&p, &out, &err);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return (struct command_result){
        .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        .out = take(&out),
        .err = take(&err),
    };
}

struct command_result command_run(const char *line)
{
    return command_run_with_input(line, "");
}

void command_free(struct command_result *result)
{
    free(result->out);
    free(result->err);
    *result = (struct command_result){0};
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
