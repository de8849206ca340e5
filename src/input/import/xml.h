/* XML through libxml2, without network, external files or entities. Private to this folder. */
#ifndef NEST_INPUT_IMPORT_XML_H
#define NEST_INPUT_IMPORT_XML_H

#include <libxml/tree.h>

#include "input/import/job.h"

/* Parses the first file. On NEST_OK the caller frees *out with xmlFreeDoc. */
enum nest_status nest_xml_parse(struct nest_job *job, xmlDoc **out);

/* The text of an attribute in the job's arena, or NULL. */
const char *nest_xml_get(struct nest_job *job, xmlNode *node, const char *name);

bool nest_xml_is(const xmlNode *node, const char *name);

/* A fault at the line of an element. */
enum nest_status nest_xml_fault(struct nest_job *job, xmlNode *node, const char *hint,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The first element at or after node, in document order among siblings. */
xmlNode *nest_xml_element(xmlNode *node);

#endif
