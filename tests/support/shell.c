#include "support/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char *read_output(const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", command_folder(), name);
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

struct command_result shell_run(const char *format, ...)
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
    assert_in_range(snprintf(command, sizeof command, setup, command_folder(), line), 0,
                    sizeof command - 1);
    const int status = system(command);
    return (struct command_result){
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        read_output("out"),
        read_output("err"),
    };
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
