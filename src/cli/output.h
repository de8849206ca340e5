/* Printing what solve, eval and export have in common. */
#ifndef NEST_CLI_OUTPUT_H
#define NEST_CLI_OUTPUT_H

#include "cli/scenario.h"
#include "export/json.h"

/* The outcome as JSON on out. Returns false (and says so) when memory is out. */
bool nest_cli_json(struct nest_cli *cli, const struct nest_outcome *outcome);

/* Searches with the options of the command line (--threads, --exhaustive) for the best `top` plans,
 * which live in arena; without --top they differ in shape, not only in shard group or order.
 * Fills the progress's seconds. Returns the solver's status; NEST_BAD_INPUT for a bad option. */
enum nest_status nest_cli_solve(struct nest_cli *cli, const struct nest_problem *problem, int top,
                                struct nest_arena *arena, struct nest_result *out);

/* What the overrides of the document's problem changed in its plan; NULL without any, or when
 * memory is out. Lives in the command's arena. */
const struct nest_touched *nest_cli_touched(struct nest_cli *cli,
                                            const struct nest_problem *problem,
                                            const struct nest_plan *plan,
                                            const struct nest_prediction *prediction);

#endif
