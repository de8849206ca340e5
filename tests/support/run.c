#include "support/run.h"

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

static char folder[64];

const char *run_folder(void)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "/tmp/nest-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

int run_clean(void **state)
{
    (void)state;
    if (folder[0] != '\0') {
        char command[128];
        (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
        folder[0] = '\0';
        return system(command);
    }
    return 0;
}

static char *read_file(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", run_folder(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    assert_non_null(text);
    for (size_t got = 1; got > 0; size += got) {
        if (capacity - size < 2) {
            capacity *= 2;
            text = realloc(text, capacity);
            assert_non_null(text);
        }
        got = fread(text + size, 1, capacity - size - 1, file);
    }
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

void run_write(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", run_folder(), name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

struct ran run_nest(const char *format, ...)
{
    static const char setup[] =
        "export DIR='%s' NEST=\"${NEST_BINARY:-$PWD/build/nest}\" TERM=dumb "
        "NO_COLOR= LC_ALL=C.UTF-8\n"
        "{ \"$NEST\" %s\n} >\"$DIR/out\" 2>\"$DIR/err\" </dev/null";
    char line[8192], command[12288];
    va_list args;
    va_start(args, format);
    assert_in_range(vsnprintf(line, sizeof line, format, args), 0, sizeof line - 1);
    va_end(args);
    assert_in_range(snprintf(command, sizeof command, setup, run_folder(), line), 0,
                    sizeof command - 1);
    const int status = system(command);
    struct ran ran = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                      read_file("out"), read_file("err")};
    return ran;
}

void ran_free(struct ran *ran)
{
    free(ran->out);
    free(ran->err);
}

void assert_status(const struct ran *ran, int status)
{
    if (ran->status != status) {
        fail_msg("status %d, expected %d\n%s\n%s", ran->status, status, ran->err, ran->out);
    }
}

void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

json_object *ran_json(const struct ran *ran)
{
    struct json_tokener *tokener = json_tokener_new();
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    json_object *root = json_tokener_parse_ex(tokener, ran->out, (int)strlen(ran->out));
    if (json_tokener_get_error(tokener) != json_tokener_success) {
        fail_msg("not JSON: %s\n%s\n%s", json_tokener_error_desc(json_tokener_get_error(tokener)),
                 ran->out, ran->err);
    }
    const char *rest = ran->out + json_tokener_get_parse_end(tokener);
    assert_int_equal(strspn(rest, " \n"), strlen(rest));
    json_tokener_free(tokener);
    return root;
}

json_object *json_at(json_object *root, const char *path)
{
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", path);
    char *save = NULL;
    for (char *key = strtok_r(copy, ".", &save); key != NULL; key = strtok_r(NULL, ".", &save)) {
        json_object *next = NULL;
        if (json_object_is_type(root, json_type_array)) {
            next = json_object_array_get_idx(root, (size_t)strtoul(key, NULL, 10));
        } else if (!json_object_object_get_ex(root, key, &next)) {
            fail_msg("no '%s' of '%s' in %s", key, path, json_object_to_json_string(root));
        }
        root = next;
    }
    return root;
}

double number_at(json_object *root, const char *path)
{
    return json_object_get_double(json_at(root, path));
}
