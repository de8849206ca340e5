/* NCCL_TOPO_FILE and NCCL_TOPO_DUMP_FILE: system > cpu > pci (nested) > gpu > nvlink, nic > net. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "input/import/gpu_box.h"
#include "input/import/xml.h"

enum { PATH_MAX_DEPTH = 32 };

/* A GPU and the elements above it, outermost first. */
struct gpu {
    const char *busid;
    xmlNode *pci, *gpu; /* gpu may be missing in vendor files */
    xmlNode *path[PATH_MAX_DEPTH];
    int depth;
    int sm;
    const char *gcn; /* of AMD: "gfx942"; else NULL */
    int links;       /* all of its NVLinks, or of AMD's xGMI */
};

/* AMD's devices, and bytes/s of one xGMI link in one direction (CDNA 2 and 3 white papers). */
static const struct {
    const char *gcn, *device;
    double link;
} cdna[] = {{"90a", "mi250x-gcd", 50e9}, {"942", "mi300x", 64e9}, {"950", "mi355x", 76.8e9}};

static int find_cdna(const struct gpu *gpu)
{
    for (int i = 0; gpu->gcn && i < (int)(sizeof cdna / sizeof cdna[0]); i++) {
        if (strstr(gpu->gcn, cdna[i].gcn)) {
            return i;
        }
    }
    return -1;
}

struct system {
    struct nest_job *job;
    int gpus, nics;
    struct gpu *gpu; /* [NEST_BOX_GPUS] */
    double net;      /* bytes/s of all network ports */
    double pcie;     /* slowest PCIe link of a GPU; 0 = none stated */
    enum nest_status status;
};

/* "16 GT/s", "32.0 GT/s PCIe", and lanes: bytes/s in one direction, 128b/130b from 8 GT/s on,
 * rounded to 10 MB/s. */
static double pcie_rate(struct nest_job *job, xmlNode *pci)
{
    const char *speed = nest_xml_get(job, pci, "link_speed");
    const char *width = nest_xml_get(job, pci, "link_width");
    double rate = 0;
    int64_t lanes = 0;
    if (!speed || !width || !nest_text_int(width, &lanes) || lanes > 64) {
        return 0;
    }
    const struct nest_piece number = {speed, strspn(speed, "0123456789."), 1};
    if (!nest_piece_number(number, &rate) || rate > 1000) {
        return 0;
    }
    const double coding = rate < 8 ? 0.8 : 128.0 / 130.0;
    return round(rate / 8 * coding * (double)lanes * 100) * 1e7;
}

static xmlNode *child_called(xmlNode *node, const char *name)
{
    for (xmlNode *child = node->children; child; child = child->next) {
        if (nest_xml_is(child, name)) {
            return child;
        }
    }
    return NULL;
}

static void add_gpu(struct system *s, xmlNode *pci, xmlNode *const *path, int depth)
{
    if (s->gpus == NEST_BOX_GPUS) {
        s->status = nest_xml_fault(s->job, pci, NULL, "more than %d GPUs", (int)NEST_BOX_GPUS);
        return;
    }
    struct gpu *gpu = &s->gpu[s->gpus++];
    int64_t sm = 0;
    *gpu = (struct gpu){.busid = nest_xml_get(s->job, pci, "busid"),
                        .pci = pci,
                        .gpu = child_called(pci, "gpu"),
                        .depth = depth};
    if (!gpu->busid) {
        s->status = nest_xml_fault(s->job, pci, NULL, "a GPU without busid");
        return;
    }
    gpu->gcn = gpu->gpu ? nest_xml_get(s->job, gpu->gpu, "gcn") : NULL;
    memcpy(gpu->path, path, sizeof(xmlNode *) * (size_t)depth);
    const char *text = gpu->gpu ? nest_xml_get(s->job, gpu->gpu, "sm") : NULL;
    if (text && nest_text_int(text, &sm) && sm < 1000) {
        gpu->sm = (int)sm;
    }
    const double rate = pcie_rate(s->job, pci);
    if (rate > 0 && (s->pcie <= 0 || rate < s->pcie)) {
        s->pcie = rate;
    }
}

