#include <string.h>
#include <unistd.h>

#include "core/sample.h"

static const char *const EVENT[JOIN_LOST] = {
    [JOIN_QUEUE] = "block/block_bio_queue", [JOIN_SPLIT] = "block/block_split",
    [JOIN_BACKMERGE] = "block/block_bio_backmerge",
    [JOIN_FRONTMERGE] = "block/block_bio_frontmerge",
    [JOIN_INSERT] = "block/block_rq_insert", [JOIN_ISSUE] = "block/block_rq_issue",
    [JOIN_COMPLETE] = "block/block_rq_complete",
    [JOIN_BIO_COMPLETE] = "block/block_bio_complete",
};

static int find_layout(struct sample_layout *l, enum join_kind kind, int dir, char *why,
                       size_t len)
{
    int err = tracepoint_id(&l->id, dir, EVENT[kind], why, len);

    l->event = EVENT[kind];
    if (err >= 0)
        err = tracepoint_field(&l->dev, dir, l->event, "dev", why, len);
    if (err >= 0)
        err = tracepoint_field(&l->sector, dir, l->event, "sector", why, len);
    if (err >= 0)
        err = tracepoint_field(&l->op, dir, l->event, "rwbs", why, len);
    if (err >= 0 && kind == JOIN_SPLIT)
        err = tracepoint_field(&l->other, dir, l->event, "new_sector", why, len);
    else if (err >= 0)
        err = tracepoint_field(&l->sectors, dir, l->event, "nr_sector", why, len);
    return err;
}

int sample_layouts(struct sample_layout *layout, char *why, size_t len)
{
    int dir, err = tracepoint_dir(&dir, why, len);

    if (err < 0)
        return err;
    for (unsigned k = 0; err >= 0 && k < JOIN_LOST; k++)
        err = find_layout(&layout[k], (enum join_kind)k, dir, why, len);
    close(dir);
    return err;
}

static uint64_t field(const char *raw, size_t size, struct tracepoint_field f)
{
    uint64_t v = 0;             /* little endian, or of full width */

    if (f.offset + f.size > size || f.size > sizeof v)
        return 0;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    memcpy((char *)&v + sizeof v - f.size, raw + f.offset, f.size);
#else
    memcpy(&v, raw + f.offset, f.size);
#endif
    return v;
}

/* The operation of "R", "WS" or "FWS": flush is a flag before it. */
static char operation(const char *raw, size_t size, struct tracepoint_field f)
{
    if (f.offset + 2 > size)
        return '?';
    return raw[f.offset] == 'F' && raw[f.offset + 1] ? raw[f.offset + 1] : raw[f.offset];
}

/* A sample: u64 time, u32 cpu, u32, u32 size, the event. false: not one of ours. */
static bool parse_sample(struct join_event *e, const struct sample_layout *layout,
                         const char *p, size_t n)
{
    uint32_t cpu, size;
    uint16_t id;

    if (n < 22)
        return false;
    memcpy(&e->ns, p, 8);
    memcpy(&cpu, p + 8, 4);
    memcpy(&size, p + 16, 4);
    memcpy(&id, p + 20, 2);
    p += 20;
    if (size > n - 20)
        return false;
    for (unsigned k = 0; k < JOIN_LOST; k++) {
        const struct sample_layout *l = &layout[k];

        if (l->id != id)
            continue;
        e->kind = (uint8_t)k;
        e->cpu = cpu;
        e->dev = (uint32_t)field(p, size, l->dev);
        e->sector = field(p, size, l->sector);
        e->sectors = l->sectors.size ? (uint32_t)field(p, size, l->sectors) : 0;
        e->other = l->other.size ? field(p, size, l->other) : 0;
        e->op = operation(p, size, l->op);
        return true;
    }
    return false;
}

/* A notice of lost events: u64 id, u64 number, u64 time, u32 cpu, u32. */
static bool parse_lost(struct join_event *e, const char *p, size_t n)
{
    uint64_t lost;

    if (n < 24)
        return false;
    memcpy(&lost, p + 8, 8);
    *e = (struct join_event){ .kind = JOIN_LOST };
    memcpy(&e->ns, p + 16, 8);
    e->sectors = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost;
    return true;
}

bool sample_parse(struct join_event *e, const struct sample_layout *layout, uint32_t type,
                  const char *body, size_t n)
{
    if (type == PERF_RECORD_SAMPLE)
        return parse_sample(e, layout, body, n);
    return type == PERF_RECORD_LOST && parse_lost(e, body, n);
}
