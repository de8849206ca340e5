/* Launch configurations of a plan for training frameworks.
 *
 * The planner judges physics; this room judges the framework. What a framework cannot express is
 * lowered to the nearest plan that it can (with the cost and memory computed again) or refused, and
 * either is told as a note: never dropped. Notes are for people: they are repeated as comments
 * where the format has comments. */
#ifndef NEST_EXPORT_EXPORT_H
#define NEST_EXPORT_EXPORT_H

#include "base/strbuf.h"
#include "plan/plan.h"

enum { NEST_NOTES_MAX = 48 };

/* Sentences without a final full stop; texts live in arena. */
struct nest_notes {
    struct nest_arena *arena;
    int count;
    const char *text[NEST_NOTES_MAX];
};

void nest_note(struct nest_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What is exported. All borrowed; scratch goes to arena. */
struct nest_export {
    const struct nest_scenario_spec *scenario;
    const struct nest_problem *problem;
    const struct nest_plan *plan;
    const struct nest_prediction *prediction;
    struct nest_arena *arena;
};

/* Writes one format. NEST_NO with errors where no legal plan of the framework is near. */
typedef enum nest_status nest_exporter(const struct nest_export *in, struct nest_strbuf *out,
                                       struct nest_notes *notes, struct nest_errors *errors);

nest_exporter nest_export_megatron; /* a shell script with Megatron-LM's arguments */
nest_exporter nest_export_nemo;     /* Megatron Bridge, in Python */
nest_exporter nest_export_deepspeed;
nest_exporter nest_export_torchtitan;      /* a Python function that returns Trainer.Config */
nest_exporter nest_export_torchtitan_toml; /* up to version 0.2.2 */
nest_exporter nest_export_rankmap;         /* one line per rank: where it sits and what it is */
nest_exporter nest_export_dot;             /* stages and links for Graphviz */

struct nest_export_format {
    const char *name; /* of `nest export --to` */
    nest_exporter *write;
};

/* All formats but json (see json.h); ends with a NULL name. */
extern const struct nest_export_format nest_export_formats[];

#endif
