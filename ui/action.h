/* Everything the explorer can do, in one table.
 *
 * Dispatch, the line of keys at the bottom, the help, the README's and the manual's key tables all
 * derive from it: a key cannot be left out of one of them. */
#ifndef NEST_UI_ACTION_H
#define NEST_UI_ACTION_H

#include <stdint.h>

#include "base/strbuf.h"

enum nest_action {
    NEST_ACTION_NONE,
    NEST_ACTION_DOWN_STEP,
    NEST_ACTION_UP_STEP,
    NEST_ACTION_DOWN_BIG,
    NEST_ACTION_UP_BIG,
    NEST_ACTION_EDIT,
    NEST_ACTION_PIN,
    NEST_ACTION_ADOPT,
    NEST_ACTION_DETAIL,
    NEST_ACTION_WHAT_IF,
    NEST_ACTION_FOLD,
    NEST_ACTION_UNFOLD_ALL,
    NEST_ACTION_FOLD_ALL,
    NEST_ACTION_UNDO,
    NEST_ACTION_REDO,
    NEST_ACTION_CURSOR_UP,
    NEST_ACTION_CURSOR_DOWN,
    NEST_ACTION_PAGE_UP,
    NEST_ACTION_PAGE_DOWN,
    NEST_ACTION_FIRST,
    NEST_ACTION_LAST,
    NEST_ACTION_NEXT_PANE,
    NEST_ACTION_PREVIOUS_PANE,
    NEST_ACTION_VIEW_PLAN,
    NEST_ACTION_VIEW_LUA,
    NEST_ACTION_VIEW_LESSON,
    NEST_ACTION_NEXT_LESSON,
    NEST_ACTION_PREVIOUS_LESSON,
    NEST_ACTION_RUN,
    NEST_ACTION_NEW_LINE,
    NEST_ACTION_COMPLETE,
    NEST_ACTION_OLDER,
    NEST_ACTION_NEWER,
    NEST_ACTION_SEARCH_PAST,
    NEST_ACTION_MODELS,
    NEST_ACTION_CLUSTERS,
    NEST_ACTION_FIND,
    NEST_ACTION_FIND_NEXT,
    NEST_ACTION_FIND_PREVIOUS,
    NEST_ACTION_COMMAND,
    NEST_ACTION_COPY,
    NEST_ACTION_SAVE,
    NEST_ACTION_HELP,
    NEST_ACTION_ACCEPT,
    NEST_ACTION_BACK,
    NEST_ACTION_CANCEL,
    NEST_ACTION_REPAINT,
    NEST_ACTION_SUSPEND,
    NEST_ACTION_QUIT,
    NEST_ACTIONS
};

/* What has the focus; an action names all it is for. */
enum nest_context {
    NEST_CONTEXT_VALUE = 1,        /* a level's or the training's value */
    NEST_CONTEXT_PIN = 2,          /* a choice of the planner */
    NEST_CONTEXT_LEVEL = 4,        /* a level of the cluster, together with VALUE */
    NEST_CONTEXT_GROUP = 8,        /* an opened group of devices */
    NEST_CONTEXT_STAGE = 16,       /* a stage's memory bar */
    NEST_CONTEXT_STEP = 32,        /* the bar of the step's parts */
    NEST_CONTEXT_ALTERNATIVE = 64, /* one of the next best plans */
    NEST_CONTEXT_VIEW = 127,       /* any of the above */
    NEST_CONTEXT_LESSON = 1024,    /* a lesson stands below, together with any of the above */
    NEST_CONTEXT_LIST = 128,       /* a list to choose from */
    NEST_CONTEXT_TEXT = 256,       /* help and details */
    NEST_CONTEXT_LUA = 512         /* the Lua view: letters and digits are typed */
};

struct nest_action_entry {
    enum nest_action action;
    const char *name;  /* in words, for :commands: "undo" */
    const char *keys;  /* names separated by spaces, the one shown first in front */
    unsigned contexts; /* enum nest_context */
    const char *label; /* short, for the line of keys; NULL keeps it out of there */
    const char *help;  /* one sentence */
};

/* The table, in the order of help; ends with NEST_ACTION_NONE. */
const struct nest_action_entry *nest_actions(void);

/* What key does where the focus is in one of contexts. The first fitting entry counts. */
enum nest_action nest_action_of_key(uint32_t key, unsigned contexts);

/* The action of that name that is valid in contexts, or NEST_ACTION_NONE. */
enum nest_action nest_action_of_name(const char *name, unsigned contexts);

/* The keys of an entry as people read them, "← h", joined by a space. */
void nest_action_keys(const struct nest_action_entry *entry, struct nest_strbuf *out);

/* Only the first key, for the line at the bottom. */
void nest_action_first_key(const struct nest_action_entry *entry, struct nest_strbuf *out);

/* The whole table as Markdown, for the README. */
void nest_actions_markdown(struct nest_strbuf *out);

#endif
