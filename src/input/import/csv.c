/* Comma-, semicolon- or tab-separated tables: levels, or cables (with interfaces for speeds). */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "input/import/fabric.h"

enum { COLUMNS_MAX = 64, CELL_MAX = 512 };

struct table {
    struct nest_job *job;
    const struct nest_import_file *file;
    struct nest_lines lines;
    char separator;
    int columns, line;
    const char *head[COLUMNS_MAX]; /* as written */
    const char *cell[COLUMNS_MAX];
    int at[COLUMNS_MAX]; /* column of the cell in its line */
};

/* Cuts the next cell; quotes protect separators, "" is a quote. */
static const char *cut_cell(struct table *t, struct nest_piece *rest, bool *more)
{
    char cell[CELL_MAX];
    size_t n = 0, i = 0;
    bool quoted = false;
    for (; i < rest->length; i++) {
        const char c = rest->text[i];
        if (c == '"' && quoted && i + 1 < rest->length && rest->text[i + 1] == '"') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
            continue;
        } else if (c == t->separator && !quoted) {
            break;
        }
        if (n + 1 < sizeof cell) {
            cell[n++] = c;
        }
    }
    *more = i < rest->length;
    const size_t used = *more ? i + 1 : i;
    rest->text += used;
    rest->length -= used;
    rest->column += (int)used;
    const struct nest_piece trimmed = nest_piece_trim((struct nest_piece){cell, n, 1});
    return nest_piece_copy(trimmed, t->job->arena);
}

/* Reads the next line that is not empty or a comment into cells; 0 at the end, -1 after a fault. */
static int next_row(struct table *t, const char **cell)
{
    struct nest_piece line;
    t->job->file = t->file; /* where faults are */
    while (nest_lines_next(&t->lines, &line)) {
        const struct nest_piece trimmed = nest_piece_trim(line);
        if (trimmed.length == 0 || trimmed.text[0] == '#') {
            continue;
        }
        t->line = t->lines.number;
        int count = 0;
        bool more = true;
        while (more) {
            if (count == COLUMNS_MAX) {
                nest_job_fault(t->job, t->line, line.column, NULL, "more than %d columns",
                               (int)COLUMNS_MAX);
                return -1;
            }
            t->at[count] = line.column;
            cell[count] = cut_cell(t, &line, &more);
            if (!cell[count++]) {
                (void)nest_job_no_memory(t->job);
                return -1;
            }
        }
        return count;
    }
    return 0;
}

/* The separator that the first line has most of. */
static char find_separator(const struct nest_import_file *file)
{
    struct nest_lines lines;
    struct nest_piece line;
    int count[3] = {0};
    static const char separators[] = ",;\t";
    nest_lines_begin(&lines, file);
    while (nest_lines_next(&lines, &line)) {
        const struct nest_piece trimmed = nest_piece_trim(line);
        if (trimmed.length == 0 || trimmed.text[0] == '#') {
            continue;
        }
        for (size_t i = 0; i < line.length; i++) {
            const char *found = line.text[i] ? strchr(separators, line.text[i]) : NULL;
            if (found) {
                count[found - separators]++;
            }
        }
        break;
    }
    const int best =
        count[1] > count[0] ? (count[2] > count[1] ? 2 : 1) : (count[2] > count[0] ? 2 : 0);
    return separators[best];
}

static enum nest_status begin(struct table *t, struct nest_job *job,
                              const struct nest_import_file *file)
{
    *t = (struct table){.job = job, .file = file, .separator = find_separator(file)};
    nest_lines_begin(&t->lines, file);
    const int count = next_row(t, t->head);
    if (count < 0) {
        return NEST_BAD_INPUT;
    }
    if (count < 2) {
        return nest_job_fault(job, t->line, 1, "a line of column names, then one line per row",
                              "not a table");
    }
    t->columns = count;
    return NEST_OK;
}

/* The next row with as many cells as the head; 0 at the end, -1 after a fault. */
static int row(struct table *t)
{
    const int count = next_row(t, t->cell);
    if (count > 0 && count != t->columns) {
        nest_job_fault(t->job, t->line, 1, NULL, "%d cells under %d columns", count, t->columns);
        return -1;
    }
    return count;
}

