/*
 * lresult - what a job measured, as tables of integers: lua/iolua/job/result.lua derives rates.
 */
#include "bind/bind.h"
#include "bind/lhist.h"
#include "bind/lresult.h"
#include "core/hist.h"
#include "core/job.h"
#include "core/pace.h"

static const char *const names[JOB_SIDES] = { "read", "write", "sync" };

/* Push { ios, bytes, short, errors, lat } */
static void push_side(lua_State *L, const struct job_count *c)
{
    lua_createtable(L, 0, 5);
    bind_setu64(L, "ios", c->ios);
    bind_setu64(L, "bytes", c->bytes);
    bind_setu64(L, "short", c->short_ios);
    bind_setu64(L, "errors", c->errors);
    *lhist_push(L) = c->lat;
    lua_setfield(L, -2, "lat");
}

static const char *const operations[] = { "read", "write", "fsync" };

static void push_error(lua_State *L, const struct job_result *r)
{
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, -r->error);
    lua_setfield(L, -2, "errno");
    lua_pushstring(L, bind_reason(r->error));
    lua_setfield(L, -2, "reason");
    lua_pushstring(L, operations[r->error_side]);
    lua_setfield(L, -2, "operation");
    bind_setu64(L, "offset", r->error_pos);
    lua_setfield(L, -2, "error");
}

/* The requests that never came back: their number, and the oldest. */
static void push_stuck(lua_State *L, const struct job_result *r)
{
    lua_createtable(L, 0, 4);
    bind_setu64(L, "count", r->stuck);
    lua_pushstring(L, operations[r->stuck_side]);
    lua_setfield(L, -2, "operation");
    bind_setu64(L, "offset", r->stuck_pos);
    bind_setu64(L, "age_ns", r->stuck_age_ns);
    lua_setfield(L, -2, "stuck");
}

void lresult_push(lua_State *L, const struct job_result *r)
{
    lua_createtable(L, 0, 16);
    for (unsigned i = 0; i < JOB_SIDES; i++) {
        push_side(L, &r->side[i]);
        lua_setfield(L, -2, names[i]);
    }
    bind_setu64(L, "elapsed_ns", r->end > r->begin ? r->end - r->begin : 0);
    bind_setu64(L, "begin_ns", r->begin);
    bind_setu64(L, "end_ns", r->end);
    lua_pushnumber(L, r->depth_mean);
    lua_setfield(L, -2, "depth_mean");
    bind_setu64(L, "user_ns", r->user_ns);
    bind_setu64(L, "system_ns", r->system_ns);
    bind_setu64(L, "end_fsync_ns", r->end_fsync_ns);
    bind_setu64(L, "issued", r->issued);
    if (r->error)
        push_error(L, r);
    if (r->stuck)
        push_stuck(L, r);
}

void lresult_push_pace(lua_State *L, const struct pace_result *r)
{
    lua_createtable(L, 0, 12);
    for (unsigned i = 0; i < JOB_SIDES; i++) {
        *lhist_push(L) = r->service[i];
        lua_setfield(L, -2, names[i]);
    }
    *lhist_push(L) = r->slat;
    lua_setfield(L, -2, "slat");
    lua_pushnumber(L, r->rate);
    lua_setfield(L, -2, "rate");
    lua_pushboolean(L, r->bytes);
    lua_setfield(L, -2, "of_bytes");
    bind_setu64(L, "missed", r->missed);
    bind_setu64(L, "backlog_max", r->backlog_max);
    bind_setu64(L, "backlog_end", r->backlog_end);
    bind_setu64(L, "backlog_limit", r->backlog_limit);
}

void lresult_push_point(lua_State *L, const struct job_count *counts, uint64_t begin,
                        uint64_t end, double depth_mean)
{
    lua_createtable(L, 0, 8);
    for (unsigned i = 0; i < JOB_SIDES; i++) {
        push_side(L, &counts[i]);
        lua_setfield(L, -2, names[i]);
    }
    bind_setu64(L, "begin_ns", begin);
    bind_setu64(L, "end_ns", end);
    lua_pushnumber(L, depth_mean);
    lua_setfield(L, -2, "depth_mean");
}