static void add_nets(struct system *s, xmlNode *pci)
{
    s->nics++;
    for (xmlNode *nic = pci->children; nic; nic = nic->next) {
        for (xmlNode *net = nest_xml_is(nic, "nic") ? nic->children : NULL; net; net = net->next) {
            const char *speed = nest_xml_is(net, "net") ? nest_xml_get(s->job, net, "speed") : NULL;
            double megabits = 0;
            if (speed && nest_text_number(speed, &megabits) && megabits > 0) {
                s->net += megabits * 1e6 / 8;
            }
        }
    }
}

/* Collects GPUs and cards below a node. libxml2 limits the depth of a document, and this more. */
static void collect(struct system *s, xmlNode *node, xmlNode **path, int depth)
{
    for (xmlNode *child = node->children; child && s->status == NEST_OK; child = child->next) {
        if (!nest_xml_is(child, "cpu") && !nest_xml_is(child, "pci")) {
            continue;
        }
        const char *class = nest_xml_is(child, "pci") ? nest_xml_get(s->job, child, "class") : NULL;
        if (depth == PATH_MAX_DEPTH) {
            s->status =
                nest_xml_fault(s->job, child, NULL, "nested deeper than %d", (int)PATH_MAX_DEPTH);
        } else if ((class && strncasecmp(class, "0x03", 4) == 0) || child_called(child, "gpu")) {
            add_gpu(s, child, path, depth);
        } else if ((class && strncasecmp(class, "0x02", 4) == 0) || child_called(child, "nic")) {
            add_nets(s, child);
        } else {
            path[depth] = child;
            collect(s, child, path, depth + 1);
        }
    }
}

/* Two GPUs meet at a bridge, at a CPU, or at the system. */
static int distance(const struct gpu *a, const struct gpu *b)
{
    int common = 0;
    while (common < a->depth && common < b->depth && a->path[common] == b->path[common]) {
        common++;
    }
    if (common == 0) {
        return NEST_BOX_SYSTEM;
    }
    return nest_xml_is(a->path[common - 1], "pci") ? NEST_BOX_SWITCH : NEST_BOX_SOCKET;
}

static int gpu_of(const struct system *s, const char *busid)
{
    for (int i = 0; i < s->gpus && busid; i++) {
        if (strcasecmp(s->gpu[i].busid, busid) == 0) {
            return i;
        }
    }
    return -1;
}

/* Bytes/s of one link of a device, one direction. */
static double link_rate(const struct gpu *gpu)
{
    const int amd = find_cdna(gpu);
    const int sm = gpu->sm;
    return amd >= 0 ? cdna[amd].link : sm >= 100 ? 50e9 : sm >= 70 ? 25e9 : sm >= 60 ? 20e9 : 25e9;
}

static enum nest_status read_links(struct system *s, int g, struct nest_gpu_box *box)
{
    struct gpu *gpu = &s->gpu[g];
    for (xmlNode *link = gpu->gpu ? gpu->gpu->children : NULL; link; link = link->next) {
        if (!nest_xml_is(link, "nvlink") && !nest_xml_is(link, "xgmi")) {
            continue;
        }
        const char *target = nest_xml_get(s->job, link, "target");
        const char *class = nest_xml_get(s->job, link, "tclass");
        const char *count = nest_xml_get(s->job, link, "count");
        int64_t links = 1;
        if (count && (!nest_text_int(count, &links) || links < 1 || links > 64)) {
            return nest_xml_fault(s->job, link, "count, from 1", "'%s' is no number of links",
                                  count);
        }
        const double rate = (double)links * link_rate(gpu);
        const int peer = gpu_of(s, target);
        if (peer >= 0) {
            box->pair[g * s->gpus + peer] += rate;
        } else if (!class || strncasecmp(class, "0x0680", 6) == 0) {
            box->switched[g] += rate;
        } else if (strncasecmp(class, "0x03", 4) == 0) {
            return nest_xml_fault(s->job, link, "the busid of a GPU of this file",
                                  "an NVLink to a GPU '%s' that is not here", target ? target : "");
        }
        gpu->links += (int)links;
    }
    return NEST_OK;
}

