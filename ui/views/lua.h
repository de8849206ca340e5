/* The Lua view: what was run and printed, and below it the chunk that is being typed.
 *
 * It shows a console of the session and keeps only what is typed and how far it is scrolled. */
#ifndef NEST_UI_VIEWS_LUA_H
#define NEST_UI_VIEWS_LUA_H

#include "session/console.h"
#include "ui/hotspot.h"
#include "ui/layout.h"
#include "ui/widgets/editor.h"

enum { NEST_LUA_SEARCH_MAX = 128 };

struct nest_lua_view {
    struct nest_console *console; /* borrowed */
    struct nest_editor editor;
    char kept[NEST_EDITOR_MAX]; /* what was typed before recalling */
    int recalled;               /* index of the past entry in the editor; -1: none */
    bool searching;
    char search[NEST_LUA_SEARCH_MAX];
    int found;                     /* index of the past entry that is shown; -1: none */
    int back;                      /* lines below the last one on the screen */
    int lines;                     /* of the log at the last drawing */
    int page;                      /* rows of the log at the last drawing */
    int width;                     /* of a printed line at the last drawing */
    struct nest_layout layout;     /* of the last drawing */
    struct nest_hotspots hotspots; /* of the last drawing */
};

void nest_lua_view_init(struct nest_lua_view *view, struct nest_console *console);

void nest_lua_view_draw(struct nest_lua_view *view, struct nest_canvas *canvas);

/* Does an action of NEST_CONTEXT_LUA; false when it is none of the view's own. */
bool nest_lua_view_act(struct nest_lua_view *view, enum nest_action action);

/* Types a key that is no action. */
void nest_lua_view_key(struct nest_lua_view *view, uint32_t key);

/* A key out of pasted text: newlines and tabs are text. */
void nest_lua_view_paste(struct nest_lua_view *view, uint32_t key);

/* One line on what goes on; returns the role it is said in. */
enum nest_role nest_lua_view_describe(const struct nest_lua_view *view,
                                      const struct nest_snapshot *snapshot,
                                      struct nest_strbuf *out);

#endif
