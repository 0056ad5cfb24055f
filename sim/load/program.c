#include "sim/load/program.h"

#include "lab/base/dice.h"
#include "sim/kernel/descriptor.h"
#include "sim/kernel/network.h"
#include "sim/kernel/say.h"
#include "sim/load/tickets.h"

#include <string.h>

enum {
    NODES_ASKED   = 3, /* one after the other, by a request that is redirected */
    SLOW_OF       = 8,
    ROUNDING_MS   = 2,
    LEAST_WAIT_MS = 1000,
    CLOSE_MS      = 200 + LOAD_SLACK_MS,
};

uint64_t load_operations(const load_counts *counts)
{
    return counts->acquires + counts->extends + counts->yields + counts->queries +
           counts->releases + counts->breaks + counts->exports + counts->imports;
}

uint64_t load_draw(load_program *program, uint64_t below)
{
    return below == 0 ? 0 : bwl_dice_draw(&program->seed) % below;
}

int64_t load_own_ms(const load_program *program)
{
    return sim_clock_read(program->process, SIM_CLOCK_BOOT) / SIM_MS;
}

const char *load_lock_name(unsigned name)
{
    static const char *const names[CHECK_NAMES_MAX] = { "a", "b", "c", "d", "e", "f", "g", "h",
                                                        "i", "j", "k", "l", "m", "n", "o", "p" };

    return names[name];
}

bowline_acquire_options load_acquire_options(load_program *program)
{
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;
    uint64_t                kind    = load_draw(program, 8);

    options.wait_ms     = kind == 0   ? BOWLINE_NO_WAIT
                          : kind == 1 ? BOWLINE_FOREVER
                                      : 1 + (int64_t)load_draw(program, 10000);
    options.max_hold_ms = load_draw(program, 2) == 0 ? program->plan.max_hold_ms : 0;
    return options;
}

int64_t load_yield_wait_ms(load_program *program)
{
    return load_draw(program, 2) == 0 ? BOWLINE_FOREVER : 1 + (int64_t)load_draw(program, 10000);
}

/* redlock:// allows no longer lease than that of the client. */
uint32_t load_extend_ms(load_program *program)
{
    if (program->plan.step_ms > 0)
        return program->plan.lease_ms; /* equal ones share a call */
    return program->plan.lease_ms / 2 + (uint32_t)load_draw(program, program->plan.lease_ms / 2);
}

/* ---- calls ----------------------------------------------------------------------------------- */

load_call load_begin(const load_program *program, const char *what, unsigned name, int64_t wait_ms)
{
    return (load_call){
        .what     = what,
        .first_ms = load_own_ms(program),
        .began_ms = load_own_ms(program),
        .since    = sim_now(),
        .wait_ms  = wait_ms,
        .name     = name,
    };
}

static bool is_calm(const load_program *program, unsigned name, int64_t since, bool mild)
{
    return check_is_name_calm(name, since) && check_is_calm(program->plan.number, since, mild);
}

static bool may_lose(const load_program *program, unsigned name, int64_t since)
{
    return program->plan.max_hold_ms > 0 || program->plan.no_renewal || program->plan.has_breaks ||
           !is_calm(program, name, since, false);
}

static bool is_possible(const load_program *program, int status, const load_call *call)
{
    if (call->also != 0 && status == call->also)
        return true;
    switch (status) {
    case BOWLINE_OK:
    case BOWLINE_CANCELLED: return true;
    case BOWLINE_BUSY: return call->wait_ms == 0;
    case BOWLINE_TIMEOUT: return call->wait_ms != 0;
    case BOWLINE_LOST: return may_lose(program, call->name, call->since);
    case BOWLINE_UNKNOWN:
    case BOWLINE_UNREACHABLE:
    case BOWLINE_REFUSED: return !is_calm(program, call->name, call->since, true);
    default: return false;
    }
}

/* A wait is used up before its acquire fails. */
static bool is_early(const load_program *program, int status, const load_call *call)
{
    bool waits =
        status == BOWLINE_TIMEOUT || status == BOWLINE_UNREACHABLE || status == BOWLINE_REFUSED;

    return waits && call->wait_ms != 0 && check_is_name_calm(call->name, call->since) &&
           strcmp(call->what, "bowline_acquire") == 0 &&
           (call->wait_ms == BOWLINE_FOREVER ||
            load_own_ms(program) + ROUNDING_MS < call->first_ms + call->wait_ms);
}

static void check_secret(const load_program *program, const char *text)
{
    if (strstr(text, LOAD_SECRET) != NULL)
        check_fail("secret: %s: a text has the password", sim_process_name(program->process));
    if (load_tells_ticket(text))
        check_fail("secret: %s: a text has a part of a ticket", sim_process_name(program->process));
}

void load_end(load_program *program, const load_call *call, int status, const bowline_error *error)
{
    const char *name = sim_process_name(program->process);

    if (status == BOWLINE_UNREACHABLE)
        program->unreached_at = sim_now();
    if (!is_possible(program, status, call))
        check_fail("status: %s: %s returned %s (%s)", name, call->what, bowline_status_name(status),
                   error->text);
    if (is_early(program, status, call))
        check_fail("early: %s: %s returned %s (%s) before the end of its wait", name, call->what,
                   bowline_status_name(status), error->text);
    check_secret(program, error->text);
    sim_say_of(SIM_SAID_CLIENT, sim_host_of(program->process), "%s: %s: %s %s", name, call->what,
               bowline_status_name(status), status == BOWLINE_OK ? "" : error->text);
    sim_trace(11, (uint64_t)(int64_t)status, sim_process_number(program->process));
}

/* The only connection was lost before the call began, and could not be made again. */
static bool has_no_connection(const load_program *program, const load_call *call)
{
    int64_t silent_since = check_silent_since();

    return program->plan.threads == 0 &&
           ((silent_since < program->unreached_at && program->unreached_at <= call->since) ||
            (silent_since < program->opened_at && program->opened_at <= call->since));
}

static int64_t most_ms(const load_program *program, const load_call *call, bool is_calm)
{
    const load_plan *plan       = &program->plan;
    bool             waits      = call->wait_ms > 0 && strcmp(call->what, "bowline_acquire") == 0;
    int64_t          nodes      = call->wait_ms == 0 ? NODES_ASKED : 1;
    int64_t          replies_ms = nodes * (int64_t)plan->reply_ms + plan->late_ms;

    if (call->wait_ms == 0) /* each message to one of them may be slow */
        replies_ms += nodes * plan->reply_ms / SLOW_OF;
    if (waits && has_no_connection(program, call))
        replies_ms = call->wait_ms < LEAST_WAIT_MS ? LEAST_WAIT_MS - call->wait_ms : 0;
    if (is_calm && plan->calm_ms < replies_ms)
        replies_ms = plan->calm_ms;
    return call->wait_ms + replies_ms + LOAD_SLACK_MS;
}

int64_t load_limit_ms(const load_program *program, const load_call *call)
{
    return call->wait_ms == BOWLINE_FOREVER ? INT64_MAX
                                            : call->began_ms + most_ms(program, call, false);
}

void load_check_time(load_program *program, const load_call *call)
{
    int64_t took_ms = load_own_ms(program) - call->began_ms;
    int64_t most    = most_ms(program, call, is_calm(program, call->name, call->since, true));

    if (call->wait_ms != BOWLINE_FOREVER && took_ms > most)
        check_fail("time: %s: %s has lasted for %lld ms, %lld ms at most",
                   sim_process_name(program->process), call->what, (long long)took_ms,
                   (long long)most);
}

/* ---- holds ----------------------------------------------------------------------------------- */

static int64_t after(int64_t now, int64_t left_ms)
{
    return left_ms > (SIM_NEVER - now) / SIM_MS ? SIM_NEVER : now + left_ms * SIM_MS;
}

check_left load_left(const load_program *program, bowline_hold *hold)
{
    int64_t before  = sim_clock_read(program->process, SIM_CLOCK_BOOT);
    int64_t left_ms = bowline_hold_left_ms(hold);

    return (check_left){
        .until    = after(before, left_ms),
        .latest   = after(sim_clock_read(program->process, SIM_CLOCK_BOOT), left_ms),
        .lease_ns = program->plan.lease_ms * SIM_MS,
    };
}

void load_check_release(const load_program *program, int status, bool had_ended)
{
    if (status == BOWLINE_OK && had_ended)
        check_fail("state: %s: the release of a hold that had ended was OK",
                   sim_process_name(program->process));
}

void load_check_hold(load_program *program, bowline_hold *hold, unsigned name)
{
    bowline_error error   = { 0 };
    int64_t       left_ms = bowline_hold_left_ms(hold);
    load_call     call    = load_begin(program, "bowline_hold_check", name, 0);
    int           status  = bowline_hold_check(hold, &error);

    load_end(program, &call, status, &error);
    if (status == BOWLINE_LOST ? bowline_hold_left_ms(hold) != 0 : left_ms == 0)
        check_fail("state: %s: bowline_hold_check returned %s with %lld ms left",
                   sim_process_name(program->process), bowline_status_name(status),
                   (long long)left_ms);
}

bool load_is_readable(int fd)
{
    struct pollfd polled = { .fd = fd, .events = POLLIN };

    return sim_poll(&polled, 1, 0) == 1;
}

void load_check_lost_fd(const load_program *program, int fd, bool was_lost, bool has_time)
{
    if (has_time ? was_lost : !load_is_readable(fd))
        check_fail("state: %s: the descriptor of a hold with %s left is %sreadable",
                   sim_process_name(program->process), has_time ? "time" : "no time",
                   has_time ? "" : "not ");
}

void load_check_who(const load_program *program, const load_call *call, int status,
                    const bowline_holder *holder)
{
    if (status == BOWLINE_OK && holder->held != 0 && holder->foreign != 0 &&
        !program->plan.is_beside && check_is_name_calm(call->name, call->since))
        check_fail("who: %s: bowline_who found a foreign lock", sim_process_name(program->process));
}

void load_check_event(load_program *program, int kind, unsigned name)
{
    bool is_possible = kind == BOWLINE_EVENT_LOST ? may_lose(program, name, sim_now())
                                                  : !is_calm(program, name, sim_now(), true);

    if (!is_possible)
        check_fail("event: %s: %s", sim_process_name(program->process),
                   kind == BOWLINE_EVENT_LOST ? "a hold is lost" : "a renewal has failed");
}

/* ---- the client ------------------------------------------------------------------------------ */

static void take_log(int level, const char *text, void *data)
{
    load_program *program = data;

    check_secret(program, text);
    sim_say_of(SIM_SAID_CLIENT, sim_host_of(program->process), "%s: log %d: %s",
               sim_process_name(program->process), level, text);
    sim_trace_bytes(12, text, strlen(text));
}

/* A longer lease than that of the client would outlive what a restarted server waits for. */
static void try_longer_lease(load_program *program)
{
    bowline_hold           *hold    = NULL;
    bowline_error           error   = { 0 };
    bowline_acquire_options options = BOWLINE_ACQUIRE_INIT;

    options.wait_ms  = BOWLINE_NO_WAIT;
    options.lease_ms = program->plan.lease_ms + 1;
    int status       = bowline_acquire(&hold, program->client, load_lock_name(0), &options, &error);
    if (status != BOWLINE_USAGE)
        check_fail("usage: %s: a lease that is longer than that of the client is %s",
                   sim_process_name(program->process), bowline_status_name(status));
    (void)bowline_release(hold, NULL);
}

bool load_open(load_program *program, uint32_t flags)
{
    const load_plan *plan  = &program->plan;
    bowline_error    error = { 0 };
    load_call        call  = load_begin(program, "bowline_open", CHECK_NO_NAME, 0);
    program->opened_at     = sim_now();
    int status =
        bowline_open(&program->client,
                     BOWLINE_OPTIONS(.url = plan->url, .program = "sim",
                                     .flags    = flags | (plan->no_renewal ? BOWLINE_NO_RENEW : 0U),
                                     .lease_ms = plan->lease_ms, .reply_ms = plan->reply_ms,
                                     .on_log = take_log, .log_data = program),
                     &error);

    load_end(program, &call, status, &error);
    if (status == BOWLINE_OK && strncmp(plan->url, "redlock:", 8) == 0)
        try_longer_lease(program);
    return status == BOWLINE_OK;
}

void load_close(load_program *program)
{
    load_call call   = load_begin(program, "bowline_close", CHECK_NO_NAME, 0);
    unsigned  pauses = sim_process_pauses(program->process);

    check_closes();
    bowline_close(program->client);
    program->client = NULL;
    int64_t took_ms = load_own_ms(program) - call.began_ms;
    if (took_ms > CLOSE_MS && pauses == sim_process_pauses(program->process))
        check_fail("time: %s: bowline_close has lasted for %lld ms, %d ms at most",
                   sim_process_name(program->process), (long long)took_ms, CLOSE_MS);
}
