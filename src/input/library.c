#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"
#include "input/doc_fault.h"
#include "input/records.h"

enum { PARENTS_TRIED = 5 };

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

static bool holds_data(struct nest_arena *arena, const char *root)
{
    const char *models = nest_arena_printf(arena, "%s/models", root);
    const char *devices = nest_arena_printf(arena, "%s/topologies/devices", root);
    return models && devices && is_directory(models) && is_directory(devices);
}

/* Where the running binary lies; empty if the system does not say. */
static void binary_path(char out[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = '\0';
}

enum nest_status nest_library_find(struct nest_arena *arena, struct nest_library *out)
{
    *out = (struct nest_library){0};
    const char *named = getenv("NEST_DATA");
    if (named && *named) {
        out->root = holds_data(arena, named) ? nest_arena_strdup(arena, named) : NULL;
        return out->root ? NEST_OK : NEST_NO;
    }
    char path[PATH_MAX];
    binary_path(path);
    for (int i = 0; i < PARENTS_TRIED; i++) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            break;
        }
        *slash = '\0';
        const char *shared = nest_arena_printf(arena, "%s/share/nest", path);
        if (holds_data(arena, path)) {
            out->root = nest_arena_strdup(arena, path);
            return out->root ? NEST_OK : NEST_NO_MEMORY;
        }
        if (shared && holds_data(arena, shared)) {
            out->root = shared;
            return NEST_OK;
        }
    }
#ifdef NEST_DATADIR
    if (holds_data(arena, NEST_DATADIR)) {
        out->root = NEST_DATADIR;
        return NEST_OK;
    }
#endif
    return NEST_NO;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t stem_length(const char *file)
{
    const size_t length = strlen(file);
    if (length > 5 && strcmp(file + length - 5, ".yaml") == 0) {
        return length - 5;
    }
    return length > 4 && strcmp(file + length - 4, ".lua") == 0 ? length - 4 : 0;
}

enum { ENTRIES_MOST = 1024 };

/* Names of the files in a folder that have a stem, sorted, NULL-ended; with their path and
 * extension, or the stem alone. NULL where it is no folder or memory is out. */
static const char **list_folder(const char *folder, bool whole, struct nest_arena *arena)
{
    const char **names = NEST_NEW(arena, const char *, ENTRIES_MOST + 1);
    DIR *directory = folder && names ? opendir(folder) : NULL;
    if (!directory) {
        return NULL;
    }
    size_t count = 0;
    const struct dirent *entry = NULL;
    while (count < ENTRIES_MOST && (entry = readdir(directory))) {
        const size_t stem = stem_length(entry->d_name);
        if (stem > 0 && entry->d_name[0] != '.') {
            names[count] = whole ? nest_arena_printf(arena, "%s/%s", folder, entry->d_name)
                                 : nest_arena_strndup(arena, entry->d_name, stem);
            count += names[count] != NULL;
        }
    }
    (void)closedir(directory);
    qsort(names, count, sizeof *names, compare_names);
    return names;
}

const char **nest_library_list(const struct nest_library *library, const char *kind,
                               struct nest_arena *arena)
{
    const char *folder =
        library->root ? nest_arena_printf(arena, "%s/%s", library->root, kind) : NULL;
    const char **names = list_folder(folder, false, arena);
    return names ? names : NEST_NEW(arena, const char *, 1);
}

const char **nest_folder_list(const char *folder, struct nest_arena *arena)
{
    const char **names = list_folder(folder, true, arena);
    int kept = 0;
    for (int i = 0; names && names[i]; i++) {
        if (strcmp(names[i] + strlen(names[i]) - 5, ".yaml") == 0) {
            names[kept++] = names[i];
        }
    }
    if (names) {
        names[kept] = NULL;
    }
    return names;
}

const struct nest_node *nest_document_load(struct nest_field_reader *reader, const char *path)
{
    const char *text = NULL;
    size_t length = 0;
    const struct nest_node *root = NULL;
    if (nest_file_read(path, reader->arena, &text, &length, reader->errors) == NEST_OK) {
        (void)nest_doc_parse(strcmp(path, "-") == 0 ? NEST_DOC_STDIN : path, text, length,
                             reader->arena, &root, reader->errors);
    }
    return root;
}

/* The entries of `aliases:` of a file, the first of a linked list; NULL if there are none or the
 * file is unreadable. */
static const struct nest_node *aliases_of(struct nest_field_reader *reader, const char *path)
{
    struct nest_errors ignored;
    nest_errors_init(&ignored, reader->arena);
    struct nest_field_reader quiet = {reader->arena, &ignored, NULL};
    const struct nest_node *aliases = nest_node_get(nest_document_load(&quiet, path), "aliases");
    return aliases ? aliases->first : NULL;
}

