/* lstopo XML, version 2 or 3: Package > Bridge > PCIDev > OSDev, and NVLinkBandwidth distances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "input/import/gpu_box.h"
#include "input/import/xml.h"

enum { DEPTH = 64, OBJECTS_MAX = 1024 };

struct gpu {
    int64_t index; /* gp_index of the PCI device */
    int package;   /* number of its package or NUMA node, -1 = none */
    int bridge;    /* number of the outermost bridge below the host bridge, -1 = none */
    int host;      /* number of the host bridge */
};

struct topology {
    struct nest_job *job;
    int gpus;
    struct gpu *gpu; /* [NEST_BOX_GPUS] */
    int owners;      /* OS devices of GPUs */
    struct {
        int64_t index;
        int gpu;
    } owner[4 * NEST_BOX_GPUS];
    int packages, bridges, hosts;
    double pcie; /* bytes/s of the slowest GPU's link; 0 = not in the file */
    enum nest_status status;
};

/* Where the walk is. */
struct place {
    int package, host, bridge, gpu;
};

static int64_t index_of(struct topology *t, xmlNode *node)
{
    const char *text = nest_xml_get(t->job, node, "gp_index");
    int64_t value;
    return text && nest_text_int(text, &value) ? value : -1;
}

static void add_pci(struct topology *t, xmlNode *node, struct place *place)
{
    const char *class = nest_xml_get(t->job, node, "pci_type");
    /* 03xx is a display controller, 12xx a processing accelerator without a display. */
    if (!class || (strncmp(class, "03", 2) != 0 && strncmp(class, "12", 2) != 0)) {
        return;
    }
    /* A board's own display adapter has no compute behind it. */
    const bool display = strstr(class, "[102b:") || strstr(class, "[1a03:");
    if (display) {
        return;
    }
    if (t->gpus == NEST_BOX_GPUS) {
        t->status = nest_xml_fault(t->job, node, NULL, "more than %d GPUs", (int)NEST_BOX_GPUS);
        return;
    }
    const char *speed = nest_xml_get(t->job, node, "pci_link_speed");
    double rate = 0;
    if (speed && nest_text_number(speed, &rate) && rate > 0 && rate < 1000 &&
        (t->pcie <= 0 || rate * 1e9 < t->pcie)) {
        t->pcie = round(rate * 100) * 1e7;
    }
    place->gpu = t->gpus;
    t->gpu[t->gpus++] = (struct gpu){index_of(t, node), place->package, place->bridge, place->host};
}

static void visit(struct topology *t, xmlNode *node, struct place *place)
{
    const char *type = nest_xml_get(t->job, node, "type");
    if (!type) {
        return;
    }
    /* Up to version 1 a NUMA node holds sockets and bridges; from 2 on it is inside a package. */
    const bool numa = strcmp(type, "NUMANode") == 0 && place->package < 0;
    const bool socket = strcmp(type, "Socket") == 0 && place->package < 0;
    if (strcmp(type, "Package") == 0 || numa || socket) {
        place->package = t->packages++;
    } else if (strcmp(type, "Bridge") == 0) {
        const char *kind = nest_xml_get(t->job, node, "bridge_type");
        const char *depth = nest_xml_get(t->job, node, "depth");
        if (kind && strncmp(kind, "0-", 2) == 0) {
            place->host = t->hosts++;
        } else if (!depth || strcmp(depth, "1") == 0) {
            place->bridge = t->bridges++;
        }
    } else if (strcmp(type, "PCIDev") == 0) {
        add_pci(t, node, place);
    } else if (strcmp(type, "OSDev") == 0 && place->gpu >= 0 && t->owners < 4 * NEST_BOX_GPUS) {
        t->owner[t->owners].index = index_of(t, node);
        t->owner[t->owners++].gpu = place->gpu;
    }
}

/* Walks the objects; libxml2 limits the depth of a document, and this more. */
static void walk(struct topology *t, xmlNode *node, struct place place, int depth)
{
    for (xmlNode *child = node->children; child && t->status == NEST_OK; child = child->next) {
        if (!nest_xml_is(child, "object")) {
            continue;
        }
        if (depth == DEPTH) {
            t->status = nest_xml_fault(t->job, child, NULL, "nested deeper than %d", (int)DEPTH);
            return;
        }
        struct place here = place;
        visit(t, child, &here);
        walk(t, child, here, depth + 1);
    }
}

static int distance(const struct gpu *a, const struct gpu *b)
{
    if (a->bridge >= 0 && a->bridge == b->bridge) {
        return NEST_BOX_SWITCH;
    }
    if (a->host >= 0 && a->host == b->host) {
        return NEST_BOX_HOST;
    }
    return a->package == b->package ? NEST_BOX_SOCKET : NEST_BOX_SYSTEM;
}

/* ---- NVLinkBandwidth ------------------------------------------------------------------------ */

/* The texts of all child elements of a name, one after the other. */
static char *gather(struct topology *t, xmlNode *node, const char *name)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(NEST_DOC_BYTES);
    for (xmlNode *child = node->children; child; child = child->next) {
        if (nest_xml_is(child, name)) {
            xmlChar *content = xmlNodeGetContent(child);
            nest_strbuf_add(&text, content ? (const char *)content : "");
            nest_strbuf_add(&text, " ");
            xmlFree(content);
        }
    }
    char *copy = nest_arena_strdup(t->job->arena, nest_strbuf_text(&text));
    nest_strbuf_free(&text);
    return copy;
}

