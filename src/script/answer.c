#include "script/answer.h"

#include <lauxlib.h>
#include <string.h>

#include "input/doc.h"

enum { DOCUMENT_MAX = 64 << 20 };

static void push_scalar(lua_State *L, const struct nest_node *node)
{
    const bool plain = !node->quoted;
    if (plain && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)) {
        lua_pushboolean(L, node->text[0] == 't');
    } else if (plain && nest_node_is_null(node)) {
        lua_pushnil(L);
    } else if (!plain || lua_stringtonumber(L, node->text) == 0) {
        lua_pushstring(L, node->text);
    }
}

/* The reader of documents bounds the recursion: NEST_DOC_DEPTH. */
void nest_answer_push_node(lua_State *L, const struct nest_node *node)
{
    luaL_checkstack(L, 4, "too deeply nested");
    if (node->kind == NEST_NODE_SCALAR) {
        push_scalar(L, node);
        return;
    }
    lua_newtable(L);
    for (const struct nest_node *child = node->first; child; child = child->next) {
        nest_answer_push_node(L, child);
        if (node->kind == NEST_NODE_SEQUENCE) {
            lua_rawseti(L, -2, child->index + 1);
        } else {
            lua_setfield(L, -2, child->key);
        }
    }
}

void nest_answer_push(lua_State *L, const struct nest_outcome *outcome, struct nest_arena *arena)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(DOCUMENT_MAX);
    struct nest_errors errors;
    const struct nest_node *root = NULL;
    nest_errors_init(&errors, arena);
    nest_json_document(outcome, &text);
    const enum nest_status status =
        text.failed
            ? NEST_NO_MEMORY
            : nest_doc_parse("answer", nest_strbuf_text(&text), text.length, arena, &root, &errors);
    nest_strbuf_free(&text);
    if (status != NEST_OK || !root) {
        luaL_error(L, "not enough memory for the answer");
        return;
    }
    nest_answer_push_node(L, root);
}
