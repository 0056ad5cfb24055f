/*
 * setnx_del.c -- a key that is there or not.
 *
 *      acquire   SETNX key now
 *      release   DEL key                       0: "release failed"
 *
 * "Redis的分布式锁", the first way.  The value is the time of day, which nobody reads.
 *
 * What it does not promise: anything, once a release does not happen.  The key has no expiry, so a
 * holder that dies, or whose DEL is lost, leaves the lock taken for ever.  The DEL is blind: it
 * deletes whatever the key is by then.
 *
 *      IDLE --acquire--> SETTING --> IDLE          IDLE --release--> DELETING --> IDLE
 */
#include "core/timestamps.h"
#include "protocol/articles.h"

enum { NO_FENCE = 0 };

typedef struct del_state {
    bwl_one_request asking;
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

    assert(d->asking.asked == 0);
    assert(!cmd->again);
    d->verb = cmd->verb;
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        bwl_article_send(&d->asking, REDIS_SETNX,
                         bwl_timestamp_at(request->rules, cmd->wall_ns, request->lease_ms), fx);
        break;
    case BWL_RELEASE: bwl_article_send(&d->asking, REDIS_DELETE, 0, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock has no end to be put off");
    }
}

static void del_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                      bwl_effects *fx)
{
    del_state *d = state;

    (void)request;
    if (!bwl_ends_request(&d->asking, ev) || !bwl_was_answered(ev, fx))
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
    .uses_token = true, /* not in the value: it tells one attempt from another */
    .uses_wall  = true,
    .init       = del_init,
    .command    = del_command,
    .event      = del_event,
};
