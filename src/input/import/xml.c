#include "input/import/xml.h"

#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>

bool nest_xml_is(const xmlNode *node, const char *name)
{
    return node && node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

xmlNode *nest_xml_element(xmlNode *node)
{
    while (node && node->type != XML_ELEMENT_NODE) {
        node = node->next;
    }
    return node;
}

const char *nest_xml_get(struct nest_job *job, xmlNode *node, const char *name)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    const char *copy = value ? nest_arena_strdup(job->arena, (const char *)value) : NULL;
    xmlFree(value);
    return copy;
}

enum nest_status nest_xml_fault(struct nest_job *job, xmlNode *node, const char *hint,
                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = nest_arena_vprintf(job->arena, format, args);
    va_end(args);
    return nest_job_fault(job, (int)xmlGetLineNo(node), 1, hint, "%s", text ? text : format);
}

/* The first fault that libxml2 reports: later ones follow from it. */
struct first_fault {
    bool any;
    int line, column;
    char message[256];
};

static void keep_first(void *context, xmlError *error)
{
    struct first_fault *fault = ((xmlParserCtxt *)context)->_private;
    if (fault->any || error->level < XML_ERR_ERROR) {
        return;
    }
    fault->any = true;
    fault->line = error->line;
    fault->column = error->int2;
    (void)snprintf(fault->message, sizeof fault->message, "%s",
                   error->message ? error->message : "cannot be read");
    fault->message[strcspn(fault->message, "\r\n")] = 0;
}

enum nest_status nest_xml_parse(struct nest_job *job, xmlDoc **out)
{
    const struct nest_import_file *file = &job->file[0];
    xmlParserCtxt *context = xmlNewParserCtxt();
    if (!context) {
        return nest_job_no_memory(job);
    }
    struct first_fault fault = {.message = "cannot be read"};
    context->_private = &fault;
    context->sax->serror = keep_first;
    xmlDoc *doc = xmlCtxtReadMemory(context, file->text, (int)file->length, NULL, NULL,
                                    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                        XML_PARSE_NOCDATA);
    enum nest_status status = NEST_OK;
    if (!doc || !context->wellFormed) {
        status = nest_job_fault(job, fault.line, fault.line ? fault.column : 0, NULL, "not XML: %s",
                                fault.message);
    } else if (doc->intSubset && doc->intSubset->entities) {
        status = nest_job_fault(job, 0, 0, NULL, "XML entities are not read from topology files");
    } else if (!xmlDocGetRootElement(doc)) {
        status = nest_job_fault(job, 0, 0, NULL, "the XML is empty");
    }
    xmlFreeParserCtxt(context);
    if (status != NEST_OK) {
        xmlFreeDoc(doc);
        return status;
    }
    *out = doc;
    return NEST_OK;
}
