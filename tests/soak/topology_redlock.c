/*
 * topology_redlock.c -- three or five servers, of which fewer than half at a time are killed,
 * restarted without data, stopped, or cut off. See topology.h.
 *
 * A killed or stopped server stays so until each lock was acquired again: the others are a
 * majority. A restarted one has no vote for a lease, and counts as faulty until then.
 */
#include "tests/soak/topology.h"

#include <signal.h>
#include <stdio.h>

enum { STALLED_MAX_MS = 3000, SECOND_MS = 1000 };

/* The seed determines the number. A server has no vote before it has run for a lease, and reports
 * its uptime in whole seconds. */
static void start(soak_run *run)
{
    run->nodes_count = run->journal->seed % 2 == 0 ? 3 : 5;
    for (unsigned i = 0; i < run->nodes_count; i++)
        run->nodes[i] = server_start(NULL);
    sleep_ms(soak_lease_max_us(run->journal) / 1000 + SECOND_MS);
}

static void stop(soak_run *run)
{
    for (unsigned i = 0; i < run->nodes_count; i++)
        server_stop(run->nodes[i]);
}

static void set_url(soak_run *run, unsigned member)
{
    soak_member *m    = &run->journal->members[member];
    size_t       size = (size_t)snprintf(m->url, sizeof m->url, "redlock://");

    for (unsigned i = 0; i < run->nodes_count; i++) {
        if (m->has_proxy)
            run->proxies[member][i] =
                proxy_start(run->nodes[i], &(proxy_plan){ .fault = PROXY_NONE });
        const char *url =
            m->has_proxy ? proxy_url(run->proxies[member][i]) : run->nodes[i]->tcp_url;
        size += (size_t)snprintf(m->url + size, sizeof m->url - size, "%s%s", i > 0 ? "," : "",
                                 soak_host_of(url));
    }
}

/* ---- one at a time, or two of five ----------------------------------------------------------- */

/* Fewer than half of them, and at least one. */
static unsigned draw_nodes(const soak_run *run, const soak_fault *fault)
{
    unsigned first          = fault->victim % run->nodes_count;
    unsigned selected_count = 1 + fault->victim / run->nodes_count % (run->nodes_count / 2);
    unsigned nodes          = 0;

    for (unsigned i = 0; i < selected_count; i++)
        nodes |= 1u << (first + i * 2) % run->nodes_count;
    return nodes;
}

static void to_proxies(soak_run *run, unsigned node, int64_t stall_ms)
{
    for (unsigned i = 0; i < run->journal->members_count; i++) {
        if (run->proxies[i][node] == NULL)
            continue;
        if (stall_ms > 0)
            soak_stall(run->proxies[i][node], stall_ms);
        else
            proxy_cut(run->proxies[i][node]);
    }
}

static void inject_into_node(soak_run *run, const soak_server_fault *t, unsigned node)
{
    switch ((unsigned)t->fault.kind) {
    case SOAK_FEW_EMPTY: server_restart(run->nodes[node]); return;
    case SOAK_FEW_KILLED: server_kill(run->nodes[node]); return;
    case SOAK_FEW_STOPPED: server_signal(run->nodes[node], SIGSTOP); return;
    case SOAK_FEW_CUT:
        to_proxies(run, node, 0);
        server_hang_up(run->nodes[node]); /* members without proxies */
        return;
    case SOAK_FEW_STALLED: to_proxies(run, node, soak_share(&t->fault, STALLED_MAX_MS)); return;
    default: (void)server_ask(run->nodes[node], "SCRIPT FLUSH SYNC"); return;
    }
}

static void inject(soak_run *run, soak_server_fault *t)
{
    t->nodes = draw_nodes(run, &t->fault);
    for (unsigned i = 0; i < run->nodes_count; i++)
        if ((t->nodes & 1u << i) != 0)
            inject_into_node(run, t, i);
    if (t->fault.kind == SOAK_FEW_STALLED)
        t->until_ms = clock_ms() + soak_share(&t->fault, STALLED_MAX_MS);
    if (t->fault.kind == SOAK_FEW_EMPTY)
        t->until_ms = clock_ms() + soak_lease_max_us(run->journal) / 1000 + SECOND_MS;
}

static void heal_node(soak_run *run, const soak_server_fault *t, unsigned node)
{
    if (t->fault.kind == SOAK_FEW_KILLED)
        server_start_again(run->nodes[node]);
    if (t->fault.kind == SOAK_FEW_STOPPED)
        server_signal(run->nodes[node], SIGCONT);
}

static bool repair(soak_run *run, soak_server_fault *t)
{
    bool is_away = t->fault.kind == SOAK_FEW_KILLED || t->fault.kind == SOAK_FEW_STOPPED;

    if (clock_ms() < t->until_ms || (t->stage == 0 && !soak_held_since(run, t->from_us)))
        return false;
    for (unsigned i = 0; t->stage == 0 && i < run->nodes_count; i++)
        if ((t->nodes & 1u << i) != 0)
            heal_node(run, t, i);
    if (t->stage == 0 && is_away)
        t->until_ms = clock_ms() + soak_lease_max_us(run->journal) / 1000 + SECOND_MS;
    t->stage++;
    return clock_ms() >= t->until_ms;
}

/* There is no queue to check. */
static server *lock_server(soak_run *run, unsigned lock)
{
    (void)run;
    (void)lock;
    return NULL;
}

const soak_topology soak_redlock = {
    .name     = "redlock",
    .locks    = { [RED]   = { "red", "redlock", 1000 },
                  [GREEN] = { "green", "redlock", 1200 },
                  [BLUE]  = { "blue", "redlock", 1500 } },
    .weights = {
        SOAK_WEIGHTS_OF_MEMBERS,
        SOAK_WEIGHTS_OF_PROXIES,
        [SOAK_SCRIPT_FLUSH] = 5,
        [SOAK_FEW_EMPTY] = 10,
        [SOAK_FEW_KILLED] = 10,
        [SOAK_FEW_STOPPED] = 10,
        [SOAK_FEW_CUT] = 10,
        [SOAK_FEW_STALLED] = 10,
    },
    .pause_ms = 80,
    .start    = start,
    .stop     = stop,
    .set_url    = set_url,
    .inject   = inject,
    .repair     = repair,
    .lock_server   = lock_server,
};
