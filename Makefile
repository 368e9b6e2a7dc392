# iolua. `make demo` builds and runs the affinity matrix, `make check` proves the rest.
#
# BUILD is release, debug, asan or tsan: each has its own folder under build/.

BUILD  ?= release
PREFIX ?= /usr/local
O      := build/$(BUILD)
ifeq ($(origin CC),default)
CC := gcc
endif

# What is installed on Debian 12 to build, run and check. tools/deps.sh explains.
PACKAGES := gcc make pkg-config libc6-dev lua5.4 liblua5.4-dev liburing-dev libdevmapper-dev \
            libhwloc-dev libblkid-dev libedit-dev libxxhash-dev lua-argparse lua-dkjson gnuplot-nox
CHECK_PACKAGES := clang lua-check util-linux fio hwloc-nox

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wwrite-strings -Wundef -Wformat=2 -Werror
CFLAGS_release := -O3 -g
CFLAGS_debug   := -O0 -g
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
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
CTOOL := $(patsubst tests/tools/%.c,$(O)/tests/%,$(wildcard tests/tools/*.c))

all: $(O)/iolua $(O)/lua/iolua/core.so

$(BIND) $(MAIN): CPPFLAGS += $(LUA_CFLAGS)

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

$(O)/tests/%: tests/tools/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< -lutil

tests: all $(CTEST) $(CTOOL)

# The tests of one build. T=pattern runs those whose name contains it.
test: tests
	@sh tests/run.sh $(O) "$(T)"

clean:
	rm -rf build

-include tests/vm/vm.mk
-include $(CORE:.o=.d) $(BIND:.o=.d) $(MAIN:.o=.d) $(CTEST:=.d) $(CTOOL:=.d)
.PHONY: all tests test clean
.DELETE_ON_ERROR:
