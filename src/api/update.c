/*
 * update.c -- an update: runs the machine of lock/optimistic.c with the commands of a transaction.
 *
 * It runs in the caller's thread, on a slot of the pool that no other thread uses.
 */
#include "api/handles.h"
#include "base/clock.h"
#include "base/fault.h"
#include "core/text.h"
#include "engine/redis/wire/resp.h"
#include "lock/optimistic.h"

#include <bowline/update.h>

#include <string.h>
#include <time.h>

_Static_assert((int)BOWLINE_VALUE_MAX == (int)BWL_RESP_BULK_MAX, "what a frame can hold");

enum { KEY_SHOWN_MAX = 60 };

typedef struct job {
    const char     *key;
    bowline_compute compute;
    void           *context;
    bwl_pool_slot  *place;
    bwl_optimistic  machine;
    bowline_change  change;
    int             choice;     /* returned by the function */
    const char     *wrong;      /* an invalid value of the function; NULL */
    int             broken;     /* the command could not be awaited: the status; 0 */
    bool            is_written; /* its last command was SET or DEL */
} job;

/* ---- options --------------------------------------------------------------------------------- */

static int check_call(const bowline_client *client, const char *key, bowline_compute compute,
                      bowline_error *reterr)
{
    if (client == NULL || key == NULL || compute == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_update needs a client, a key and a function");
    if (key[0] == '\0' || strnlen(key, BOWLINE_KEY_MAX + 1) > BOWLINE_KEY_MAX)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "a key has 1 to %d bytes", BOWLINE_KEY_MAX);
    return BOWLINE_OK;
}

static uint32_t tries_of(const bowline_update_options *o)
{
    if (o->wait_ms == 0)
        return 1;
    return o->tries_max == 0 && o->wait_ms == BOWLINE_DEFAULT ? (uint32_t)BOWLINE_TRIES
                                                              : o->tries_max;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static bwl_optimistic_next handle_event(job *j, bwl_event ev)
{
    bwl_shard *shard = j->place->shard;

    bwl_loop_lock(&shard->loop);
    ev.now = bwl_shard_now(shard);
    /* Without random bits, the clients retry in step, which is only slower. */
    (void)bwl_entropy_draw(&shard->host.entropy, &ev.fresh);
    bwl_loop_unlock(&shard->loop);
    return bwl_optimistic_event(&j->machine, &ev);
}

/* Sends the command, and waits for its result.  Below 0: the wait itself failed. */
static int send_command(job *j, bwl_transaction_command command, bowline_error *reterr)
{
    bwl_shard       *shard  = j->place->shard;
    bwl_transaction *s      = &j->place->transaction;
    bool             is_set = command == TRANSACTION_SET;
    bwl_operation    operation;

    s->args = (bwl_transaction_args){
        .command    = command,
        .key        = j->key,
        .key_size   = strlen(j->key),
        .value      = is_set && j->change.value != NULL ? j->change.value : "",
        .value_size = is_set ? j->change.value_size : 0,
        .lasts_ms   = j->change.lasts_ms == BOWLINE_FOREVER ? BWL_NEVER : j->change.lasts_ms,
    };
    bwl_loop_lock(&shard->loop);
    bwl_lock_step(j->place->lock, &operation, s);
    int status = bwl_lock_await(&operation, BWL_NEVER, reterr);
    bwl_loop_unlock(&shard->loop);
    return status;
}

static bwl_optimistic_next run_command(job *j, bwl_transaction_command command,
                                       bowline_error *reterr)
{
    const bwl_transaction *s = &j->place->transaction;

    j->is_written = command == TRANSACTION_SET || command == TRANSACTION_DELETE;
    j->broken     = send_command(j, command, reterr);
    if (j->broken < 0)
        return (bwl_optimistic_next){ .want = BWL_WANT_END, .end = BWL_UPDATE_UNKNOWN };
    return handle_event(j, (bwl_event){ .kind = s->kind, .answer = s->answer });
}

static const char *fault_of_choice(int choice, const bowline_change *change)
{
    if (choice > BOWLINE_UPDATE_DELETE)
        return "has returned none of BOWLINE_UPDATE_...";
    if (choice != BOWLINE_UPDATE_WRITE)
        return NULL;
    if (change->value == NULL && change->value_size > 0)
        return "has given a value_size and no value";
    if (change->value_size > BOWLINE_VALUE_MAX)
        return "has given a value of more than 65536 bytes (BOWLINE_VALUE_MAX)";
    if (change->lasts_ms < BOWLINE_FOREVER || change->lasts_ms > BOWLINE_WAIT_MAX_MS)
        return "has given a lasts_ms that is not BOWLINE_FOREVER, or from 0 to 2147483647";
    return NULL;
}

static bwl_optimistic_next call_function(job *j)
{
    const bwl_transaction *s = &j->place->transaction;

    j->change = (bowline_change){
        .size      = sizeof j->change,
        .old_value = s->is_there ? s->seen : NULL,
        .old_size  = s->is_there ? s->seen_size : 0,
        .tries     = j->machine.tries,
    };
    j->choice = j->compute(&j->change, j->context);
    j->wrong  = fault_of_choice(j->choice, &j->change);
    if (j->choice < 0 || j->wrong != NULL)
        return bwl_optimistic_computed(&j->machine, BWL_CHOICE_STOP);
    return bwl_optimistic_computed(
        &j->machine, j->choice == BOWLINE_UPDATE_LEAVE ? BWL_CHOICE_LEAVE : BWL_CHOICE_WRITE);
}

static bwl_optimistic_next sleep_until(job *j, bwl_ms at)
{
    for (bwl_ms now = bwl_clock_now(); now < at; now = bwl_clock_now()) {
        bwl_ms          left_ms = at - now;
        struct timespec length  = { .tv_sec  = (time_t)(left_ms / 1000),
                                    .tv_nsec = (long)(left_ms % 1000) * 1000000 };
        (void)nanosleep(&length, NULL); /* a signal: sleeps for the rest */
    }
    return handle_event(j, (bwl_event){ .kind = BWL_ALARM });
}

/* ---- the result ------------------------------------------------------------------------------ */

/* The printable part of a key, which may contain any byte. */
static void show(char ret_text[KEY_SHOWN_MAX + 4], const char *key)
{
    size_t size = strnlen(key, KEY_SHOWN_MAX + 1);

    bwl_printable_copy(ret_text, KEY_SHOWN_MAX + 1, key, size);
    if (size > KEY_SHOWN_MAX)
        (void)memcpy(ret_text + KEY_SHOWN_MAX, "...", sizeof "...");
}

static int report_foreign_value(const job *j, const char *key, bowline_error *reterr)
{
    if (j->place->transaction.is_long)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "%s: its value is longer than the %d bytes that can be read", key,
                        BOWLINE_VALUE_MAX);
    return bwl_fail(reterr, BWL_STATUS_REFUSED,
                    "%s: the key is no string, but a list, a hash or the like", key);
}

static int report(const job *j, bwl_optimistic_end end, bowline_error *reterr)
{
    const bwl_optimistic *o   = &j->machine;
    const bowline_error  *why = &j->place->lock->base.why;
    char                  key[KEY_SHOWN_MAX + 4];

    show(key, j->key);
    if (j->place->transaction.no_memory &&
        (end == BWL_UPDATE_NOT_NOW || end == BWL_UPDATE_UNREACHABLE))
        return bwl_fail(reterr, BWL_STATUS_NOMEM, "%s: out of memory", key);
    switch (end) {
    case BWL_UPDATE_WRITTEN:
    case BWL_UPDATE_LEFT: return BOWLINE_OK;
    case BWL_UPDATE_STOPPED:
        if (j->wrong != NULL)
            return bwl_fail(reterr, BWL_STATUS_USAGE, "%s: the function %s", key, j->wrong);
        return bwl_fail(reterr, BWL_STATUS_CANCELLED, "%s: the function returned %d", key,
                        j->choice);
    case BWL_UPDATE_FOREIGN_VALUE: return report_foreign_value(j, key, reterr);
    case BWL_UPDATE_CONFLICTS:
        return bwl_fail(reterr, BWL_STATUS_BUSY,
                        "%s: changed by another client at each of %u attempts (%u conflicts)", key,
                        (unsigned)o->tries, (unsigned)o->conflicts);
    case BWL_UPDATE_TIME_UP:
        return bwl_fail(
            reterr, BWL_STATUS_TIMEOUT,
            "%s: changed by another client during the whole wait (%u attempts, %u conflicts)", key,
            (unsigned)o->tries, (unsigned)o->conflicts);
    case BWL_UPDATE_NOT_NOW:
    case BWL_UPDATE_REFUSED:
    case BWL_UPDATE_UNREACHABLE:
        return bwl_fail_because(
            reterr, end == BWL_UPDATE_UNREACHABLE ? BWL_STATUS_UNREACHABLE : BWL_STATUS_REFUSED,
            why, "%s: nothing was written: %s", key, why->text);
    case BWL_UPDATE_UNKNOWN:
        return bwl_fail_because(reterr, BWL_STATUS_UNKNOWN, why,
                                "%s: it is unknown whether it was written, read it: %s", key,
                                why->text);
    }
    bwl_unreachable("an end outside of its enum");
}