/* Most files do not even hold the word, which is found out without parsing them. */
static bool has_alias(const char *path, const char *name)
{
    struct nest_arena scratch = NEST_ARENA_INIT;
    struct nest_errors ignored;
    nest_errors_init(&ignored, &scratch);
    struct nest_field_reader quiet = {&scratch, &ignored, NULL};
    const char *text = NULL;
    size_t length = 0;
    bool found = false;
    if (nest_file_read(path, &scratch, &text, &length, &ignored) == NEST_OK && strstr(text, name)) {
        const struct nest_node *alias = aliases_of(&quiet, path);
        while (alias && strcmp(alias->text, name) != 0) {
            alias = alias->next;
        }
        found = alias != NULL;
    }
    nest_arena_free(&scratch);
    return found;
}

/* Looks through the shipped files of a kind; *id becomes the file's name. */
static const char *find_shipped(struct nest_field_reader *reader, const char *kind,
                                const char *name, const char **id)
{
    static const char *const endings[] = {"yaml", "lua", NULL};
    const struct nest_library *library = ((const struct nest_input *)reader->context)->library;
    if (!library || !library->root || strchr(name, '/')) {
        return NULL;
    }
    for (const char *const *ending = endings; *ending; ending++) {
        const char *path =
            nest_arena_printf(reader->arena, "%s/%s/%s.%s", library->root, kind, name, *ending);
        if (path && is_file(path)) {
            const char *kept = nest_arena_strdup(reader->arena, name);
            *id = kept ? kept : "";
            return path;
        }
    }
    for (const char **known = nest_library_list(library, kind, reader->arena); known && *known;
         known++) {
        const char *path =
            nest_arena_printf(reader->arena, "%s/%s/%s.yaml", library->root, kind, *known);
        if (path && has_alias(path, name)) {
            *id = *known;
            return path;
        }
    }
    return NULL;
}

const char *nest_stem_of(struct nest_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    const size_t stem = stem_length(file);
    const char *name = nest_arena_strndup(arena, file, stem > 0 ? stem : strlen(file));
    return name ? name : "";
}

const char *nest_path_find(struct nest_field_reader *reader, const char *name, const char *folder)
{
    if (strcmp(name, "-") == 0) {
        return name;
    }
    if (folder && name[0] != '/') {
        const char *beside = nest_arena_printf(reader->arena, "%s/%s", folder, name);
        if (beside && is_file(beside)) {
            return beside;
        }
    }
    return is_file(name) ? name : NULL;
}

const char *nest_script_find(struct nest_field_reader *reader, const char *name, const char *folder)
{
    const struct nest_library *library = ((const struct nest_input *)reader->context)->library;
    const char *path = nest_path_find(reader, name, folder);
    if (!path && library && library->root && name[0] != '/') {
        const char *shipped = nest_arena_printf(reader->arena, "%s/%s", library->root, name);
        path = shipped && is_file(shipped) ? shipped : NULL;
    }
    return path ? path : name;
}

/* Lists longer than this are not read by anybody. */
enum { NAMES_LISTED = 12 };

static void report_not_found(struct nest_field_reader *reader, const char *kind, const char *what,
                             const char *name, struct nest_mark mark)
{
    const struct nest_library *library = ((const struct nest_input *)reader->context)->library;
    struct nest_strbuf hint = NEST_STRBUF_INIT(4096);
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, name);
    const char **known = library ? nest_library_list(library, kind, reader->arena) : NULL;
    int count = 0;
    for (int i = 0; known && known[i]; i++) {
        count++;
        nest_strbuf_printf(&hint, "%s%s", i ? ", " : "shipped are ", known[i]);
        nest_suggest_offer(&suggest, known[i]);
        const char *path =
            nest_arena_printf(reader->arena, "%s/%s/%s.yaml", library->root, kind, known[i]);
        const struct nest_node *alias = path ? aliases_of(reader, path) : NULL;
        for (; alias; alias = alias->next) {
            nest_suggest_offer(&suggest, alias->text);
        }
    }
    if (suggest.best) {
        nest_strbuf_clear(&hint);
        nest_strbuf_printf(&hint, "did you mean '%s'?", suggest.best);
    } else if (count > NAMES_LISTED) {
        nest_strbuf_clear(&hint);
        nest_strbuf_printf(&hint, "expected a path, or the name of a file in %s", kind);
    } else if (count == 0) {
        nest_strbuf_add(&hint, "expected a path; no shipped files were found (see NEST_DATA)");
    }
    nest_errors_add(reader->errors, mark, NULL, nest_strbuf_text(&hint), "there is no %s '%.80s'",
                    what, name);
    nest_strbuf_free(&hint);
}

/* A path for a name; shipped names win over files of the same name in the working folder. */
static const char *resolve(struct nest_field_reader *reader, const char *kind, const char *what,
                           const char *name, struct nest_mark mark, const char *folder,
                           const char **id, const char **ref)
{
    const char *path = find_shipped(reader, kind, name, id);
    *ref = *id;
    if (!path) {
        path = nest_path_find(reader, name, folder);
        *id = path ? nest_stem_of(reader->arena, path) : NULL;
        *ref = path;
    }
    if (!path) {
        report_not_found(reader, kind, what, name, mark);
    }
    return path;
}

