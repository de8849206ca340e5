/* PATH = VALUE: one edit of a scenario, as typed after --set, in `edits:` and in the explorer.
 *
 * PATH = cluster.LEVEL.{bandwidth,latency,oversubscription,fanout}, device.KEY, model.KEY,
 * train.KEY, limits.KEY, overlap.KEY; short forms LEVEL.FIELD and a bare KEY where unique. */
#ifndef NEST_INPUT_SET_H
#define NEST_INPUT_SET_H

#include "input/load.h"

/* Applies one edit in place. A fault is located at mark and leaves the scenario as it was. */
enum nest_status nest_set(struct nest_scenario_spec *scenario, const char *path, const char *value,
                          struct nest_mark mark, struct nest_arena *arena,
                          struct nest_errors *errors);

/* The full PATH if path names a knob of the cluster's script, which setting it would run; else
 * NULL. */
const char *nest_set_builds(const struct nest_scenario_spec *scenario, const char *path,
                            struct nest_arena *arena);

/* Applies one pin, KEY and VALUE ("8", "2..8", "2|4|8", "selective", "true", an order). An empty
 * value or "free" frees the choice. */
enum nest_status nest_pin_set(struct nest_pins_spec *pins, const char *key, const char *value,
                              struct nest_mark mark, struct nest_errors *errors);

/* "tp", "pp" … "recompute"; the key of a word, or -1; "none", "selective", "full". */
const char *nest_pin_key_word(enum nest_pin_key key);
int nest_pin_key_find(const char *word);
const char *nest_recompute_word(enum nest_recompute mode);

/* Appends a pin as nest_pin_set would read it ("2|4..8", "true", "full"); nothing where free. */
struct nest_strbuf;
void nest_pin_write(const struct nest_pins_spec *pins, enum nest_pin_key key,
                    struct nest_strbuf *out);
void nest_order_write(const struct nest_order_pin *order, struct nest_strbuf *out);

/* "tp-cp-dp:4-pp-dp:8" → an order; false leaves out as it was. */
bool nest_order_parse(const char *text, struct nest_order_pin *out);

/* What may be written for the key: "expected a number from 1, a range 2..8, or a list 2|4|8". */
const char *nest_pin_expected(int key);

/* The value at PATH as text that nest_set would read back, with its unit; NULL if there is none
 * (an unlimited limits.memory reads as the device's capacity). */
const char *nest_get(const struct nest_scenario_spec *scenario, const char *path,
                     struct nest_arena *arena);

/* Points the cluster at the scenario's own device and renews every derived value; call it after
 * exchanging the model, the cluster or the device of a scenario. */
void nest_scenario_settle(struct nest_scenario_spec *scenario);

/* Every settable PATH of the scenario in full form, NULL-ended, for completion and messages. */
const char **nest_paths(const struct nest_scenario_spec *scenario, struct nest_arena *arena);

/* The scenario as YAML that loads back to the same record (model and cluster by name where they are
 * shipped and unedited, edits as `edits:`). */
void nest_scenario_write(const struct nest_scenario_spec *scenario, struct nest_strbuf *out);

#endif
