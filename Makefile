# nest — plan the training of large models on real clusters.
#
#   make            build build/nest            make run      build, then open the explorer
#   make test       build and run every test    make lint     static checks, gcc and clang
#   make bench      print measured speeds       make install  PREFIX=/usr/local DESTDIR=
#   make coverage   tests with line counts      make clean    remove build/
#   make validate   predictions beside published measurements
#
# Variants live apart: SANITIZE=1 in build/sanitize, COVERAGE=1 in build/coverage, another compiler
# in build/release-<CC>. V=1 shows the commands, ARGS= goes to `make run`.

ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g

ifdef SANITIZE
VARIANT  ?= sanitize
override CFLAGS += -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifdef COVERAGE
VARIANT  ?= coverage
override CFLAGS += -O0 --coverage
endif
ifeq ($(notdir $(CC)),gcc)
VARIANT  ?= release
else
VARIANT  ?= release-$(notdir $(CC))
endif
BUILD    := build/$(VARIANT)
BINARY   := $(if $(filter release,$(VARIANT)),build/nest,$(BUILD)/nest)

# Homebrew keeps these out of the default search path.
ifeq ($(shell uname -s),Darwin)
export PKG_CONFIG_PATH := $(PKG_CONFIG_PATH):$(shell brew --prefix)/opt/ncurses/lib/pkgconfig:$(shell brew --prefix)/opt/libxml2/lib/pkgconfig
endif
LUA      := $(shell pkg-config --exists lua5.4 2>/dev/null && echo lua5.4 || echo lua)
PACKAGES := yaml-0.1 $(LUA) ncursesw json-c libxml-2.0
INCLUDES := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(PACKAGES) 2>/dev/null) \
            $(shell pkg-config --cflags-only-I cmocka vterm 2>/dev/null))
LIBS     := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm -lpthread
TESTLIBS := $(shell pkg-config --libs cmocka vterm 2>/dev/null) -lutil

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes $(if $(WERROR),-Werror)
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -ffp-contract=off -fno-fast-math \
              -Isrc -I. -Itests $(INCLUDES) $(CPPFLAGS) $(CFLAGS)

LIB_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/*/*.c src/*/*/*.c))
UI_OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out ui/main.c,$(wildcard ui/*.c ui/*/*.c)))
SUPPORT     := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
TESTS       := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/*/test_*.c))
BENCHES     := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))

JOBS     := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PARALLEL  = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
SUBMAKE   = $(MAKE) --no-print-directory $(PARALLEL)
Q        := $(if $(V),,@)

all: $(BINARY)

lib: $(BUILD)/libnest.a

tests: $(BINARY) $(TESTS)

$(BINARY): $(BUILD)/ui/main.o $(UI_OBJECTS) $(BUILD)/libnest.a
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libnest.a: $(LIB_OBJECTS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT) $(UI_OBJECTS) $(BUILD)/libnest.a
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(TESTLIBS) $(LIBS)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Everything is compiled again when the compiler or its flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' >$@

# The commit that `nest --version` names; only this object depends on it.
COMMIT := $(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@
$(BUILD)/src/cli/version.o: $(BUILD)/commit
$(BUILD)/src/cli/version.o: override ALL_CFLAGS += -DNEST_COMMIT='"$(COMMIT)"'

run:
	@scripts/bootstrap.sh build
	@$(SUBMAKE) all
	@$(BINARY) $(ARGS)

test:
	@scripts/bootstrap.sh test
	@$(SUBMAKE) tests
	@NEST_BINARY=$(CURDIR)/$(BINARY) scripts/run_tests.sh $(TESTS)

lint:
	@scripts/bootstrap.sh lint
	@$(SUBMAKE) VARIANT=lint-gcc CC=gcc WERROR=1 objects
	@$(SUBMAKE) VARIANT=lint-clang CC=clang WERROR=1 objects
	@CHECK_FLAGS='$(ALL_CFLAGS)' scripts/lint.sh

objects: $(LIB_OBJECTS) $(UI_OBJECTS) $(BUILD)/ui/main.o $(SUPPORT) $(TESTS:%=%.o) $(BENCHES:%=%.o)

# Predictions beside published measurements, the whole table.
validate: all
	@$(BINARY) validate $(ARGS)

bench:
	@scripts/bootstrap.sh test
	@$(SUBMAKE) all $(BENCHES)
	@set -e; for b in $(BENCHES); do NEST_BINARY=$(CURDIR)/$(BINARY) $$b; done

coverage:
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory COVERAGE=1 test
	@if command -v gcovr >/dev/null; then gcovr -r . --object-directory build/coverage -f src -f ui; \
	else echo "coverage: gcovr is not installed; the counts are in build/coverage"; fi

build/nest.1: $(BINARY)
	$(Q)$(BINARY) man >$@

build/nest-lua.7: $(BINARY)
	$(Q)$(BINARY) man lua >$@

SHARE = $(DESTDIR)$(PREFIX)/share

install: $(BINARY) build/nest.1 build/nest-lua.7
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/man/man7 $(SHARE)/nest \
	    $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
	    $(SHARE)/fish/vendor_completions.d
	install -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/nest
	install -m 644 build/nest.1 $(SHARE)/man/man1/nest.1
	install -m 644 build/nest-lua.7 $(SHARE)/man/man7/nest-lua.7
	for d in models topologies scripts; do [ ! -d $$d ] || cp -R $$d $(SHARE)/nest/; done
	rm -f $(SHARE)/nest/scripts/*.sh
	$(BINARY) completion bash >$(SHARE)/bash-completion/completions/nest
	$(BINARY) completion zsh >$(SHARE)/zsh/site-functions/_nest
	$(BINARY) completion fish >$(SHARE)/fish/vendor_completions.d/nest.fish

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all lib tests run test lint objects bench validate coverage install clean FORCE
.SECONDARY:
