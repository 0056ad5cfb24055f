#include "sim/load/tickets.h"

#include "sim/kernel/network.h"

#include <stdio.h>
#include <string.h>

enum {
    TICKETS_MAX = 64, /* the newest ones */
    SECRET_SIZE = 12, /* the end of the value */
    VALUE_FIELD = 5,  /* words before it: see src/api/ticket.c */
};

typedef struct ticket {
    uint64_t number; /* of the export; 0: none */
    char     text[BOWLINE_TICKET_MAX];
    char     secret[SECRET_SIZE + 1];
    bool     is_token; /* protocol=token */
    unsigned name;
    uint64_t fence;
    int64_t  since;       /* by the clock of the world, as the other times */
    int64_t  lasts_until; /* at least, if it is not imported */
    int64_t  ends_at;     /* at most */
    int64_t  due_at;
    unsigned copies; /* that are on their way */
    unsigned tries;  /* imports that have begun */
    bool     is_used;
} ticket;

static struct {
    ticket   tickets[TICKETS_MAX];
    uint64_t exports;
    int64_t  end_at;
    sim_host hosts[CHECK_CLIENTS_MAX]; /* whose connections are about to break */
} box;

void load_tickets_begin(void)
{
    memset(&box, 0, sizeof box);
}

int64_t load_tickets_end_at(void)
{
    return box.end_at;
}

/* ---- on the way ------------------------------------------------------------------------------ */

static ticket *find(uint64_t number)
{
    ticket *t = &box.tickets[number % TICKETS_MAX];

    return t->number == number ? t : NULL;
}

static ticket *find_due(void)
{
    for (unsigned i = 0; i < TICKETS_MAX; i++) {
        ticket *t = &box.tickets[i];
        if (t->copies > 0 && sim_now() >= t->due_at)
            return t;
    }
    return NULL;
}

bool load_has_ticket(const load_program *program)
{
    return program->plan.ticket_ms > 0 && !program->stops && find_due() != NULL;
}

/* All programs look at the same times, so that several import at once. */
int64_t load_ticket_pause_ms(const load_program *program)
{
    int64_t period_ns = program->plan.ticket_ms * SIM_MS;

    return (period_ns - sim_now() % period_ns) / SIM_MS + 1;
}

bool load_tells_ticket(const char *text)
{
    for (unsigned i = 0; text[0] != '\0' && i < TICKETS_MAX; i++) {
        if (box.tickets[i].secret[0] != '\0' && strstr(text, box.tickets[i].secret) != NULL)
            return true;
    }
    return false;
}

static void copy_secret(ticket *t)
{
    const char *value = t->text;

    for (unsigned i = 0; i < VALUE_FIELD && value != NULL; i++) {
        value = strchr(value, ' ');
        value = value != NULL ? value + 1 : NULL;
    }
    size_t size = value != NULL ? strcspn(value, " ") : 0;
    if (size < SECRET_SIZE)
        check_fail("ticket: the text of a ticket has no value");
    else
        memcpy(t->secret, value + size - SECRET_SIZE, SECRET_SIZE);
}

static bool uses_token(const load_program *program)
{
    return strstr(program->plan.url, "protocol=token") != NULL;
}

/* An extension may have halved the lease: load_extend_ms. */
static void send_ticket(load_program *program, const char *text, const load_call *call,
                        uint64_t fence)
{
    int64_t  lease_ms = program->plan.lease_ms;
    uint64_t copies   = load_draw(program, 8);
    int64_t  late_ms =
        load_draw(program, 2) == 0 ? 0 : (int64_t)load_draw(program, 2 * (uint64_t)lease_ms);
    ticket *t = &box.tickets[++box.exports % TICKETS_MAX];

    *t = (ticket){
        .number      = box.exports,
        .is_token    = uses_token(program),
        .name        = call->name,
        .lasts_until = call->since + lease_ms / 2 * SIM_MS,
        .fence       = fence,
        .since       = sim_now(),
        .ends_at     = sim_now() + lease_ms * SIM_MS,
        .due_at      = sim_now() + late_ms * SIM_MS,
        .copies      = copies == 0  ? 0
                       : copies < 5 ? 1
                                    : 2,
    };
    (void)snprintf(t->text, sizeof t->text, "%s", text);
    copy_secret(t);
    check_passed_on(call->name, t->lasts_until, t->ends_at);
    if (t->ends_at > box.end_at)
        box.end_at = t->ends_at;
}

/* ---- export ---------------------------------------------------------------------------------- */

static bool can_export(const load_program *program)
{
    return strstr(program->plan.url, "profile=") == NULL;
}

static void end(load_program *program, const load_call *call, unsigned pauses, int status,
                const bowline_error *error)
{
    load_end(program, call, status, error);
    if (pauses == sim_process_pauses(program->process))
        load_check_time(program, call);
}

