/* Which rows of a longer list are seen. */
#ifndef NEST_UI_WIDGETS_SCROLL_H
#define NEST_UI_WIDGETS_SCROLL_H

#include <stdint.h>

/* The first visible row so that the cursor (-1: none) is seen, moving as little as possible. */
static inline int64_t nest_scroll_to(int64_t first, int64_t cursor, int64_t rows, int64_t height)
{
    const int64_t last = rows > height ? rows - height : 0;
    if (cursor >= 0 && cursor < first) {
        first = cursor;
    }
    if (cursor >= 0 && cursor >= first + height) {
        first = cursor - height + 1;
    }
    return first > last ? last : first < 0 ? 0 : first;
}

#endif