/* Whether a head holds a word, in any case and with any punctuation around it. */
static bool has_word(const char *head, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = head; *p; p++) {
        const bool start = p == head || !isalnum((unsigned char)p[-1]);
        if (start && strncasecmp(p, word, n) == 0 && !isalnum((unsigned char)p[n])) {
            return true;
        }
    }
    return false;
}

/* The column whose head holds one of the words (separated by spaces), or -1. */
static int column(const struct table *t, const char *words)
{
    while (*words) {
        char word[32];
        const size_t n = strcspn(words, " ");
        memcpy(word, words, n);
        word[n] = 0;
        for (int i = 0; i < t->columns; i++) {
            if (has_word(t->head[i], word)) {
                return i;
            }
        }
        words += n + (words[n] == ' ');
    }
    return -1;
}

/* ---- Levels --------------------------------------------------------------------------------- */

/* "400G", "100Gbps", "200GbE", "1T": bits, as networks are sold. */
static bool network_speed(const char *text, double *out)
{
    static const struct {
        const char *suffix;
        double scale;
    } suffixes[] = {{"G", 1.25e8},      {"Gbps", 1.25e8},  {"GbE", 1.25e8},
                    {"Gbit/s", 1.25e8}, {"M", 1.25e5},     {"Mbps", 1.25e5},
                    {"T", 1.25e11},     {"Tbps", 1.25e11}, {"Kbps", 125}};
    const size_t n = strspn(text, "0123456789.");
    const struct nest_piece number = {text, n, 1};
    const char *rest = text + n + strspn(text + n, " ");
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(rest, suffixes[i].suffix) == 0 && nest_piece_number(number, out)) {
            *out *= suffixes[i].scale;
            return true;
        }
    }
    return false;
}

/* A quantity with its unit in the cell, or a number in the unit that the head names. */
static enum nest_status quantity(struct table *t, int at, enum nest_unit unit, double scale,
                                 double *out)
{
    char scratch[160];
    const char *hint = NULL;
    if (nest_text_number(t->cell[at], out)) {
        *out *= scale;
        return NEST_OK;
    }
    if (unit == NEST_UNIT_BANDWIDTH && network_speed(t->cell[at], out)) {
        return NEST_OK;
    }
    const char *message = nest_unit_parse(t->cell[at], unit, out, &hint, scratch, sizeof scratch);
    return message
               ? nest_job_fault(t->job, t->line, t->at[at], hint, "%s: %s", t->head[at], message)
               : NEST_OK;
}

static double bandwidth_scale(const char *head)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = {{"GBps", 1e9},    {"GBs", 1e9},     {"GB/s", 1e9},     {"gbs", 1e9},
                 {"MBps", 1e6},    {"TBps", 1e12},   {"GiBps", 0x1p30}, {"Gbps", 1.25e8},
                 {"Gb/s", 1.25e8}, {"Gbit", 1.25e8}, {"gbit", 1.25e8},  {"gbps", 1.25e8},
                 {"mbps", 1.25e5}, {"Mbps", 1.25e5}, {"Kbps", 125},     {"kbps", 125}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strstr(head, units[i].unit)) {
            return units[i].scale;
        }
    }
    return 1;
}

static double time_scale(const char *head)
{
    return has_word(head, "ns") || strstr(head, "_ns")   ? 1e-9
           : has_word(head, "us") || strstr(head, "_us") ? 1e-6
           : has_word(head, "ms") || strstr(head, "_ms") ? 1e-3
                                                         : 1;
}

/* The column whose head begins with one of the words. */
static int column_begins(const struct table *t, const char *words)
{
    while (*words) {
        const size_t n = strcspn(words, " ");
        for (int i = 0; i < t->columns; i++) {
            if (strncasecmp(t->head[i], words, n) == 0) {
                return i;
            }
        }
        words += n + (words[n] == ' ');
    }
    return -1;
}

