/* nvidia-smi topo -m: a matrix of words between devices and network cards. */
#include <string.h>

#include "input/import/gpu_box.h"

enum { COLUMNS_MAX = 1024, LINKS_MAX = 18 };

struct matrix {
    struct nest_job *job;
    int gpus;     /* of the header */
    int columns;  /* devices and cards of the header */
    int rows;     /* GPU rows read */
    short *links; /* [gpus * gpus] bonded NVLinks, 0 = none */
    struct nest_gpu_box box;
    int header_line;
    struct nest_import_file file; /* without the terminal's colours */
    bool numa_column;             /* the last column is GPU NUMA ID */
    bool grace;                   /* GPUs have NUMA nodes of their own, as beside Grace CPUs */
};

/* Length of a colour or underline sequence at text: ESC [ 4 m, or without its ESC, as it is left
 * where a terminal's output was pasted; 0 = none. */
static size_t escape_length(const char *text, size_t left)
{
    size_t n = left > 0 && text[0] == 0x1b ? 1 : 0;
    if (n >= left || text[n] != '[') {
        return 0;
    }
    n++;
    while (n < left && strchr("0123456789;", text[n]) && text[n]) {
        n++;
    }
    return n < left && strchr("mK", text[n]) && text[n] ? n + 1 : 0;
}

static bool drop_escapes(struct matrix *m)
{
    const struct nest_import_file *file = &m->job->file[0];
    char *clean = NEST_NEW(m->job->arena, char, file->length + 1);
    size_t n = 0;
    for (size_t i = 0; clean && i < file->length;) {
        const size_t escape = escape_length(file->text + i, file->length - i);
        if (escape == 0) {
            clean[n++] = file->text[i];
        }
        i += escape > 0 ? escape : 1;
    }
    m->file = (struct nest_import_file){file->name, clean, n};
    return clean != NULL;
}

static bool is_gpu(struct nest_piece word)
{
    int64_t number;
    return word.length > 3 && memcmp(word.text, "GPU", 3) == 0 &&
           nest_piece_int((struct nest_piece){word.text + 3, word.length - 3, 1}, &number);
}

/* Counts the devices of a header row; GPU columns come first. Stops at the affinity columns. */
static bool read_header(struct matrix *m, struct nest_piece line, int number)
{
    struct nest_piece word;
    int gpus = 0, columns = 0;
    bool cards = false;
    while (nest_piece_word(&line, &word)) {
        if (nest_piece_is(word, "CPU") || nest_piece_is(word, "NUMA")) {
            break;
        }
        if (is_gpu(word) && !cards) {
            gpus++;
        } else if (columns == 0) {
            return false;
        } else {
            cards = true;
        }
        columns++;
    }
    if (gpus == 0 || gpus > NEST_BOX_GPUS || columns > COLUMNS_MAX) {
        return false;
    }
    m->gpus = gpus;
    m->columns = columns;
    m->header_line = number;
    m->numa_column = nest_piece_find(line, "GPU NUMA ID") != NULL;
    return true;
}

static int distance_of(struct nest_piece word)
{
    static const struct {
        const char *word;
        int distance;
    } words[] = {{"PIX", NEST_BOX_SWITCH},  {"PXB", NEST_BOX_SWITCHES}, {"PHB", NEST_BOX_HOST},
                 {"NODE", NEST_BOX_SOCKET}, {"SOC", NEST_BOX_SYSTEM},   {"SYS", NEST_BOX_SYSTEM}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (nest_piece_is(word, words[i].word)) {
            return words[i].distance;
        }
    }
    return 0;
}