void nest_device_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                      const char *folder, struct nest_device_spec *out)
{
    const char *id = NULL;
    const char *ref = NULL;
    const char *path =
        resolve(reader, "topologies/devices", "device", name, mark, folder, &id, &ref);
    const struct nest_node *root = path ? nest_document_load(reader, path) : NULL;
    if (root) {
        nest_device_read(reader, root, id, out);
        out->ref = ref;
    }
}

void nest_model_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                     const char *folder, struct nest_model_spec *out)
{
    const char *id = NULL;
    const char *ref = NULL;
    const char *path = resolve(reader, "models", "model", name, mark, folder, &id, &ref);
    const struct nest_input *outer = reader->context;
    const struct nest_node *root = path ? nest_document_load(reader, path) : NULL;
    if (root) {
        struct nest_input inner = {outer->library, nest_folder_of(reader->arena, path)};
        struct nest_field_reader nested = {reader->arena, reader->errors, &inner};
        nest_model_read(&nested, root, id, out);
        out->ref = ref;
    }
}

const char *nest_folder_of(struct nest_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? nest_arena_strndup(arena, path, (size_t)(slash - path)) : NULL;
}

bool nest_path_is_lua(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".lua") == 0;
}

static void build_cluster(struct nest_field_reader *reader, const char *path, struct nest_mark mark,
                          struct nest_cluster_spec *out)
{
    const struct nest_library *library = ((const struct nest_input *)reader->context)->library;
    const size_t before = reader->errors->count;
    if (!library || !library->build) {
        nest_errors_add(reader->errors, mark, NULL, "expected a YAML file",
                        "a cluster in Lua cannot be built here");
        return;
    }
    const struct nest_build_request request = {.path = path, .cancel = library->cancel};
    (void)library->build(library->build_context, &request, reader->arena, out, reader->errors);
    if (reader->errors->count == before) {
        const struct nest_origin origin = {.fallback = {path, 0, 0}};
        nest_cluster_check(out, &origin, reader->errors);
    }
}

void nest_cluster_load(struct nest_field_reader *reader, const char *name, struct nest_mark mark,
                       const char *folder, struct nest_cluster_spec *out)
{
    const char *id = NULL;
    const char *ref = NULL;
    const char *path = resolve(reader, "topologies", "cluster", name, mark, folder, &id, &ref);
    const struct nest_input *outer = reader->context;
    if (path && nest_path_is_lua(path)) {
        build_cluster(reader, path, mark, out);
        out->ref = ref;
        return;
    }
    const struct nest_node *root = path ? nest_document_load(reader, path) : NULL;
    if (root) {
        struct nest_input inner = {outer->library, nest_folder_of(reader->arena, path)};
        struct nest_field_reader nested = {reader->arena, reader->errors, &inner};
        nest_cluster_read(&nested, root, id, out);
        out->ref = ref;
    }
}

enum nest_status nest_input_outcome(struct nest_errors *errors, size_t before)
{
    nest_errors_sort(errors);
    if (errors->arena->failed) {
        return NEST_NO_MEMORY;
    }
    return errors->count + errors->dropped > before ? NEST_BAD_INPUT : NEST_OK;
}

enum nest_status nest_load_device(const struct nest_library *library, const char *name,
                                  struct nest_arena *arena, struct nest_device_spec *out,
                                  struct nest_errors *errors)
{
    struct nest_input input = {library, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    nest_device_load(&reader, name, (struct nest_mark){0}, NULL, out);
    return nest_input_outcome(errors, before);
}

enum nest_status nest_load_cluster(const struct nest_library *library, const char *name,
                                   struct nest_arena *arena, struct nest_cluster_spec *out,
                                   struct nest_errors *errors)
{
    struct nest_input input = {library, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    nest_cluster_load(&reader, name, (struct nest_mark){0}, NULL, out);
    return nest_input_outcome(errors, before);
}

bool nest_cluster_is_script(const struct nest_library *library, const char *name,
                            struct nest_arena *arena)
{
    const char *shipped =
        library->root ? nest_arena_printf(arena, "%s/topologies/%s.lua", library->root, name)
                      : NULL;
    return nest_path_is_lua(name) || (shipped && is_file(shipped));
}

enum nest_status nest_cluster_from_tree(const struct nest_library *library,
                                        const struct nest_node *root, const char *id,
                                        struct nest_arena *arena, struct nest_cluster_spec *out,
                                        struct nest_errors *errors)
{
    struct nest_input input = {library, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    nest_cluster_read(&reader, root, id, out);
    return nest_input_outcome(errors, before);
}

enum nest_status nest_load_model(const struct nest_library *library, const char *name,
                                 struct nest_arena *arena, struct nest_model_spec *out,
                                 struct nest_errors *errors)
{
    struct nest_input input = {library, NULL};
    struct nest_field_reader reader = {arena, errors, &input};
    const size_t before = errors->count + errors->dropped;
    nest_model_load(&reader, name, (struct nest_mark){0}, NULL, out);
    return nest_input_outcome(errors, before);
}
