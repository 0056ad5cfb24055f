#include "runtime/local_groups.h"
#include "base/fault.h"
#include "protocol/local_lock.h"
#include "protocol/store/waiter.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROOM_AT_FIRST = 8,
    KEPT_MAX      = 1000, /* released locks of one shard that stay with the client */
};

struct bwl_local_group {
    bwl_shard          *shard;
    bwl_group           group;
    bwl_local_waiter   *waiters; /* index 0 is unused */
    bwl_lock          **locks;   /* by the index of the waiter; NULL: free */
    bwl_local_waiter_id room;
    bwl_local_waiter_id vacant;    /* list of free indices, linked by `next`; 0: none */
    size_t              taken;     /* indices in use */
    bwl_lock           *store;     /* the lock that waits in the store; NULL: none */
    bwl_operation       operation; /* of that lock */
    bwl_timer           timer;     /* see bwl_group_wake_at */
    unsigned            pins;
    bool                is_running;
    bool                is_idle; /* counted in the shard */
    uint16_t            name_size;
    char                name[BWL_NAME_MAX + 1];
    bwl_fault           why; /* the store lock's latest failure */
};

/* ---- new and free ---------------------------------------------------------------------------- */

static bool is_store_lock(const bwl_lock *lock)
{
    return lock->group != NULL && lock->group->store == lock;
}

bwl_lock *bwl_lock_in_store(bwl_lock *lock)
{
    return lock->group != NULL ? lock->group->store : lock;
}

static const bwl_lock_group_calls group_calls;

static void timer_expired(bwl_timer *timer);

static bwl_local_group *group_new(bwl_shard *shard, const char *name, size_t name_size)
{
    const bwl_settings *settings = &shard->host.settings;
    bwl_local_group    *s        = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->timer           = (bwl_timer){ .at = BWL_NEVER, .expired = timer_expired };
    shard->group_calls = &group_calls;
    s->shard           = shard;
    s->name_size       = (uint16_t)name_size;
    memcpy(s->name, name, name_size);
    bwl_group_init(&s->group, settings->handoffs_max, settings->handoffs_ms, settings->keep_ms);
    return s;
}

static void free_if_over(bwl_local_group *s)
{
    if (s->taken > 0 || s->store != NULL || s->pins > 0)
        return;
    bwl_timers_set(&s->shard->loop.timers, &s->timer, BWL_NEVER); /* the heap points to it */
    free(s->waiters);
    free(s->locks);
    free(s);
}

/* Doubles the table of waiters.  False: out of memory. */
static bool grow(bwl_local_group *s)
{
    bwl_local_waiter_id room    = s->room == 0 ? ROOM_AT_FIRST : s->room * 2;
    bwl_local_waiter   *waiters = realloc(s->waiters, (room + 1) * sizeof *waiters);

    if (waiters == NULL)
        return false;
    s->waiters       = waiters;
    bwl_lock **locks = realloc(s->locks, (room + 1) * sizeof *locks);
    if (locks == NULL)
        return false;
    s->locks = locks;
    for (bwl_local_waiter_id n = room; n > s->room; n--) {
        s->waiters[n] = (bwl_local_waiter){ .next = s->vacant };
        s->locks[n]   = NULL;
        s->vacant     = n;
    }
    s->room = room;
    return true;
}

static bool take_waiter(bwl_local_group *s, bwl_lock *lock)
{
    if (s->vacant == 0 && !grow(s))
        return false;
    bwl_local_waiter_id n                   = s->vacant;
    s->vacant                               = s->waiters[n].next;
    s->waiters[n]                           = (bwl_local_waiter){ .state = BWL_LOCAL_WAITER_EMPTY };
    s->locks[n]                             = lock;
    *(bwl_local_waiter_id *)lock->base.part = n;
    lock->group                             = s;
    s->taken++;
    return true;
}

static void vacate(bwl_local_group *s, bwl_local_waiter_id n)
{
    s->locks[n]->group = NULL;
    s->locks[n]        = NULL;
    s->waiters[n]      = (bwl_local_waiter){ .next = s->vacant };
    s->vacant          = n;
    s->taken--;
}