/* ---- the public call ------------------------------------------------------------------------- */

static bwl_optimistic_end run(job *j, const bowline_update_options *o, bwl_ms until,
                              bowline_error *reterr)
{
    bwl_optimistic_next next = bwl_optimistic_begin(&j->machine, tries_of(o), until);

    while (next.want != BWL_WANT_END)
        switch (next.want) {
        case BWL_WANT_READ: next = run_command(j, TRANSACTION_READ, reterr); break;
        case BWL_WANT_COMPUTE: next = call_function(j); break;
        case BWL_WANT_WRITE:
            next = run_command(
                j, j->choice == BOWLINE_UPDATE_DELETE ? TRANSACTION_DELETE : TRANSACTION_SET,
                reterr);
            break;
        case BWL_WANT_LEAVE: next = run_command(j, TRANSACTION_LEAVE, reterr); break;
        case BWL_WANT_PAUSE: next = sleep_until(j, next.at); break;
        case BWL_WANT_END: break;
        }
    return next.end;
}

static int update_in_place(job *j, bowline_client *client, const bowline_update_options *o,
                           bowline_error *reterr)
{
    bwl_ms        until  = o->wait_ms > 0 ? bwl_ms_add(bwl_clock_now(), o->wait_ms) : BWL_NEVER;
    bowline_error broken = { 0 };
    int           status;

    if (bwl_pool_is_in(client)) /* it would wait for a slot while it has one */
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "the function of a bowline_update may not call bowline_update: "
                        "do the second update when the first has ended");
    status = bwl_pool_take(client, until, &j->place, reterr);
    if (status < 0)
        return status;
    bwl_optimistic_end end = run(j, o, until, &broken);
    if (j->broken == 0)
        status = report(j, end, reterr);
    else if (j->is_written)
        status = bwl_fail_because(reterr, BWL_STATUS_UNKNOWN, &broken,
                                  "it is unknown whether it was written: %s", broken.text);
    else
        status = bwl_fail_because(reterr, (bwl_status)j->broken, &broken, "%s", broken.text);
    bwl_pool_give(client, j->place, j->broken < 0);
    return status;
}

int bowline_update(bowline_client *client, const char *key, bowline_compute compute, void *context,
                   const bowline_update_options *options, bowline_error *reterr)
{
    bowline_update_options o;
    bwl_ms                 wait_ms; /* checked only: an update has its own default */
    job                    j = { .key = key, .compute = compute, .context = context };

    int status = check_call(client, key, compute, reterr);
    if (status < 0)
        return status;
    BWL_UNLOCKED_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    status = bwl_copy_options(&o, sizeof o, options, "BOWLINE_UPDATE", reterr);
    if (options == NULL)
        o.wait_ms = BOWLINE_DEFAULT;
    if (status == BOWLINE_OK)
        status = bwl_take_wait(&wait_ms, client->first, o.wait_ms, reterr);
    if (status < 0)
        return status;
    if (o.reserved != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "reserved is not 0");
    if (client->first->host.engine->step == NULL)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "%s: updates no keys: use redis://, unix:// or redis+sentinel://, or with "
                        "TLS rediss:// or rediss+sentinel://",
                        client->first->host.engine->scheme);
    status = update_in_place(&j, client, &o, reterr);
    if (o.ret_conflicts != NULL)
        *o.ret_conflicts = j.machine.conflicts;
    return status;
}
