#include <string.h>

#include "input/import/slurm.h"

/* The Key=Value pairs of one line that matter here. */
struct pairs {
    struct nest_piece switch_name, switches, nodes, block, sizes, ring;
};

struct rings {
    const char *name[16];
    int64_t hosts[16];
    int count;
};

static const char *const known_keys =
    "SwitchName, Switches, Nodes, LinkSpeed, BlockName, BlockSizes, RingName";

static enum nest_status read_pair(struct nest_job *job, struct nest_piece word, int line,
                                  struct pairs *pairs)
{
    const char *equals = memchr(word.text, '=', word.length);
    if (!equals) {
        return nest_job_fault(job, line, word.column, "such as SwitchName=leaf1 Nodes=node[01-16]",
                              "'%.*s' is not Key=Value", (int)word.length, word.text);
    }
    const size_t n = (size_t)(equals - word.text);
    const struct nest_piece key = {word.text, n, word.column};
    const struct nest_piece value = {equals + 1, word.length - n - 1, word.column + (int)n + 1};
    const struct {
        const char *key;
        struct nest_piece *value;
    } places[] = {{"SwitchName", &pairs->switch_name},
                  {"Switches", &pairs->switches},
                  {"Nodes", &pairs->nodes},
                  {"BlockName", &pairs->block},
                  {"BlockSizes", &pairs->sizes},
                  {"RingName", &pairs->ring},
                  {"LinkSpeed", NULL}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (!nest_piece_is(key, places[i].key)) {
            continue;
        }
        if (value.length == 0) {
            return nest_job_fault(job, line, word.column, NULL, "%s has no value", places[i].key);
        }
        if (places[i].value && places[i].value->text) {
            return nest_job_fault(job, line, word.column, NULL, "%s is given twice on this line",
                                  places[i].key);
        }
        if (places[i].value) {
            *places[i].value = value;
        }
        return NEST_OK;
    }
    return nest_job_fault(job, line, word.column,
                          nest_arena_printf(job->arena, "one of %s", known_keys),
                          "unknown key '%.*s'", (int)key.length, key.text);
}

static enum nest_status read_sizes(struct nest_slurm *slurm, struct nest_piece list, int line)
{
    int column[NEST_SLURM_SIZES];
    struct nest_piece field;
    if (slurm->sizes > 0) {
        return nest_job_fault(slurm->job, line, list.column, NULL, "a second BlockSizes");
    }
    while (nest_piece_field(&list, ',', &field)) {
        if (slurm->sizes == NEST_SLURM_SIZES) {
            return nest_job_fault(slurm->job, line, field.column, NULL, "more than %d block sizes",
                                  (int)NEST_SLURM_SIZES);
        }
        int64_t *size = &slurm->size[slurm->sizes];
        if (!nest_piece_int(field, size) || *size == 0 || *size > NEST_TREE_HOSTS) {
            return nest_job_fault(slurm->job, line, field.column, "a number of hosts",
                                  "'%.*s' is not a block size", (int)field.length, field.text);
        }
        column[slurm->sizes++] = field.column;
    }
    slurm->sizes_line = line;
    return nest_slurm_check_sizes(slurm, column);
}

static enum nest_status read_switch(struct nest_slurm *slurm, const struct pairs *pairs, int line)
{
    struct nest_job *job = slurm->job;
    const struct nest_piece name = pairs->switch_name;
    int group;
    enum nest_status status = nest_slurm_define(slurm, "switch", nest_piece_copy(name, job->arena),
                                                line, name.column, &group);
    if (status != NEST_OK) {
        return status;
    }
    if (!pairs->nodes.text == !pairs->switches.text) {
        return nest_job_fault(job, line, name.column, "a switch joins either Nodes or Switches",
                              "switch '%s' has %s", slurm->tree.group[group].name,
                              pairs->nodes.text ? "both" : "neither Nodes nor Switches");
    }
    return pairs->nodes.text ? nest_slurm_hosts(slurm, group, pairs->nodes, line)
                             : nest_slurm_children(slurm, group, pairs->switches, line);
}

