/* JSON text → the nodes of input/doc.h, so that YAML and JSON are read by the same code. json-c
 * reads the text; places are found by walking it along with the values. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_JSON_H
#define NEST_INPUT_IMPORT_JSON_H

#include "input/import/job.h"

/* Parses one JSON value and nothing after it. NaN and Infinity are accepted, as other programs
 * write them; null becomes an unquoted "null". */
enum nest_status nest_json_parse(const struct nest_import_file *file, struct nest_arena *arena,
                                 const struct nest_node **out, struct nest_errors *errors);

#endif
