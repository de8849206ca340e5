/* Runs nest inside a line for the shell: pipes, redirections, several commands. */
#ifndef TESTS_SUPPORT_SHELL_H
#define TESTS_SUPPORT_SHELL_H

#include "support/command.h"

/* Runs `nest LINE` in a shell where $NEST is the binary (NEST_BINARY, else build/nest) and $DIR is
 * command_folder(). Standard input is empty; the locale is C.UTF-8. The caller frees the result. */
struct command_result shell_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asserts the status, with both outputs in the failure message. */
void assert_status(const struct command_result *result, int status);

/* Asserts that text holds part. */
void assert_contains(const char *text, const char *part);

#endif
