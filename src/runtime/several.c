#include "runtime/several.h"
#include "runtime/local_groups.h"
#include "base/fault.h"

#include <stdlib.h>
#include <string.h>

typedef struct part {
    bwl_operation operation; /* first; of its latest acquire */
    bwl_several  *of;
    const char   *name;
    size_t        place; /* among the names of the caller */
    bwl_lock     *lock;  /* NULL: none */
    bool          is_in_flight;
} part;

struct bwl_several {
    bwl_operation *whole;
    bwl_lock      *anchor; /* of `whole`: it is never acquired, and lends its timer */
    bwl_shard     *shard;
    bwl_terms      terms; /* of each lock: without a max_hold */
    bwl_ms         max_hold_ms;
    bwl_ms         wait_ms;
    bwl_ms         until; /* end of the wait */
    bwl_fault      fault; /* status OK: none */
    part          *waited_for;
    part          *decisive;
    size_t         in_flight;
    size_t         count;
    part           parts[]; /* by name; then the names */
};

/* ---- one lock -------------------------------------------------------------------------------- */

static bool was_acquired(const part *p)
{
    return p->lock != NULL && !p->is_in_flight && p->operation.completion.result == BWL_HELD;
}

static bool is_held(const part *p, bwl_ms now)
{
    return was_acquired(p) && bwl_hold_left(&p->lock->base.hold, now) > 0;
}

/* Whatever it has is given back, without waiting for that. */
static void drop(part *p)
{
    bwl_lock     *lock        = p->lock;
    bool          is_acquired = was_acquired(p);
    bwl_operation release;

    if (lock == NULL)
        return;
    p->lock = NULL;
    if (p->is_in_flight) {
        p->operation.then = NULL;
        p->is_in_flight   = false;
        p->of->in_flight--;
        bwl_lock_cancel(&p->operation);
    }
    if (!is_acquired || bwl_lock_release_in_background(lock, &release))
        bwl_lock_drop_handle(lock);
}

/* A step of the lock is under way: what follows from its end has to wait for that. */
static void part_ended(bwl_operation *operation)
{
    part        *p = (part *)(void *)operation;
    bwl_several *s = p->of;

    p->is_in_flight = false;
    if (--s->in_flight == 0)
        bwl_loop_set_timer(&s->shard->loop, &s->anchor->timer, s->shard->host.latest);
}

