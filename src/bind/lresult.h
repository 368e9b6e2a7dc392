/*
 * lresult - what a job measured, as tables of integers. All push one value and may raise.
 */
#ifndef IOLUA_BIND_LRESULT_H
#define IOLUA_BIND_LRESULT_H

#include <lua.h>
#include <stdint.h>

struct job_count;
struct job_result;
struct pace_result;

/* { read, write, sync = { ios, bytes, short, errors, lat }, elapsed_ns, ... } */
void lresult_push(lua_State *L, const struct job_result *r);

/* { read, write, sync, slat = histograms, rate, of_bytes, missed, backlog_... } */
void lresult_push_pace(lua_State *L, const struct pace_result *r);

/* { read, write, sync = sides, begin_ns, end_ns, depth_mean }: one interval. */
void lresult_push_point(lua_State *L, const struct job_count *counts, uint64_t begin,
                        uint64_t end, double depth_mean);

#endif
