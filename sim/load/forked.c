#include "sim/load/forked.h"

#include "sim/kernel/descriptor.h"
#include "sim/kernel/fork.h"
#include "sim/kernel/network.h"
#include "sim/kernel/say.h"

#include <bowline/stats.h>
#include <bowline/update.h>

typedef struct inheritance {
    const load_program   *program;
    const load_inherited *all;
    unsigned              count;
} inheritance;

static void expect_forked(int status)
{
    if (status != BOWLINE_FORKED)
        sim_child_fail("returned %s", bowline_status_name(status));
}

static void expect(int64_t returned, int64_t expected)
{
    if (returned != expected)
        sim_child_fail("returned %lld", (long long)returned);
}

/* Says what the child does, and does it. */
#define IS_FORKED(call)      (sim_child_does(#call), expect_forked(call))
#define RETURNS(value, call) (sim_child_does(#call), expect(call, value))

static int compute(bowline_change *change, void *context)
{
    (void)change;
    (void)context;
    return -1;
}

static void use_client(bowline_client *client)
{
    bowline_stats      stats  = BOWLINE_STATS_INIT;
    bowline_hold      *hold   = NULL;
    bowline_operation *op     = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    bowline_event      event  = { .size = sizeof event };
    bowline_error      error  = { 0 };

    IS_FORKED(bowline_ping(client, 0, &error));
    IS_FORKED(bowline_client_stats(client, &stats, &error));
    IS_FORKED(bowline_acquire(&hold, client, "a", NULL, &error));
    IS_FORKED(bowline_hold_import(&hold, client, "bowline-ticket", NULL, &error));
    IS_FORKED(bowline_acquire_start(&op, client, "a", NULL, &error));
    IS_FORKED(bowline_who(client, "a", &holder, &error));
    IS_FORKED(bowline_who_start(&op, client, "a", &error));
    IS_FORKED(bowline_break(client, "a", 1, &error));
    IS_FORKED(bowline_update(client, "a", compute, NULL, NULL, &error));
    IS_FORKED(bowline_flush_releases(client, 1000, &error));
    IS_FORKED(bowline_fd(client));
    IS_FORKED(bowline_wakeup_fd(client, &error));
    IS_FORKED(bowline_dispatch(client, 1000, &error));
    IS_FORKED(bowline_next_event(client, &event, &error));
    RETURNS(BOWLINE_FOREVER, bowline_timeout_ms(client));
}

static void use_operation(bowline_operation *op)
{
    bowline_error error = { 0 };

    RETURNS(1, bowline_operation_done(op));
    sim_child_does("bowline_cancel");
    bowline_cancel(op);
    IS_FORKED(bowline_operation_check(op, &error));
    IS_FORKED(bowline_operation_wait(op, BOWLINE_FOREVER, &error));
}

static void use_operations(const load_inherited *some)
{
    bowline_hold  *hold   = NULL;
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error  = { 0 };

    if (some->acquire != NULL) {
        use_operation(some->acquire);
        IS_FORKED(bowline_acquire_finish(&hold, some->acquire, &error));
    }
    if (some->who != NULL) {
        use_operation(some->who);
        IS_FORKED(bowline_who_finish(&holder, some->who, &error));
    }
    if (some->other != NULL) {
        use_operation(some->other);
        IS_FORKED(bowline_finish(some->other, &error));
    }
}

static void use_hold(bowline_hold *hold)
{
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };
    int                fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    char               ticket[BOWLINE_TICKET_MAX];

    RETURNS(0, bowline_hold_left_ms(hold));
    RETURNS(0, bowline_hold_inherit_fds(hold, fds));
    IS_FORKED(bowline_hold_check(hold, &error));
    IS_FORKED(bowline_hold_lost_fd(hold, &error));
    IS_FORKED(bowline_hold_export(hold, ticket, &error));
    IS_FORKED(bowline_extend(hold, 0, &error));
    IS_FORKED(bowline_extend_start(&op, hold, 0, &error));
    IS_FORKED(bowline_yield(hold, BOWLINE_FOREVER, &error));
    IS_FORKED(bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error));
    IS_FORKED(bowline_release_start(&op, hold, &error));
    IS_FORKED(bowline_release_nowait(hold, &error));
}

/* Without other threads, a close frees everything. */
static void close_client(const inheritance *i)
{
    sim_child_does("bowline_close");
    bowline_close(i->program->client);
    if (i->program->plan.threads > 0)
        return;
    if (sim_descriptors_count(i->program->process) > 0 || sim_heap_blocks(i->program->process) > 0)
        sim_child_fail("leaves %u descriptors and %zu blocks",
                       sim_descriptors_count(i->program->process),
                       sim_heap_blocks(i->program->process));
}

static void be_child(void *arg)
{
    const inheritance *i = arg;

    use_client(i->program->client);
    for (unsigned n = 0; n < i->count; n++) {
        use_operations(&i->all[n]);
        if (i->all[n].hold != NULL)
            use_hold(i->all[n].hold);
    }
    close_client(i);
}

bool load_forks(const load_program *program)
{
    return program->plan.fork_ms > 0 && sim_now() >= program->fork_at;
}

/* Each pause until the next child is eight times as long: there are few, also in a long world. */
void load_fork(load_program *program, const load_inherited *all, unsigned count)
{
    inheritance i    = { .program = program, .all = all, .count = count };
    const char *name = sim_process_name(program->process);
    const char *what = sim_fork(be_child, &i);

    sim_say_of(SIM_SAID_CLIENT, sim_host_of(program->process), "%s: fork: %s", name,
               what == NULL ? "OK" : what);
    if (what != NULL)
        check_fail("fork: %s: in a child, %s", name, what);
    program->plan.fork_ms *= 8;
    program->fork_at = sim_now() + program->plan.fork_ms * SIM_MS;
}