static void acquire(part *p, bwl_ms wait_ms)
{
    bwl_several *s = p->of;

    drop(p);
    if (bwl_lock_new_or_join(&p->lock, s->shard, p->name, &s->terms, wait_ms > 0, &s->fault) < 0) {
        p->lock = NULL;
        return;
    }
    bwl_lock_acquire(p->lock, &p->operation, wait_ms);
    p->is_in_flight = p->operation.completion.result == BWL_PENDING;
    if (!p->is_in_flight)
        return;
    p->operation.then = part_ended;
    s->in_flight++;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void end(bwl_several *s, bwl_outcome_kind kind, part *decisive)
{
    s->decisive = decisive;
    for (size_t i = 0; kind != BWL_HELD && i < s->count; i++)
        if (&s->parts[i] != decisive)
            drop(&s->parts[i]);
    s->whole->completion.result = kind;
    if (s->whole->watched)
        bwl_operation_show_end(s->whole);
    bwl_loop_complete(&s->shard->loop, &s->whole->completion, kind);
}

static void try_from(bwl_several *s, size_t first)
{
    s->waited_for = NULL;
    bool begun    = bwl_loop_gather_begin(&s->shard->loop);
    for (size_t i = first; i < s->count && s->fault.status == BWL_OK; i++)
        acquire(&s->parts[i], 0);
    bwl_loop_gather_end(&s->shard->loop, begun);
}

/* The first lock is held: all have to be renewed from now on, also if the caller dispatches
 * nothing.  False: that cannot be done. */
static bool keep(bwl_several *s)
{
    return !s->shard->host.settings.keeps || s->parts->lock->timer.at == BWL_NEVER ||
           bwl_shard_start_renewal(s->shard, &s->fault) == BWL_OK;
}

static void wait_for(bwl_several *s, part *p, bwl_ms now)
{
    if (p != s->parts && !keep(s))
        return;
    s->waited_for = p;
    acquire(p, s->until == BWL_NEVER ? BWL_NEVER : s->until - now);
}

/* A lock was lost: begins again, or ends with the wait. */
static void begin_again(bwl_several *s, part *lost, bwl_ms now)
{
    if (now >= s->until)
        (void)bwl_fail_because(&s->fault, BWL_STATUS_LOST, &lost->lock->base.why,
                               "%s was lost before all the others were acquired", lost->name);
    for (size_t i = 0; i < s->count; i++)
        drop(&s->parts[i]);
    if (now < s->until)
        try_from(s, 0);
}

/* The first one that is not held has failed. */
static void part_failed(bwl_several *s, part *p, bwl_ms now)
{
    bwl_outcome_kind kind     = p->operation.completion.result;
    bool             is_final = kind == BWL_FULL || kind == BWL_DONE;

    if (s->waited_for != p && !is_final && now < s->until) {
        wait_for(s, p, now);
        return;
    }
    if (kind == BWL_BUSY && s->wait_ms > 0)
        p->operation.completion.result = kind = BWL_TIMED_OUT;
    end(s, kind, p);
}

/* The caller's max_hold begins when all are held: one that began earlier could end each time before
 * the last lock is there. */
static void limit_all(bwl_several *s)
{
    for (size_t i = 0; s->max_hold_ms != BWL_NEVER && i < s->count; i++)
        bwl_lock_limit(s->parts[i].lock, s->max_hold_ms);
}

/* Nothing is in flight. */
static void step(bwl_several *s)
{
    bwl_ms now  = bwl_shard_now(s->shard);
    size_t held = 0;

    if (s->fault.status != BWL_OK) {
        end(s, BWL_UNKNOWN, NULL);
        return;
    }
    while (held < s->count && is_held(&s->parts[held], now))
        held++;
    if (held == s->count) {
        limit_all(s);
        if (keep(s))
            end(s, BWL_HELD, NULL);
        return;
    }
    for (size_t i = held + 1; i < s->count; i++)
        drop(&s->parts[i]);
    if (was_acquired(&s->parts[held]))
        begin_again(s, &s->parts[held], now);
    else if (s->waited_for != NULL && s->waited_for < &s->parts[held])
        try_from(s, held);
    else
        part_failed(s, &s->parts[held], now);
}

static void go_on(bwl_several *s)
{
    while (s->in_flight == 0 && s->whole->completion.result == BWL_PENDING)
        step(s);
}

static void timer_expired(bwl_timer *timer)
{
    const bwl_lock *anchor = (bwl_lock *)((char *)timer - offsetof(bwl_lock, timer));

    go_on(anchor->user);
}

/* ---- calls from above ------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const part *)a)->name, ((const part *)b)->name);
}

int bwl_several_new(bwl_several **ret_several, bwl_operation *whole, bwl_shard *shard,
                    const char *const names[], size_t count, const bwl_terms *terms, bwl_ms wait_ms,
                    bwl_fault *fault)
{
    bwl_lock *anchor;
    size_t    size   = sizeof(bwl_several) + count * sizeof(part);
    size_t    offset = size;

    assert(count > 0);
    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 1;
    int status = bwl_lock_new(&anchor, shard, shard->host.engine, names[0], terms, fault);
    if (status < 0)
        return status;
    bwl_several *s = calloc(1, size);
    if (s == NULL) {
        bwl_lock_drop_handle(anchor);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        char *name = strcpy((char *)s + offset, names[i]);
        offset += strlen(name) + 1;
        s->parts[i] = (part){ .of = s, .name = name, .place = i };
    }
    qsort(s->parts, count, sizeof(part), by_name);
    anchor->timer.expired = timer_expired;
    anchor->user          = s;
    *whole =
        (bwl_operation){ .lock = anchor, .verb = BWL_ACQUIRE, .completion.result = BWL_PENDING };
    s->whole             = whole;
    s->anchor            = anchor;
    s->shard             = shard;
    s->terms             = *terms;
    s->wait_ms           = wait_ms;
    s->count             = count;
    s->max_hold_ms       = terms->max_hold_ms;
    s->terms.max_hold_ms = BWL_NEVER;
    *ret_several         = s;
    return BWL_OK;
}

void bwl_several_start(bwl_several *s)
{
    s->until = bwl_ms_add(bwl_shard_now(s->shard), s->wait_ms);
    try_from(s, 0);
    go_on(s);
}

void bwl_several_cancel(bwl_several *s)
{
    if (s->whole->completion.result != BWL_PENDING)
        return;
    bwl_loop_wake_runner(&s->shard->loop); /* its thread may run the loop */
    (void)bwl_fail(&s->fault, BWL_STATUS_CANCELLED, "%s and others: cancelled",
                   s->anchor->base.name);
    end(s, BWL_CANCELLED, NULL);
}

int bwl_several_fault(const bwl_several *s, bwl_fault *fault)
{
    if (s->fault.status != BWL_OK && fault != NULL)
        *fault = s->fault;
    return s->fault.status;
}

const bwl_operation *bwl_several_decisive(const bwl_several *s)
{
    const part *p = s->decisive != NULL ? s->decisive : s->waited_for;

    return p != NULL && p->lock != NULL ? &p->operation : NULL;
}

void bwl_several_take(bwl_several *s, bwl_lock *ret_locks[])
{
    assert(s->whole->completion.result == BWL_HELD);
    for (size_t i = 0; i < s->count; i++) {
        ret_locks[s->parts[i].place] = s->parts[i].lock;
        s->parts[i].lock             = NULL;
    }
}

void bwl_several_free(bwl_several *s)
{
    bwl_several_cancel(s);
    for (size_t i = 0; i < s->count; i++)
        drop(&s->parts[i]);
    bwl_lock_drop_handle(s->anchor);
    free(s);
}
