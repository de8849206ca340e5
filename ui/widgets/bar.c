#include "ui/widgets/bar.h"

static int column_of(double share, double whole, int width)
{
    const double columns = share / whole * width + 0.5;
    return columns > width ? width : (int)columns;
}

void nest_bar_draw(struct nest_canvas *canvas, int x, int y, int width,
                   const struct nest_part *parts, int count, enum nest_role first, double whole,
                   bool limit)
{
    double sum = 0;
    int from = 0;
    nest_canvas_fill(canvas, (struct nest_rect){x, y, width, 1}, NEST_ROLE_IDLE, NEST_GLYPH_TRACK);
    for (int i = 0; i < count; i++) {
        const enum nest_role role = first + (enum nest_role)i;
        sum += parts[i].share;
        const int to = column_of(sum, whole, width);
        for (int at = from; at < to; at++) {
            if (at == from) {
                (void)nest_canvas_text(canvas, x + at, y, 1, role, parts[i].letter);
            } else {
                nest_canvas_glyph(canvas, x + at, y, role, NEST_GLYPH_BAR);
            }
        }
        from = to > from ? to : from;
    }
    const int at = column_of(1, whole, width);
    for (int over = at; limit && over < from; over++) {
        nest_canvas_glyph(canvas, x + over, y, NEST_ROLE_BAD, NEST_GLYPH_OVER);
    }
    if (limit) {
        nest_canvas_glyph(canvas, x + at, y, NEST_ROLE_LIMIT, NEST_GLYPH_LIMIT);
    }
}
