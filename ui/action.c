#include "ui/action.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ui/input.h"

#define VALUE       NEST_CONTEXT_VALUE
#define PIN         NEST_CONTEXT_PIN
#define LEVEL       NEST_CONTEXT_LEVEL
#define GROUP       NEST_CONTEXT_GROUP
#define STAGE       NEST_CONTEXT_STAGE
#define STEP        NEST_CONTEXT_STEP
#define ALTERNATIVE NEST_CONTEXT_ALTERNATIVE
#define VIEW        NEST_CONTEXT_VIEW
#define LIST        NEST_CONTEXT_LIST
#define TEXT        NEST_CONTEXT_TEXT
#define LESSON      NEST_CONTEXT_LESSON
#define LUA         NEST_CONTEXT_LUA
#define ANYWHERE    (VIEW | LIST | TEXT)

static const struct nest_action_entry table[] = {
    {NEST_ACTION_DOWN_STEP, "lower", "Left h", VALUE | PIN, NULL,
     "Lower the value by one step; a free choice is pinned there"},
    {NEST_ACTION_UP_STEP, "raise", "Right l", VALUE | PIN, "change",
     "Raise the value by one step; a free choice is pinned there"},
    {NEST_ACTION_DOWN_BIG, "lower-much", "S-Left H", VALUE | PIN, NULL,
     "Lower the value by a big step, mostly to half"},
    {NEST_ACTION_UP_BIG, "raise-much", "S-Right L", VALUE | PIN, NULL,
     "Raise the value by a big step, mostly to double"},
    {NEST_ACTION_EDIT, "edit", "Enter", VALUE | PIN, "type",
     "Type the value, with a unit where it has one: 400Gb/s, 80GiB, 4:1, 2..8"},
    {NEST_ACTION_WHAT_IF, "what-if", "w", VALUE | PIN, "what if",
     "Show the step with the values around this one, and take one of them"},
    {NEST_ACTION_PIN, "pin", "p", PIN, "pin", "Pin the choice to the value it has, or free it"},
    {NEST_ACTION_ADOPT, "adopt", "p", ALTERNATIVE, "pin this plan",
     "Pin every choice to this plan's"},
    {NEST_ACTION_DETAIL, "detail", "Enter", GROUP | STAGE | STEP | ALTERNATIVE, "details",
     "Show the figures behind it"},
    {NEST_ACTION_FOLD, "fold", "Space", LEVEL | GROUP, "open",
     "Show or hide who sits in the groups of this level"},
    {NEST_ACTION_UNFOLD_ALL, "unfold-all", "+", VIEW, NULL, "Open every level of the cluster"},
    {NEST_ACTION_FOLD_ALL, "fold-all", "-", VIEW, NULL, "Close every level of the cluster"},
    {NEST_ACTION_UNDO, "undo", "u", VIEW, "undo", "Undo the last change"},
    {NEST_ACTION_REDO, "redo", "C-r U", VIEW, "redo", "Redo what was undone"},
    {NEST_ACTION_CURSOR_UP, "up", "Up k", ANYWHERE, NULL, "Move up"},
    {NEST_ACTION_CURSOR_DOWN, "down", "Down j", ANYWHERE, NULL, "Move down"},
    {NEST_ACTION_PAGE_UP, "page-up", "PgUp C-u", ANYWHERE, NULL, "Move up by a page"},
    {NEST_ACTION_PAGE_DOWN, "page-down", "PgDn C-d", ANYWHERE, NULL, "Move down by a page"},
    {NEST_ACTION_FIRST, "first", "Home g", ANYWHERE, NULL, "Go to the first row"},
    {NEST_ACTION_LAST, "last", "End G", ANYWHERE, NULL, "Go to the last row"},
    {NEST_ACTION_NEXT_PANE, "next", "Tab", VIEW, "next", "Go to the next column or pane"},
    {NEST_ACTION_PREVIOUS_PANE, "previous", "S-Tab", VIEW, NULL,
     "Go to the previous column or pane"},
    {NEST_ACTION_VIEW_PLAN, "plan", "1", VIEW, NULL, "Show the plan"},
    {NEST_ACTION_VIEW_LUA, "lua", "2 F5", VIEW, NULL,
     "Show the Lua console over the live scenario"},
    {NEST_ACTION_VIEW_LESSON, "lessons", "3 F6", VIEW, NULL,
     "Show the lesson, or choose one of the guided lessons"},
    {NEST_ACTION_NEXT_LESSON, "next-lesson", ">", LESSON, "next lesson", "Open the next lesson"},
    {NEST_ACTION_PREVIOUS_LESSON, "previous-lesson", "<", LESSON, NULL, "Open the lesson before"},
    {NEST_ACTION_RUN, "run", "Enter", LUA, "run",
     "Run what is typed; a chunk that is not complete goes on in a new line"},
    {NEST_ACTION_NEW_LINE, "new-line", "A-Enter C-j", LUA, "new line", "Begin a new line"},
    {NEST_ACTION_COMPLETE, "complete", "Tab", LUA, "complete",
     "Complete a global, field, method or word; inside of quotes a value's path"},
    {NEST_ACTION_OLDER, "older", "Up C-p", LUA, "older",
     "Go up a line, or bring back what was typed before"},
    {NEST_ACTION_NEWER, "newer", "Down C-n", LUA, NULL,
     "Go down a line, or forth in what was typed before"},
    {NEST_ACTION_SEARCH_PAST, "search", "C-r", LUA, "search",
     "Search what was typed before, in earlier runs too; again: an older one"},
    {NEST_ACTION_PAGE_UP, "page-up", "PgUp", LUA, NULL, "Scroll back by a page"},
    {NEST_ACTION_PAGE_DOWN, "page-down", "PgDn", LUA, NULL, "Scroll forth by a page"},
    {NEST_ACTION_CANCEL, "cancel", "C-c", LUA, "stop",
     "Stop the running chunk, else clear what is typed, else stop a search"},
    {NEST_ACTION_BACK, "back", "Esc", LUA, "plan", "Go back to the plan or the lesson"},
    {NEST_ACTION_MODELS, "models", "m F2", VIEW, "model", "Choose another model"},
    {NEST_ACTION_CLUSTERS, "clusters", "c F3", VIEW, "cluster", "Choose another cluster"},
    {NEST_ACTION_FIND, "find", "/", VIEW, "find", "Find a value, a stage or a group by name"},
    {NEST_ACTION_FIND, "filter", "/", LIST | TEXT, "filter",
     "Show only the lines that hold what is typed"},
    {NEST_ACTION_FIND_NEXT, "find-next", "n", VIEW, NULL, "Find the next one"},
    {NEST_ACTION_FIND_PREVIOUS, "find-previous", "N", VIEW, NULL, "Find the one before"},
    {NEST_ACTION_COMMAND, "command", ":", VIEW, NULL,
     "Type a command: :set, :scale, :deeper, :pin, :w, :e, :model, :cluster, :q, or the name of "
     "any action"},
    {NEST_ACTION_COPY, "copy", "y", VIEW, NULL,
     "Show and copy the command line that gives the same plan"},
    {NEST_ACTION_SAVE, "save", "s F4", VIEW, "save", "Save the scenario"},
    {NEST_ACTION_HELP, "help", "? F1", VIEW | LIST, "help", "Show the keys"},
    {NEST_ACTION_HELP, "help", "F1", LUA, "help", "Show the keys"},
    {NEST_ACTION_ACCEPT, "accept", "Enter", LIST, "choose", "Take the marked entry"},
    {NEST_ACTION_BACK, "back", "Esc q", LIST | TEXT, "close", "Close this window"},
    {NEST_ACTION_BACK, "back", "Esc", VIEW, NULL, "Clear the message; never quits"},
    {NEST_ACTION_CANCEL, "cancel", "C-c", ANYWHERE, NULL,
     "Stop the script or search that is under way; otherwise quit"},
    {NEST_ACTION_REPAINT, "repaint", "C-l", ANYWHERE | LUA, NULL, "Draw the screen anew"},
    {NEST_ACTION_SUSPEND, "suspend", "C-z", ANYWHERE | LUA, NULL, "Go to the shell; fg comes back"},
    {NEST_ACTION_QUIT, "quit", "q F10", VIEW, "quit", "Quit; asks only when changes would be lost"},
    {NEST_ACTION_QUIT, "quit", "F10", LUA, "quit", "Quit; asks only when changes would be lost"},
    {NEST_ACTION_NONE, NULL, NULL, 0, NULL, NULL},
};