static enum nest_status read_kind(struct table *t, int at, enum nest_level_kind *kind)
{
    static const char *const words[] = {"switch",          "ring", "torus", "mesh",
                                        "fully-connected", "rail"};
    for (int i = 0; i < 6; i++) {
        if (strcasecmp(t->cell[at], words[i]) == 0 && i != NEST_LEVEL_TORUS) {
            *kind = (enum nest_level_kind)i;
            return NEST_OK;
        }
    }
    return nest_job_fault(t->job, t->line, t->at[at],
                          "switch, ring, mesh, fully-connected or rail; a torus is one ring per "
                          "dimension",
                          "unknown kind '%s'", t->cell[at]);
}

struct level_columns {
    int name, fanout, kind, rate, delay, over;
};

static enum nest_status read_level(struct table *t, const struct level_columns *c,
                                   struct nest_found_cluster *found)
{
    struct nest_found_level *level =
        nest_found_level_add(found, c->name >= 0 ? t->cell[c->name] : "", 1);
    enum nest_status status = NEST_OK;
    if (!level) {
        return nest_job_fault(t->job, t->line, 1, NULL, "more than %d levels",
                              (int)NEST_MAX_LEVELS);
    }
    if (!*level->name) {
        level->name = nest_arena_printf(t->job->arena, "level%d", found->levels);
    }
    if (!nest_text_int(t->cell[c->fanout], &level->fanout) || level->fanout < 1 ||
        level->fanout > 1 << 24) {
        return nest_job_fault(t->job, t->line, t->at[c->fanout], "a whole number from 1",
                              "'%s' is no fan-out", t->cell[c->fanout]);
    }
    if (c->kind >= 0 && *t->cell[c->kind]) {
        status = read_kind(t, c->kind, &level->kind);
    }
    if (status == NEST_OK && c->rate >= 0 && *t->cell[c->rate]) {
        status = quantity(t, c->rate, NEST_UNIT_BANDWIDTH, bandwidth_scale(t->head[c->rate]),
                          &level->bandwidth);
    }
    if (status == NEST_OK && c->delay >= 0 && *t->cell[c->delay]) {
        status = quantity(t, c->delay, NEST_UNIT_SECONDS, time_scale(t->head[c->delay]),
                          &level->latency);
    }
    level->oversubscription = 1;
    if (status == NEST_OK && c->over >= 0 && *t->cell[c->over]) {
        status = quantity(t, c->over, NEST_UNIT_RATIO, 1, &level->oversubscription);
    }
    if (status == NEST_OK &&
        (level->bandwidth < 0 || level->bandwidth > 1e15 || level->latency < 0 ||
         level->latency > 10 || level->oversubscription < 1 || level->oversubscription > 1e6)) {
        status = nest_job_fault(t->job, t->line, 1, NULL, "a figure of level %s is out of range",
                                level->name);
    }
    return status;
}

static enum nest_status import_levels(struct table *t)
{
    struct level_columns c = {.name = column_begins(t, "level name tier"),
                              .fanout = column_begins(t, "fan_out fanout fan-out children"),
                              .kind = column_begins(t, "kind type topology"),
                              .rate = column_begins(t, "bandwidth bw rate speed"),
                              .delay = column_begins(t, "latency delay alpha"),
                              .over = column_begins(t, "oversub over_sub ratio")};
    struct nest_found_cluster found = {.name = "levels"};
    int count;
    while ((count = row(t)) > 0) {
        const enum nest_status status = read_level(t, &c, &found);
        if (status != NEST_OK) {
            return status;
        }
    }
    if (count < 0) {
        return NEST_BAD_INPUT;
    }
    if (found.levels == 0) {
        return nest_job_fault(t->job, t->line, 1, NULL, "no levels below the column names");
    }
    nest_job_note(t->job, "rows are taken innermost first");
    nest_job_note(t->job, c.over >= 0
                              ? "bandwidth is taken as the device's own rate, before "
                                "oversubscription"
                              : "no column of oversubscription: bandwidths are taken as they "
                                "are, after it");
    return nest_found_cluster_write(t->job, &found);
}

/* ---- Cables --------------------------------------------------------------------------------- */

struct cable_columns {
    int device[2], port[2], speed, status;
};

