/*
 * lcpuset - iolua.core.cpuset: sets of CPUs as the class "iolua.cpuset". Values: no method
 * changes a set, operators make new ones.
 */
#include <stdio.h>

#include "bind/bind.h"
#include "bind/lcpuset.h"
#include "bind/open.h"
#include "core/place.h"

#define CLASS "iolua.cpuset"

struct lcpuset {
    struct cpuset set;
    bool foreign;               /* of a topology that is not this machine */
};

/* Is each key of the table at arg a place in 1..n? An entry elsewhere would be left out. */
static bool is_list(lua_State *L, int arg, lua_Integer n)
{
    lua_pushnil(L);
    while (lua_next(L, arg)) {
        lua_Integer at = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;

        lua_pop(L, 1);
        if (at < 1 || at > n) {
            lua_pop(L, 1);
            return false;
        }
    }
    return true;
}

static bool read_table(lua_State *L, int arg, struct cpuset *out, char *message, size_t len)
{
    lua_Integer n = luaL_len(L, arg);
    int ok = 1;

    cpuset_zero(out);
    if (n < 0 || n > CPUSET_CPUS || !is_list(L, arg, n)) {
        snprintf(message, len, "CPU list: a table is {0, 2, 3}: CPU numbers without keys or gaps");
        return false;
    }
    for (lua_Integer i = 1; ok && i <= n; i++) {
        lua_Integer cpu;

        lua_geti(L, arg, i);
        cpu = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &ok) : (ok = 0);
        lua_pop(L, 1);
        ok = ok && cpu >= 0 && cpu < CPUSET_CPUS && cpuset_add(out, (unsigned)cpu) == 0;
        if (!ok)
            snprintf(message, len, "CPU list: entry %lld is not a CPU number in 0..%u",
                     (long long)i, CPUSET_CPUS - 1);
    }
    return ok;
}

/* The list at arg (absolute). False with a sentence in message. */
static bool read_list(lua_State *L, int arg, struct cpuset *out, char *message, size_t len)
{
    struct lcpuset *ud = luaL_testudata(L, arg, CLASS);
    size_t n;
    const char *text;
    int is_integer;
    lua_Integer cpu;

    if (ud) {
        *out = ud->set;
        return true;
    }
    switch (lua_type(L, arg)) {
    case LUA_TSTRING:
        text = lua_tolstring(L, arg, &n);
        return cpuset_parse(out, text, n, message, len) == 0;
    case LUA_TNUMBER:
        cpu = lua_tointegerx(L, arg, &is_integer);
        cpuset_zero(out);
        if (is_integer && cpu >= 0 && cpu < CPUSET_CPUS)
            return cpuset_add(out, (unsigned)cpu) == 0;
        snprintf(message, len, "a CPU number is an integer in 0..%u", CPUSET_CPUS - 1);
        return false;
    case LUA_TTABLE:
        return read_table(L, arg, out, message, len);
    default:
        snprintf(message, len, "CPU list expected (\"0-3,8\", a table of numbers or a cpuset), "
                 "got %s", luaL_typename(L, arg));
        return false;
    }
}

void lcpuset_check(lua_State *L, int arg, struct cpuset *out)
{
    char message[256];

    if (!read_list(L, arg, out, message, sizeof message))
        luaL_argerror(L, arg, lua_pushstring(L, message));
}

static bool is_foreign(lua_State *L, int arg)
{
    struct lcpuset *ud = luaL_testudata(L, arg, CLASS);

    return ud && ud->foreign;
}

void lcpuset_checkhere(lua_State *L, int arg, struct cpuset *out)
{
    lcpuset_check(L, arg, out);
    luaL_argcheck(L, !is_foreign(L, arg), arg,
                  "these CPUs are of a topology that is not this machine");
}

