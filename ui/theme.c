#include "ui/theme.h"

#define BOLD      NEST_LOOK_BOLD
#define REVERSE   NEST_LOOK_REVERSE
#define UNDERLINE NEST_LOOK_UNDERLINE

struct row {
    const char *name;
    struct nest_look mono, basic, rich;
};

/* Rich colours are muted on purpose: the eye should find the figures, then what changed. On the
 * terminal's own background they are as legible on white as on black, a contrast of 3 at least. */
static const struct row rows[NEST_ROLES] = {
    [NEST_ROLE_TEXT] = {"text", {-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [NEST_ROLE_DIM] = {"dim", {-1, -1, 0}, {-1, -1, 0}, {245, -1, 0}},
    [NEST_ROLE_HEADING] = {"heading", {-1, -1, BOLD}, {6, -1, BOLD}, {67, -1, BOLD}},
    [NEST_ROLE_FRAME] = {"frame", {-1, -1, 0}, {-1, -1, 0}, {241, -1, 0}},
    [NEST_ROLE_TITLE] = {"title", {-1, -1, BOLD}, {-1, -1, BOLD}, {-1, -1, BOLD}},
    [NEST_ROLE_FIGURE] = {"figure", {-1, -1, BOLD}, {2, -1, BOLD}, {28, -1, BOLD}},
    [NEST_ROLE_VALUE] = {"value", {-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [NEST_ROLE_CHANGED] = {"changed",
                           {-1, -1, UNDERLINE},
                           {3, -1, UNDERLINE},
                           {136, -1, UNDERLINE}},
    [NEST_ROLE_PINNED] = {"pinned", {-1, -1, BOLD}, {3, -1, BOLD}, {166, -1, BOLD}},
    [NEST_ROLE_FOCUS] = {"focus", {-1, -1, REVERSE}, {-1, -1, REVERSE}, {255, 24, BOLD}},
    [NEST_ROLE_GOOD] = {"good", {-1, -1, BOLD}, {2, -1, 0}, {28, -1, 0}},
    [NEST_ROLE_BAD] = {"bad", {-1, -1, BOLD}, {1, -1, BOLD}, {167, -1, BOLD}},
    [NEST_ROLE_WARN] = {"warn", {-1, -1, BOLD}, {3, -1, 0}, {166, -1, 0}},
    [NEST_ROLE_KEY] = {"key", {-1, -1, BOLD}, {6, -1, BOLD}, {67, -1, BOLD}},
    [NEST_ROLE_TAB] = {"tab", {-1, -1, REVERSE}, {-1, -1, REVERSE}, {255, 238, BOLD}},
    [NEST_ROLE_PROMPT] = {"prompt", {-1, -1, BOLD}, {-1, -1, BOLD}, {-1, -1, BOLD}},
    [NEST_ROLE_LIMIT] = {"limit", {-1, -1, BOLD}, {1, -1, BOLD}, {167, -1, BOLD}},
    [NEST_ROLE_IDLE] = {"idle", {-1, -1, 0}, {-1, -1, 0}, {242, -1, 0}},
    [NEST_ROLE_WEIGHTS] = {"weights", {-1, -1, 0}, {4, -1, 0}, {68, -1, 0}},
    [NEST_ROLE_GRADIENTS] = {"gradients", {-1, -1, 0}, {2, -1, 0}, {65, -1, 0}},
    [NEST_ROLE_STATES] = {"states", {-1, -1, 0}, {3, -1, 0}, {137, -1, 0}},
    [NEST_ROLE_ACTIVATIONS] = {"activations", {-1, -1, 0}, {5, -1, 0}, {133, -1, 0}},
    [NEST_ROLE_OTHER] = {"other", {-1, -1, 0}, {-1, -1, 0}, {244, -1, 0}},
    [NEST_ROLE_COMPUTE] = {"compute", {-1, -1, 0}, {2, -1, 0}, {29, -1, 0}},
    [NEST_ROLE_RECOMPUTE] = {"recompute", {-1, -1, 0}, {6, -1, 0}, {66, -1, 0}},
    [NEST_ROLE_TP] = {"tp", {-1, -1, 0}, {4, -1, 0}, {68, -1, 0}},
    [NEST_ROLE_CP] = {"cp", {-1, -1, 0}, {6, -1, 0}, {32, -1, 0}},
    [NEST_ROLE_EP] = {"ep", {-1, -1, 0}, {5, -1, 0}, {133, -1, 0}},
    [NEST_ROLE_PP] = {"pp", {-1, -1, 0}, {3, -1, 0}, {137, -1, 0}},
    [NEST_ROLE_DP] = {"dp", {-1, -1, 0}, {1, -1, 0}, {131, -1, 0}},
    [NEST_ROLE_OPTIMIZER] = {"optimizer", {-1, -1, 0}, {-1, -1, 0}, {245, -1, 0}},
    [NEST_ROLE_BUBBLE] = {"bubble", {-1, -1, 0}, {-1, -1, 0}, {242, -1, 0}},
    [NEST_ROLE_STAGE] = {"stage0", {-1, -1, 0}, {4, -1, 0}, {32, -1, 0}},
    [NEST_ROLE_STAGE + 1] = {"stage1", {-1, -1, BOLD}, {2, -1, 0}, {65, -1, 0}},
    [NEST_ROLE_STAGE + 2] = {"stage2", {-1, -1, 0}, {3, -1, 0}, {137, -1, 0}},
    [NEST_ROLE_STAGE + 3] = {"stage3", {-1, -1, BOLD}, {5, -1, 0}, {133, -1, 0}},
    [NEST_ROLE_STAGE + 4] = {"stage4", {-1, -1, 0}, {6, -1, 0}, {131, -1, 0}},
    [NEST_ROLE_STAGE + 5] = {"stage5", {-1, -1, BOLD}, {1, -1, 0}, {102, -1, 0}},
};

struct nest_look nest_theme_look(enum nest_scheme scheme, enum nest_role role)
{
    switch (scheme) {
    case NEST_SCHEME_256:
        return rows[role].rich;
    case NEST_SCHEME_8:
        return rows[role].basic;
    default:
        return rows[role].mono;
    }
}

const char *nest_role_name(enum nest_role role)
{
    return rows[role].name;
}

static const struct {
    unsigned utf8, ascii;
} glyphs[NEST_GLYPHS] = {
    [NEST_GLYPH_SPACE] = {' ', ' '},           [NEST_GLYPH_HLINE] = {0x2500, '-'},
    [NEST_GLYPH_VLINE] = {0x2502, '|'},        [NEST_GLYPH_TOP_LEFT] = {0x250c, '+'},
    [NEST_GLYPH_TOP_RIGHT] = {0x2510, '+'},    [NEST_GLYPH_BOTTOM_LEFT] = {0x2514, '+'},
    [NEST_GLYPH_BOTTOM_RIGHT] = {0x2518, '+'}, [NEST_GLYPH_TEE_LEFT] = {0x251c, '+'},
    [NEST_GLYPH_TEE_RIGHT] = {0x2524, '+'},    [NEST_GLYPH_TEE_DOWN] = {0x252c, '+'},
    [NEST_GLYPH_TEE_UP] = {0x2534, '+'},       [NEST_GLYPH_OPEN] = {0x25be, '-'},
    [NEST_GLYPH_CLOSED] = {0x25b8, '+'},       [NEST_GLYPH_BAR] = {0x2587, '='},
    [NEST_GLYPH_TRACK] = {0x00b7, '.'},        [NEST_GLYPH_LIMIT] = {0x2502, '|'},
    [NEST_GLYPH_OVER] = {0x2593, '!'},         [NEST_GLYPH_IDLE] = {0x2591, '/'},
    [NEST_GLYPH_MIXED] = {'*', '*'},           [NEST_GLYPH_MARK] = {0x25b8, '>'},
};

unsigned nest_glyph(enum nest_glyph glyph, bool ascii)
{
    return ascii ? glyphs[glyph].ascii : glyphs[glyph].utf8;
}