/* Columns of one side: heads with the side's word and "device", and the port's name. */
static void find_side(const struct table *t, const char *words, int *device, int *port)
{
    *device = *port = -1;
    for (int i = 0; i < t->columns; i++) {
        bool side = false;
        for (const char *p = words; *p && !side; p += strcspn(p, " "), p += *p == ' ') {
            char word[32];
            const size_t n = strcspn(p, " ");
            memcpy(word, p, n);
            word[n] = 0;
            side = has_word(t->head[i], word) ||
                   (n == 1 && (t->head[i][1] == '_' || t->head[i][1] == ' ') &&
                    tolower((unsigned char)t->head[i][0]) == word[0]);
        }
        const bool is_port = has_word(t->head[i], "name") || has_word(t->head[i], "port") ||
                             has_word(t->head[i], "interface") || strstr(t->head[i], "_port") ||
                             strstr(t->head[i], "_interface") || strstr(t->head[i], "_name");
        const bool other = has_word(t->head[i], "type") || has_word(t->head[i], "rack") ||
                           has_word(t->head[i], "site") || has_word(t->head[i], "location");
        if (side && is_port && *port < 0) {
            *port = i;
        } else if (side && !is_port && !other && *device < 0) {
            *device = i;
        }
    }
}

static bool find_cables(const struct table *t, struct cable_columns *c)
{
    find_side(t, "a src source from left local", &c->device[0], &c->port[0]);
    find_side(t, "b z dst dest destination target to right remote peer", &c->device[1],
              &c->port[1]);
    c->speed = column_begins(t, "speed rate bandwidth");
    c->status = column(t, "status");
    return c->device[0] >= 0 && c->device[1] >= 0;
}

/* Whether a name holds a word, where it stands at the beginning of a word if whole is set: a
 * storage server is no top-of-rack switch. */
static bool name_holds(const char *name, const char *word, bool whole)
{
    for (const char *p = name; (p = strcasestr(p, word)) != NULL; p++) {
        if (!whole || p == name || !isalpha((unsigned char)p[-1])) {
            return true;
        }
    }
    return false;
}

/* Switches are called so; everything else is a host. */
static bool is_switch_name(const char *name)
{
    static const struct {
        const char *word;
        bool whole;
    } words[] = {{"leaf", false}, {"spine", false}, {"switch", false}, {"core", true},
                 {"agg", true},   {"tor", true},    {"router", true},  {"super", true}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (name_holds(name, words[i].word, words[i].whole)) {
            return true;
        }
    }
    return strncasecmp(name, "sw", 2) == 0 && !isalpha((unsigned char)name[2]);
}

/* "device\tport" → kbit/s, from NetBox's table of interfaces. */
static enum nest_status read_interfaces(struct table *t, struct nest_names *speeds)
{
    const int device = column(t, "device"), name = column(t, "name interface port");
    const int speed = column_begins(t, "speed");
    int count;
    while ((count = row(t)) > 0) {
        double rate = 0;
        if (!*t->cell[speed]) {
            continue;
        }
        const double scale = bandwidth_scale(t->head[speed]);
        const enum nest_status status =
            quantity(t, speed, NEST_UNIT_BANDWIDTH, scale > 1 ? scale : 125, &rate);
        if (status != NEST_OK) {
            return status;
        }
        const char *key =
            nest_arena_printf(t->job->arena, "%s\t%s", t->cell[device], t->cell[name]);
        if (rate < 0 || rate > 1e15 || !key) {
            return nest_job_fault(t->job, t->line, t->at[speed], NULL, "the speed is out of range");
        }
        if (nest_names_get(speeds, key) < 0 && !nest_names_put(speeds, key, (int64_t)rate)) {
            return nest_job_no_memory(t->job);
        }
    }
    return count < 0 ? NEST_BAD_INPUT : NEST_OK;
}

/* The slower of the two ends, or the cable's own speed; 0 = not known. */
static enum nest_status cable_rate(struct table *t, const struct cable_columns *c,
                                   const struct nest_names *speeds, double *rate)
{
    *rate = 0;
    if (c->speed >= 0 && *t->cell[c->speed]) {
        return quantity(t, c->speed, NEST_UNIT_BANDWIDTH, bandwidth_scale(t->head[c->speed]), rate);
    }
    for (int side = 0; side < 2 && speeds; side++) {
        if (c->port[side] < 0) {
            continue;
        }
        const char *key = nest_arena_printf(t->job->arena, "%s\t%s", t->cell[c->device[side]],
                                            t->cell[c->port[side]]);
        const int64_t known = key ? nest_names_get(speeds, key) : -1;
        if (known > 0 && (*rate <= 0 || (double)known < *rate)) {
            *rate = (double)known;
        }
    }
    return NEST_OK;
}

