/*
 * inside.c -- see inside.h.
 */
#include "tests/lib/inside.h"
#include "api/handles.h"

static void count_in(const bwl_shard *shard, const char *name, inside *sum)
{
    const bwl_renewal_thread *renewal = &shard->loop.renewal;
    const bwl_waiting_thread *first   = shard->loop.waiting_threads;

    sum->threads += shard->loop.is_running ? 1 : 0;
    for (const bwl_waiting_thread *t = first; t != NULL; t = t->next != first ? t->next : NULL)
        sum->threads++;
    for (const bwl_lock *l = shard->locks; l != NULL && name != NULL; l = l->next) {
        bool waits =
            l->base.hold.state == BWL_HOLD_QUEUED || l->base.hold.state == BWL_HOLD_WAITING;
        sum->locks += waits && strcmp(l->base.name, name) == 0;
    }
    bwl_ms until = shard->loop.is_running ? shard->loop.runs_until : renewal->sleeps_until;
    sum->idle_renewals += renewal->runs && until < BWL_NEVER && until > shard->host.latest;
}

inside look_inside(bowline_client *client, const char *name)
{
    inside     sum = { 0 };
    bwl_shard *shard;

    for (unsigned i = 0; (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_loop_lock(&shard->loop);
        count_in(shard, name, &sum);
        bwl_loop_unlock(&shard->loop);
    }
    return sum;
}

bool inside_comes_to(bowline_client *client, const char *name, inside least)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(1)) {
        inside now = look_inside(client, name);
        if (now.threads >= least.threads && now.locks >= least.locks &&
            now.idle_renewals >= least.idle_renewals)
            return true;
    }
    return false;
}

bool threads_wait(bowline_client *client, unsigned count)
{
    return inside_comes_to(client, NULL, (inside){ .threads = count });
}

void inside_await_replies(bowline_client *client)
{
    bwl_shard *shard;

    for (unsigned i = 0; (shard = bwl_shard_at(client, i)) != NULL; i++) {
        bwl_loop *loop = &shard->loop;
        bwl_loop_lock(loop);
        while (shard->host.pending > 0) {
            if (!loop->is_running)
                (void)bwl_loop_run(loop, bwl_ms_add(bwl_loop_now(loop), 10), NULL);
            bwl_loop_unlock(loop); /* the renewal thread may run it */
            sleep_ms(1);
            bwl_loop_lock(loop);
        }
        bwl_loop_hand_over(loop);
        bwl_loop_unlock(loop);
    }
}
