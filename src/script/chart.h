/* Plain-text tables and charts for scripts. All print to the sandbox's sink. */
#ifndef NEST_SCRIPT_CHART_H
#define NEST_SCRIPT_CHART_H

#include <lua.h>

/* nest.table(ROWS, COLUMNS): one line a row; a column is a key, or {key, title}. */
int nest_chart_table(lua_State *L);

/* nest.bars(LABELS, VALUES [, WIDTH]): one bar a line. */
int nest_chart_bars(lua_State *L);

/* nest.plot(X, Y [, {width =, height =, title =}]): points on a grid. */
int nest_chart_plot(lua_State *L);

/* nest.schedule(FORWARD, BACKWARD, MICROBATCHES [, WIDTH]): the 1F1B schedule of stages with these
 * times, stages down, time across; returns the time it takes and the fraction that is idle. */
int nest_chart_schedule(lua_State *L);

#endif