const struct nest_action_entry *nest_actions(void)
{
    return table;
}

enum { KEY_NAME = 16 };

/* Takes the next name from the list; false at its end. */
static bool next_name(const char **keys, char name[KEY_NAME])
{
    *keys += strspn(*keys, " ");
    const size_t length = strcspn(*keys, " ");
    (void)snprintf(name, KEY_NAME, "%.*s", (int)length, *keys);
    *keys += length;
    return length > 0;
}

enum nest_action nest_action_of_key(uint32_t key, unsigned contexts)
{
    char name[KEY_NAME];
    for (const struct nest_action_entry *entry = table; entry->name; entry++) {
        const char *keys = entry->keys;
        while ((entry->contexts & contexts) != 0 && next_name(&keys, name)) {
            if (nest_key_parse(name) == key) {
                return entry->action;
            }
        }
    }
    return NEST_ACTION_NONE;
}

enum nest_action nest_action_of_name(const char *name, unsigned contexts)
{
    for (const struct nest_action_entry *entry = table; entry->name; entry++) {
        if ((entry->contexts & contexts) != 0 && strcmp(entry->name, name) == 0) {
            return entry->action;
        }
    }
    return NEST_ACTION_NONE;
}

void nest_action_keys(const struct nest_action_entry *entry, struct nest_strbuf *out)
{
    char name[KEY_NAME];
    char shown[KEY_NAME];
    const char *keys = entry->keys;
    for (int i = 0; next_name(&keys, name); i++) {
        nest_strbuf_printf(out, "%s%s", i > 0 ? " " : "",
                           nest_key_format(nest_key_parse(name), shown, sizeof shown));
    }
}

void nest_action_first_key(const struct nest_action_entry *entry, struct nest_strbuf *out)
{
    char name[KEY_NAME];
    char shown[KEY_NAME];
    const char *keys = entry->keys;
    if (entry->action == NEST_ACTION_UP_STEP) {
        nest_strbuf_add(out, "←→");
    } else if (next_name(&keys, name)) {
        nest_strbuf_add(out, nest_key_format(nest_key_parse(name), shown, sizeof shown));
    }
}

void nest_actions_markdown(struct nest_strbuf *out)
{
    nest_strbuf_add(out, "| keys | what they do |\n| --- | --- |\n");
    for (const struct nest_action_entry *entry = table; entry->name; entry++) {
        struct nest_strbuf keys = NEST_STRBUF_INIT(256);
        nest_action_keys(entry, &keys);
        nest_strbuf_printf(out, "| %s | %s |\n", nest_strbuf_text(&keys), entry->help);
        nest_strbuf_free(&keys);
    }
}
