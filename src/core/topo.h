/*
 * topo - the CPUs, caches, nodes and packages of a machine, and how far apart they are.
 *
 * The only owner of hwloc. A topology is this machine's, a synthetic one or one from an XML
 * file; it is read once and does not change. Objects are counted by logical index from 0, in
 * the order of the machine; CPUs and nodes are named by their OS numbers, which need neither be
 * dense nor start at 0. CPUs that are offline are not in it; CPUs that are not allowed here are.
 *
 * Reading may run on any thread; the struct is not changed after topo_open.
 */
#ifndef IOLUA_CORE_TOPO_H
#define IOLUA_CORE_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cpuset.h"

struct topo;

struct topo_object {
    const char *type;           /* "core", "numanode", "l3cache", "disk" ...; static */
    const char *name;           /* of a device or group, else NULL; the topology's own */
    unsigned depth;             /* levels below the machine, in a walk */
    int index;                  /* logical, -1 for devices */
    int number;                 /* of the OS, or -1 */
    uint64_t bytes;             /* of a cache, or a node's memory; else 0 */
    struct cpuset cpus;         /* empty for a node without CPUs; a device's: those near it */
};

struct topo_kind {
    struct cpuset cpus;
    int efficiency;             /* 0 is the most efficient, larger is faster; -1 unknown */
    const char *name;           /* "IntelCore" ...; NULL where the machine does not say */
};

/* Open this machine's topology (both NULL), a synthetic one ("pack:2 core:4 pu:2") or the XML
 * file at path `xml` (written by hwloc 2). 0, or -errno with a sentence in message. */
int topo_open(struct topo **out, const char *synthetic, const char *xml, char *message,
              size_t len);
void topo_close(struct topo *t);        /* NULL allowed */

/* Is it this machine? Only then may anything be bound by it. */
bool topo_here(const struct topo *t);

const struct cpuset *topo_cpus(const struct topo *t);

/* The type with this lower-case name, or -EINVAL. */
int topo_type(const char *name);

/* The name of a type from 0 on; NULL after the last. */
const char *topo_type_name(int type);

unsigned topo_count(const struct topo *t, int type);

/* The index-th object of a type; -ERANGE when there is none. */
int topo_object(struct topo_object *out, const struct topo *t, int type, unsigned index);

/* What two CPUs share: the number of CPUs in it, 0 where they do not share one. */
struct topo_shared {
    unsigned core, cache, node, package;        /* the smallest of its kind */
    unsigned least;             /* the smallest thing of any kind, up to the machine */
    uint64_t latency;           /* between their nodes as the firmware tells it, 0 unknown */
};

/* -ENODEV when one of the CPUs is not in the topology. */
int topo_shared(struct topo_shared *out, const struct topo *t, unsigned a, unsigned b);

/* Kinds of core, the most efficient first; 0 where the machine has one kind or cannot tell. */
unsigned topo_kinds(const struct topo *t);
int topo_kind(struct topo_kind *out, const struct topo *t, unsigned index);

/* The CPUs near the device the OS calls by this name ("sda"), as the topology has it. -ENOENT
 * when it has no such device. */
int topo_device(struct cpuset *out, const struct topo *t, const char *name);

/* Walk all objects, the machine first, each before what is in it; memory before cores, disks
 * last. *cursor is NULL before the first. False after the last. */
bool topo_walk(struct topo_object *out, const struct topo *t, void **cursor);

#endif
