/* A plan and its prediction as JSON: what `--json` of solve and eval prints, and what
 * `nest eval --plan` reads back. The keys and their order are a contract; "schema" counts its
 * versions. */
#ifndef NEST_EXPORT_JSON_H
#define NEST_EXPORT_JSON_H

#include "base/json.h"
#include "plan/touched.h"
#include "solve/loss.h"

enum { NEST_JSON_SCHEMA = 1 };

/* What a document tells. All borrowed. */
struct nest_outcome {
    const struct nest_scenario_spec *scenario;
    const struct nest_problem *problem;
    const struct nest_plan *plan;             /* NULL: no plan was found */
    const struct nest_prediction *prediction; /* NULL with plan */
    const char *const *assumed;               /* eval: what was filled in, NULL-ended; or NULL */
    const struct nest_progress *search;       /* solve; or NULL */
    int alternatives;                         /* further solutions, best first */
    const struct nest_solution *alternative;
    const struct nest_errors *errors;   /* why nothing was found; or NULL */
    const struct nest_touched *touched; /* what overrides changed in prediction; NULL without any */
    const struct nest_loss *loss;       /* what devices that are down cost; or NULL */
};

/* The whole document. */
void nest_json_document(const struct nest_outcome *outcome, struct nest_strbuf *out);

/* "plan": {…} alone, as a member of an open object. */
void nest_json_plan(struct nest_json *json, const struct nest_problem *problem,
                    const struct nest_plan *plan, const struct nest_prediction *prediction);

/* "breakdown_s": {…}, seconds, as a member of an open object. */
void nest_json_breakdown(struct nest_json *json, const struct nest_breakdown *breakdown);

/* step_time_s … mfu and breakdown_s, as members of an open object. */
void nest_json_figures(struct nest_json *json, const struct nest_prediction *prediction);

#endif
