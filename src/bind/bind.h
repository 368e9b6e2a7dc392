/*
 * bind - what every binding shares: classes, integers with a range, the error triple.
 *
 * The pattern of a binding is parse, act, push: all arguments are checked before anything is
 * acquired, and nothing is owned in a C local across a call that may raise.
 */
#ifndef IOLUA_BIND_BIND_H
#define IOLUA_BIND_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>

struct buf;
struct file;

/* The integer at arg, which must be an integer or an integral float in [lo, hi]; raises an
 * argument error that names the range. The only way a binding reads an integer. */
lua_Integer bind_checkrange(lua_State *L, int arg, lua_Integer lo, lua_Integer hi);

/* The same with a default for nil or none. */
lua_Integer bind_optrange(lua_State *L, int arg, lua_Integer lo, lua_Integer hi, lua_Integer def);

/* The integer field `key` of the table at arg, nil gives def; raises naming the field. */
lua_Integer bind_field(lua_State *L, int arg, const char *key, lua_Integer lo, lua_Integer hi,
                       lua_Integer def);

/* The boolean field `key` of the table at arg: nil is false, other types raise. */
int bind_flag(lua_State *L, int arg, const char *key);

/* The string field `key` of the table at arg without NUL, or NULL for nil; raises otherwise.
 * Valid while the table holds it. */
const char *bind_stringfield(lua_State *L, int arg, const char *key);

/* A string at arg without embedded NUL. */
const char *bind_checkpath(lua_State *L, int arg);

/* Push nil, "what: reason", errno for a core result err < 0. Returns 3. */
int bind_fail(lua_State *L, int err, const char *what);

/* The same where the core made the sentence: nil, message, errno. Returns 3. */
int bind_failmsg(lua_State *L, int err, const char *message);

/* Create the class `name` (raises when it exists already: two builds in one process): methods
 * in __index, metamethods beside it, __metatable = false, __name. Pushes nothing. */
void bind_class(lua_State *L, const char *name, const luaL_Reg *methods, const luaL_Reg *meta);

/* Reason of -err as text; thread-safe. */
const char *bind_reason(int err);

/* Push value as integer, or as float above 2^63 - 1. */
void bind_pushu64(lua_State *L, uint64_t value);

/* The table on top of the stack gets that field, pushed as bind_pushu64 does. */
void bind_setu64(lua_State *L, const char *key, uint64_t value);

/* Open things at arg, or an argument error ("buffer is closed"). */
struct buf *lbuf_check(lua_State *L, int arg);          /* lbuf.c */
struct file *lfile_check(lua_State *L, int arg);        /* lfile.c */

/* luaopen of the module table iolua.core: one subtable a concept (open.c). */
int luaopen_iolua_core(lua_State *L);

#endif
