/*
 * setnx_del.c -- three locks whose release deletes the key without a look at its value: the first,
 * the second and the fifth way of "Redis的分布式锁".
 *
 *      setnx-del         acquire   SETNX key now
 *                        release   DEL key                       0: "release failed"
 *      setnx-del-expire  acquire   SETNX key now
 *                        release   DEL key
 *                                  if that did not succeed: EXPIRE key 0
 *      set-nx-ex         acquire   SET key 1 NX EX lease
 *                        release   DEL key                       0: "release failed"
 *
 * The value of the first two is the time of day, which no client reads.  The article itself says
 * that the EXPIRE is a second release, and that the deadlock remains.  "Did not succeed" is the
 * reply 0 (there was no key), or no reply, which is the case that the article means.
 *
 * What none of them promises: that a release deletes the holder's own key.  The DEL may delete the
 * lock of the next holder, and a third client acquires it.  The EXPIRE comes later than the DEL, so
 * it is more likely to do so.
 *
 * What the first two do not promise: that the lock is ever free again.  The key has no expiry: if
 * the holder dies, or its DEL is lost, the key stays for ever.  With set-nx-ex it stays for at most
 * one lease.
 *
 *      IDLE --acquire--> SETTING --> IDLE
 *      IDLE --release--> DELETING --yes--> IDLE
 *                            `--no, no answer--> [EXPIRING -->] IDLE
 */
#include "protocol/format/timestamps.h"
#include "protocol/articles.h"

typedef enum del_phase { SETTING = 1, DELETING, EXPIRING } del_phase;

typedef struct del_state {
    bwl_one_request in_flight;
    del_phase       phase;
    bool            is_unknown; /* EXPIRING: the DEL had no reply */
    bwl_ms          until;      /* end of the lease after a YES in SETTING */
} del_state;

static void init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(del_state *)state = (del_state){ 0 };
}

static void send_command(del_state *d, del_phase phase, bwl_redis_command command,
                         int64_t timestamp, bwl_effects *fx)
{
    d->phase = phase;
    bwl_article_send(&d->in_flight, command, timestamp, fx);
}

static void setnx_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    const bwl_compat_rules *rules = request->options->rules;
    del_state              *d     = state;

    bwl_article_begins(&d->in_flight, cmd);
    d->until = BWL_NEVER;
    if (cmd->verb == BWL_ACQUIRE)
        send_command(d, SETTING, REDIS_SETNX,
                     bwl_timestamp_at(rules, cmd->wall_ns, request->lease_ms), fx);
    else
        send_command(d, DELETING, REDIS_DELETE, 0, fx);
}

/* The lease counts from when SET is sent. */
static void nx_ex_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    del_state *d = state;

    bwl_article_begins(&d->in_flight, cmd);
    if (cmd->verb == BWL_RELEASE) {
        send_command(d, DELETING, REDIS_DELETE, 0, fx);
        return;
    }
    d->until = cmd->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    send_command(d, SETTING, REDIS_SET_IF_ABSENT, 0, fx);
}

static void event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                  bwl_effects *fx)
{
    del_state *d = state;

    (void)request;
    if (!bwl_ends_request(&d->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    if (d->phase == SETTING)
        bwl_article_acquired(ev->answer == BWL_YES, d->until, fx);
    else
        bwl_complete(fx, ev->answer == BWL_YES ? BWL_RELEASED : BWL_LOST);
}

/* ---- the second release ---------------------------------------------------------------------- */

static void deleted(del_state *d, const bwl_event *ev, bwl_effects *fx)
{
    d->is_unknown = ev->kind == BWL_DOWN;
    if (d->is_unknown || ev->answer == BWL_NO)
        send_command(d, EXPIRING, REDIS_EXPIRE_NOW, 0, fx);
    else if (bwl_was_answered(ev, fx))
        bwl_complete(fx, BWL_RELEASED);
}

/* After a DEL that found no key, a key that EXPIRE finds is another client's: LOST.  After a DEL
 * without a reply: if EXPIRE deleted a key, no key of this hold is left; if it found no key, the
 * DEL may have deleted that of this hold. */
static void expired(const del_state *d, const bwl_event *ev, bwl_effects *fx)
{
    if (d->is_unknown && ev->kind == BWL_REPLY && ev->answer == BWL_YES)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete(fx, d->is_unknown ? BWL_UNKNOWN : BWL_LOST);
}

static void del_expire_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                             bwl_effects *fx)
{
    del_state *d = state;

    (void)request;
    if (!bwl_ends_request(&d->in_flight, ev))
        return;
    switch (d->phase) {
    case SETTING:
        if (bwl_was_answered(ev, fx))
            bwl_article_acquired(ev->answer == BWL_YES, d->until, fx);
        break;
    case DELETING: deleted(d, ev, fx); break;
    case EXPIRING: expired(d, ev, fx); break;
    }
}

const bwl_protocol bwl_setnx_del = {
    .name  = "setnx-del",
    .fault = "its keys never expire: a holder that dies, or one lost release, locks it for ever",
    .state_size    = sizeof(del_state),
    .request_first = true,
    .uses_token    = true, /* not in the value: it identifies the attempt */
    .uses_wall     = true,
    .init          = init,
    .command       = setnx_command,
    .event         = event,
};

const bwl_protocol bwl_setnx_del_expire = {
    .name          = "setnx-del-expire",
    .fault         = "its keys never expire: a holder that dies locks it for ever, and its second "
                     "release deletes whatever is there",
    .state_size    = sizeof(del_state),
    .request_first = true,
    .uses_token    = true,
    .uses_wall     = true,
    .init          = init,
    .command       = setnx_command,
    .event         = del_expire_event,
};

const bwl_protocol bwl_set_nx_ex = {
    .name          = "set-nx-ex",
    .fault         = "its release is a blind DEL: a holder that exceeds its lease deletes the next "
                     "holder's lock",
    .state_size    = sizeof(del_state),
    .request_first = true,
    .uses_token    = true,
    .init          = init,
    .command       = nx_ex_command,
    .event         = event,
};
