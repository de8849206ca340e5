# nest — plan the training of large models on real clusters.
#
#   make          build build/nest           make test     build and run every test
#   make run      open the explorer          make lint     static checks
#   make bench    print measured speeds      make install  PREFIX=/usr/local DESTDIR=

CC      ?= gcc
PREFIX  ?= /usr/local
VARIANT ?= release
BUILD   := build/$(VARIANT)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
CFLAGS   ?= -O2 -g
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -ffp-contract=off -fno-fast-math -Isrc -I. $(CFLAGS)
LIBS     := -lyaml -lncursesw -ltinfo -lm -lpthread

LIB_SOURCES := $(wildcard src/*/*.c src/*/*/*.c)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o)
UI_OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out ui/main.c,$(wildcard ui/*.c ui/*/*.c)))
TESTS       := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*/test_*.c))
SUPPORT     := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))

all: build/nest

build/nest: $(BUILD)/ui/main.o $(UI_OBJECTS) $(BUILD)/libnest.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libnest.a: $(LIB_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT) $(UI_OBJECTS) $(BUILD)/libnest.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lvterm -lutil $(LIBS)

lib: $(BUILD)/libnest.a

test: $(TESTS)
	@for t in $(TESTS); do $$t || exit 1; done

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all lib test clean
.SECONDARY:
