#include "runtime/lock.h"
#include "lock/pass_on.h"
#include "protocol/format/token.h"
#include "core/text.h"
#include "base/clock.h"
#include "base/fault.h"
#include "engine/listing.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- new and free ---------------------------------------------------------------------------- */

static void link_in(bwl_shard *shard, bwl_lock *lock)
{
    lock->next  = shard->locks;
    lock->where = &shard->locks;
    if (lock->next != NULL)
        lock->next->where = &lock->next;
    shard->locks = lock;
    shard->locks_count++;
}

static void link_out(bwl_lock *lock)
{
    *lock->where = lock->next;
    if (lock->next != NULL)
        lock->next->where = lock->where;
    lock->shard->locks_count--;
}

static void timer_expired(bwl_timer *timer)
{
    bwl_lock *lock = (bwl_lock *)((char *)timer - offsetof(bwl_lock, timer));

    bwl_lock_event(&lock->base, (bwl_event){ .kind = BWL_ALARM });
}

static const bwl_protocol *protocol_of(const bwl_shard *shard, const bwl_engine *engine)
{
    const bwl_protocol *chosen =
        engine == shard->host.engine ? shard->host.settings.protocol : NULL;

    return chosen != NULL ? chosen : engine->protocol;
}

/* Reading the wall clock costs time: only for protocols and tokens that need it. */
static bool reads_wall(const bwl_hold *hold)
{
    const bwl_compat_rules *rules = hold->request.options->rules;
    bool is_dated = rules != NULL && bwl_token_format_info_of(rules->token)->is_dated;

    return hold->protocol->uses_wall || is_dated;
}

int bwl_lock_new(bwl_lock **ret_lock, bwl_shard *shard, const bwl_engine *engine, const char *name,
                 const bwl_terms *terms, bwl_fault *fault)
{
    size_t      name_size = strnlen(name, BWL_NAME_MAX + 1);
    const char *wrong     = bwl_name_fault(name, name_size);
    bwl_terms   complete  = *terms;

    complete.options = &shard->host.settings.options;
    if (wrong != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s", wrong);
    int status = bwl_check_lease(shard, terms->lease_ms, fault);
    if (status < 0)
        return status;
    /* Of each lock, and of its group; of the engine. */
    if (!bwl_timers_reserve(&shard->loop.timers, 2 * (shard->locks_count + 1) + 1))
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    /* With room to take the hold of its group: bwl_lock_take_hold. */
    size_t    of_store = shard->host.engine->lock_size;
    size_t    part     = engine->lock_size > of_store ? engine->lock_size : of_store;
    bwl_lock *lock     = malloc(sizeof *lock + part);
    if (lock == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");

    unsigned nodes  = engine == shard->host.engine ? shard->host.nodes : 1;
    lock->base.host = &shard->host;
    bwl_hold_init(&lock->base.hold, protocol_of(shard, engine), nodes, &complete);
    lock->timer              = (bwl_timer){ .at = BWL_NEVER, .expired = timer_expired };
    lock->shard              = shard;
    lock->engine             = engine;
    lock->group              = NULL;
    lock->name_pin           = NULL;
    lock->is_named           = false;
    lock->operation          = NULL;
    lock->base.part          = lock + 1;
    lock->base.latest_tag    = 0;
    lock->sends_count        = 0;
    lock->steps_count        = 0;
    lock->time_is_up_at      = BWL_NEVER;
    lock->pins               = 0;
    lock->handles            = 1;
    lock->base.in_background = false;
    lock->saw_foreign        = false;
    lock->history            = (bwl_lock_history){ .was_queued = false };
    lock->was_reached        = false;
    lock->stats              = (bwl_lock_stats){ .holds = false };
    lock->reads_wall         = reads_wall(&lock->base.hold);
    lock->user               = NULL;
    lock->base.listing       = NULL;
    lock->face               = (bwl_lock_face){ .loss_fd = -1, .loss_at = BWL_NEVER };
    bwl_fault_clear(&lock->base.why);
    lock->base.name_size = (uint16_t)name_size;
    memcpy(lock->base.name, name, name_size + 1);
    link_in(shard, lock);

    status = engine->prepare(&lock->base, fault);
    if (status < 0) {
        link_out(lock);
        free(lock);
        return status;
    }
    *ret_lock = lock;
    return BWL_OK;
}

void bwl_lock_free(bwl_lock *lock)
{
    bwl_timers_set(&lock->shard->loop.timers, &lock->timer, BWL_NEVER); /* the heap points to it */
    bwl_named_remove(&lock->shard->named, lock);
    if (lock->group != NULL)
        lock->shard->group_calls->closing(lock);
    lock->engine->forget(&lock->base);
    bwl_listing_free(&lock->base);
    bwl_lock_detach(lock);
    link_out(lock);
    bwl_name_unpin(lock->name_pin);
    explicit_bzero(&lock->base.hold.request, sizeof lock->base.hold.request);
    free(lock);
}

static void free_if_done(bwl_lock *lock)
{
    bool was_started = lock->base.hold.state != BWL_HOLD_IDLE;

    if (lock->pins > 0 || lock->handles > 0 ||
        (was_started && lock->base.hold.state != BWL_HOLD_OVER))
        return;
    assert(lock->operation == NULL);
    bwl_lock_free(lock);
}

void bwl_lock_drop_handle(bwl_lock *lock)
{
    assert(lock->handles > 0);
    lock->handles--;
    free_if_done(lock);
}

void bwl_lock_pin(bwl_engine_lock *base)
{
    bwl_lock_of_engine(base)->pins++;
}

void bwl_lock_unpin(bwl_engine_lock *base)
{
    bwl_lock *lock = bwl_lock_of_engine(base);

    assert(lock->pins > 0);
    lock->pins--;
    free_if_done(lock);
}

/* Whether an event can still affect the caller's result.  It cannot once the caller has the result,
 * or once the attempt has failed. */
static bool takes_error(const bwl_hold *hold)
{
    return hold->state == BWL_HOLD_IDLE || hold->state == BWL_HOLD_RELEASING ||
           bwl_hold_is_held(hold) ||
           (bwl_hold_is_acquiring(hold) && hold->state != BWL_HOLD_DISCARDING);
}

void bwl_lock_set_fault(bwl_engine_lock *lock, const bwl_fault *why)
{
    if (takes_error(&lock->hold) && why != NULL)
        lock->why = *why;
    else if (takes_error(&lock->hold))
        bwl_fault_clear(&lock->why);
}

bool bwl_lock_is_awaited(const bwl_engine_lock *lock)
{
    return ((const bwl_lock *)(const void *)lock)->operation != NULL;
}

/* ---- effects --------------------------------------------------------------------------------- */

static void step(bwl_lock *lock, const bwl_effects *fx);

/* Not for the lock in the store of a local group, whose waiters are counted instead. */
static void count_end(bwl_lock *lock, bwl_outcome_kind kind)
{
    const bwl_operation *operation = lock->operation;
    bwl_stats           *stats     = &lock->shard->stats;
    bwl_ms               now       = lock->shard->host.latest;
    bool is_of_group = lock->group != NULL && lock->engine == lock->shard->host.engine;

    if (operation != NULL && (operation->is_query || is_of_group))
        return;
    if (operation != NULL && operation->verb == BWL_ACQUIRE)
        bwl_stats_acquire_ended(stats, &lock->stats, kind, now);
    else if (kind == BWL_LOST ||
             (operation != NULL ? operation->verb == BWL_RELEASE : lock->base.in_background))
        bwl_stats_hold_ended(stats, &lock->stats, kind, now);
}

/* It was renewed, or extended by an operation that was cancelled: the operation is another one,
 * which the machine does not know. */
static bool is_of_an_extension(const bwl_operation *operation, bwl_outcome_kind kind)
{
    bool is_other = operation != NULL && (operation->keeps || operation->announces);

    return is_other && kind != BWL_RELEASED && kind != BWL_LOST && kind != BWL_CANCELLED;
}

static void end_operation(bwl_lock *lock, bwl_outcome_kind kind)
{
    bwl_operation *operation = lock->operation;

    if (is_of_an_extension(operation, kind))
        return;
    if (lock->group != NULL)
        kind = lock->shard->group_calls->result(lock, kind);
    count_end(lock, kind);
    if (lock->base.in_background && operation == NULL)
        bwl_background_ended(lock, kind);
    lock->operation = NULL;
    if (lock->group != NULL)
        lock->shard->group_calls->completed(lock, kind);
    if (operation == NULL)
        return; /* bwl_lock_show reports a loss */
    operation->completion.result = kind;
    if (operation->watched)
        bwl_operation_show_end(operation);
    bwl_loop_complete(&lock->shard->loop, &operation->completion, kind);
    if (operation->then != NULL)
        operation->then(operation);
}

static bwl_random fresh_bits(bwl_lock *lock)
{
    bwl_random fresh = { 0 };

    /* Without random bits no attempt can be made, and a hold cannot even pause: the kernel always
     * provides them, once it has booted. */
    bool needed = lock->base.hold.protocol->uses_token;
    bool drawn  = !needed || bwl_entropy_draw(&lock->shard->host.entropy, &fresh);
    assert(drawn);
    (void)drawn;
    return fresh;
}

static bwl_moment moment(const bwl_lock *lock, bwl_ms now)
{
    return (bwl_moment){ .now = now, .wall_ns = lock->reads_wall ? bwl_clock_wall_ns() : 0 };
}

/* The last millisecond of a hold is reported as 0: the caller counts it as lost. */
static bwl_ms now_of_caller(bwl_lock *lock)
{
    bwl_ms now = bwl_shard_now(lock->shard);

    return bwl_hold_left(&lock->base.hold, now) == 1 ? lock->base.hold.until : now;
}

/* Without a lease, only the numbers depend on the time of the release.  For thread: reading the
 * clock would be a tenth of the whole cost. */
static bwl_ms now_of_release(bwl_lock *lock)
{
    bool is_cheap = lock->shard->host.engine->kind == BWL_ENGINE_THREAD;

    return !is_cheap || lock->base.hold.until != BWL_NEVER ? now_of_caller(lock)
                                                           : lock->shard->host.latest;
}

/* The random bits and the wall clock of `ev` are not set yet. */
static void handle_event(bwl_lock *lock, bwl_event *ev)
{
    bwl_effects fx;

    bwl_no_effects(&fx);
    ev->fresh   = fresh_bits(lock);
    ev->wall_ns = lock->reads_wall ? bwl_clock_wall_ns() : 0;
    bwl_lock_pin(&lock->base);
    bwl_hold_event(&lock->base.hold, ev, &fx);
    step(lock, &fx);
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_revoke(bwl_engine_lock *base)
{
    bwl_lock   *lock = bwl_lock_of_engine(base);
    bwl_effects fx;

    if (!bwl_hold_is_held(&lock->base.hold))
        return;
    bwl_no_effects(&fx);
    bwl_lock_pin(&lock->base);
    bwl_hold_revoke(&lock->base.hold, bwl_shard_now(lock->shard), &fx);
    step(lock, &fx);
    bwl_lock_unpin(&lock->base);
}

static void note_watch(bwl_engine_lock *base, bool is_wanted)
{
    bwl_lock *lock = bwl_lock_of_engine(base);

    if (lock->shard->group_calls != NULL)
        lock->shard->group_calls->watched(lock, is_wanted);
}

void bwl_lock_watched(bwl_engine_lock *base)
{
    note_watch(base, false);
}

void bwl_lock_wanted(bwl_engine_lock *base)
{
    note_watch(base, true);
}

/* The time limit has expired.  Withdraws commands that were not sent, after which there may be
 * nothing to wait for. */
static void time_is_up(bwl_lock *lock, bwl_ms now)
{
    bwl_effects fx;

    if (lock->engine->withdraw != NULL)
        lock->engine->withdraw(&lock->base);
    if (now < bwl_hold_result_deadline(&lock->base.hold))
        return;
    bwl_no_effects(&fx);
    bwl_host_set_error(&lock->base, "no answer within %lld ms",
                       (long long)lock->base.hold.terms.answer_ms);
    bwl_hold_time_up(&lock->base.hold, now, &fx);
    step(lock, &fx);
}

/* Whether the last attempt has got further than an attempt to connect. */
static bool has_reached(const bwl_hold *hold)
{
    return hold->last_error != BWL_PENDING && hold->last_error != BWL_UNREACHABLE;
}

void bwl_lock_event(bwl_engine_lock *base, bwl_event ev)
{
    bwl_lock       *lock         = bwl_lock_of_engine(base);
    const bwl_hold *hold         = &base->hold;
    bool            was_renewing = hold->state == BWL_HOLD_RENEWING;
    bwl_ms          left_ms;

    lock->saw_foreign = ev.answer == BWL_FOREIGN_VALUE;
    ev.now            = bwl_shard_now(lock->shard);
    left_ms           = hold->until - ev.now;
    bwl_lock_pin(&lock->base);
    if (ev.kind == BWL_ALARM && ev.now >= lock->time_is_up_at)
        time_is_up(lock, ev.now);
    handle_event(lock, &ev);
    lock->was_reached = lock->was_reached || has_reached(hold);
    if (was_renewing && hold->state == BWL_HOLD_HELD && lock->engine == base->host->engine)
        bwl_stats_renewed(&lock->shard->stats, hold->last_error == BWL_PENDING, left_ms,
                          hold->request.lease_ms);
    bwl_lock_unpin(&lock->base);
}

/* A reply that is known at once gets the time of the command: a lease counted from it ends slightly
 * early, never late.  Reading the clock would be a tenth of the whole cost. */
static void send_one(bwl_lock *lock, const bwl_send *send)
{
    bwl_event reply = {
        .kind = BWL_REPLY, .tag = send->tag, .node = send->node, .now = lock->shard->host.latest
    };

    lock->base.latest_tag = send->tag;
    if (lock->engine->send(&lock->base, send, &reply))
        handle_event(lock, &reply);
}

/* Sends the commands of one step.  With several servers, one of them may fail at once, and the
 * machine then sends others from inside: the rest of these are obsolete and are dropped. */
static void send_all(bwl_lock *lock, const bwl_effects *fx)
{
    unsigned sends_count = fx->send_count > 0 ? ++lock->sends_count : lock->sends_count;

    for (unsigned i = 0; i < fx->send_count; i++)
        if (lock->shard->host.nodes <= 1 || lock->sends_count == sends_count)
            send_one(lock, &fx->sends[i]);
}

static bwl_ms time_is_up_at(const bwl_lock *lock)
{
    bwl_ms unsent_by   = bwl_hold_send_deadline(&lock->base.hold);
    bwl_ms reported_by = bwl_hold_result_deadline(&lock->base.hold);

    return unsent_by > lock->shard->host.latest ? bwl_ms_min(unsent_by, reported_by) : reported_by;
}

/* Carries out the effects.  The lock is pinned.  The timer comes after the sends: a reply that is
 * known at once makes a step of its own, which has set it. */
static void step(bwl_lock *lock, const bwl_effects *fx)
{
    bwl_loop *loop  = &lock->shard->loop;
    unsigned  steps = ++lock->steps_count;

    if (fx->outcome.kind != BWL_PENDING)
        end_operation(lock, fx->outcome.kind);
    if (lock->face.references > 0)
        bwl_lock_show(lock);
    send_all(lock, fx);
    if (lock->steps_count == steps) {
        bwl_ms wake         = bwl_clock_tick(fx->wake_at, fx->wake_slack_ms);
        lock->time_is_up_at = time_is_up_at(lock);
        bwl_loop_set_timer(loop, &lock->timer, bwl_ms_min(wake, lock->time_is_up_at));
    }
    lock->history.was_queued = lock->history.was_queued || lock->base.hold.state == BWL_HOLD_QUEUED;
    if (lock->group != NULL)
        lock->shard->group_calls->stepped(lock);
}

/* ---- operations ------------------------------------------------------------------------------ */

void bwl_lock_begin(bwl_lock *lock, bwl_operation *operation, bwl_verb verb)
{
    assert(lock->operation == NULL);
    *operation = (bwl_operation){ .lock = lock, .verb = verb, .completion.result = BWL_PENDING };
    lock->operation          = operation;
    lock->history.was_queued = lock->history.was_queued && verb != BWL_ACQUIRE;
    lock->was_reached        = false;
    bwl_lock_pin(&lock->base);
}

/* token NULL: it adopts no hold. */
static void acquire(bwl_lock *lock, bwl_operation *operation, const char *token, bwl_ms wait_ms)
{
    bwl_effects fx;
    bwl_hold   *hold  = &lock->base.hold;
    bwl_ms      now   = bwl_shard_now(lock->shard);
    bwl_random  fresh = fresh_bits(lock);

    bwl_no_effects(&fx);
    lock->stats.since = now;
    bwl_lock_begin(lock, operation, BWL_ACQUIRE);
    bwl_ms wait_deadline = wait_ms < 0 ? now + wait_ms : bwl_ms_add(now, wait_ms);
    if (token != NULL)
        bwl_hold_adopt(hold, token, &fresh, moment(lock, now), wait_deadline, &fx);
    else
        bwl_hold_acquire(hold, &fresh, moment(lock, now), wait_deadline, &fx);
    step(lock, &fx);
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_acquire(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms)
{
    acquire(lock, operation, NULL, wait_ms);
}

void bwl_lock_adopt(bwl_lock *lock, bwl_operation *operation, const char *token, bwl_ms wait_ms)
{
    acquire(lock, operation, token, wait_ms);
}

void bwl_lock_extend(bwl_lock *lock, bwl_operation *operation, bwl_ms lease_ms)
{
    bwl_effects fx;

    bwl_no_effects(&fx);
    bwl_lock_begin(lock, operation, BWL_EXTEND);
    if (bwl_hold_is_held(&lock->base.hold)) {
        bwl_hold_extend(&lock->base.hold, now_of_caller(lock), lease_ms, &fx);
        step(lock, &fx);
    } else {
        end_operation(lock, BWL_LOST);
    }
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_change(bwl_lock *lock, bwl_operation *operation, bwl_change kind)
{
    bwl_effects fx;
    bwl_random  fresh = fresh_bits(lock);

    bwl_no_effects(&fx);
    bwl_lock_begin(lock, operation, BWL_EXTEND);
    if (bwl_hold_is_held(&lock->base.hold) && bwl_hold_has_mode(&lock->base.hold, kind)) {
        end_operation(lock, BWL_HELD);
    } else if (bwl_hold_is_held(&lock->base.hold)) {
        bwl_hold_change(&lock->base.hold, kind, &fresh, moment(lock, now_of_caller(lock)), &fx);
        step(lock, &fx);
    } else {
        end_operation(lock, BWL_LOST);
    }
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_limit(bwl_lock *lock, bwl_ms max_hold_ms)
{
    bwl_hold *hold = &lock->base.hold;

    bwl_hold_limit(hold, max_hold_ms, bwl_shard_now(lock->shard));
    bwl_loop_set_timer(&lock->shard->loop, &lock->timer, bwl_ms_min(lock->timer.at, hold->until));
}

/* The caller has dropped a lost hold: deletes what is left of it in the store. */
static void delete_leftover(bwl_lock *lock)
{
    bwl_effects fx;

    if (lock->base.hold.state != BWL_HOLD_REVOKED)
        return;
    bwl_no_effects(&fx);
    bwl_hold_give_back(&lock->base.hold, moment(lock, bwl_shard_now(lock->shard)), &fx);
    step(lock, &fx);
}

/* Its operation has begun. */
static void release(bwl_lock *lock)
{
    bwl_effects fx;

    bwl_no_effects(&fx);
    if (bwl_hold_is_held(&lock->base.hold)) {
        bwl_hold_release(&lock->base.hold, moment(lock, now_of_release(lock)), &fx);
        step(lock, &fx);
    } else {
        end_operation(lock, BWL_LOST);
        delete_leftover(lock);
    }
}

void bwl_lock_release(bwl_lock *lock, bwl_operation *operation)
{
    bwl_lock_detach(lock);
    bwl_lock_begin(lock, operation, BWL_RELEASE);
    release(lock);
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_begin_to_keep(bwl_lock *lock, bwl_operation *operation)
{
    bwl_lock_detach(lock);
    bwl_lock_begin(lock, operation, BWL_RELEASE);
    operation->keeps = true;
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_end_kept(bwl_lock *lock)
{
    bwl_lock_pin(&lock->base);
    lock->handles++;
    lock->operation->keeps = false;
    end_operation(lock, BWL_RELEASED);
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_release_after_all(bwl_lock *lock)
{
    bwl_lock_pin(&lock->base);
    lock->operation->keeps = false;
    release(lock);
    bwl_lock_unpin(&lock->base);
}

/* The lock stays attached: it ends as the same hold, or as a lost one. */
void bwl_lock_yield(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms)
{
    bwl_effects fx;
    bwl_ms      now   = now_of_caller(lock);
    bwl_random  fresh = fresh_bits(lock);

    assert(wait_ms > 0);
    bwl_no_effects(&fx);
    bwl_stats_hold_ended(&lock->shard->stats, &lock->stats, BWL_RELEASED, now);
    bwl_lock_begin(lock, operation, BWL_ACQUIRE);
    operation->yields = true;
    if (bwl_hold_is_held(&lock->base.hold)) {
        bwl_hold_yield(&lock->base.hold, &fresh, moment(lock, now), bwl_ms_add(now, wait_ms), &fx);
        step(lock, &fx);
    } else {
        end_operation(lock, BWL_LOST);
    }
    bwl_lock_unpin(&lock->base);
}

void bwl_lock_cancel(bwl_operation *operation)
{
    bwl_lock   *lock = operation->lock;
    bwl_effects fx   = { 0 };

    if (operation->completion.result != BWL_PENDING || operation->verb == BWL_RELEASE)
        return;
    bwl_loop_wake_runner(&lock->shard->loop); /* its thread may run the loop */
    if (operation->is_query ||
        operation->verb == BWL_EXTEND) { /* it continues; no caller waits for it */
        end_operation(lock, BWL_CANCELLED);
        return;
    }
    bwl_lock_pin(&lock->base);
    bwl_hold_cancel(&lock->base.hold, bwl_shard_now(lock->shard), &fx);
    step(lock, &fx);
    bwl_lock_unpin(&lock->base);
}

int bwl_lock_await(bwl_operation *operation, bwl_ms until, bwl_fault *fault)
{
    int status = bwl_loop_wait(&operation->lock->shard->loop, &operation->completion, until, fault);

    if (status < 0)
        bwl_lock_cancel(operation);
    return status;
}

/* ---- releases in the background -------------------------------------------------------------- */

bool bwl_lock_release_in_background(bwl_lock *lock, bwl_operation *operation)
{
    assert(lock->operation == NULL && !lock->base.in_background);
    lock->base.in_background = true;
    bwl_lock_release(lock, operation);
    if (operation->completion.result != BWL_PENDING) {
        lock->base.in_background = false;
        return true;
    }
    assert(lock->operation == operation);
    lock->operation = NULL;
    lock->handles--;
    bwl_background_began(lock->shard);
    return false;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* A yield or an upgrade may have written two tokens: the second is released after a reply about the
 * first.  No reply will be read any more, so it is released at once. */
static void release_second_token(bwl_lock *lock)
{
    const bwl_hold *hold = &lock->base.hold;
    bwl_event       ev   = { .kind = BWL_REPLY, .tag = lock->base.latest_tag, .answer = BWL_NO };
    bool            is_of_yield   = hold->protocol->yields && hold->state == BWL_HOLD_LEAVING;
    bool            is_of_upgrade = hold->change.other_may_own && bwl_hold_release_began(hold) != 0;

    if (is_of_yield || is_of_upgrade)
        bwl_lock_event(&lock->base, ev);
}

void bwl_lock_let_go(bwl_lock *lock)
{
    bwl_operation operation;

    bwl_lock_pin(&lock->base);
    if (bwl_lock_is_being_kept(lock))
        bwl_lock_release_after_all(lock);
    else if (lock->operation != NULL)
        bwl_lock_cancel(lock->operation);
    bool is_ours = bwl_hold_is_held(&lock->base.hold) || lock->base.hold.state == BWL_HOLD_REVOKED;
    if (is_ours && lock->operation == NULL) {
        bwl_lock_release(lock, &operation);
        lock->operation = NULL;
    }
    release_second_token(lock);
    lock->pins--; /* the shard frees it */
}

/* ---- holder queries: see query.c ------------------------------------------------------------- */

void bwl_lock_query_done(bwl_engine_lock *lock)
{
    const bwl_operation *operation = bwl_lock_of_engine(lock)->operation;

    if (operation != NULL && (operation->is_query || operation->announces))
        end_operation(bwl_lock_of_engine(lock), BWL_RELEASED);
}
