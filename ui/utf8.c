#include "ui/utf8.h"

size_t nest_utf8_decode(const char *text, uint32_t *code)
{
    const unsigned char lead = (unsigned char)text[0];
    size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    *code = lead & mask[length];
    for (size_t i = 1; i < length; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80) {
            length = 0;
            break;
        }
        *code = *code << 6 | (next & 0x3f);
    }
    if (length == 0) {
        *code = 0xfffd;
        return 1;
    }
    return length;
}

char *nest_utf8_encode(uint32_t code, char *out)
{
    char *end = out;
    if (code < 0x80) {
        *end++ = (char)code;
    } else if (code < 0x800) {
        *end++ = (char)(0xc0 | code >> 6);
        *end++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *end++ = (char)(0xe0 | code >> 12);
        *end++ = (char)(0x80 | (code >> 6 & 0x3f));
        *end++ = (char)(0x80 | (code & 0x3f));
    } else {
        *end++ = (char)(0xf0 | (code >> 18 & 0x07));
        *end++ = (char)(0x80 | (code >> 12 & 0x3f));
        *end++ = (char)(0x80 | (code >> 6 & 0x3f));
        *end++ = (char)(0x80 | (code & 0x3f));
    }
    *end = '\0';
    return out;
}
