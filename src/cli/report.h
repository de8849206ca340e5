/* The text report of a plan: what nest solve and nest eval print without --json. */
#ifndef NEST_CLI_REPORT_H
#define NEST_CLI_REPORT_H

#include <stdio.h>

#include "cli/context.h"
#include "export/json.h"
#include "plan/bind.h"

struct nest_style {
    bool color; /* escape sequences for bold and colours */
    bool utf8;  /* block characters; else ASCII */
};

/* From --color, NO_COLOR, the locale and whether out is a terminal. */
struct nest_style nest_style_for(struct nest_cli *cli);

/* What the report tells beside the outcome. */
struct nest_report {
    const struct nest_outcome *outcome; /* with a plan */
    const struct nest_binding *binding; /* NULL: not told */
    nest_ps unlimited;                  /* best step time without a memory limit; 0: not told */
};

void nest_report_write(const struct nest_report *report, struct nest_style style, FILE *out);

/* One line per solution: step time and choices; `more` solutions beginning with number `from`. */
void nest_report_alternatives(const struct nest_solution *solution, int count, nest_ps best,
                              FILE *out);

#endif
