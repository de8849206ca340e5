#include "session/notice.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "session/console.h"

enum { TEXT_MAX = 1 << 24 };

void nest_notice_say(struct nest_notice *notice, bool bad, const char *what, const char *text)
{
    notice->bad = bad;
    (void)snprintf(notice->text, sizeof notice->text, "%.200s%.300s", what, text);
}

void nest_notice_fault(struct nest_notice *notice, struct nest_console *console, const char *what,
                       const struct nest_errors *errors)
{
    struct nest_strbuf text = NEST_STRBUF_INIT(TEXT_MAX);
    if (errors->count == 0) {
        nest_notice_say(notice, true, what, ": out of memory");
        return;
    }
    nest_error_format(&errors->item[0], &text);
    nest_notice_say(notice, true, "", nest_strbuf_text(&text));
    notice->text[strcspn(notice->text, "\n")] = '\0';
    nest_strbuf_free(&text);
    if (console) {
        nest_console_report(console, errors);
    }
}
