/* What libyaml says about broken syntax, in words that help. Private to the document reader. */
#ifndef NEST_INPUT_DOC_FAULT_H
#define NEST_INPUT_DOC_FAULT_H

#include <stddef.h>
#include <yaml.h>

#include "base/error.h"

/* Adds the one fault that stopped the parser. text is the whole input, for places that libyaml
 * does not compute (invalid UTF-8) and for telling tabs. */
void nest_doc_syntax_fault(const yaml_parser_t *parser, const char *file, const char *text,
                           size_t length, struct nest_errors *errors);

/* Refuses what libyaml lets pass in silence: a byte-order mark behind the start. */
void nest_doc_check_marks(const char *file, const char *text, size_t length,
                          struct nest_errors *errors);

#endif