bool load_export(load_program *program, bowline_hold *hold, check_share share, unsigned name)
{
    char          text[BOWLINE_TICKET_MAX] = "";
    bowline_error error                    = { 0 };
    uint64_t      fence                    = bowline_hold_fence(hold);
    unsigned      pauses                   = sim_process_pauses(program->process);
    load_call     call                     = load_begin(program, "bowline_hold_export", name, 0);

    program->counts->exports++;
    int status = bowline_hold_export(hold, text, &error);
    if (!can_export(program) || share.weight > 0) {
        call.also = share.weight > 0 ? BOWLINE_USAGE : BOWLINE_UNSUPPORTED;
        if (status == BOWLINE_OK)
            check_fail("ticket: %s: a hold that cannot be passed on is exported",
                       sim_process_name(program->process));
    }
    if (status == BOWLINE_OK)
        send_ticket(program, text, &call, fence);
    else if (text[0] != '\0')
        check_fail("ticket: %s: an export that failed has a ticket",
                   sim_process_name(program->process));
    end(program, &call, pauses, status, &error);
    return status == BOWLINE_OK;
}

/* ---- import ---------------------------------------------------------------------------------- */

/* `copy`: the ticket when the import began. */
static void judge(load_program *program, const ticket *copy, load_call *call, int status)
{
    const char *name = sim_process_name(program->process);
    ticket     *t    = find(copy->number);

    if (copy->is_token != uses_token(program)) {
        call->also = BOWLINE_USAGE;
        if (status != BOWLINE_USAGE)
            check_fail("ticket: %s: a ticket of another protocol is imported: %s", name,
                       bowline_status_name(status));
        return;
    }
    if (t == NULL || t->tries > 1 || sim_now() >= copy->lasts_until)
        call->also = BOWLINE_LOST;
    else if (status == BOWLINE_LOST && check_excludes() &&
             check_is_calm(program->plan.number, copy->since, false) &&
             check_is_name_calm(copy->name, copy->since))
        check_fail("ticket: %s: the ticket of lock %u is good, and its import is LOST", name,
                   copy->name);
    if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT || status == BOWLINE_CANCELLED)
        check_fail("ticket: %s: bowline_hold_import returned %s", name,
                   bowline_status_name(status));
    if (status != BOWLINE_OK || t == NULL)
        return;
    if (t->is_used && check_excludes())
        check_fail("ticket: %s: the ticket of lock %u with fence %llu was used twice", name,
                   copy->name, (unsigned long long)copy->fence);
    t->is_used = true;
}

/* What is under way still arrives, and its reply does not. */
static void break_connections(void *arg)
{
    const sim_host *host = arg;

    for (unsigned i = sim_connections_count(); i > 0; i--) {
        if (sim_connection_client(sim_connection_at(i - 1)) == *host)
            sim_connection_reset(sim_connection_at(i - 1), SIZE_MAX);
    }
    check_fault((unsigned)(host - box.hosts), true, false);
}

static void plan_break(load_program *program)
{
    unsigned number = program->plan.number;

    if (program->plan.ticket_break == 0 || load_draw(program, 2) == 0)
        return;
    box.hosts[number] = sim_host_of(program->process);
    check_fault(number, true, true);
    (void)sim_at(sim_now() + (int64_t)load_draw(program, (uint64_t)program->plan.ticket_break),
                 break_connections, &box.hosts[number]);
}

bool load_import(load_program *program, int64_t wait_ms, load_imported *ret_imported)
{
    bowline_acquire_options options = load_acquire_options(program);
    bowline_error           error   = { 0 };
    bowline_hold           *hold    = NULL;
    ticket                 *t       = find_due();
    unsigned                pauses  = sim_process_pauses(program->process);

    options.wait_ms = wait_ms;
    t->copies--;
    if (t->is_token == uses_token(program))
        t->tries++;
    ticket      copy = *t;
    load_call   call = load_begin(program, "bowline_hold_import", copy.name, wait_ms);
    check_wait *wait = check_imports(copy.name, program->process, copy.fence);
    program->counts->imports++;
    call.since = copy.since;
    plan_break(program);
    int status = bowline_hold_import(&hold, program->client, copy.text, &options, &error);
    judge(program, &copy, &call, status);
    if (status == BOWLINE_OK) {
        check_left left = load_left(program, hold);
        *ret_imported   = (load_imported){
              .hold        = hold,
              .claim       = check_granted(wait, bowline_hold_fence(hold), left),
              .name        = copy.name,
              .max_hold_ms = options.max_hold_ms,
        };
        check_longest(ret_imported->claim, options.max_hold_ms);
    } else {
        check_wait_over(wait);
    }
    end(program, &call, pauses, status, &error);
    return status == BOWLINE_OK;
}