/* What a row of the matrix stands for: a GPU's number, -1 an NVSwitch, -2 anything else. */
static int object_of(const struct topology *t, const char *word)
{
    const char *colon = strchr(word, ':');
    int64_t index;
    if (!colon || !nest_text_int(colon + 1, &index)) {
        return -2;
    }
    const bool pci = strncmp(word, "PCIDev", 6) == 0;
    for (int i = 0; pci && i < t->gpus; i++) {
        if (t->gpu[i].index == index) {
            return i;
        }
    }
    for (int i = 0; !pci && i < t->owners; i++) {
        if (t->owner[i].index == index) {
            return t->owner[i].gpu;
        }
    }
    return pci ? -1 : -2;
}

static enum nest_status read_matrix(struct topology *t, xmlNode *node, struct nest_gpu_box *box)
{
    int object[OBJECTS_MAX];
    int objects = 0;
    char *save = NULL;
    char *names = gather(t, node, "indexes");
    char *values = gather(t, node, "u64values");
    if (!names || !values) {
        return nest_job_no_memory(t->job);
    }
    for (char *word = strtok_r(names, " \t\r\n", &save); word;
         word = strtok_r(NULL, " \t\r\n", &save)) {
        if (objects == OBJECTS_MAX) {
            return nest_xml_fault(t->job, node, NULL, "more than %d objects in NVLinkBandwidth",
                                  (int)OBJECTS_MAX);
        }
        object[objects++] = object_of(t, word);
    }
    int count = 0;
    save = NULL;
    for (char *word = strtok_r(values, " \t\r\n", &save); word;
         word = strtok_r(NULL, " \t\r\n", &save), count++) {
        int64_t megabytes;
        if (!nest_text_int(word, &megabytes) || count >= objects * objects) {
            return nest_xml_fault(t->job, node, NULL,
                                  "NVLinkBandwidth has '%s' where a value of %d x %d was expected",
                                  word, objects, objects);
        }
        const int from = object[count / objects];
        const int to = object[count % objects];
        if (from < 0 || to == -2 || from == to) {
            continue;
        }
        if (to == -1) {
            box->switched[from] += (double)megabytes * 1e6;
        } else {
            box->pair[from * t->gpus + to] = (double)megabytes * 1e6;
        }
    }
    if (count != objects * objects) {
        return nest_xml_fault(t->job, node, NULL,
                              "NVLinkBandwidth has %d values for %d x %d objects", count, objects,
                              objects);
    }
    return NEST_OK;
}

static enum nest_status build(struct topology *t, xmlNode *root)
{
    struct nest_gpu_box box;
    struct nest_found_cluster found = {.name = "one node"};
    if (!nest_gpu_box_init(&box, t->gpus, t->job->arena)) {
        return nest_job_no_memory(t->job);
    }
    box.pcie = t->pcie;
    for (int a = 0; a < t->gpus; a++) {
        for (int b = 0; b < t->gpus; b++) {
            box.far[a * t->gpus + b] = (unsigned char)distance(&t->gpu[a], &t->gpu[b]);
        }
    }
    bool links = false;
    for (xmlNode *node = root->children; node; node = node->next) {
        const char *name =
            node->type == XML_ELEMENT_NODE ? nest_xml_get(t->job, node, "name") : NULL;
        if (!name || (strcmp(name, "NVLinkBandwidth") != 0 && strcmp(name, "XGMIBandwidth") != 0)) {
            continue;
        }
        const enum nest_status status = read_matrix(t, node, &box);
        if (status != NEST_OK) {
            return status;
        }
        links = true;
    }
    if (!links) {
        nest_job_note(
            t->job,
            "no NVLinkBandwidth or XGMIBandwidth in the file: the levels are those of PCIe");
    }
    const enum nest_status status = nest_gpu_box_levels(&box, t->job, &found);
    return status == NEST_OK ? nest_found_cluster_write(t->job, &found) : status;
}

enum nest_status nest_import_hwloc(struct nest_job *job)
{
    xmlDoc *doc;
    struct topology *t = NEST_NEW(job->arena, struct topology, 1);
    struct gpu *gpu = NEST_NEW(job->arena, struct gpu, NEST_BOX_GPUS);
    if (!t || !gpu) {
        return nest_job_no_memory(job);
    }
    t->job = job;
    t->gpu = gpu;
    enum nest_status status = nest_xml_parse(job, &doc);
    if (status != NEST_OK) {
        return status;
    }
    xmlNode *root = xmlDocGetRootElement(doc);
    if (!nest_xml_is(root, "topology")) {
        status = nest_xml_fault(job, root, "<topology> as lstopo writes it",
                                "the root element is <%s>", (const char *)root->name);
    } else {
        walk(t, root, (struct place){-1, -1, -1, -1}, 0);
        status = t->status;
        if (status == NEST_OK && t->gpus == 0) {
            status = nest_xml_fault(job, root, "PCIDev objects of class 03xx (lstopo --whole-io)",
                                    "no GPUs found");
        }
    }
    if (status == NEST_OK) {
        status = build(t, root);
    }
    xmlFreeDoc(doc);
    return status;
}