static bool is_cabled(const struct table *t, const struct cable_columns *c)
{
    return c->status < 0 || strcasecmp(t->cell[c->status], "planned") != 0;
}

static enum nest_status import_cables(struct table *t, const struct cable_columns *c,
                                      const struct nest_names *speeds)
{
    struct nest_fabric fabric;
    int count, planned = 0;
    if (!nest_fabric_init(&fabric, t->job->arena)) {
        return nest_job_no_memory(t->job);
    }
    while ((count = row(t)) > 0) {
        int end[2];
        double rate = 0;
        if (!is_cabled(t, c)) {
            planned++;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const char *name = t->cell[c->device[side]];
            if (!*name) {
                return nest_job_fault(t->job, t->line, t->at[c->device[side]], NULL,
                                      "a cable that ends nowhere");
            }
            end[side] = nest_fabric_node(&fabric, name, t->line);
            if (end[side] < 0) {
                return nest_job_no_memory(t->job);
            }
            fabric.node[end[side]].host = !is_switch_name(name);
        }
        const enum nest_status status = cable_rate(t, c, speeds, &rate);
        if (status != NEST_OK) {
            return status;
        }
        if (!nest_fabric_cable(&fabric, end[0], end[1], rate)) {
            return nest_job_no_memory(t->job);
        }
    }
    if (count < 0) {
        return NEST_BAD_INPUT;
    }
    struct nest_found_cluster found = {.name = "cabled cluster", .hosts = true};
    if (planned > 0) {
        nest_job_note(t->job, "%d planned cables were left out", planned);
    }
    nest_job_note(t->job,
                  "devices called leaf, spine, core, tor, agg, switch or sw… are switches, all "
                  "others hosts");
    const enum nest_status status = nest_fabric_levels(&fabric, t->job, &found);
    if (status != NEST_OK) {
        return status;
    }
    if (found.host_bandwidth <= 0) {
        nest_job_note(t->job,
                      "the cables have no speeds: give NetBox's interfaces as a second file");
    }
    return nest_found_cluster_write(t->job, &found);
}

static bool is_interfaces(const struct table *t)
{
    return column(t, "device") >= 0 && column(t, "name interface port") >= 0 &&
           column_begins(t, "speed") >= 0;
}

enum nest_status nest_import_csv(struct nest_job *job)
{
    struct table cables = {.job = NULL}, interfaces = {.job = NULL};
    struct cable_columns columns = {.speed = -1};
    const struct nest_import_file *file = job->file;
    for (int i = 0; i < job->files; i++) {
        struct table t;
        struct cable_columns c;
        const enum nest_status status = begin(&t, job, &file[i]);
        if (status != NEST_OK) {
            return status;
        }
        if (column_begins(&t, "fan_out fanout fan-out children") >= 0) {
            return import_levels(&t);
        }
        if (find_cables(&t, &c)) {
            cables = t;
            columns = c;
        } else if (is_interfaces(&t)) {
            interfaces = t;
        } else {
            return nest_job_fault(
                job, t.line, 1,
                "a fan_out column, or the devices at both ends (a_device, b_device)",
                "neither a table of levels nor of cables");
        }
    }
    if (!cables.job) {
        return nest_job_fault(job, interfaces.line, 1,
                              "give the cables as well: nest import --from csv CABLES INTERFACES",
                              "interfaces have speeds but do not say what they are connected to");
    }
    struct nest_names *speeds = interfaces.job ? nest_names_new(job->arena) : NULL;
    if (speeds) {
        const enum nest_status status = read_interfaces(&interfaces, speeds);
        if (status != NEST_OK) {
            return status;
        }
    }
    return import_cables(&cables, &columns, speeds);
}
