/* What things look like: roles instead of colours, glyphs instead of characters.
 *
 * A role has one look per scheme; no meaning hangs on colour alone, so the monochrome scheme is a
 * full one. A glyph has a UTF-8 and an ASCII form, each one column wide. */
#ifndef NEST_UI_THEME_H
#define NEST_UI_THEME_H

#include <stdbool.h>

enum nest_scheme { NEST_SCHEME_MONO, NEST_SCHEME_8, NEST_SCHEME_256 };

enum nest_role {
    NEST_ROLE_TEXT,
    NEST_ROLE_DIM,
    NEST_ROLE_HEADING,
    NEST_ROLE_FRAME,
    NEST_ROLE_TITLE,
    NEST_ROLE_FIGURE, /* the figures one looks for first */
    NEST_ROLE_VALUE,  /* can be changed */
    NEST_ROLE_CHANGED,
    NEST_ROLE_PINNED,
    NEST_ROLE_FOCUS,
    NEST_ROLE_GOOD,
    NEST_ROLE_BAD,
    NEST_ROLE_WARN,
    NEST_ROLE_KEY,
    NEST_ROLE_TAB,
    NEST_ROLE_PROMPT,
    NEST_ROLE_LIMIT,
    NEST_ROLE_IDLE,
    NEST_ROLE_WEIGHTS, /* memory, in the order of nest_memory_parts */
    NEST_ROLE_GRADIENTS,
    NEST_ROLE_STATES,
    NEST_ROLE_ACTIVATIONS,
    NEST_ROLE_OTHER,
    NEST_ROLE_COMPUTE, /* step, in the order of nest_step_parts */
    NEST_ROLE_RECOMPUTE,
    NEST_ROLE_TP,
    NEST_ROLE_CP,
    NEST_ROLE_EP,
    NEST_ROLE_PP,
    NEST_ROLE_DP,
    NEST_ROLE_OPTIMIZER,
    NEST_ROLE_BUBBLE,
    NEST_ROLE_STAGE, /* and the five that follow: stages take turns */
    NEST_ROLES = NEST_ROLE_STAGE + 6
};

enum { NEST_LOOK_BOLD = 1, NEST_LOOK_REVERSE = 2, NEST_LOOK_UNDERLINE = 4 };

/* Colours are palette numbers, -1 the terminal's own. */
struct nest_look {
    short foreground, background;
    unsigned attributes; /* NEST_LOOK_… */
};

struct nest_look nest_theme_look(enum nest_scheme scheme, enum nest_role role);

/* Name of a role for test files: "text", "focus". */
const char *nest_role_name(enum nest_role role);

enum nest_glyph {
    NEST_GLYPH_SPACE,
    NEST_GLYPH_HLINE,
    NEST_GLYPH_VLINE,
    NEST_GLYPH_TOP_LEFT,
    NEST_GLYPH_TOP_RIGHT,
    NEST_GLYPH_BOTTOM_LEFT,
    NEST_GLYPH_BOTTOM_RIGHT,
    NEST_GLYPH_TEE_LEFT,  /* on the left edge, opening to the right */
    NEST_GLYPH_TEE_RIGHT, /* on the right edge */
    NEST_GLYPH_TEE_DOWN,
    NEST_GLYPH_TEE_UP,
    NEST_GLYPH_OPEN,
    NEST_GLYPH_CLOSED,
    NEST_GLYPH_BAR,
    NEST_GLYPH_TRACK, /* empty part of a bar */
    NEST_GLYPH_LIMIT,
    NEST_GLYPH_OVER,  /* part of a bar beyond the limit */
    NEST_GLYPH_IDLE,  /* hatched */
    NEST_GLYPH_MIXED, /* a part shared by several stages */
    NEST_GLYPH_MARK,  /* the selected row of a list */
    NEST_GLYPHS
};

/* The glyph's code point. */
unsigned nest_glyph(enum nest_glyph glyph, bool ascii);

#endif
