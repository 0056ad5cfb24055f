/*
 * setnx_del_expire.c -- a key without an expiry, and a second command to delete it.
 *
 *      acquire   SETNX key now
 *      release   DEL key
 *                if that did not succeed: EXPIRE key 0
 *
 * "Redis的分布式锁", the second way.  The article itself says that this is a second release, and that
 * the deadlock remains.  "Did not succeed" is the reply 0 (there was no key), or no reply, which is
 * the case that the article means.
 *
 * What it does not promise: the same as setnx-del.  The second command comes later than the first,
 * so it is more likely to delete the key of another holder.
 *
 *      IDLE --acquire--> SETTING --> IDLE
 *      IDLE --release--> DELETING --yes--> IDLE
 *                            `--no, no answer--> EXPIRING --> IDLE
 */
#include "core/timestamps.h"
#include "protocol/articles.h"

enum { NO_FENCE = 0 };

typedef enum del_expire_phase { SETTING = 1, DELETING, EXPIRING } del_expire_phase;

typedef struct del_expire_state {
    bwl_one_request  in_flight;
    del_expire_phase phase;
    bool             is_unknown; /* EXPIRING: the DEL had no reply */
} del_expire_state;

static void del_expire_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(del_expire_state *)state = (del_expire_state){ 0 };
}

static void send_command(del_expire_state *d, del_expire_phase phase, bwl_redis_command command,
                         int64_t timestamp, bwl_effects *fx)
{
    d->phase = phase;
    bwl_article_send(&d->in_flight, command, timestamp, fx);
}

static void del_expire_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                               bwl_effects *fx)
{
    del_expire_state *d = state;

    assert(d->in_flight.tag == 0);
    assert(!cmd->again);
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        send_command(d, SETTING, REDIS_SETNX,
                     bwl_timestamp_at(request->options->rules, cmd->wall_ns, request->lease_ms),
                     fx);
        break;
    case BWL_RELEASE: send_command(d, DELETING, REDIS_DELETE, 0, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock is never extended");
    }
}

static void deleted(del_expire_state *d, const bwl_event *ev, bwl_effects *fx)
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
static void expired(const del_expire_state *d, const bwl_event *ev, bwl_effects *fx)
{
    if (d->is_unknown && ev->kind == BWL_REPLY && ev->answer == BWL_YES)
        bwl_complete(fx, BWL_RELEASED);
    else
        bwl_complete(fx, d->is_unknown ? BWL_UNKNOWN : BWL_LOST);
}

static void del_expire_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                             bwl_effects *fx)
{
    del_expire_state *d = state;

    (void)request;
    if (!bwl_ends_request(&d->in_flight, ev))
        return;
    switch (d->phase) {
    case SETTING:
        if (!bwl_was_answered(ev, fx))
            break;
        if (ev->answer == BWL_YES)
            bwl_complete_held(fx, BWL_NEVER, NO_FENCE);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case DELETING: deleted(d, ev, fx); break;
    case EXPIRING: expired(d, ev, fx); break;
    }
}

const bwl_protocol bwl_setnx_del_expire = {
    .name       = "setnx-del-expire",
    .fault      = "its keys never expire: a holder that dies locks it for ever, and its second "
                  "release deletes whatever is there",
    .state_size = sizeof(del_expire_state),
    .uses_token = true, /* not in the value: it identifies the attempt */
    .uses_wall  = true,
    .init       = del_expire_init,
    .command    = del_expire_command,
    .event      = del_expire_event,
};