static void free_waiter(bwl_lock *lock)
{
    bwl_local_group    *s = lock->group;
    bwl_local_waiter_id n = *(bwl_local_waiter_id *)lock->base.part;

    if (n == 0)
        return;
    assert(s->locks[n] == lock);
    vacate(s, n);
    free_if_over(s);
}

/* The group gets no more events of it. */
static bwl_lock *forget_store_lock(bwl_local_group *s)
{
    bwl_lock *lock = s->store;

    s->store = NULL;
    if (lock == NULL)
        return NULL;
    lock->group = NULL;
    bwl_named_remove(&s->shard->named, lock);
    return lock;
}

static void closing(bwl_lock *lock)
{
    bwl_local_group *s = lock->group;

    if (!is_store_lock(lock))
        return;
    (void)forget_store_lock(s);
    free_if_over(s);
}

static bool may_be_joined(const bwl_shard *shard)
{
    const bwl_settings *settings = &shard->host.settings;
    const bwl_protocol *protocol =
        settings->protocol != NULL ? settings->protocol : shard->host.engine->protocol;

    return protocol->uses_push && settings->handoffs_max > 1 && settings->renews;
}

static bool may_be_kept(const bwl_shard *shard)
{
    return shard->host.settings.keep_ms > 0 && may_be_joined(shard);
}

/* ---- the lock in the store ------------------------------------------------------------------- */

/* The lock remains until nothing of it is left in the store. */
static void drop_store_lock(bwl_local_group *s)
{
    bwl_lock *lock = forget_store_lock(s);

    if (lock != NULL)
        bwl_lock_drop_handle(lock);
}

static void acquire(bwl_local_group *s, bwl_ms lease_ms)
{
    const bwl_settings *settings = &s->shard->host.settings;
    bwl_fault           fault    = { 0 };
    bwl_terms           terms    = {
                     .lease_ms    = lease_ms,
                     .max_hold_ms = BWL_NEVER, /* each waiter has its own */
                     .answer_ms   = settings->answer_ms,
                     .renews      = settings->renews,
    };

    drop_store_lock(s);
    if (bwl_lock_new(&s->store, s->shard, s->shard->host.engine, s->name, &terms, &fault) < 0) {
        s->store = NULL;
        s->why   = fault;
        bwl_group_on_store_result(&s->group, s->waiters,
                                  &(bwl_outcome){ .kind = BWL_STORE_REFUSED },
                                  s->shard->host.latest);
        return;
    }
    s->store->group = s;
    bool is_found   = may_be_kept(s->shard) && bwl_named_add(&s->shard->named, s->store);
    bwl_lock_acquire(s->store, &s->operation, BWL_NEVER);
    if (!is_found || s->shard->idle_groups >= KEPT_MAX)
        bwl_group_on_wanted(&s->group); /* it is not kept */
}

static void release(bwl_local_group *s)
{
    if (s->store->operation != NULL)
        bwl_lock_cancel(s->store->operation); /* an extension */
    bwl_lock_release(s->store, &s->operation);
}

static void cancel(bwl_local_group *s)
{
    bwl_lock *lock = forget_store_lock(s);

    bwl_lock_cancel(&s->operation);
    bwl_lock_drop_handle(lock);
}

static void completed(bwl_lock *lock, bwl_outcome_kind kind)
{
    bwl_local_group *s = lock->group;

    if (!is_store_lock(lock) || s->shard->host.closing || kind == BWL_CANCELLED)
        return; /* the group itself has cancelled it */
    bwl_outcome out = { .kind  = kind,
                        .until = lock->base.hold.until,
                        .fence = lock->base.hold.fence };
    if (kind != BWL_HELD)
        s->why = lock->base.why;
    bwl_group_on_store_result(&s->group, s->waiters, &out, s->shard->host.latest);
}

/* ---- actions --------------------------------------------------------------------------------- */

/* The waiting thread sleeps, or runs the loop, or is an event loop that is notified. */
static void wake_runner(bwl_shard *shard, const bwl_operation *operation)
{
    if (operation->completion.result != BWL_PENDING && operation->completion.waiting == NULL)
        bwl_loop_wake_runner(&shard->loop);
}

static void complete(bwl_local_group *s, const bwl_group_action *action)
{
    bwl_lock *lock    = s->locks[action->waiter];
    bool      is_good = action->outcome.kind == BWL_HELD || action->outcome.kind == BWL_RELEASED;

    assert(lock != NULL);
    bwl_operation *operation = lock->operation;
    if (!is_good && action->outcome.kind != BWL_QUEUED)
        lock->base.why = s->why;
    bwl_lock_event(&lock->base,
                   bwl_group_action_event(action)); /* may free the lock, but not the operation */
    if (action->tag == 0 && operation != NULL)
        wake_runner(s->shard, operation);
}

static void perform(bwl_local_group *s, const bwl_group_action *action)
{
    switch (action->kind) {
    case BWL_ACTION_COMPLETE: complete(s, action); return;
    case BWL_ACTION_ACQUIRE: acquire(s, action->lease_ms); return;
    case BWL_ACTION_EXTEND: bwl_lock_extend(s->store, &s->operation, action->lease_ms); return;
    case BWL_ACTION_YIELD: bwl_lock_yield(s->store, &s->operation, BWL_NEVER); return;
    case BWL_ACTION_RELEASE: release(s); return;
    case BWL_ACTION_CANCEL: cancel(s); return;
    case BWL_ACTION_WATCH: s->shard->host.engine->watch(&s->store->base); return;
    }
    bwl_unreachable("an action outside of its enum");
}

/* The timer may be earlier: then the group finds nothing to do. */
static void note_idle(bwl_local_group *s)
{
    bool   is_idle = bwl_group_is_idle(&s->group);
    bwl_ms at      = bwl_group_wake_at(&s->group);

    if (at < s->timer.at)
        bwl_loop_set_timer(&s->shard->loop, &s->timer, at);
    if (is_idle == s->is_idle)
        return;
    s->is_idle = is_idle;
    if (!is_idle) {
        s->shard->idle_groups--;
        return;
    }
    s->shard->idle_groups++;
    bwl_loop_notify_renewal(&s->shard->loop);
}

/* One action after the other, even if one causes the next. */
static void run(bwl_local_group *s)
{
    bwl_group_action action;

    if (s->is_running || s->shard->host.closing)
        return;
    s->is_running = true;
    s->pins++;
    while (bwl_group_next_action(&s->group, s->waiters, bwl_shard_now(s->shard), &action))
        perform(s, &action);
    if (s->group.state == BWL_GROUP_NONE)
        drop_store_lock(s);
    note_idle(s);
    s->is_running = false;
    s->pins--;
    free_if_over(s);
}

static void timer_expired(bwl_timer *timer)
{
    run((bwl_local_group *)((char *)timer - offsetof(bwl_local_group, timer)));
}

static void stepped(const bwl_lock *lock)
{
    bwl_local_group *s = lock->group;

    if (!is_store_lock(lock))
        return;
    if (bwl_hold_is_held(&lock->base.hold)) {
        s->why = lock->base.why;
        bwl_group_on_store_status(&s->group, lock->base.hold.until, lock->base.hold.last_error);
    }
    if (lock->history.was_queued)
        bwl_group_on_wanted(&s->group); /* probably by another one, too */
    run(s);
}

/* ---- local waiters --------------------------------------------------------------------------- */

static int waiter_prepare(bwl_engine_lock *lock, bwl_fault *fault)
{
    (void)fault;                            /* cannot fail */
    *(bwl_local_waiter_id *)lock->part = 0; /* none yet */
    return BWL_OK;
}

static bool waiter_send(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply)
{
    bwl_local_group    *s     = bwl_lock_of_engine(lock)->group;
    bwl_local_waiter_id n     = *(bwl_local_waiter_id *)lock->part;
    bwl_ms              lease = lock->hold.request.lease_ms;

    (void)ret_reply; /* results go through the group, in its order */
    if (s->shard->host.closing)
        return false;
    switch ((bwl_waiter_command)send->command) {
    case WAITER_ENQUEUE: bwl_group_enqueue(&s->group, s->waiters, n, send->tag, lease); break;
    case WAITER_EXTEND: bwl_group_extend(&s->group, s->waiters, n, send->tag, lease); break;
    case WAITER_LEAVE: bwl_group_leave(&s->group, s->waiters, n, send->tag); break;
    }
    run(s);
    return false;
}

static void waiter_forget(bwl_engine_lock *lock)
{
    free_waiter(bwl_lock_of_engine(lock));
}

/* The engine of a local waiter: its commands go to the group instead of the store. */
static const bwl_engine waiter_engine = {
    .scheme    = "local-group",
    .protocol  = &bwl_local_waiter_protocol,
    .has_lease = true,
    .lock_size = sizeof(bwl_local_waiter_id), /* its number in the group */
    .prepare   = waiter_prepare,
    .send      = waiter_send,
    .forget    = waiter_forget,
};

static bwl_outcome_kind result(bwl_lock *lock, bwl_outcome_kind kind)
{
    const bwl_lock *store = lock->engine == &waiter_engine ? lock->group->store : NULL;

    if (kind != BWL_TIMED_OUT || store == NULL || !bwl_hold_is_acquiring(&store->base.hold))
        return kind;
    lock->saw_foreign = store->saw_foreign;
    if (store->base.hold.last_error != BWL_UNREACHABLE &&
        store->base.hold.last_error != BWL_NOT_NOW && store->base.hold.last_error != BWL_UNKNOWN)
        return kind;
    lock->base.why = store->base.why;
    return store->base.hold.last_error;
}

static void watched(bwl_lock *lock, bool is_wanted);

static const bwl_lock_group_calls group_calls = {
    .result    = result,
    .completed = completed,
    .stepped   = stepped,
    .closing   = closing,
    .watched   = watched,
};

/* ---- passing on ------------------------------------------------------------------------------ */

/* The active waiter leaves with the lock in the store, which is returned. */
static bwl_lock *take_store_lock(bwl_local_group *s, bwl_local_waiter_id n)
{
    assert(s->locks[n]->engine == &waiter_engine);
    if (s->store->operation != NULL)
        bwl_lock_cancel(s->store->operation); /* an extension that no caller awaits */
    bwl_group_give_up(&s->group, s->waiters, n);
    return forget_store_lock(s);
}

void bwl_lock_pass_on(bwl_lock *lock)
{
    bwl_local_group *s = lock->group;

    if (s == NULL) {
        bwl_lock_give_up(lock);
        return;
    }
    s->pins++;
    bwl_lock *store = take_store_lock(s, *(bwl_local_waiter_id *)lock->base.part);
    bwl_lock_give_up(lock);
    bwl_lock_give_up(store);
    s->pins--;
    run(s);
}

int bwl_lock_leave_group(bwl_lock *lock, bwl_fault *fault)
{
    bwl_local_group *s = lock->group;

    if (s == NULL || !bwl_hold_is_held(&lock->base.hold))
        return BWL_OK;
    bwl_local_waiter_id n      = *(bwl_local_waiter_id *)lock->base.part;
    int                 status = s->store->engine->prepare(&lock->base, fault);
    if (status < 0) {
        *(bwl_local_waiter_id *)lock->base.part = n;
        return status;
    }
    s->pins++;
    bwl_lock *store = take_store_lock(s, n);
    vacate(s, n);
    bwl_lock_take_hold(lock, store);
    s->pins--;
    run(s);
    return BWL_OK;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* A lock that nobody here uses is given back: this client is about to want it in the store. */
static void give_way(bwl_lock *other)
{
    bwl_local_group *s = other->group;

    if (bwl_lock_is_being_kept(other))
        bwl_lock_release_after_all(other);
    if (s == NULL || !bwl_group_is_idle(&s->group))
        return;
    bwl_group_on_wanted(&s->group);
    run(s);
}

static int join(bwl_lock **ret_lock, bwl_local_group *s, const bwl_terms *terms, bwl_fault *fault)
{
    bwl_terms own = *terms;
    bwl_lock *lock;

    own.renews = false; /* the lock in the store renews */
    s->pins++;
    int status = bwl_lock_new(&lock, s->shard, &waiter_engine, s->name, &own, fault);
    if (status == BWL_OK && !take_waiter(s, lock)) {
        bwl_lock_drop_handle(lock);
        status = bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    s->pins--;
    if (status == BWL_OK)
        *ret_lock = lock;
    else
        free_if_over(s);
    return status;
}

/* Not a lock whose end is only awaited: no other thread needs to share a place with it. */
static bwl_lock *find_in_use(const bwl_shard *shard, const char *name, size_t name_size)
{
    bwl_lock *lock = bwl_named_find(&shard->named, name, name_size);
    bool is_in_use = lock != NULL && (lock->group != NULL || bwl_hold_is_held(&lock->base.hold) ||
                                      bwl_hold_is_acquiring(&lock->base.hold));

    return is_in_use ? lock : NULL;
}

int bwl_lock_new_or_join(bwl_lock **ret_lock, bwl_shard *shard, const char *name,
                         const bwl_terms *terms, bool waits, bwl_fault *fault)
{
    size_t name_size = strnlen(name, BWL_NAME_MAX + 1);
    /* A hold with a rest is in no group: a handoff would not begin at the store.  Nor is one that
     * others may share: the store has each of them. */
    bool             may = may_be_joined(shard) && terms->rest_ms == 0 && terms->share.weight == 0;
    bool             looks    = may_be_kept(shard) || (may && waits);
    bwl_lock        *other    = looks ? find_in_use(shard, name, name_size) : NULL;
    bwl_local_group *waiters  = other != NULL ? other->group : NULL;
    bool             is_ready = waiters != NULL &&
                    bwl_group_is_ready(&waiters->group, terms->lease_ms, bwl_shard_now(shard));
    bool joins = may && (waits ? other != NULL : is_ready);
    int  status;

    if (other != NULL && (waiters == NULL || !joins))
        give_way(other);
    if (joins && waiters == NULL)
        waiters = group_new(shard, name, name_size);
    if (joins && waiters == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    status = joins ? join(ret_lock, waiters, terms, fault)
                   : bwl_lock_new(ret_lock, shard, shard->host.engine, name, terms, fault);
    if (status == BWL_OK && may)
        (void)bwl_named_add(&shard->named,
                            *ret_lock); /* if it cannot be added, other waiters do not join it */
    return status;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* Not if another one of this client has entered the queue behind it, or if somebody had it before:
 * the next hold would probably be in the way, too.  Nor if it has led: the next leader waits.  The
 * last millisecond of a hold counts as lost. */
static bool may_keep(const bwl_lock *lock)
{
    const bwl_hold *hold = &lock->base.hold;

    return may_be_kept(lock->shard) && lock->shard->idle_groups < KEPT_MAX && lock->group == NULL &&
           !lock->history.was_queued && !lock->history.has_led && hold->state == BWL_HOLD_HELD &&
           bwl_hold_left(hold, bwl_shard_now(lock->shard)) > 1 && hold->request.rest_ms == 0 &&
           hold->request.share.weight == 0 && hold->terms.max_hold_ms == BWL_NEVER &&
           bwl_named_find(&lock->shard->named, lock->base.name, lock->base.name_size) == lock;
}

bool bwl_lock_keep(bwl_lock *lock, bwl_operation *operation)
{
    if (!may_keep(lock))
        return false;
    lock->shard->group_calls = &group_calls;
    bwl_lock_begin_to_keep(lock, operation);
    lock->shard->host.engine->watch(&lock->base);
    return true;
}

/* The released lock is that of a new group. */
static void keep(bwl_lock *lock)
{
    const bwl_hold  *hold = &lock->base.hold;
    bwl_local_group *s    = group_new(lock->shard, lock->base.name, lock->base.name_size);

    if (s == NULL) {
        bwl_lock_release_after_all(lock);
        return;
    }
    bwl_lock_end_kept(lock);
    s->store    = lock;
    lock->group = s;
    bwl_group_take_over(&s->group, hold->until, hold->fence, hold->request.lease_ms,
                        bwl_shard_now(s->shard));
    run(s);
}

static void watched(bwl_lock *lock, bool is_wanted)
{
    bwl_local_group *s = lock->group;

    if (bwl_lock_is_being_kept(lock)) {
        if (is_wanted)
            bwl_lock_release_after_all(lock);
        else
            keep(lock);
    } else if (is_store_lock(lock)) {
        if (is_wanted)
            bwl_group_on_wanted(&s->group);
        else
            bwl_group_on_watched(&s->group);
        run(s);
    }
}
