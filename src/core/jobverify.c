/*
 * jobverify - a job whose writes say what they are and whose reads are checked.
 */
#include <errno.h>

#include "core/jobrich.h"

static void *memory(const struct job *j, unsigned slot)
{
    return (void *)(j->memory + slot * j->stride);
}

bool jobverify_start(struct job *j, const struct job_op *op, uint64_t now)
{
    struct rich *r = j->rich;
    bool again = r->holds;

    r->holds = false;
    if (op->side == JOB_SYNC)
        return true;
    if (op->side == JOB_WRITE && ledger_full(r->ledger)) {
        j->result->error = -EOVERFLOW;
        j->result->error_side = op->side;
        j->result->error_pos = op->pos;
        job_stop_issuing(j, now);
        return false;
    }
    if (ledger_take(r->ledger, op->pos, op->len, op->side == JOB_WRITE))
        return true;
    r->ledger->waits += !again;
    r->held = *op;
    r->holds = true;
    return false;
}

/* The next stretch of written blocks, as long as an operation may be; nothing comes after the
 * last. */
void jobverify_next(struct job *j, struct job_op *op)
{
    struct rich *r = j->rich;
    struct ledger *l = r->ledger;
    uint64_t first = ledger_written(l, r->next_block), end = first, grain = l->spec.grain;
    uint64_t most = j->spec->rig.bs / grain;

    while (end < l->blocks && end - first < most && l->number[end])
        end++;
    *op = (struct job_op){ l->spec.offset + first * grain, 0, (uint32_t)((end - first) * grain),
                           JOB_READ };
    r->next_block = end;
    r->no_more = ledger_written(l, end) == l->blocks;
}

void jobverify_stamp(struct job *j, unsigned slot)
{
    const struct slot *s = &j->slots[slot];

    if (s->side == JOB_WRITE)
        ledger_stamp(j->rich->ledger, memory(j, slot), s->pos, s->len);
}

void jobverify_done(struct job *j, unsigned slot, int res)
{
    const struct slot *s = &j->slots[slot];

    if (s->side != JOB_SYNC)
        ledger_done(j->rich->ledger, memory(j, slot), s->pos, s->len, s->side == JOB_WRITE, res);
}