bool lcpuset_field(lua_State *L, int arg, const char *key, struct cpuset *out)
{
    char message[256];
    bool here, ok;

    if (lua_getfield(L, arg, key) == LUA_TNIL) {
        lua_pop(L, 1);
        return false;
    }
    here = !is_foreign(L, lua_gettop(L));
    ok = read_list(L, lua_gettop(L), out, message, sizeof message);
    lua_pop(L, 1);
    if (!ok)
        luaL_argerror(L, arg, lua_pushfstring(L, "%s: %s", key, message));
    if (!here)
        luaL_argerror(L, arg, lua_pushfstring(L, "%s: these CPUs are of a topology that is not "
                                              "this machine", key));
    return true;
}

void lcpuset_pushforeign(lua_State *L, const struct cpuset *set, bool foreign)
{
    struct lcpuset *ud = lua_newuserdatauv(L, sizeof *ud, 0);

    ud->set = *set;
    ud->foreign = foreign;
    luaL_setmetatable(L, CLASS);
}

void lcpuset_push(lua_State *L, const struct cpuset *set)
{
    lcpuset_pushforeign(L, set, false);
}

static struct lcpuset *check(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, CLASS);
}

/* cpuset.new(list) -> cpuset */
static int lcpuset_new(lua_State *L)
{
    struct cpuset set;

    lcpuset_check(L, 1, &set);
    lcpuset_pushforeign(L, &set, is_foreign(L, 1));
    return 1;
}

/* cpuset.from_mask(text) -> cpuset, of a mask as in /proc/irq/N/smp_affinity */
static int lcpuset_from_mask(lua_State *L)
{
    struct cpuset set;
    char message[256];
    size_t n;
    const char *text;

    luaL_checktype(L, 1, LUA_TSTRING);
    text = lua_tolstring(L, 1, &n);
    if (cpuset_parse_mask(&set, text, n, message, sizeof message) < 0)
        return luaL_argerror(L, 1, lua_pushstring(L, message));
    lcpuset_push(L, &set);
    return 1;
}

typedef void operation(struct cpuset *, const struct cpuset *, const struct cpuset *);

/* Either operand may be any CPU list. */
static int combine(lua_State *L, operation *op)
{
    struct cpuset a, b;

    lcpuset_check(L, 1, &a);
    lcpuset_check(L, 2, &b);
    op(&a, &a, &b);
    lcpuset_pushforeign(L, &a, is_foreign(L, 1) || is_foreign(L, 2));
    return 1;
}

static int lcpuset_or(lua_State *L)
{
    return combine(L, cpuset_or);
}

static int lcpuset_and(lua_State *L)
{
    return combine(L, cpuset_and);
}

static int lcpuset_minus(lua_State *L)
{
    return combine(L, cpuset_minus);
}

/* ~set: the other CPUs of this machine */
static int lcpuset_not(lua_State *L)
{
    struct lcpuset *ud = check(L, 1);
    struct place_cpus cpus;
    int err;

    luaL_argcheck(L, !ud->foreign, 1, "~ means this machine's CPUs, and these are of another "
                  "topology: use topo:cpus() - set");
    err = place_cpus(&cpus);
    if (err < 0)
        return luaL_error(L, "read the CPUs of this machine: %s", bind_reason(err));
    cpuset_minus(&cpus.online, &cpus.online, &ud->set);
    lcpuset_push(L, &cpus.online);
    return 1;
}

static int lcpuset_eq(lua_State *L)
{
    struct lcpuset *a = luaL_testudata(L, 1, CLASS), *b = luaL_testudata(L, 2, CLASS);

    lua_pushboolean(L, a && b && cpuset_equal(&a->set, &b->set));
    return 1;
}

static int lcpuset_len(lua_State *L)
{
    lua_pushinteger(L, cpuset_count(&check(L, 1)->set));
    return 1;
}

static int lcpuset_tostring(lua_State *L)
{
    const struct cpuset *set = &check(L, 1)->set;
    size_t n = cpuset_format(NULL, 0, set);
    luaL_Buffer b;

    cpuset_format(luaL_buffinitsize(L, &b, n + 1), n + 1, set);
    luaL_pushresultsize(&b, n);
    return 1;
}

