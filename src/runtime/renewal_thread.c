#include "runtime/renewal_thread.h"
#include "base/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

struct bwl_renewal_thread {
    bwl_idle_runner  runner; /* first: the loop points to it */
    bwl_loop        *loop;
    bwl_renewal_due *due;
    void            *due_arg;
    pthread_t        thread;
    pthread_cond_t   cond;
    bwl_ms           sleeps_until;
    bool             stops;
};

enum { PAUSE_AFTER_FAILURE_MS = 100 };

static void *run(void *arg)
{
    bwl_renewal_thread *t    = arg;
    bwl_loop           *loop = t->loop;

    bwl_loop_lock(loop);
    while (!t->stops) {
        bwl_ms at = t->due(t->due_arg);
        if (at > bwl_loop_now(loop)) {
            t->sleeps_until = at;
            bwl_loop_sleep(loop, &t->cond, at);
        } else if (bwl_loop_run(loop, BWL_NEVER, NULL) < 0) {
            /* No descriptor is available.  A caller that needs one gets the error. */
            t->sleeps_until = bwl_ms_add(bwl_loop_now(loop), PAUSE_AFTER_FAILURE_MS);
            bwl_loop_sleep(loop, &t->cond, t->sleeps_until);
        } else {
            bwl_loop_hand_over(loop);
        }
    }
    bwl_loop_unlock(loop);
    return NULL;
}

static void notify(bwl_idle_runner *runner)
{
    bwl_renewal_thread *t = (bwl_renewal_thread *)(void *)runner;

    if (t->due(t->due_arg) < t->sleeps_until) {
        t->sleeps_until = BWL_NEVER;
        bwl_loop_notify_later(t->loop, &t->cond);
    }
}

int bwl_renewal_thread_start(bwl_renewal_thread **thread, bwl_loop *loop, bwl_renewal_due *due,
                             void *arg, bwl_fault *fault)
{
    sigset_t all;
    sigset_t before;

    if (*thread != NULL)
        return BWL_OK;
    bwl_renewal_thread *t = malloc(sizeof *t);
    if (t == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *t = (bwl_renewal_thread){
        .runner = { notify }, .loop = loop, .due = due, .due_arg = arg, .sleeps_until = BWL_NEVER
    };
    bwl_cond_init(&t->cond);

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&t->thread, NULL, run, t);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        (void)pthread_cond_destroy(&t->cond);
        free(t);
        errno = error;
        return bwl_fail_errno(fault, "cannot start the thread that renews");
    }
    bwl_loop_set_idle_runner(loop, &t->runner);
    *thread = t;
    return BWL_OK;
}

void bwl_renewal_thread_stop(bwl_renewal_thread *t)
{
    if (t == NULL)
        return;
    bwl_loop_lock(t->loop);
    bwl_loop_set_idle_runner(t->loop, NULL);
    t->stops = true;
    pthread_cond_signal(&t->cond);
    if (t->loop->is_running)
        bwl_loop_wake(t->loop);
    bwl_loop_unlock(t->loop);
    (void)pthread_join(t->thread, NULL);
    (void)pthread_cond_destroy(&t->cond);
    free(t);
}

void bwl_renewal_thread_abandon(bwl_renewal_thread *t)
{
    free(t);
}
