#include "input/down.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One entry between commas: its words and its number or range. */
struct entry {
    const char *name;
    size_t length;
    int64_t first, last;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Digits that end at *end → their value, and *end moves to the first of them. */
static bool number_before(const char *begin, const char **end, int64_t *out)
{
    const char *at = *end;
    while (at > begin && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    if (at == *end || *end - at > 12) {
        return false;
    }
    *out = strtoll(at, NULL, 10);
    *end = at;
    return true;
}

/* "node 13", "node: 13", "nodes 4..7", "node 4-7". */
static bool split_entry(const char *begin, const char *end, struct entry *out)
{
    while (end > begin && is_space(end[-1])) {
        end--;
    }
    const char *at = end;
    if (!number_before(begin, &at, &out->last)) {
        return false;
    }
    out->first = out->last;
    const char *before = at - begin > 2 && at[-1] == '.' && at[-2] == '.' ? at - 2
                         : at - begin > 1 && at[-1] == '-'                ? at - 1
                                                                          : NULL;
    if (before && number_before(begin, &before, &out->first)) {
        at = before;
    }
    while (at > begin && (is_space(at[-1]) || strchr(":=#/", at[-1]))) {
        at--;
    }
    out->name = begin;
    out->length = (size_t)(at - begin);
    return at > begin;
}

/* The name itself or its plural. */
static bool is_called(const struct entry *entry, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(entry->name, name, length) == 0 &&
           (entry->length == length || (entry->length == length + 1 && entry->name[length] == 's'));
}

/* The level of that name, -1 for devices, -2 for none. */
static int find_level(const struct nest_cluster_spec *cluster, const struct entry *entry)
{
    for (int l = 0; l < cluster->levels; l++) {
        if (is_called(entry, cluster->level[l].name)) {
            return l;
        }
    }
    const bool device = is_called(entry, "device") || is_called(entry, "gpu");
    return device ? -1 : -2;
}

/* Groups of a level, level -1 for the devices; counted from the outermost level, which is one
 * group. */
static int64_t count_groups(const struct nest_cluster_spec *cluster, int level)
{
    int64_t groups = 1;
    for (int l = cluster->levels - 1; l > level; l--) {
        const struct nest_level_spec *at = &cluster->level[l];
        int64_t children = 0;
        for (int i = 0; i < at->groups; i++) {
            children += at->group[i].fanout * at->group[i].times;
        }
        groups = at->groups > 0 ? children : groups * at->fanout;
    }
    return groups;
}

static void report_name(const struct nest_cluster_spec *cluster, const char *text,
                        struct nest_mark mark, struct nest_errors *errors)
{
    struct nest_strbuf hint = NEST_STRBUF_INIT(1024);
    nest_strbuf_add(&hint, "expected LEVEL NUMBER, such as '");
    nest_strbuf_add(&hint, cluster->levels > 1 ? cluster->level[0].name : "device");
    nest_strbuf_add(&hint, " 3' or 'device 8..15'; levels are ");
    for (int l = 0; l < cluster->levels; l++) {
        nest_strbuf_printf(&hint, "%s, ", cluster->level[l].name);
    }
    nest_strbuf_add(&hint, "device");
    nest_errors_add(errors, mark, "down", nest_strbuf_text(&hint),
                    "'%.80s' names nothing of this cluster", text);
    nest_strbuf_free(&hint);
}

/* One entry; false after a fault. */
static bool read_entry(const struct nest_cluster_spec *cluster, const char *begin, const char *end,
                       struct nest_mark mark, struct nest_down *out, struct nest_errors *errors)
{
    struct entry entry = {0};
    while (begin < end && is_space(*begin)) {
        begin++;
    }
    const char *text = nest_arena_strndup(errors->arena, begin, (size_t)(end - begin));
    const int level = split_entry(begin, end, &entry) ? find_level(cluster, &entry) : -2;
    if (level < -1) {
        report_name(cluster, text ? text : "", mark, errors);
        return false;
    }
    const int64_t groups = count_groups(cluster, level);
    const char *name = level < 0 ? "device" : cluster->level[level].name;
    if (entry.last >= groups || entry.first > entry.last) {
        nest_errors_add(errors, mark, "down",
                        nest_arena_printf(errors->arena,
                                          "expected 0 to %" PRId64 ", counted in device order",
                                          groups - 1),
                        entry.first > entry.last ? "the range of %s %" PRId64 " runs backwards"
                                                 : "there is no %s %" PRId64,
                        name, entry.last);
        return false;
    }
    if (entry.first == 0 && entry.last == groups - 1) {
        nest_errors_add(errors, mark, "down", "leave something to plan on",
                        "every device of the cluster is down");
        return false;
    }
    *out = (struct nest_down){level, entry.first, entry.last};
    return true;
}

const struct nest_down *nest_down_parse(const struct nest_cluster_spec *cluster,
                                        struct nest_mark mark, struct nest_arena *arena, int *count,
                                        struct nest_errors *errors)
{
    *count = 0;
    const char *text = cluster->down;
    if (!text || strcmp(text, "none") == 0) {
        return NULL;
    }
    int entries = 1;
    for (const char *c = text; *c; c++) {
        entries += *c == ',';
    }
    struct nest_down *down = NEST_NEW(arena, struct nest_down, entries);
    for (int i = 0; down && i < entries; i++) {
        const char *comma = strchrnul(text, ',');
        if (!read_entry(cluster, text, comma, mark, &down[i], errors)) {
            return NULL;
        }
        text = comma + 1;
    }
    *count = down ? entries : 0;
    return down;
}
