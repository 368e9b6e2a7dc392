#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/join.h"

#define BUCKETS (1u << 14)
#define NONE    UINT32_MAX

enum state { QUEUED, INSERTED, ISSUED };

/* A piece of a bio that is under way, or a request. */
struct node {
    uint32_t next;              /* in its bucket, or in the free list */
    uint32_t dev;
    uint64_t sector;
    uint32_t sectors;
    uint32_t parent;            /* the node that counts this bio's pieces; a request: NONE */
    uint64_t ns;                /* bio: queued; request: inserted, 0 if it was not */
    uint64_t issue_ns;
    uint32_t cpu;               /* where the bio was queued */
    uint32_t pieces;            /* of a parent: not complete yet */
    char op;
    uint8_t state;
    bool request;
    bool ended;                 /* a parent whose own piece is complete: in no bucket */
};

struct join {
    struct node *node;
    uint32_t used, capacity, free;
    uint32_t bucket[BUCKETS];
    uint64_t last_queue_ns;
    uint64_t *pairs;
    struct join_result result;
};

static uint32_t hash(uint32_t dev, uint64_t sector)
{
    uint64_t h = (sector ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15ull;

    return (uint32_t)(h >> 50);         /* 14 bits */
}

static uint32_t *bucket_of(struct join *j, uint32_t dev, uint64_t sector)
{
    return &j->bucket[hash(dev, sector)];
}

/* Append, so that a bucket is in the order of arrival. */
static void link_node(struct join *j, uint32_t i)
{
    uint32_t *at = bucket_of(j, j->node[i].dev, j->node[i].sector);

    while (*at != NONE)
        at = &j->node[*at].next;
    j->node[i].next = NONE;
    *at = i;
}

static void unlink_node(struct join *j, uint32_t i)
{
    uint32_t *at = bucket_of(j, j->node[i].dev, j->node[i].sector);

    while (*at != i)
        at = &j->node[*at].next;
    *at = j->node[i].next;
}

static void free_node(struct join *j, uint32_t i)
{
    j->node[i].parent = NONE;
    j->node[i].next = j->free;
    j->free = i;
}

static int grow(struct join *j)
{
    uint32_t capacity = j->capacity ? j->capacity * 2 : 1024;
    struct node *node = capacity > 1u << 24 ? NULL
                                            : realloc(j->node, capacity * sizeof *node);

    if (!node)
        return -ENOMEM;
    j->node = node;
    j->capacity = capacity;
    return 0;
}

/* A copy of n in the table; its index in *out. */
static int add(uint32_t *out, struct join *j, const struct node *n)
{
    struct node copy = *n;
    uint32_t i = j->free;

    if (i != NONE)
        j->free = j->node[i].next;
    else if (j->used == j->capacity && grow(j) < 0)
        return -ENOMEM;
    else
        i = j->used++;
    j->node[i] = copy;
    link_node(j, i);
    *out = i;
    return 0;
}

/*
 * The piece or request that begins at the event's place, is at most `sectors` long and in a
 * state of [from, to]: the furthest state first, then the exact length, then the oldest.
 */
static uint32_t find(struct join *j, const struct join_event *e, uint64_t sector,
                     uint64_t sectors, bool request, uint8_t from, uint8_t to)
{
    uint32_t best = NONE, best_rank = 0;

    for (uint32_t i = *bucket_of(j, e->dev, sector); i != NONE; i = j->node[i].next) {
        const struct node *n = &j->node[i];
        uint32_t rank = 1u + 2u * n->state + (n->sectors == sectors);

        if (n->sector != sector || n->dev != e->dev || n->op != e->op
            || n->request != request || n->state < from || n->state > to)
            continue;
        if (n->sectors <= sectors && rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

static int queue(struct join *j, const struct join_event *e)
{
    struct node n = { .dev = e->dev, .sector = e->sector, .sectors = e->sectors, .op = e->op,
                      .ns = e->ns, .cpu = e->cpu, .pieces = 1 };
    uint32_t i;
    int err;

    if (j->last_queue_ns)
        hist_record(&j->result.q2q, e->ns - j->last_queue_ns, 1);
    j->last_queue_ns = e->ns;
    if (e->sectors == 0) {
        j->result.flushes++;
        return 0;
    }
    err = add(&i, j, &n);
    if (err < 0)
        return err;
    j->node[i].parent = i;
    j->result.in_flight++;
    return 0;
}

/* The bio at sector goes on as two pieces, the second from `other` on. */
static int split(struct join *j, const struct join_event *e)
{
    uint32_t i = find(j, e, e->sector, UINT64_MAX, false, QUEUED, QUEUED), rest;
    struct node n;
    int err;

    if (i == NONE || e->other <= e->sector || e->other - e->sector >= j->node[i].sectors)
        return 0;
    n = j->node[i];
    n.sector = e->other;
    n.sectors -= (uint32_t)(e->other - e->sector);
    err = add(&rest, j, &n);
    if (err < 0)
        return err;
    j->node[i].sectors -= n.sectors;
    j->node[n.parent].pieces++;
    return 0;
}

/* Move the pieces under a request to `state`, recording the time since each was queued. */
static void advance(struct join *j, const struct join_event *e, uint8_t state, struct hist *h)
{
    uint64_t pos = e->sector, end = e->sector + e->sectors;

    while (pos < end) {
        uint32_t i = find(j, e, pos, end - pos, false, QUEUED, (uint8_t)(state - 1));

        if (i == NONE)
            return;             /* its queueing was not seen, or it is issued again */
        hist_record(h, e->ns - j->node[i].ns, 1);
        j->node[i].state = state;
        pos += j->node[i].sectors;
    }
}

static int insert(struct join *j, const struct join_event *e)
{
    struct node n = { .dev = e->dev, .sector = e->sector, .sectors = e->sectors, .op = e->op,
                      .ns = e->ns, .parent = NONE, .state = INSERTED, .request = true };
    uint32_t i = find(j, e, e->sector, UINT64_MAX, true, INSERTED, ISSUED);

    advance(j, e, INSERTED, &j->result.q2i);
    if (i != NONE && j->node[i].sectors == e->sectors && j->node[i].state == ISSUED) {
        j->node[i].ns = e->ns;          /* it came back from the driver */
        j->node[i].state = INSERTED;
        return 0;
    }
    return add(&i, j, &n);
}

static int issue(struct join *j, const struct join_event *e)
{
    struct node n = { .dev = e->dev, .sector = e->sector, .sectors = e->sectors, .op = e->op,
                      .issue_ns = e->ns, .parent = NONE, .state = ISSUED, .request = true };
    uint32_t i = find(j, e, e->sector, e->sectors, true, INSERTED, INSERTED);

    advance(j, e, ISSUED, &j->result.q2d);
    if (i == NONE)
        return add(&i, j, &n);
    if (j->node[i].ns)
        hist_record(&j->result.i2d, e->ns - j->node[i].ns, 1);
    j->node[i].sectors = e->sectors;    /* it may have grown by merges since */
    j->node[i].issue_ns = e->ns;
    j->node[i].state = ISSUED;
    return 0;
}

/* One piece of a bio is done; with the last one, the bio. */
static void finish_piece(struct join *j, uint32_t i, const struct join_event *e)
{
    uint32_t parent = j->node[i].parent;
    struct node *p = &j->node[parent];

    unlink_node(j, i);
    if (i == parent)
        p->ended = true;
    else
        free_node(j, i);
    if (--p->pieces > 0)
        return;
    hist_record(&j->result.q2c, e->ns - p->ns, 1);
    if (p->cpu < j->result.cpus && e->cpu < j->result.cpus)
        j->pairs[(size_t)p->cpu * j->result.cpus + e->cpu]++;
    j->result.in_flight--;
    free_node(j, parent);
}

/* The first `sectors` of what the node covers are done: the rest stays under a later sector. */
static void shorten(struct join *j, uint32_t i, uint32_t sectors)
{
    unlink_node(j, i);
    j->node[i].sector += sectors;
    j->node[i].sectors -= sectors;
    link_node(j, i);
}

static void complete_pieces(struct join *j, const struct join_event *e)
{
    uint64_t pos = e->sector, end = e->sector + e->sectors;

    while (pos < end) {
        uint32_t i = find(j, e, pos, end - pos, false, QUEUED, ISSUED);

        if (i != NONE) {
            pos += j->node[i].sectors;
            finish_piece(j, i, e);
            continue;
        }
        i = find(j, e, pos, UINT64_MAX, false, ISSUED, ISSUED);
        if (i == NONE) {
            j->result.unmatched++;
            return;
        }
        shorten(j, i, (uint32_t)(end - pos));
        return;
    }
}

static void complete(struct join *j, const struct join_event *e)
{
    uint32_t i = find(j, e, e->sector, e->sectors, true, ISSUED, ISSUED);

    if (i != NONE) {
        hist_record(&j->result.d2c, e->ns - j->node[i].issue_ns, 1);
        unlink_node(j, i);
        free_node(j, i);
    } else if ((i = find(j, e, e->sector, UINT64_MAX, true, ISSUED, ISSUED)) != NONE) {
        shorten(j, i, e->sectors);
    }
    complete_pieces(j, e);
}

/* A bio-based driver completes a bio once, at its last piece: what is left of it goes too. */
static void complete_bio(struct join *j, const struct join_event *e)
{
    uint32_t i = find(j, e, e->sector, e->sectors, false, QUEUED, ISSUED), parent;

    if (i == NONE) {
        j->result.unmatched++;
        return;
    }
    parent = j->node[i].parent;
    for (uint32_t k = 0; k < j->used && j->node[parent].pieces > 1; k++) {
        if (j->node[k].parent == parent && k != i && !j->node[k].ended)
            finish_piece(j, k, e);
    }
    finish_piece(j, i, e);
}

/* What is under way can no longer be told from what will come to the same place. */
static void forget(struct join *j, uint64_t lost)
{
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (uint32_t i = j->bucket[b]; i != NONE; i = j->node[i].next)
            j->result.forgotten++;
    memset(j->bucket, 0xff, sizeof j->bucket);
    j->used = 0;
    j->free = NONE;
    j->last_queue_ns = 0;
    j->result.in_flight = 0;
    j->result.events[JOIN_LOST] += lost - 1;    /* one is counted by join_feed */
}

int join_feed(struct join *j, const struct join_event *e)
{
    j->result.events[e->kind]++;
    if (e->kind == JOIN_LOST) {
        forget(j, e->sectors);
        return 0;
    }
    if (e->kind == JOIN_QUEUE)
        return queue(j, e);
    if (e->sectors == 0 && e->kind != JOIN_SPLIT)
        return 0;
    switch ((enum join_kind)e->kind) {
    case JOIN_SPLIT:        return split(j, e);
    case JOIN_INSERT:       return insert(j, e);
    case JOIN_ISSUE:        return issue(j, e);
    case JOIN_COMPLETE:     complete(j, e); return 0;
    case JOIN_BIO_COMPLETE: complete_bio(j, e); return 0;
    case JOIN_QUEUE: case JOIN_BACKMERGE: case JOIN_FRONTMERGE: case JOIN_LOST: case JOIN_KINDS:
        break;
    }
    return 0;
}

int join_open(struct join **out, unsigned cpus)
{
    struct join *j = calloc(1, sizeof *j);
    struct hist *h[6];

    if (j)
        j->pairs = calloc((size_t)cpus * cpus, sizeof *j->pairs);
    if (!j || !j->pairs) {
        free(j);
        return -ENOMEM;
    }
    h[0] = &j->result.q2q; h[1] = &j->result.q2i; h[2] = &j->result.i2d;
    h[3] = &j->result.q2d; h[4] = &j->result.d2c; h[5] = &j->result.q2c;
    for (unsigned i = 0; i < 6; i++)
        hist_reset(h[i]);
    memset(j->bucket, 0xff, sizeof j->bucket);
    j->free = NONE;
    j->result.cpus = cpus;
    j->result.pairs = j->pairs;
    *out = j;
    return 0;
}

const struct join_result *join_result(const struct join *j)
{
    return &j->result;
}

void join_close(struct join *j)
{
    if (!j)
        return;
    free(j->pairs);
    free(j->node);
    free(j);
}