static const char *device_of(const struct system *s)
{
    const int amd = find_cdna(&s->gpu[0]);
    if (s->gpu[0].gcn) {
        return amd >= 0 ? cdna[amd].device : NULL;
    }
    switch (s->gpu[0].sm) {
    case 70:
        return "v100-sxm2-32gb";
    case 80:
        return "a100-sxm-80gb";
    case 90:
        return "h100-sxm-80gb";
    case 100:
        return "b200-sxm-180gb";
    case 103:
        return "b300-sxm-288gb";
    default:
        return NULL;
    }
}

static void add_notes(const struct system *s, const struct nest_found_cluster *found)
{
    if (s->gpu[0].links == 0) {
        nest_job_note(
            s->job,
            "no NVLinks in the file, as vendors ship it for virtual machines: if the devices "
            "have them, put one level of %d at their rate in place of these",
            s->gpus);
    }
    if (found->device && s->gpu[0].gcn) {
        nest_job_note(s->job, "%s is taken for %s", s->gpu[0].gcn, found->device);
    } else if (found->device) {
        nest_job_note(s->job, "compute capability %d.%d is taken for %s", s->gpu[0].sm / 10,
                      s->gpu[0].sm % 10, found->device);
    }
    if (s->nics > 0 && s->net > 0) {
        nest_job_note(s->job, "network: %d cards, %.6g GB/s in all, %.6g GB/s per device", s->nics,
                      s->net / 1e9, s->net / 1e9 / s->gpus);
    } else if (s->nics > 0) {
        nest_job_note(s->job, "network: %d cards without speeds", s->nics);
    }
}

static enum nest_status build(struct system *s)
{
    struct nest_gpu_box box;
    struct nest_found_cluster found = {.name = "one node"};
    if (!nest_gpu_box_init(&box, s->gpus, s->job->arena)) {
        return nest_job_no_memory(s->job);
    }
    box.pcie = s->pcie;
    for (int a = 0; a < s->gpus; a++) {
        const enum nest_status status = read_links(s, a, &box);
        if (status != NEST_OK) {
            return status;
        }
        for (int b = 0; b < s->gpus; b++) {
            box.far[a * s->gpus + b] = (unsigned char)distance(&s->gpu[a], &s->gpu[b]);
        }
    }
    found.device = device_of(s);
    add_notes(s, &found);
    const enum nest_status status = nest_gpu_box_levels(&box, s->job, &found);
    return status == NEST_OK ? nest_found_cluster_write(s->job, &found) : status;
}

enum nest_status nest_import_nccl(struct nest_job *job)
{
    xmlDoc *doc;
    struct system s = {.job = job, .gpu = NEST_NEW(job->arena, struct gpu, NEST_BOX_GPUS)};
    xmlNode *path[PATH_MAX_DEPTH];
    if (!s.gpu) {
        return nest_job_no_memory(job);
    }
    enum nest_status status = nest_xml_parse(job, &doc);
    if (status != NEST_OK) {
        return status;
    }
    xmlNode *root = xmlDocGetRootElement(doc);
    if (!nest_xml_is(root, "system")) {
        status = nest_xml_fault(job, root, "<system> as NCCL writes it", "the root element is <%s>",
                                (const char *)root->name);
    } else {
        collect(&s, root, path, 0);
        status = s.status;
        if (status == NEST_OK && s.gpus == 0) {
            status = nest_xml_fault(job, root, "pci elements of class 0x0302", "no GPUs found");
        }
    }
    if (status == NEST_OK) {
        status = build(&s);
    }
    xmlFreeDoc(doc);
    return status;
}
