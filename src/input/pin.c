#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "input/set.h"

enum { VALUE_MAX = 256 };

struct pin_key {
    const char *word;
    int64_t least, most;
};

#define MANY ((int64_t)1 << 40)

/* In the order of enum nest_pin_key. */
static const struct pin_key pin_keys[NEST_PINS] = {
    {"tp", 1, MANY},
    {"pp", 1, MANY},
    {"dp", 1, MANY},
    {"cp", 1, MANY},
    {"ep", 1, MANY},
    {"etp", 1, MANY},
    {"sp", 0, 1},
    {"zero", 0, 3},
    {"shard", 1, MANY},
    {"micro_batch", 1, MANY},
    {"virtual_stages", 1, MANY},
    {"recompute", NEST_RECOMPUTE_NONE, NEST_RECOMPUTE_FULL},
};

static const char *const recompute_words[NEST_RECOMPUTES] = {"none", "selective", "full"};

const char *nest_pin_key_word(enum nest_pin_key key)
{
    return pin_keys[key].word;
}

const char *nest_recompute_word(enum nest_recompute mode)
{
    return recompute_words[mode];
}

/* One number or word of a pin's value. */
static bool parse_item(int key, const char *text, int64_t *out)
{
    if (key == NEST_PIN_RECOMPUTE) {
        for (int i = 0; i < NEST_RECOMPUTES; i++) {
            if (strcmp(text, recompute_words[i]) == 0) {
                *out = i;
                return true;
            }
        }
        return false;
    }
    static const char *const no_yes[] = {"false", "true", "no", "yes", "off", "on"};
    for (int i = 0; key == NEST_PIN_SP && i < 6; i++) {
        if (strcmp(text, no_yes[i]) == 0) {
            *out = i % 2;
            return true;
        }
    }
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 15 || text[digits]) {
        return false;
    }
    *out = strtoll(text, NULL, 10);
    return true;
}

const char *nest_pin_expected(int key)
{
    switch (key) {
    case NEST_PIN_RECOMPUTE:
        return "expected none, selective or full, or several as none|full";
    case NEST_PIN_SP:
        return "expected true or false";
    case NEST_PIN_ZERO:
        return "expected 0 to 3, a range 0..2, or a list 1|3";
    default:
        return "expected a number from 1, a range 2..8, or a list 2|4|8";
    }
}

static bool parse_range(int key, char *text, struct nest_range *out)
{
    char *dots = strstr(text, "..");
    if (dots) {
        *dots = '\0';
    }
    if (!parse_item(key, text, &out->low) || !parse_item(key, dots ? dots + 2 : text, &out->high)) {
        return false;
    }
    return out->low >= pin_keys[key].least && out->high <= pin_keys[key].most &&
           out->low <= out->high;
}

/* Fills pin from "8", "2..8" or "2|4|8"; the text is cut up. */
static bool parse_pin(int key, char *text, struct nest_pin *pin)
{
    pin->count = 0;
    for (char *item = text; item;) {
        char *bar = strchr(item, '|');
        if (bar) {
            *bar = '\0';
        }
        if (pin->count == NEST_PIN_MAX || !parse_range(key, item, &pin->range[pin->count])) {
            return false;
        }
        pin->count++;
        item = bar ? bar + 1 : NULL;
    }
    return true;
}

static bool parse_split(const char *text, struct nest_order_pin *order)
{
    static const char head[] = "tp-cp-dp:";
    static const char middle[] = "-pp-dp:";
    char *end = NULL;
    if (strncmp(text, head, sizeof head - 1) != 0) {
        return false;
    }
    const char *inner = text + sizeof head - 1;
    order->dp_in = strtoll(inner, &end, 10);
    if (*inner < '1' || *inner > '9' || strncmp(end, middle, sizeof middle - 1) != 0) {
        return false;
    }
    const char *outer = end + sizeof middle - 1;
    order->dp_out = strtoll(outer, &end, 10);
    order->kind = NEST_ORDER_SPLIT;
    return *outer >= '1' && *outer <= '9' && *end == '\0' && order->dp_in < MANY &&
           order->dp_out < MANY;
}

bool nest_order_parse(const char *text, struct nest_order_pin *out)
{
    struct nest_order_pin order = {.dp_in = 0, .dp_out = 0, .mark = out->mark};
    if (strcmp(text, "tp-cp-dp-pp") == 0) {
        order.kind = NEST_ORDER_MEGATRON;
    } else if (strcmp(text, "tp-cp-pp-dp") == 0) {
        order.kind = NEST_ORDER_NEST;
    } else if (!parse_split(text, &order)) {
        return false;
    }
    *out = order;
    return true;
}

static enum nest_status set_order(struct nest_pins_spec *pins, const char *value,
                                  struct nest_mark mark, struct nest_errors *errors)
{
    if (!nest_order_parse(value, &pins->order)) {
        nest_errors_add(errors, mark, NULL,
                        "expected tp-cp-dp-pp, tp-cp-pp-dp or tp-cp-dp:4-pp-dp:8",
                        "unknown order '%.60s'", value);
        return NEST_BAD_INPUT;
    }
    pins->order.mark = mark;
    return NEST_OK;
}

static enum nest_status unknown_pin(const char *key, struct nest_mark mark,
                                    struct nest_errors *errors)
{
    struct nest_suggest suggest;
    nest_suggest_start(&suggest, key);
    for (int i = 0; i < NEST_PINS; i++) {
        nest_suggest_offer(&suggest, pin_keys[i].word);
    }
    nest_suggest_offer(&suggest, "order");
    char hint[200];
    if (suggest.best) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", suggest.best);
    } else {
        (void)snprintf(hint, sizeof hint,
                       "pins are tp, pp, dp, cp, ep, etp, sp, zero, shard, micro_batch, "
                       "virtual_stages, recompute and order");
    }
    nest_errors_add(errors, mark, NULL, hint, "unknown pin '%.60s'", key);
    return NEST_BAD_INPUT;
}

int nest_pin_key_find(const char *word)
{
    for (int i = 0; i < NEST_PINS; i++) {
        if (strcmp(pin_keys[i].word, word) == 0) {
            return i;
        }
    }
    return -1;
}

enum nest_status nest_pin_set(struct nest_pins_spec *pins, const char *key, const char *value,
                              struct nest_mark mark, struct nest_errors *errors)
{
    const bool is_order = strcmp(key, "order") == 0;
    const int index = nest_pin_key_find(key);
    if (index < 0 && !is_order) {
        return unknown_pin(key, mark, errors);
    }
    const bool frees = !*value || strcmp(value, "free") == 0;
    if (is_order) {
        if (!frees) {
            return set_order(pins, value, mark, errors);
        }
        pins->order = (struct nest_order_pin){.kind = NEST_ORDER_FREE};
        return NEST_OK;
    }
    if (frees) {
        pins->pin[index] = (struct nest_pin){0};
        return NEST_OK;
    }
    char text[VALUE_MAX];
    struct nest_pin pin = {.mark = mark};
    const size_t length = strlen(value);
    if (length < sizeof text) {
        memcpy(text, value, length + 1);
    }
    if (length >= sizeof text || !parse_pin(index, text, &pin)) {
        nest_errors_add(errors, mark, NULL, nest_pin_expected(index), "%s cannot be '%.60s'", key,
                        value);
        return NEST_BAD_INPUT;
    }
    pins->pin[index] = pin;
    return NEST_OK;
}
