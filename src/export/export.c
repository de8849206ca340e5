#include "export/export.h"

#include <stdarg.h>

const struct nest_export_format nest_export_formats[] = {
    {"megatron", nest_export_megatron},
    {"nemo", nest_export_nemo},
    {"deepspeed", nest_export_deepspeed},
    {"torchtitan", nest_export_torchtitan},
    {"torchtitan-toml", nest_export_torchtitan_toml},
    {"rankmap", nest_export_rankmap},
    {"dot", nest_export_dot},
    {NULL, NULL},
};

void nest_note(struct nest_notes *notes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = nest_arena_vprintf(notes->arena, format, args);
    va_end(args);
    if (text != NULL && notes->count < NEST_NOTES_MAX) {
        notes->text[notes->count++] = text;
    }
}