static enum nest_status read_block(struct nest_slurm *slurm, const struct pairs *pairs, int line)
{
    struct nest_job *job = slurm->job;
    const struct nest_piece name = pairs->block;
    if (!pairs->nodes.text) {
        return nest_job_fault(job, line, name.column, "BlockName=NAME Nodes=HOSTS",
                              "block '%.*s' has no Nodes", (int)name.length, name.text);
    }
    int group;
    const enum nest_status status = nest_slurm_define(
        slurm, "block", nest_piece_copy(name, job->arena), line, name.column, &group);
    if (status != NEST_OK) {
        return status;
    }
    const enum nest_status listed = nest_slurm_hosts(slurm, group, pairs->nodes, line);
    if (listed == NEST_OK && slurm->tree.group[group].merged != group) {
        return nest_job_fault(job, line, pairs->nodes.column, "a host belongs to one block",
                              "block '%s' shares hosts with an earlier block",
                              slurm->tree.group[group].name);
    }
    return listed;
}

static enum nest_status read_ring(struct nest_slurm *slurm, struct rings *rings,
                                  const struct pairs *pairs, int line)
{
    struct nest_job *job = slurm->job;
    if (!pairs->nodes.text || rings->count == 16) {
        return nest_job_fault(job, line, pairs->ring.column, "RingName=NAME Nodes=HOSTS",
                              pairs->nodes.text ? "more than 16 rings" : "a ring has no Nodes");
    }
    int group;
    const char *name = nest_piece_copy(pairs->ring, job->arena);
    enum nest_status status =
        nest_slurm_define(slurm, "ring", name, line, pairs->ring.column, &group);
    if (status == NEST_OK) {
        status = nest_slurm_hosts(slurm, group, pairs->nodes, line);
    }
    if (status == NEST_OK) {
        rings->name[rings->count] = name;
        rings->hosts[rings->count++] = slurm->tree.group[group].hosts;
    }
    return status;
}

static enum nest_status read_line(struct nest_slurm *slurm, struct rings *rings,
                                  struct nest_piece line, int number)
{
    struct pairs pairs = {.switch_name = {NULL, 0, 0}};
    struct nest_piece word;
    const int column = nest_piece_trim(line).column;
    while (nest_piece_word(&line, &word)) {
        const enum nest_status status = read_pair(slurm->job, word, number, &pairs);
        if (status != NEST_OK) {
            return status;
        }
    }
    const int kinds =
        !!pairs.switch_name.text + !!pairs.block.text + !!pairs.sizes.text + !!pairs.ring.text;
    if (kinds != 1) {
        return nest_job_fault(
            slurm->job, number, column, "one of SwitchName, BlockName, BlockSizes or RingName",
            kinds ? "a line defines one thing only" : "the line names no switch, block or ring");
    }
    const bool block = pairs.block.text || pairs.sizes.text;
    if ((block && slurm->switches) || (pairs.switch_name.text && slurm->blocks)) {
        return nest_job_fault(slurm->job, number, column,
                              "a file holds a tree, blocks or rings; leave out the others", "%s",
                              block ? "a block beside switches" : "a switch beside blocks");
    }
    if (nest_piece_is(pairs.nodes, "ALL")) {
        return nest_job_fault(slurm->job, number, pairs.nodes.column, "such as node[01-16]",
                              "ALL does not say which hosts there are");
    }
    if (pairs.switch_name.text) {
        slurm->switches = true;
        return read_switch(slurm, &pairs, number);
    }
    if (pairs.ring.text) {
        return read_ring(slurm, rings, &pairs, number);
    }
    slurm->blocks = true;
    return pairs.block.text ? read_block(slurm, &pairs, number)
                            : read_sizes(slurm, pairs.sizes, number);
}

static enum nest_status write_ring(struct nest_job *job, const struct rings *rings)
{
    int chosen = rings->count == 1 ? 0 : -1;
    for (int i = 0; i < rings->count && job->options->root; i++) {
        if (strcmp(rings->name[i], job->options->root) == 0) {
            chosen = i;
        }
    }
    if (chosen < 0) {
        return nest_job_fault(job, 0, 0, "choose one with --root NAME",
                              "%d separate rings, and a job cannot span them", rings->count);
    }
    return nest_slurm_write_torus(job, rings->name[chosen], rings->hosts[chosen], NULL);
}