static enum nest_status read_cell(struct matrix *m, struct nest_piece word, int line, int column)
{
    const int at = m->rows * m->gpus + column;
    int64_t links = 0;
    if (column == m->rows) {
        return nest_piece_is(word, "X") ? NEST_OK
                                        : nest_job_fault(m->job, line, word.column, NULL,
                                                         "GPU%d is not X to itself but '%.*s'",
                                                         column, (int)word.length, word.text);
    }
    if (nest_piece_begins(word, "NV") &&
        nest_piece_int((struct nest_piece){word.text + 2, word.length - 2, 1}, &links) &&
        links >= 1 && links <= 128) {
        m->links[at] = (short)links;
        m->box.far[at] = NEST_BOX_SOCKET; /* PCIe below NVLink is not shown */
        return NEST_OK;
    }
    const int distance = distance_of(word);
    if (distance == 0) {
        return nest_job_fault(m->job, line, word.column, "X, NVn, PIX, PXB, PHB, NODE or SYS",
                              "'%.*s' is no connection", (int)word.length, word.text);
    }
    m->box.far[at] = (unsigned char)distance;
    return NEST_OK;
}

static enum nest_status read_row(struct matrix *m, struct nest_piece line, int number)
{
    struct nest_piece word, last = {"", 0, 1};
    if (m->rows == m->gpus) {
        return nest_job_fault(m->job, number, 1, NULL, "more GPU rows than the %d GPU columns",
                              m->gpus);
    }
    (void)nest_piece_word(&line, &word);
    for (int i = 0; i < m->gpus; i++) {
        if (!nest_piece_word(&line, &word)) {
            return nest_job_fault(m->job, number, line.column, NULL,
                                  "the row of GPU%d ends after %d of %d columns", m->rows, i,
                                  m->gpus);
        }
        const enum nest_status status = read_cell(m, word, number, i);
        if (status != NEST_OK) {
            return status;
        }
    }
    while (nest_piece_word(&line, &word)) {
        last = word;
    }
    m->grace = m->numa_column && last.length > 0 && last.text[0] >= '0' && last.text[0] <= '9';
    m->rows++;
    return NEST_OK;
}

/* Whether a row goes on with a cell of the matrix, not with another device's name. */
static bool is_cell(struct nest_piece rest)
{
    struct nest_piece word;
    return nest_piece_word(&rest, &word) &&
           (nest_piece_is(word, "X") || nest_piece_begins(word, "NV") || distance_of(word) > 0);
}

/* Reads header and rows; the text around the matrix is noise. */
static enum nest_status read_matrix(struct matrix *m)
{
    struct nest_lines lines;
    struct nest_piece line, word, rest;
    nest_lines_begin(&lines, &m->file);
    while (nest_lines_next(&lines, &line)) {
        rest = line;
        if (!nest_piece_word(&rest, &word) || !is_gpu(word)) {
            continue;
        }
        if (m->gpus == 0 && !is_cell(rest) && read_header(m, line, lines.number)) {
            m->links = NEST_NEW(m->job->arena, short, m->gpus * m->gpus);
            if (!m->links || !nest_gpu_box_init(&m->box, m->gpus, m->job->arena)) {
                return nest_job_no_memory(m->job);
            }
            continue;
        }
        if (m->gpus == 0) {
            return nest_job_fault(m->job, lines.number, 1, "the row GPU0 GPU1 … above the matrix",
                                  "a row of the matrix before its header");
        }
        const enum nest_status status = read_row(m, line, lines.number);
        if (status != NEST_OK) {
            return status;
        }
    }
    if (m->gpus == 0) {
        return nest_job_fault(m->job, 0, 0, "the output of nvidia-smi topo -m",
                              "no matrix of GPUs found");
    }
    if (m->rows < m->gpus) {
        return nest_job_fault(m->job, m->header_line, 1, NULL,
                              "%d GPU columns but only %d GPU rows", m->gpus, m->rows);
    }
    return NEST_OK;
}

static enum nest_status check_symmetry(const struct matrix *m)
{
    for (int a = 0; a < m->gpus; a++) {
        for (int b = 0; b < a; b++) {
            if (m->links[a * m->gpus + b] != m->links[b * m->gpus + a]) {
                return nest_job_fault(m->job, m->header_line, 1, NULL,
                                      "GPU%d and GPU%d disagree on their NVLinks", b, a);
            }
        }
    }
    return NEST_OK;
}

