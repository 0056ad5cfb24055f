#include "runtime/loop.h"
#include "base/calls.h"
#include "base/clock.h"
#include "base/fault.h"
#include "runtime/wakeup.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

enum {
    SIGNALS_MAX            = 64, /* threads that are signalled after one unlock */
    PAUSE_AFTER_FAILURE_MS = 100,
    BEHIND_MS              = 2, /* a reply or a timer may be so late before a call looks for it */
};

/* ---- the heap of timers: the parent of index n is n / 2; no parent is later than its children */

bool bwl_timers_reserve(bwl_timers *timers, size_t count)
{
    if (count <= timers->capacity)
        return true;
    size_t      capacity = count < 16 ? 16 : count * 2;
    bwl_timer **heap =
        realloc(timers->heap, (capacity + 1) * sizeof *heap); /* index 0 stays unused */
    if (heap == NULL)
        return false;
    timers->heap     = heap;
    timers->capacity = capacity;
    return true;
}

void bwl_timers_free(bwl_timers *timers)
{
    free(timers->heap);
    *timers = (bwl_timers){ 0 };
}

static void put(bwl_timers *timers, bwl_timer *timer, size_t index)
{
    timers->heap[index] = timer;
    timer->index        = index;
}

static void rise(bwl_timers *timers, bwl_timer *timer)
{
    size_t index = timer->index;

    for (; index > 1 && timers->heap[index / 2]->at > timer->at; index /= 2)
        put(timers, timers->heap[index / 2], index);
    put(timers, timer, index);
}

static void sink(bwl_timers *timers, bwl_timer *timer)
{
    size_t index = timer->index;

    for (;;) {
        size_t child = index * 2;
        if (child < timers->count && timers->heap[child + 1]->at < timers->heap[child]->at)
            child++;
        if (child > timers->count || timers->heap[child]->at >= timer->at)
            break;
        put(timers, timers->heap[child], index);
        index = child;
    }
    put(timers, timer, index);
}

static void take_out(bwl_timers *timers, bwl_timer *timer)
{
    bwl_timer *last = timers->heap[timers->count--];

    if (last != timer) {
        put(timers, last, timer->index);
        rise(timers, last);
        sink(timers, last);
    }
    timer->index = 0;
}

void bwl_timers_set(bwl_timers *timers, bwl_timer *timer, bwl_ms at)
{
    assert(timer->index <= timers->count);
    if (at == BWL_NEVER) {
        if (timer->index != 0)
            take_out(timers, timer);
        timer->at = BWL_NEVER;
        return;
    }
    timer->at = at;
    if (timer->index == 0) {
        assert(timers->count < timers->capacity);
        put(timers, timer, ++timers->count);
    }
    rise(timers, timer);
    sink(timers, timer);
}

bwl_ms bwl_timers_next(const bwl_timers *timers)
{
    return timers->count > 0 ? timers->heap[1]->at : BWL_NEVER;
}

bwl_timer *bwl_timers_take_due(bwl_timers *timers, bwl_ms now)
{
    if (bwl_timers_next(timers) > now)
        return NULL;
    bwl_timer *due = timers->heap[1];
    take_out(timers, due);
    due->at = BWL_NEVER;
    return due;
}

/* ---- calls to the engine --------------------------------------------------------------------- */

static void engine_woken(bwl_loop *loop)
{
    if (loop->host->engine->woken != NULL)
        loop->host->engine->woken(loop->host);
}

static void engine_timer_expired(bwl_timer *timer)
{
    engine_woken((bwl_loop *)((char *)timer - offsetof(bwl_loop, engine_timer)));
}

static void flush(bwl_loop *loop)
{
    loop->host->coalescing.since = 0;
    if (loop->host->engine->flush != NULL)
        (void)loop->host->engine->flush(loop->host, 0);
}

/* ---- creation -------------------------------------------------------------------------------- */

bool bwl_loop_init(bwl_loop *loop, bwl_host *host)
{
    *loop = (bwl_loop){
        .host         = host,
        .engine_timer = { .at = BWL_NEVER, .expired = engine_timer_expired },
    };
    if (!bwl_timers_reserve(&loop->timers, 1))
        return false;
    (void)pthread_mutex_init(&loop->mutex, NULL); /* of the default kind: cannot fail */
    return true;
}

void bwl_loop_free(bwl_loop *loop, bool is_ours)
{
    while (is_ours && loop->idle_threads != NULL) {
        bwl_waiting_thread *thread = loop->idle_threads;
        loop->idle_threads         = thread->next;
        (void)pthread_cond_destroy(&thread->cond);
        free(thread);
    }
    if (is_ours)
        (void)pthread_mutex_destroy(&loop->mutex);
    bwl_timers_free(&loop->timers);
}

/* ---- the mutex and the clock ----------------------------------------------------------------- */

void bwl_loop_lock(bwl_loop *loop)
{
    bwl_mutex_lock(&loop->mutex);
}

static size_t take_signals(bwl_loop *loop, pthread_cond_t *ret_conds[SIGNALS_MAX])
{
    size_t count = 0;

    if (loop->renewal.is_notified)
        ret_conds[count++] = &loop->renewal.cond;
    loop->renewal.is_notified = false;
    while (loop->to_signal != NULL && count < SIGNALS_MAX) {
        bwl_waiting_thread *thread = loop->to_signal;
        loop->to_signal            = thread->next_to_signal;
        ret_conds[count++]         = &thread->cond;
    }
    return count;
}

/* Threads are signalled after the mutex is released, because they need it to continue. */
void bwl_loop_unlock(bwl_loop *loop)
{
    pthread_cond_t *conds[SIGNALS_MAX];

    if (loop->to_signal == NULL && !loop->renewal.is_notified) {
        bwl_mutex_unlock(&loop->mutex);
        return;
    }
    do {
        size_t count = take_signals(loop, conds);
        bool   more  = loop->to_signal != NULL; /* the rest are signalled with the mutex held */
        if (!more)
            bwl_mutex_unlock(&loop->mutex);
        for (size_t i = 0; i < count; i++)
            pthread_cond_signal(conds[i]);
        if (!more)
            return;
    } while (true);
}

bwl_ms bwl_loop_now(bwl_loop *loop)
{
    bwl_ms now = bwl_clock_now();

    if (now > loop->host->latest)
        loop->host->latest = now;
    return loop->host->latest;
}

/* ---- timers and descriptors ------------------------------------------------------------------ */

/* If no thread runs the loop, the caller's event loop does, unless there is a renewal thread. */
static void set_wakeup_timer(bwl_loop *loop)
{
    if (loop->wakeup != NULL && !loop->renewal.runs)
        bwl_wakeup_set_timer(loop->wakeup, loop, bwl_timers_next(&loop->timers));
}

void bwl_loop_set_timer(bwl_loop *loop, bwl_timer *timer, bwl_ms at)
{
    if (at == BWL_NEVER && timer->at == BWL_NEVER)
        return; /* unchanged, as in most steps */
    bwl_timers_set(&loop->timers, timer, at);
    if (loop->is_running && at < loop->runs_until)
        bwl_reactor_wake(&loop->host->reactor);
    else if (!loop->is_running && loop->dispatchers == 0)
        set_wakeup_timer(loop);
}

void bwl_loop_notify_caller(bwl_loop *loop)
{
    if (loop->dispatchers > 0 && !loop->is_running)
        return; /* the caller's event loop is dispatching, and will check */
    if (loop->wakeup != NULL && loop->dispatchers == 0)
        bwl_wakeup_raise(loop->wakeup); /* another thread could clear a wake of the reactor */
    else if (loop->host->reactor.epoll_fd >= 0)
        bwl_reactor_wake(&loop->host->reactor);
}

int bwl_loop_attach_wakeup(bwl_loop *loop, bwl_wakeup *wakeup, bwl_fault *fault)
{
    int status = bwl_reactor_open(&loop->host->reactor, fault);

    if (status == BWL_OK)
        status = bwl_wakeup_attach(wakeup, loop->host->reactor.epoll_fd, loop, fault);
    if (status < 0)
        return status;
    loop->wakeup = wakeup;
    if (!loop->is_running)
        set_wakeup_timer(loop);
    return BWL_OK;
}

void bwl_loop_wake_runner(bwl_loop *loop)
{
    if (loop->is_running)
        bwl_reactor_wake(&loop->host->reactor);
}

/* ---- running --------------------------------------------------------------------------------- */

bool bwl_loop_gather_begin(bwl_loop *loop)
{
    bool is_on = loop->host->coalescing.is_on;

    loop->host->coalescing.is_on = true;
    return !is_on;
}

void bwl_loop_gather_end(bwl_loop *loop, bool begun)
{
    if (!begun)
        return;
    loop->host->coalescing.is_on = false;
    flush(loop);
}

/* Uses the caller's reading of the clock.  Thousands of holds may be due for renewal at about the
 * same time: their commands are sent together, the earliest first. */
static void expire_timers(bwl_loop *loop)
{
    bwl_timer *timer = bwl_timers_take_due(&loop->timers, loop->host->latest);

    if (timer == NULL)
        return;
    bool begun = bwl_loop_gather_begin(loop);
    for (; timer != NULL; timer = bwl_timers_take_due(&loop->timers, loop->host->latest))
        timer->expired(timer);
    bwl_loop_gather_end(loop, begun);
}

/* The fast path: blocks on the socket, see engine->await. */
static bool await(bwl_loop *loop, bwl_ms until)
{
    if (loop->host->engine->await == NULL || loop->host->pending == 0 || loop->dispatchers > 0)
        return false;
    loop->is_running = true;
    loop->runs_until = 0; /* await checks the timers often enough */
    bool done =
        loop->host->engine->await(loop->host, bwl_ms_min(until, bwl_timers_next(&loop->timers)));
    loop->is_running  = false;
    loop->last_run_at = loop->host->latest;
    return done;
}

int bwl_loop_run(bwl_loop *loop, bwl_ms until, bwl_fault *fault)
{
    bwl_ready ready[BWL_READY_MAX];

    assert(!loop->is_running);
    int status = bwl_reactor_open(&loop->host->reactor, fault);
    if (status < 0) {
        (void)bwl_loop_now(loop);
        expire_timers(loop); /* time limits work even without a descriptor */
        return status;
    }
    flush(loop);
    if (await(loop, until)) {
        expire_timers(loop);
        return BWL_OK;
    }
    bwl_ms now       = bwl_loop_now(loop);
    bwl_ms at        = bwl_ms_min(until, bwl_timers_next(&loop->timers));
    loop->is_running = true;
    loop->runs_until = at;
    bwl_loop_unlock(loop);
    bwl_ms wait_ms = at == BWL_NEVER ? BWL_NEVER : at > now ? at - now : 0;
    int    count   = bwl_reactor_wait(&loop->host->reactor, wait_ms, ready);
    bwl_loop_lock(loop);
    loop->is_running  = false;
    loop->last_run_at = bwl_loop_now(loop);

    for (int i = 0; i < count; i++) {
        if (ready[i].source == NULL)
            engine_woken(loop);
        else
            ready[i].source->ready(ready[i].source, ready[i].events);
    }
    expire_timers(loop);
    return BWL_OK;
}

/* ---- coalescing ------------------------------------------------------------------------------ */

bool bwl_loop_may_hold_back(const bwl_loop *loop)
{
    return loop->renewal.runs && loop->wakeup == NULL && !loop->is_running &&
           loop->dispatchers == 0 && !loop->host->coalescing.is_on && !loop->host->closing;
}

void bwl_loop_coalesce_begin(bwl_loop *loop)
{
    loop->host->coalescing.is_on = loop->host->pending > 0 && bwl_loop_may_hold_back(loop);
}

void bwl_loop_coalesce_end(bwl_loop *loop)
{
    if (!loop->host->coalescing.is_on)
        return;
    loop->host->coalescing.is_on = false;
    if (loop->host->coalescing.since != 0)
        return;
    loop->host->coalescing.since = loop->host->latest;
    bwl_loop_notify_renewal(loop);
}

/* ---- waiting threads ------------------------------------------------------------------------- */

void bwl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    /* These fail only for a clock that does not exist. */
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void bwl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, bwl_ms wait_ms)
{
    struct timespec t;

    if (wait_ms == BWL_NEVER) {
        (void)pthread_cond_wait(cond, mutex);
        return;
    }
    /* A condition cannot wait on the clock that counts suspend.  After a suspend this sleeps too
     * long, which delays a time-out and breaks no promise. */
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(wait_ms / 1000);
    t.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(cond, mutex, &t);
}

/* Sleeps on the condition until `at` at the latest.  May wake without a reason. */
static void sleep_until(bwl_loop *loop, pthread_cond_t *cond, bwl_ms at)
{
    bwl_ms now = bwl_loop_now(loop);

    if (loop->to_signal != NULL || loop->renewal.is_notified) { /* the wait would not signal them */
        bwl_loop_unlock(loop);
        bwl_loop_lock(loop);
    } else if (at > now) {
        bwl_cond_wait(cond, &loop->mutex, at == BWL_NEVER ? BWL_NEVER : at - now);
    }
}

static void signal_later(bwl_loop *loop, bwl_waiting_thread *thread)
{
    if (thread->is_signalled)
        return;
    thread->is_signalled   = true;
    thread->next_to_signal = loop->to_signal;
    loop->to_signal        = thread;
    loop->host->coalescing.expected++;
}

/* The thread runs again, signalled or not.  The last of the signalled threads sends the commands of
 * all of them. */
static void has_woken(bwl_loop *loop, bwl_waiting_thread *thread)
{
    if (!thread->is_signalled)
        return;
    for (bwl_waiting_thread **t = &loop->to_signal; *t != NULL; t = &(*t)->next_to_signal)
        if (*t == thread) {
            *t = thread->next_to_signal;
            break;
        }
    loop->host->coalescing.expected--;
    if (loop->host->coalescing.expected == 0)
        flush(loop);
}

static bwl_waiting_thread *thread_new(bwl_loop *loop)
{
    bwl_waiting_thread *thread = loop->idle_threads;

    if (thread != NULL) {
        loop->idle_threads = thread->next;
    } else {
        thread = malloc(sizeof *thread);
        if (thread == NULL)
            return NULL;
        bwl_cond_init(&thread->cond);
    }
    thread->is_signalled = false;
    return thread;
}

static void add_waiting(bwl_loop *loop, bwl_waiting_thread *thread)
{
    bwl_waiting_thread *first = loop->waiting_threads;

    thread->next     = first != NULL ? first : thread;
    thread->previous = first != NULL ? first->previous : thread;
    if (first == NULL)
        loop->waiting_threads = thread;
    thread->previous->next = thread;
    thread->next->previous = thread;
}

static void remove_waiting(bwl_loop *loop, bwl_waiting_thread *thread)
{
    thread->previous->next = thread->next;
    thread->next->previous = thread->previous;
    if (loop->waiting_threads == thread)
        loop->waiting_threads = thread->next != thread ? thread->next : NULL;
}