/* set:mask([cpus]) -> "00000000,08000000", wide enough for `cpus` CPUs */
static int lcpuset_mask(lua_State *L)
{
    const struct cpuset *set = &check(L, 1)->set;
    unsigned cpus = (unsigned)bind_optrange(L, 2, 1, CPUSET_CPUS, 1);
    size_t n = cpuset_format_mask(NULL, 0, set, cpus);
    luaL_Buffer b;

    cpuset_format_mask(luaL_buffinitsize(L, &b, n + 1), n + 1, set, cpus);
    luaL_pushresultsize(&b, n);
    return 1;
}

/* set:first() -> cpu | nil */
static int lcpuset_first(lua_State *L)
{
    int cpu = cpuset_next(&check(L, 1)->set, 0);

    if (cpu < 0)
        luaL_pushfail(L);
    else
        lua_pushinteger(L, cpu);
    return 1;
}

/* set:contains(list) -> boolean: are all of them in it? */
static int lcpuset_contains(lua_State *L)
{
    struct lcpuset *ud = check(L, 1);
    struct cpuset part;

    lcpuset_check(L, 2, &part);
    lua_pushboolean(L, cpuset_subset(&part, &ud->set));
    return 1;
}

/* Upvalues: the set, where to go on. */
static int lcpuset_step(lua_State *L)
{
    struct lcpuset *ud = lua_touserdata(L, lua_upvalueindex(1));
    int cpu = cpuset_next(&ud->set, (unsigned)lua_tointeger(L, lua_upvalueindex(2)));

    if (cpu < 0)
        return 0;
    lua_pushinteger(L, cpu + 1);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushinteger(L, cpu);
    lua_pushinteger(L, cpu);    /* twice, so that `for _, cpu in` means what it says */
    return 2;
}

/* for cpu in set:each() do ... end */
static int lcpuset_each(lua_State *L)
{
    check(L, 1);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, lcpuset_step, 2);
    return 1;
}

/* set:foreign() -> boolean: is it of a topology that is not this machine? */
static int lcpuset_foreign(lua_State *L)
{
    lua_pushboolean(L, check(L, 1)->foreign);
    return 1;
}

/* set:list() -> { cpu, ... } in order */
static int lcpuset_list(lua_State *L)
{
    const struct cpuset *set = &check(L, 1)->set;
    lua_Integer n = 0;

    lua_createtable(L, (int)cpuset_count(set), 0);
    for (int cpu = cpuset_next(set, 0); cpu >= 0; cpu = cpuset_next(set, (unsigned)cpu + 1)) {
        lua_pushinteger(L, cpu);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* set[i] is the i-th member from 1 on, so that ipairs works; set.name a method, which is in
 * the upvalue. */
static int lcpuset_index(lua_State *L)
{
    const struct cpuset *set = &check(L, 1)->set;
    int is_integer, cpu = -1;
    lua_Integer i = lua_tointegerx(L, 2, &is_integer);

    if (lua_type(L, 2) != LUA_TNUMBER) {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
        return 1;
    }
    if (is_integer && i >= 1 && i <= CPUSET_CPUS)
        for (cpu = cpuset_next(set, 0); cpu >= 0 && i > 1; i--)
            cpu = cpuset_next(set, (unsigned)cpu + 1);
    if (cpu < 0)
        return 0;
    lua_pushinteger(L, cpu);
    return 1;
}

static const luaL_Reg methods[] = {
    { "first", lcpuset_first },
    { "contains", lcpuset_contains },
    { "each", lcpuset_each },
    { "foreign", lcpuset_foreign },
    { "list", lcpuset_list },
    { "mask", lcpuset_mask },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__bor", lcpuset_or },
    { "__band", lcpuset_and },
    { "__sub", lcpuset_minus },
    { "__bnot", lcpuset_not },
    { "__eq", lcpuset_eq },
    { "__len", lcpuset_len },
    { "__tostring", lcpuset_tostring },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lcpuset_new },
    { "from_mask", lcpuset_from_mask },
    { NULL, NULL },
};

int lcpuset_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_getmetatable(L, CLASS);                /* meta */
    lua_getfield(L, -1, "__index");             /* meta methods */
    lua_pushcclosure(L, lcpuset_index, 1);      /* meta index */
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