/* The device: said by the options, named in the text around the matrix, or what the number of links
 * suggests. NULL = unknown. */
static const char *find_device(struct matrix *m, int most)
{
    static const struct {
        const char *word, *device;
    } words[] = {{"GB300", "gb300"}, {"GB200", "gb200"}, {"B300", "b300"},
                 {"B200", "b200"},   {"H200", "h200"},   {"H100", "h100"},
                 {"A100", "a100"},   {"V100", "v100"},   {"P100", "p100"}};
    const struct nest_piece whole = {m->file.text, m->file.length, 1};
    if (m->job->options->device) {
        return m->job->options->device;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (nest_piece_find(whole, words[i].word)) {
            return words[i].device;
        }
    }
    const char *guess = most >= 18 && m->grace      ? "gb200"
                        : most >= 18                ? "h100"
                        : most >= 12                ? "a100"
                        : most == 6                 ? "v100"
                        : most == 4 && m->gpus == 8 ? "p100"
                                                    : NULL;
    if (guess) {
        nest_job_note(m->job, "%d NVLinks suggest %s; say another with --device", most, guess);
    }
    return guess;
}

/* Bytes/s of one NVLink, one direction. */
static double link_rate(struct matrix *m, int most, struct nest_found_cluster *found)
{
    const char *device = find_device(m, most);
    const bool blackwell = device && (strcasestr(device, "b200") || strcasestr(device, "b300"));
    const bool pascal = device && strcasestr(device, "p100");
    found->device = pascal ? NULL : device;
    nest_job_note(m->job,
                  "NVn means n NVLinks of %d GB/s each way (20 on Pascal, 25 up to Hopper, 50 "
                  "from Blackwell on)",
                  blackwell ? 50
                  : pascal  ? 20
                            : 25);
    return blackwell ? 50e9 : pascal ? 20e9 : 25e9;
}

/* Through NVSwitches every pair shows all links of a device, so the sum over peers would exceed
 * what a device can have. */
static void set_links(struct matrix *m, struct nest_found_cluster *found)
{
    int most = 0, most_sum = 0;
    bool uniform = true;
    for (int a = 0; a < m->gpus; a++) {
        int sum = 0;
        for (int b = 0; b < m->gpus; b++) {
            const int links = m->links[a * m->gpus + b];
            sum += links;
            uniform = uniform && (links == 0 || most == 0 || links == most);
            most = links > most ? links : most;
        }
        most_sum = sum > most_sum ? sum : most_sum;
    }
    if (most == 0) {
        return;
    }
    const bool switches = uniform && most_sum > LINKS_MAX;
    const double rate = link_rate(m, switches ? most : most_sum, found);
    for (int i = 0; i < m->gpus * m->gpus; i++) {
        if (switches && m->links[i] > 0) {
            m->box.switched[i / m->gpus] = (double)m->links[i] * rate;
        } else {
            m->box.pair[i] = (double)m->links[i] * rate;
        }
    }
}

enum nest_status nest_import_nvidia_smi(struct nest_job *job)
{
    struct matrix m = {.job = job};
    struct nest_found_cluster found = {.name = "one node"};
    if (!drop_escapes(&m)) {
        return nest_job_no_memory(job);
    }
    enum nest_status status = read_matrix(&m);
    if (status == NEST_OK) {
        status = check_symmetry(&m);
    }
    if (status != NEST_OK) {
        return status;
    }
    set_links(&m, &found);
    if (m.columns > m.gpus) {
        nest_job_note(job, "%d network cards are in the matrix, without speeds: they make no level",
                      m.columns - m.gpus);
    }
    status = nest_gpu_box_levels(&m.box, job, &found);
    return status == NEST_OK ? nest_found_cluster_write(job, &found) : status;
}
