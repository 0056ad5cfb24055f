/*
 * setnx_del.c -- a key without an expiry.
 *
 *      acquire   SETNX key now
 *      release   DEL key                       0: "release failed"
 *
 * "Redis的分布式锁", the first way.  The value is the time of day, which no client reads.
 *
 * What it does not promise: that the lock is ever free again.  The key has no expiry: if the holder
 * dies, or its DEL is lost, the key stays for ever.  The DEL does not compare the value: it may
 * delete the key of another holder.
 *
 *      IDLE --acquire--> SETTING --> IDLE          IDLE --release--> DELETING --> IDLE
 */
#include "core/timestamps.h"
#include "protocol/articles.h"

enum { NO_FENCE = 0 };

typedef struct del_state {
    bwl_one_request in_flight;
    bwl_verb        verb;
} del_state;

static void del_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(del_state *)state = (del_state){ 0 };
}

static void del_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                        bwl_effects *fx)
{
    del_state *d = state;

    assert(d->in_flight.tag == 0);
    assert(!cmd->again);
    d->verb = cmd->verb;
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        bwl_article_send(&d->in_flight, REDIS_SETNX,
                         bwl_timestamp_at(request->options->rules, cmd->wall_ns, request->lease_ms),
                         fx);
        break;
    case BWL_RELEASE: bwl_article_send(&d->in_flight, REDIS_DELETE, 0, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock is never extended");
    }
}

static void del_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                      bwl_effects *fx)
{
    del_state *d = state;

    (void)request;
    if (!bwl_ends_request(&d->in_flight, ev) || !bwl_was_answered(ev, fx))
        return;
    if (d->verb == BWL_RELEASE)
        bwl_complete(fx, ev->answer == BWL_YES ? BWL_RELEASED : BWL_LOST);
    else if (ev->answer == BWL_YES)
        bwl_complete_held(fx, BWL_NEVER, NO_FENCE);
    else
        bwl_complete(fx, BWL_BUSY);
}

const bwl_protocol bwl_setnx_del = {
    .name  = "setnx-del",
    .fault = "its keys never expire: a holder that dies, or one lost release, locks it for ever",
    .state_size = sizeof(del_state),
    .uses_token = true, /* not in the value: it identifies the attempt */
    .uses_wall  = true,
    .init       = del_init,
    .command    = del_command,
    .event      = del_event,
};
