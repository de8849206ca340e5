#include "script/chart.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "script/sandbox.h"
#include "script/tree.h"

enum { COLUMNS_MAX = 32, CELL_MAX = 64, WIDTH_MAX = 400, HEIGHT_MAX = 100, TEXT_MAX = 1 << 20 };

/* Without trailing spaces. */
static void print_line(lua_State *L, const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    nest_sandbox_print(L, text, length);
    nest_sandbox_print(L, "\n", 1);
}

/* The array at index as numbers in a userdata left on the stack. */
static double *push_numbers(lua_State *L, int index, int *count)
{
    luaL_checktype(L, index, LUA_TTABLE);
    *count = (int)lua_rawlen(L, index);
    double *number = lua_newuserdatauv(L, ((size_t)*count + 1) * sizeof(*number), 0);
    for (int i = 0; i < *count; i++) {
        if (lua_rawgeti(L, index, i + 1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1))) {
            luaL_error(L, "entry %d is not a finite number", i + 1);
        }
        number[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    return number;
}

static int option(lua_State *L, int table, const char *key, int fallback, int low, int high)
{
    if (!lua_istable(L, table)) {
        return fallback;
    }
    lua_getfield(L, table, key);
    const lua_Integer value = luaL_optinteger(L, -1, fallback);
    lua_pop(L, 1);
    return value < low ? low : value > high ? high : (int)value;
}

/* ---- Tables ----------------------------------------------------------------------------- */

static void format_cell(lua_State *L, int index, char out[CELL_MAX])
{
    if (lua_isinteger(L, index)) {
        snprintf(out, CELL_MAX, "%lld", (long long)lua_tointeger(L, index));
    } else if (lua_type(L, index) == LUA_TNUMBER) {
        snprintf(out, CELL_MAX, "%.4g", lua_tonumber(L, index));
    } else if (lua_type(L, index) == LUA_TSTRING) {
        snprintf(out, CELL_MAX, "%s", lua_tostring(L, index));
    } else if (lua_isboolean(L, index)) {
        snprintf(out, CELL_MAX, "%s", lua_toboolean(L, index) ? "yes" : "no");
    } else {
        snprintf(out, CELL_MAX, "%s", lua_isnil(L, index) ? "-" : luaL_typename(L, index));
    }
}

/* row["plan.tp"] reaches into tables. */
static void push_member(lua_State *L, int row, const char *key)
{
    lua_pushvalue(L, row);
    for (const char *part = key; part;) {
        const char *dot = strchr(part, '.');
        const size_t length = dot ? (size_t)(dot - part) : strlen(part);
        if (!lua_istable(L, -1)) {
            lua_pop(L, 1);
            lua_pushnil(L);
            return;
        }
        lua_pushlstring(L, part, length);
        lua_rawget(L, -2);
        lua_remove(L, -2);
        part = dot ? dot + 1 : NULL;
    }
}

struct column {
    const char *key, *title;
    int width;
};

static int read_columns(lua_State *L, int index, struct column *column)
{
    luaL_checktype(L, index, LUA_TTABLE);
    const int count = (int)lua_rawlen(L, index);
    if (count < 1 || count > COLUMNS_MAX) {
        return luaL_error(L, "a table has 1 to %d columns", COLUMNS_MAX);
    }
    for (int i = 0; i < count; i++) {
        if (lua_rawgeti(L, index, i + 1) == LUA_TTABLE) {
            lua_rawgeti(L, -1, 1);
            lua_rawgeti(L, -2, 2);
            column[i].key = luaL_checkstring(L, -2);
            column[i].title = luaL_checkstring(L, -1);
            lua_pop(L, 3);
        } else {
            column[i].key = column[i].title = luaL_checkstring(L, -1);
            lua_pop(L, 1);
        }
        column[i].width = (int)strlen(column[i].title);
    }
    return count;
}

/* Widens the columns, or prints. row 0 is the header. */
static void do_row(lua_State *L, int rows, int row, struct column *column, int columns, bool print)
{
    luaL_Buffer line;
    char cell[CELL_MAX];
    if (print) {
        luaL_buffinitsize(L, &line, (size_t)COLUMNS_MAX * (CELL_MAX + 2));
    }
    for (int i = 0; i < columns; i++) {
        snprintf(cell, sizeof(cell), "%s", column[i].title);
        if (row > 0) {
            lua_rawgeti(L, rows, row);
            push_member(L, lua_gettop(L), column[i].key);
            format_cell(L, -1, cell);
            lua_pop(L, 2);
        }
        const int length = (int)strlen(cell);
        column[i].width = length > column[i].width ? length : column[i].width;
        if (print) {
            char padded[2 * CELL_MAX + 4];
            snprintf(padded, sizeof(padded), "%s%*s", i ? "  " : "", column[i].width, cell);
            luaL_addstring(&line, padded);
        }
    }
    if (print) {
        luaL_pushresult(&line);
        print_line(L, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
}

int nest_chart_table(lua_State *L)
{
    struct column column[COLUMNS_MAX];
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    const int columns = read_columns(L, 2, column);
    const int count = (int)lua_rawlen(L, 1);
    for (int i = 1; i <= count; i++) {
        do_row(L, 1, i, column, columns, false);
    }
    for (int i = 0; i <= count; i++) {
        do_row(L, 1, i, column, columns, true);
    }
    return 0;
}

/* ---- Bars and points -------------------------------------------------------------------- */

int nest_chart_bars(lua_State *L)
{
    const lua_Integer wanted = luaL_optinteger(L, 3, 40);
    const int width = wanted < 1 ? 1 : wanted > WIDTH_MAX ? WIDTH_MAX : (int)wanted;
    int count;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 3);
    const double *value = push_numbers(L, 2, &count);
    double most = 0;
    int widest = 0;
    for (int i = 0; i < count; i++) {
        char label[CELL_MAX];
        most = value[i] > most ? value[i] : most;
        lua_rawgeti(L, 1, i + 1);
        format_cell(L, -1, label);
        lua_pop(L, 1);
        widest = (int)strlen(label) > widest ? (int)strlen(label) : widest;
    }
    for (int i = 0; i < count; i++) {
        char label[CELL_MAX], line[WIDTH_MAX + 2 * CELL_MAX + 32], bar[WIDTH_MAX + 1];
        lua_rawgeti(L, 1, i + 1);
        format_cell(L, -1, label);
        lua_pop(L, 1);
        const int length = most > 0 && value[i] > 0 ? (int)lround(width * value[i] / most) : 0;
        memset(bar, '#', (size_t)length);
        bar[length] = '\0';
        snprintf(line, sizeof(line), "%-*s  %-*s  %.4g", widest, label, width, bar, value[i]);
        print_line(L, line);
    }
    return 0;
}

static void bounds(const double *value, int count, double *low, double *high)
{
    *low = *high = count > 0 ? value[0] : 0;
    for (int i = 1; i < count; i++) {
        *low = value[i] < *low ? value[i] : *low;
        *high = value[i] > *high ? value[i] : *high;
    }
}

static int cell_of(double value, double low, double high, int cells)
{
    return high > low ? (int)lround((value - low) / (high - low) * (cells - 1)) : 0;
}

int nest_chart_plot(lua_State *L)
{
    int count, others;
    lua_settop(L, 3);
    const int width = option(L, 3, "width", 60, 10, WIDTH_MAX);
    const int height = option(L, 3, "height", 12, 3, HEIGHT_MAX);
    const double *x = push_numbers(L, 1, &count);
    const double *y = push_numbers(L, 2, &others);
    if (count != others || count == 0) {
        return luaL_error(L, "a plot needs as many x as y, and at least one");
    }
    double left, right, bottom, top;
    bounds(x, count, &left, &right);
    bounds(y, count, &bottom, &top);
    char *grid = lua_newuserdatauv(L, (size_t)width * (size_t)height, 0);
    memset(grid, ' ', (size_t)width * (size_t)height);
    for (int i = 0; i < count; i++) {
        const int row = height - 1 - cell_of(y[i], bottom, top, height);
        grid[(size_t)row * (size_t)width + (size_t)cell_of(x[i], left, right, width)] = '*';
    }
    if (lua_istable(L, 3) && lua_getfield(L, 3, "title") == LUA_TSTRING) {
        print_line(L, lua_tostring(L, -1));
    }
    char line[WIDTH_MAX + 64], label[32];
    for (int row = 0; row < height; row++) {
        const double value = top - (top - bottom) * row / (height - 1);
        label[0] = '\0';
        if (row % 4 == 0 || row == height - 1) {
            snprintf(label, sizeof(label), "%.4g", value);
        }
        snprintf(line, sizeof(line), "%10s |%.*s", label, width,
                 grid + (size_t)row * (size_t)width);
        print_line(L, line);
    }
    snprintf(line, sizeof(line), "%10s +%-*.4g%*.4g", "", width / 2, left, width - width / 2,
             right);
    print_line(L, line);
    return 0;
}

/* ---- The 1F1B schedule ------------------------------------------------------------------ */

struct schedule {
    int stages, microbatches;
    const double *forward, *backward;
    double *done_forward, *done_backward; /* [stage * microbatches + microbatch] end times */
    double end;
};

/* The k-th task of a stage: warm-up forwards, then one forward and one backward in turn. */
static bool task_of(const struct schedule *s, int stage, int k, int *microbatch)
{
    const int left = s->stages - stage;
    const int warm = left < s->microbatches ? left : s->microbatches;
    if (k < warm) {
        *microbatch = k;
        return true;
    }
    const int after = k - warm;
    const int steady = 2 * (s->microbatches - warm);
    if (after < steady) {
        *microbatch = after % 2 == 0 ? after / 2 : warm + after / 2;
        return after % 2 != 0;
    }
    *microbatch = s->microbatches - warm + (after - steady);
    return false;
}

static void draw(char *row, int width, double from, double to, double end, char mark)
{
    const int first = (int)floor(from / end * width), last = (int)floor(to / end * width);
    for (int i = first; i < last && i < width; i++) {
        row[i] = mark;
    }
}

/* Runs tasks in order as their inputs appear; stages are swept until none can go on. */
static void run_schedule(lua_State *L, struct schedule *s, int *next, double *clock)
{
    const int tasks = 2 * s->microbatches;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < s->stages; i++) {
            int m;
            while (next[i] < tasks) {
                nest_sandbox_check(L);
                const bool forward = task_of(s, i, next[i], &m);
                double *done = forward ? s->done_forward : s->done_backward;
                const int from = forward ? i - 1 : i + 1;
                const bool first = forward ? i == 0 : i == s->stages - 1;
                const double ready = first ? 0 : done[from * s->microbatches + m];
                if (ready < 0) {
                    break;
                }
                clock[i] = fmax(clock[i], ready) + (forward ? s->forward[i] : s->backward[i]);
                done[i * s->microbatches + m] = clock[i];
                s->end = fmax(s->end, clock[i]);
                next[i]++;
                moved = true;
            }
        }
    }
}