/* Drops the comment of a line, and appends the lines that a final backslash continues it with. */
static bool join_continued(struct nest_job *job, struct nest_lines *lines, struct nest_piece *line)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(NEST_DOC_BYTES);
    bool joined = false;
    for (;;) {
        const char *comment = line->length ? memchr(line->text, '#', line->length) : NULL;
        line->length = comment ? (size_t)(comment - line->text) : line->length;
        const struct nest_piece whole = nest_piece_trim(*line);
        const bool more = whole.length > 0 && whole.text[whole.length - 1] == '\\';
        if (!more && !joined) {
            return true;
        }
        nest_strbuf_add_bytes(&text, line->text,
                              more ? (size_t)(whole.text - line->text) + whole.length - 1
                                   : line->length);
        joined = true;
        if (!more || !nest_lines_next(lines, line)) {
            break;
        }
    }
    const char *copy = nest_arena_strndup(job->arena, nest_strbuf_text(&text), text.length);
    *line = (struct nest_piece){copy, text.length, 1};
    nest_strbuf_free(&text);
    return copy != NULL;
}

/* "include FILE": the second file stands in its place; nothing else is opened. */
static enum nest_status check_include(struct nest_job *job, struct nest_piece name, int line)
{
    if (job->files > 1 && !nest_slurm_has_nodes(&job->file[1])) {
        return NEST_OK;
    }
    return nest_job_fault(job, line, name.column,
                          "give it as a second FILE, or put its lines in place",
                          "'%.*s' is included here, and is not read", (int)name.length, name.text);
}

/* Reads every line of a file, of job->file[0]; goes on after a fault. */
static enum nest_status read_lines(struct nest_job *job, struct nest_slurm *slurm,
                                   struct rings *rings)
{
    struct nest_lines lines;
    struct nest_piece line;
    enum nest_status result = NEST_OK;
    nest_lines_begin(&lines, &job->file[0]);
    while (nest_lines_next(&lines, &line)) {
        const int number = lines.number;
        if (!join_continued(job, &lines, &line)) {
            return nest_job_no_memory(job);
        }
        struct nest_piece rest = line, word;
        if (!nest_piece_word(&rest, &word)) {
            continue;
        }
        enum nest_status status;
        if (nest_piece_is(word, "include")) {
            status = check_include(job, nest_piece_trim(rest), number);
        } else {
            status = read_line(slurm, rings, line, number);
        }
        if (status == NEST_NO_MEMORY) {
            return status;
        }
        result = status == NEST_OK ? result : status;
    }
    return result;
}

static enum nest_status import_conf(struct nest_job *job)
{
    struct nest_slurm slurm = {.job = job};
    struct rings rings = {.count = 0};
    if (!nest_tree_init(&slurm.tree, job->arena)) {
        return nest_job_no_memory(job);
    }
    enum nest_status result = read_lines(job, &slurm, &rings);
    if (job->files > 1 && !nest_slurm_has_nodes(&job->file[1]) && result != NEST_NO_MEMORY) {
        struct nest_job second = *job;
        second.file = &job->file[1];
        second.files = 1;
        slurm.job = &second;
        const enum nest_status status = read_lines(&second, &slurm, &rings);
        slurm.job = job;
        job->notes = second.notes;
        result = result == NEST_OK ? status : result;
    }
    if (result != NEST_OK) {
        return result;
    }
    if (slurm.tree.groups == 0) {
        return nest_job_fault(job, 0, 0, "SwitchName, BlockName or RingName lines",
                              "no switches, blocks or rings");
    }
    if (rings.count > 0) {
        return rings.count == slurm.tree.groups
                   ? write_ring(job, &rings)
                   : nest_job_fault(job, 0, 0, NULL, "rings beside switches or blocks");
    }
    return nest_slurm_write(&slurm);
}

/* topology.yaml is a list; no line of topology.conf begins with a dash. */
static bool is_yaml(const struct nest_import_file *file)
{
    struct nest_lines lines;
    struct nest_piece line;
    nest_lines_begin(&lines, file);
    while (nest_lines_next(&lines, &line)) {
        line = nest_piece_trim(line);
        if (line.length > 0 && line.text[0] != '#') {
            return strchr("-[{%", line.text[0]) != NULL;
        }
    }
    return false;
}

enum nest_status nest_import_slurm(struct nest_job *job)
{
    const struct nest_import_options *given = job->options;
    struct nest_import_options options = *given;
    enum nest_status status = NEST_OK;
    if (job->files > 1 && nest_slurm_has_nodes(&job->file[1]) && options.gpus_per_node == 0 &&
        !options.node) {
        status = nest_slurm_read_nodes(job, &job->file[1], &options);
        job->options = &options;
    }
    if (status == NEST_OK) {
        status = is_yaml(&job->file[0]) ? nest_import_slurm_yaml(job) : import_conf(job);
    }
    job->options = given;
    return status;
}
