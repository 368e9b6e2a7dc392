/*
 * lring - what io_uring can do here (core/ring.h), for --doctor and for skips with a reason.
 */
#include <errno.h>
#include <stdlib.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/io.h"
#include "core/ring.h"

#define CLOSE_NS   100000000ull
#define BUFFER_LEN (1u << 20)

/* Bits of io_uring_params.features by number: the kernel's names, from 5.4 to 6.3. */
static const char *const features[] = {
    "single_mmap", "nodrop", "submit_stable", "rw_cur_pos", "cur_personality", "fast_poll",
    "poll_32bits", "sqpoll_nonfixed", "ext_arg", "native_workers", "rsrc_tags", "cqe_skip",
    "linked_file", "reg_reg_ring",
};

static const struct {
    const char *name;
    unsigned kind;
} kinds[] = {
    { "read", IO_READ }, { "write", IO_WRITE }, { "readv", IO_READV }, { "writev", IO_WRITEV },
    { "read_fixed", IO_READ_FIXED }, { "write_fixed", IO_WRITE_FIXED }, { "fsync", IO_FSYNC },
    { "fallocate", IO_FALLOCATE }, { "ftruncate", IO_FTRUNCATE }, { "openat", IO_OPENAT },
    { "statx", IO_STATX }, { "splice", IO_SPLICE }, { "unlinkat", IO_UNLINKAT },
    { "renameat", IO_RENAMEAT }, { "mkdirat", IO_MKDIRAT }, { "cancel", IO_CANCEL },
};

/* Push true, or the reason of -err. */
static void set_outcome(lua_State *L, const char *name, int err)
{
    if (err < 0)
        lua_pushstring(L, bind_reason(err));
    else
        lua_pushboolean(L, 1);
    lua_setfield(L, -2, name);
}

static int try_ring(const struct ring_options *o)
{
    struct ring *r = NULL;
    int err = ring_open(&r, o);

    if (err >= 0)
        ring_close(r, CLOSE_NS);
    return err < 0 ? err : 0;
}

/* What one ring says of itself; features and kinds as bits. */
struct facts {
    unsigned features, kinds;
    int buffer;                 /* of registering BUFFER_LEN: 0 or -errno */
};

static int look(struct facts *f)
{
    struct ring_options o = { .entries = 8, .sq_cpu = -1 };
    void *mem = aligned_alloc(4096, BUFFER_LEN);
    struct ring *r = NULL;
    int err = mem ? ring_open(&r, &o) : -ENOMEM;

    if (err >= 0) {
        f->features = r->uring.features;
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
            f->kinds |= (unsigned)ring_supports(r, kinds[i].kind) << i;
        f->buffer = ring_register_buffer(r, mem, BUFFER_LEN);
        ring_close(r, CLOSE_NS);
    }
    free(mem);
    return err < 0 ? err : 0;
}

/* ring.probe() -> { features = { name = true }, kinds = { name = true }, sqpoll =, iopoll =,
 * buffers = true or why not, entries_max = } | nil, message, errno */
static int lring_probe(lua_State *L)
{
    struct ring_options sqpoll = { .entries = 8, .sqpoll = true, .sq_cpu = -1 };
    struct ring_options iopoll = { .entries = 8, .iopoll = true, .sq_cpu = -1 };
    struct facts f = { 0 };
    char message[256];
    int err = ring_available(message, sizeof message);

    if (err < 0)
        return bind_failmsg(L, err, message);
    err = look(&f);
    if (err < 0)
        return bind_fail(L, err, "io_uring");
    lua_newtable(L);
    lua_newtable(L);                            /* facts features */
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++) {
        lua_pushboolean(L, f.features >> i & 1);
        lua_setfield(L, -2, features[i]);
    }
    lua_setfield(L, -2, "features");
    lua_newtable(L);                            /* facts kinds */
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lua_pushboolean(L, f.kinds >> i & 1);
        lua_setfield(L, -2, kinds[i].name);
    }
    lua_setfield(L, -2, "kinds");
    set_outcome(L, "buffers", f.buffer);
    set_outcome(L, "sqpoll", try_ring(&sqpoll));
    set_outcome(L, "iopoll", try_ring(&iopoll));
    lua_pushinteger(L, RING_ENTRIES_MAX);
    lua_setfield(L, -2, "entries_max");
    return 1;
}

static const luaL_Reg functions[] = {
    { "probe", lring_probe },
    { NULL, NULL },
};

int lring_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