static int sleep_for(bwl_loop *loop, bwl_completion *completion, bwl_ms until, bwl_fault *fault)
{
    bwl_waiting_thread  *thread = thread_new(loop);
    bwl_waiting_thread **where  = &completion->waiting;

    if (thread == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    add_waiting(loop, thread);
    thread->beside      = completion->waiting;
    completion->waiting = thread;
    sleep_until(loop, &thread->cond, until);
    while (*where != thread)
        where = &(*where)->beside;
    *where = thread->beside;
    remove_waiting(loop, thread);
    has_woken(loop, thread);
    thread->next       = loop->idle_threads;
    loop->idle_threads = thread;
    return BWL_OK;
}

void bwl_loop_hand_over(bwl_loop *loop)
{
    if (loop->is_running || loop->host->coalescing.expected > 0)
        return; /* a signalled thread hands over when it leaves */
    if (loop->waiting_threads != NULL) {
        signal_later(loop, loop->waiting_threads);
        return;
    }
    bwl_loop_notify_renewal(loop);
    set_wakeup_timer(loop);
}

void bwl_loop_catch_up(bwl_loop *loop)
{
    bool is_awaited = loop->host->pending > 0 || loop->engine_timer.at != BWL_NEVER;

    if (!is_awaited || loop->is_running ||
        bwl_loop_now(loop) < bwl_ms_add(loop->last_run_at, BEHIND_MS))
        return;
    (void)bwl_loop_run(loop, loop->host->latest, NULL);
    bwl_loop_hand_over(loop);
}

void bwl_loop_complete(bwl_loop *loop, bwl_completion *completion, bwl_outcome_kind result)
{
    completion->result = result;
    for (bwl_waiting_thread *t = completion->waiting; t != NULL; t = t->beside)
        signal_later(loop, t);
}

int bwl_loop_wait(bwl_loop *loop, bwl_completion *completion, bwl_ms until, bwl_fault *fault)
{
    int status = BWL_OK;

    if (loop->host->coalescing.since != 0)
        flush(loop); /* a thread that waits sends what was held back */
    while (completion->result == BWL_PENDING && status == BWL_OK) {
        if (until != BWL_NEVER && until <= bwl_loop_now(loop))
            status = BWL_STATUS_TIMEOUT;
        else if (loop->is_running || loop->host->coalescing.expected > 0)
            status = sleep_for(loop, completion, until, fault);
        else
            status = bwl_loop_run(loop, until, fault);
    }
    if (completion->result != BWL_PENDING)
        status = BWL_OK; /* a timer completed it */
    bwl_loop_hand_over(loop);
    return status;
}

/* ---- the renewal thread ---------------------------------------------------------------------- */

static void *run_renewal(void *arg)
{
    bwl_loop           *loop = arg;
    bwl_renewal_thread *t    = &loop->renewal;

    bwl_loop_lock(loop);
    while (!t->stops) {
        bwl_ms at = t->due(t->due_arg);
        if (at > bwl_loop_now(loop)) {
            t->sleeps_until = at;
            sleep_until(loop, &t->cond, at);
        } else if (bwl_loop_run(loop, BWL_NEVER, NULL) < 0) {
            /* No descriptor is available.  A caller that needs one gets the error. */
            t->sleeps_until = bwl_ms_add(bwl_loop_now(loop), PAUSE_AFTER_FAILURE_MS);
            sleep_until(loop, &t->cond, t->sleeps_until);
        } else {
            bwl_loop_hand_over(loop);
        }
    }
    bwl_loop_unlock(loop);
    return NULL;
}

void bwl_loop_notify_renewal(bwl_loop *loop)
{
    bwl_renewal_thread *t = &loop->renewal;

    if (t->runs && t->due(t->due_arg) < t->sleeps_until) {
        t->sleeps_until = BWL_NEVER;
        t->is_notified  = true;
    }
}

int bwl_loop_start_renewal(bwl_loop *loop, bwl_renewal_due *due, void *arg, bwl_fault *fault)
{
    bwl_renewal_thread *t = &loop->renewal;

    if (t->runs)
        return BWL_OK;
    *t = (bwl_renewal_thread){ .due = due, .due_arg = arg, .sleeps_until = BWL_NEVER };
    bwl_cond_init(&t->cond);
    if (bwl_thread_start(&t->thread, run_renewal, loop) < 0) {
        int status = bwl_fail_errno(fault, "cannot start the thread that renews");
        (void)pthread_cond_destroy(&t->cond);
        return status;
    }
    t->runs = true;
    return BWL_OK;
}

void bwl_loop_stop_renewal(bwl_loop *loop)
{
    bwl_renewal_thread *t = &loop->renewal;

    if (!t->runs)
        return;
    bwl_loop_lock(loop);
    t->runs        = false;
    t->is_notified = false;
    t->stops       = true;
    pthread_cond_signal(&t->cond);
    bwl_loop_wake_runner(loop);
    bwl_loop_unlock(loop);
    (void)pthread_join(t->thread, NULL);
    (void)pthread_cond_destroy(&t->cond);
}
