/*
 * setnx_expire_watch.c -- a key that is set, and gets its expiry by a second command; a waiter
 * repairs a key without an expiry; the release uses WATCH.
 *
 *      acquire   SETNX key uuid                1: EXPIRE key lease: held
 *                TTL key                       no expiry: GET key; a uuid: EXPIRE key lease (that
 *                                              of the waiter)
 *      release   WATCH key, GET key            the holder's uuid: MULTI, DEL key, EXEC
 *                                              otherwise: UNWATCH
 *
 * "Lock / watch与锁 / 分布式锁".  bowline adds the GET before a repair: an expiry deletes the key in
 * the end, and a key that is not a lock of this kind must not be deleted.  EXEC deletes nothing if
 * the key was touched since WATCH.  The repair of a waiter touches it too; then the release is
 * repeated.
 *
 * The holder recognizes its own value, so an acquire without a reply is resolved: GET; if that
 * returns its uuid, EXPIRE; without a key, SETNX again.
 *
 * What it does not promise: that the lock lasts as long as the holder believes.  Between SETNX and
 * EXPIRE a waiter may see no expiry; its EXPIRE, with its own lease, may come after that of the
 * holder and end the lock sooner.  After a crash between the two, the key stays until a client
 * waits for it.
 *
 *      IDLE --acquire--> SETTING --yes--> EXPIRING --yes--> IDLE, held
 *             `--no--> CHECKING --no expiry--> INSPECTING --uuid--> REPAIRING --> IDLE, busy
 *      IDLE --again--> RECALLING --ours--> EXPIRING,  --nothing--> SETTING
 *      IDLE --release--> WATCHING --ours--> DELETING --> IDLE
 *                           `--not ours--> UNWATCHING --> IDLE, lost
 */
#include "protocol/articles.h"

typedef enum watch_phase {
    SETTING = 1,
    EXPIRING,
    CHECKING,
    INSPECTING,
    REPAIRING,
    RECALLING,
    WATCHING,
    UNWATCHING,
    DELETING,
} watch_phase;

typedef struct watch_state {
    bwl_one_request in_flight;
    watch_phase     phase;
    bwl_ms until; /* end of the lease after a YES to EXPIRE: counted from when it was sent */
} watch_state;

static void watch_init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(watch_state *)state = (watch_state){ 0 };
}

static void send_command(watch_state *w, watch_phase phase, bwl_redis_command command,
                         bwl_effects *fx)
{
    w->phase = phase;
    bwl_article_send(&w->in_flight, command, 0, fx);
}

static void watch_command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                          bwl_effects *fx)
{
    watch_state *w = state;

    (void)request;
    assert(w->in_flight.tag == 0 || cmd->verb == BWL_RELEASE);
    switch (cmd->verb) {
    case BWL_ACQUIRE:
        if (cmd->again)
            send_command(w, RECALLING, REDIS_READ, fx);
        else
            send_command(w, SETTING, REDIS_SETNX, fx);
        break;
    case BWL_RELEASE: send_command(w, WATCHING, REDIS_WATCH_READ, fx); break;
    case BWL_EXTEND: bwl_unreachable("this lock is never extended");
    }
}

static void expire(watch_state *w, const bwl_lock_request *request, const bwl_event *ev,
                   bwl_effects *fx)
{
    w->until = ev->now + request->lease_ms - bwl_drift_ms(request->lease_ms);
    send_command(w, EXPIRING, REDIS_EXPIRE, fx);
}

/* The key has the hold's value, and no expiry if EXPIRE was not carried out: that is resolved like
 * a command without a reply.  NO: another client has deleted the key. */
static void expire_ended(const watch_state *w, const bwl_event *ev, bwl_effects *fx)
{
    bool was_answered = ev->kind == BWL_REPLY && (ev->answer == BWL_YES || ev->answer == BWL_NO);

    if (!was_answered)
        bwl_complete(fx, BWL_UNKNOWN);
    else
        bwl_article_acquired(ev->answer == BWL_YES, w->until, fx);
}

static bool is_mine(const bwl_event *ev)
{
    const bwl_redis_value *value = ev->details;

    return ev->answer == BWL_YES && value->is_mine;
}

static void answered(watch_state *w, const bwl_lock_request *request, const bwl_event *ev,
                     bwl_effects *fx)
{
    bool yes = ev->answer == BWL_YES;

    switch (w->phase) {
    case SETTING:
        if (yes)
            expire(w, request, ev, fx);
        else
            send_command(w, CHECKING, REDIS_READ_EXPIRY, fx);
        break;
    case CHECKING:
        if (yes && ev->number == REDIS_NO_EXPIRY)
            send_command(w, INSPECTING, REDIS_READ, fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case INSPECTING:
        if (yes)
            send_command(w, REPAIRING, REDIS_EXPIRE, fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case REPAIRING: bwl_complete(fx, BWL_BUSY); break;
    case RECALLING:
        if (is_mine(ev))
            expire(w, request, ev, fx);
        else if (ev->answer == BWL_NO)
            send_command(w, SETTING, REDIS_SETNX, fx);
        else
            bwl_complete(fx, BWL_BUSY);
        break;
    case WATCHING:
        if (is_mine(ev))
            send_command(w, DELETING, REDIS_DELETE_WATCHED, fx);
        else
            send_command(w, UNWATCHING, REDIS_UNWATCH, fx);
        break;
    case DELETING: /* NO: touched since WATCH; the lock machine sends the release again */
        bwl_complete(fx, yes ? BWL_RELEASED : BWL_NOT_NOW);
        break;
    case EXPIRING:
    case UNWATCHING: bwl_unreachable("watch_event handles these");
    }
}

static void watch_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                        bwl_effects *fx)
{
    watch_state *w = state;

    if (!bwl_ends_request(&w->in_flight, ev))
        return;
    if (w->phase == EXPIRING)
        expire_ended(w, ev, fx);
    else if (w->phase == UNWATCHING)
        bwl_complete(fx, BWL_LOST); /* with any reply: the key has another value */
    else if (bwl_was_answered(ev, fx))
        answered(w, request, ev, fx);
}

const bwl_protocol bwl_setnx_expire_watch = {
    .name  = "setnx-expire-watch",
    .fault = "between its SETNX and its EXPIRE the key has no expiry, and a waiter's repair may "
             "end the lock sooner than its holder believes",
    .state_size       = sizeof(watch_state),
    .request_first    = true,
    .uses_token       = true,
    .can_verify_owner = true,
    .init             = watch_init,
    .command          = watch_command,
    .event            = watch_event,
};
