/* The command line of nest: `nest COMMAND …`, each command in its own file beside this one.
 *
 * Results go to stdout, messages to stderr. Exit status: 0 done, 1 the answer is no (no feasible
 * plan), 2 bad input or usage. This room knows no screen: the explorer is handed in. */
#ifndef NEST_CLI_CLI_H
#define NEST_CLI_CLI_H

#include "base/strbuf.h"
#include "input/load.h"

enum nest_color { NEST_COLOR_AUTO, NEST_COLOR_ALWAYS, NEST_COLOR_NEVER };

/* What the command line asks the explorer to open. Borrowed from argv and the caller's arena. */
struct nest_explore_request {
    struct nest_scenario_request scenario;
    int lesson; /* 0: none; then the scenario is the lesson's, with these edits */
    int edits;
    const char *const *edit; /* "PATH=VALUE", "KEY=VALUE" */
    int threads;
    enum nest_color color;
    bool ascii;
};

enum { NEST_EXPLORER_UNAVAILABLE = -1 };

/* What the command line knows of the explorer. */
struct nest_explorer {
    /* Opens it; returns the exit status, or NEST_EXPLORER_UNAVAILABLE after saying why this
     * terminal cannot show it: the report is printed instead. */
    int (*open)(const struct nest_explore_request *request);
    /* The keys of entry number index as people read them (appended), and what they do (a constant);
     * false past the last entry. For the manual page. */
    bool (*keys)(int index, struct nest_strbuf *keys, const char **help);
};

/* Runs one command line and returns the exit status. Without a command: the explorer where stdin
 * and stdout are terminals (and explorer is not NULL), else what `nest solve` prints. */
int nest_cli_main(int argc, char **argv, const struct nest_explorer *explorer);

#endif