static void print_schedule(lua_State *L, const struct schedule *s, int width)
{
    char row[WIDTH_MAX + 1], line[WIDTH_MAX + 32];
    for (int i = 0; i < s->stages; i++) {
        memset(row, '.', (size_t)width);
        row[width] = '\0';
        for (int m = 0; m < s->microbatches; m++) {
            const double f = s->done_forward[i * s->microbatches + m];
            const double b = s->done_backward[i * s->microbatches + m];
            draw(row, width, f - s->forward[i], f, s->end, (char)('0' + m % 10));
            draw(row, width, b - s->backward[i], b, s->end, (char)('a' + m % 26));
        }
        snprintf(line, sizeof(line), "stage %2d |%s|", i, row);
        print_line(L, line);
    }
}

int nest_chart_schedule(lua_State *L)
{
    const lua_Integer microbatches = luaL_checkinteger(L, 3);
    const lua_Integer wanted = luaL_optinteger(L, 4, 96);
    const int width = wanted < 10 ? 10 : wanted > WIDTH_MAX ? WIDTH_MAX : (int)wanted;
    struct schedule s = {.microbatches = (int)microbatches};
    int others;
    s.forward = push_numbers(L, 1, &s.stages);
    s.backward = push_numbers(L, 2, &others);
    luaL_argcheck(L, microbatches >= 1 && microbatches <= 4096, 3, "1 to 4096 microbatches");
    if (s.stages != others || s.stages < 1 || s.stages > 256) {
        return luaL_error(L, "a schedule has 1 to 256 stages, each with both times");
    }
    const size_t cells = (size_t)s.stages * (size_t)s.microbatches;
    s.done_forward = lua_newuserdatauv(L, 2 * cells * sizeof(double), 0);
    s.done_backward = s.done_forward + cells;
    for (size_t i = 0; i < 2 * cells; i++) {
        s.done_forward[i] = -1;
    }
    int next[256] = {0};
    double clock[256] = {0}, busy = 0;
    run_schedule(L, &s, next, clock);
    if (!(s.end > 0)) {
        return luaL_error(L, "a schedule needs times above 0");
    }
    print_schedule(L, &s, width);
    for (int i = 0; i < s.stages; i++) {
        busy += s.microbatches * (s.forward[i] + s.backward[i]);
    }
    lua_pushnumber(L, s.end);
    lua_pushnumber(L, 1 - busy / (s.stages * s.end));
    return 2;
}
