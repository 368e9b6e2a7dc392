# iolua. `make demo` builds and runs the affinity matrix, `make check` proves the rest.
#
# BUILD is release, debug, asan or tsan: each has its own folder under build/.

BUILD  ?= release
PREFIX ?= /usr/local
O      := build/$(BUILD)
ifeq ($(origin CC),default)
CC := gcc
endif

# What Debian 12 needs to build and run, and beyond that to check.
PACKAGES := gcc make pkg-config libc6-dev lua5.4 liblua5.4-dev liburing-dev libdevmapper-dev \
            libhwloc-dev libblkid-dev libedit-dev libxxhash-dev lua-argparse lua-dkjson gnuplot-nox
# The originals that our own loads are held against, and those who read what we write.
CHECK_PACKAGES := clang libclang-rt-dev lua-check util-linux locales fio python3-six hwloc-nox \
                  bonnie++ dbench spew hdparm sysbench grace libxml2-utils

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wwrite-strings -Wundef -Wformat=2 -Werror
CFLAGS_release := -O3 -g
CFLAGS_debug   := -O0 -g
CFLAGS_clang   := -O2 -g -Wno-gnu-statement-expression
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan
LDFLAGS_asan   := -fsanitize=address,undefined
LDFLAGS_tsan   := -fsanitize=thread

# Deferred, so that `make demo` on a bare machine can install pkg-config first.
LIBS       = $(shell pkg-config --libs hwloc devmapper blkid liburing libxxhash libedit) -lpthread -lm -ldl
LUA_CFLAGS = $(shell pkg-config --cflags lua5.4)
LUA_LIBS   = $(shell pkg-config --libs lua5.4)

CPPFLAGS += -Isrc -D_GNU_SOURCE -MMD -MP
CFLAGS   += -std=c11 -fPIC -pthread $(WARN) $(CFLAGS_$(BUILD))
LDFLAGS  += -pthread $(LDFLAGS_$(BUILD))

# Only src/bind and src/*.c see lua.h: the core is compiled without its path.
CORE  := $(patsubst src/%.c,$(O)/%.o,$(wildcard src/core/*.c))
BIND  := $(patsubst src/%.c,$(O)/%.o,$(wildcard src/bind/*.c))
MAIN  := $(patsubst src/%.c,$(O)/%.o,$(wildcard src/*.c))
CTEST := $(patsubst tests/core/%.c,$(O)/tests/%,$(wildcard tests/core/*_test.c))
BTEST := $(patsubst tests/bind/%.c,$(O)/tests/%,$(wildcard tests/bind/*_test.c))
CTOOL := $(patsubst tests/tools/%.c,$(O)/tests/%,$(wildcard tests/tools/*.c))

all: $(O)/iolua $(O)/lua/iolua/core.so

$(BIND) $(MAIN): CPPFLAGS += $(LUA_CFLAGS)
$(BIND): CFLAGS += -fno-plt        # a call of Lua is a jump less

$(O)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/libcore.a: $(CORE)
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/libiolua.a: $(CORE) $(BIND)
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/iolua: $(MAIN) $(O)/libiolua.a
	$(CC) $(LDFLAGS) -Wl,-E -o $@ $(MAIN) $(O)/libiolua.a $(LUA_LIBS) $(LIBS)

# For a stock lua5.4: the host program exports the Lua API, so it is not linked here.
$(O)/lua/iolua/core.so: $(BIND) $(CORE)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -o $@ $^ $(LIBS)

# Core tests link the core and nothing else: no Lua.
$(O)/tests/%: tests/core/%.c tests/core/check.h $(O)/libcore.a Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(O)/libcore.a $(LIBS)

# Tests of the bindings have Lua, too.
$(BTEST): CPPFLAGS += $(LUA_CFLAGS)
$(O)/tests/%: tests/bind/%.c tests/core/check.h $(O)/libiolua.a Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(O)/libiolua.a $(LUA_LIBS) $(LIBS)

$(O)/tests/%: tests/tools/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< -lutil

tests: all $(CTEST) $(BTEST) $(CTOOL)

# The tests of one build. T=pattern runs those whose name contains it.
test: tests
	@sh tests/run.sh $(O) "$(T)"

# Everything: all builds, the sanitizers, both compilers, lint. Ends with the sum.
check:
	@$(MAKE) -s deps WANTED="$(PACKAGES) $(CHECK_PACKAGES)"
	@bash tests/check.sh

check-full:
	@$(MAKE) -s deps WANTED="$(PACKAGES) $(CHECK_PACKAGES)"
	@FULL=1 bash tests/check.sh

check-asan check-tsan: check-%:
	@$(MAKE) -s BUILD=$* test

# Warnings are errors with gcc and clang; Lua by luacheck; the layers by tests/pure/arch_test.
lint:
	@$(MAKE) -s tests
	@$(MAKE) -s CC=clang BUILD=clang tests
	@luacheck -q lua scenarios tests

# Rates against fio (and T_IO_URING=path of its peak tool), alternating: docs/performance.md.
bench: all
	@bash tests/bench/bench.sh

# The affinity matrix on a scratch file of its own.
demo:
	@$(MAKE) -s deps WANTED="$(PACKAGES)"
	@$(MAKE) -s all
	@$(O)/iolua scenarios/affinity_matrix.lua

# Missing packages: installed by root, told to others.
deps:
	@command -v dpkg-query >/dev/null || exit 0; \
	missing=$$(for p in $(WANTED); do \
	    dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	[ -n "$$missing" ] || exit 0; \
	line="apt-get install -y --no-install-recommends "$$(echo $$missing); \
	if [ "$$(id -u)" != 0 ]; then echo "packages are missing; as root run: $$line" >&2; exit 2; fi; \
	apt-get update -q && DEBIAN_FRONTEND=noninteractive $$line

# One list feeds install and uninstall.
SHARE     := share/iolua
INSTALLED := bin/iolua $(patsubst %,$(SHARE)/%,$(shell find lua scenarios -name '*.lua'))

install: all
	@for f in $(INSTALLED); do \
	    case $$f in bin/iolua) from=$(O)/iolua mode=755;; *) from=$${f#$(SHARE)/} mode=644;; esac; \
	    install -D -m $$mode $$from $(DESTDIR)$(PREFIX)/$$f || exit 1; done

uninstall:
	@cd $(DESTDIR)$(PREFIX) && rm -f $(INSTALLED) && \
	    find $(SHARE) -depth -type d -exec rmdir {} + 2>/dev/null; true

clean:
	rm -rf build

-include tests/vm/vm.mk
-include $(CORE:.o=.d) $(BIND:.o=.d) $(MAIN:.o=.d) $(CTEST:=.d) $(BTEST:=.d) $(CTOOL:=.d)
.PHONY: all tests test check check-full check-asan check-tsan lint bench demo deps install uninstall clean
.DELETE_ON_ERROR:
