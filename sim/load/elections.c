#include "sim/load/elections.h"

#include <bowline/election.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDED_MAX = 64 /* the newest ones of a name */, LOOK_MS = 4000 };

/* A hold whose release was OK. */
typedef struct ended {
    uint64_t fence; /* 0: none */
    int64_t  at;    /* by the clock of the world */
} ended;

static struct {
    ended          ended[CHECK_NAMES_MAX][ENDED_MAX];
    unsigned       count[CHECK_NAMES_MAX];
    bowline_leader seen[CHECK_CLIENTS_MAX][CHECK_NAMES_MAX];
} box;

void load_elections_begin(void)
{
    memset(&box, 0, sizeof box);
}

bool load_draws_announcement(load_program *program, check_share share)
{
    return program->plan.elects && share.weight == 0 && load_draw(program, 3) == 0;
}

bool load_draws_observation(load_program *program)
{
    return program->plan.elects && load_draw(program, 4) != 0;
}

/* A text is "F" and the fence. */
int load_announce(load_program *program, bowline_operation **ret_op, bowline_hold *hold,
                  bowline_error *reterr)
{
    char text[32];

    (void)snprintf(text, sizeof text, "F%" PRIu64, bowline_hold_fence(hold));
    return bowline_announce_start(ret_op, hold, load_draw(program, 4) != 0 ? text : NULL, reterr);
}

void load_leads_no_more(unsigned name, uint64_t fence)
{
    if (fence != 0)
        box.ended[name][box.count[name]++ % ENDED_MAX] = (ended){ .fence = fence, .at = sim_now() };
}

static bowline_leader *seen_by(const load_program *program, unsigned name)
{
    bowline_leader *seen = &box.seen[program->plan.number][name];

    seen->size = sizeof *seen;
    return seen;
}

/* Several activities may observe one name: what each has seen counts for all. */
int load_observe(load_program *program, bowline_operation **ret_op, load_call *call,
                 bowline_error *reterr)
{
    bowline_leader from    = *seen_by(program, call->name);
    int64_t        wait_ms = (int64_t)load_draw(program, LOOK_MS);

    if (load_draw(program, 4) == 0)
        from.seen = 0;
    call->wait_ms = wait_ms + 2 * (int64_t)program->plan.reply_ms;
    call->also    = BOWLINE_TIMEOUT;
    return bowline_observe_start(ret_op, program->client, load_lock_name(call->name), &from,
                                 wait_ms, reterr);
}

/* An upgraded hold has a new fence and the former text. */
static void check_leader(load_program *program, const bowline_leader *leader, const load_call *call)
{
    const char *name  = sim_process_name(program->process);
    uint64_t    fence = leader->text[0] == 'F' ? strtoull(leader->text + 1, NULL, 10) : 0;

    if (fence != leader->fence && !(program->plan.shares.limit > 0 && fence < leader->fence))
        check_fail("leader: %s: lock %u is led with fence %" PRIu64 ", and the text is %s", name,
                   call->name, leader->fence, leader->text);
    for (unsigned i = 0; i < ENDED_MAX && check_excludes(); i++) {
        const ended *e = &box.ended[call->name][i];
        if (e->fence == leader->fence && e->at < call->since)
            check_fail("leader: %s: lock %u is led with fence %" PRIu64
                       ", whose release was OK before",
                       name, call->name, leader->fence);
    }
}

int load_observed(load_program *program, bowline_operation *op, const load_call *call,
                  bowline_error *reterr)
{
    bowline_leader  now    = BOWLINE_LEADER_INIT;
    bowline_leader *seen   = seen_by(program, call->name);
    int             status = bowline_observe_finish(&now, op, reterr);

    if (status != BOWLINE_OK)
        return status;
    if (now.leads != 0)
        check_leader(program, &now, call);
    if (now.fence >= seen->fence) /* another activity may have seen more meanwhile */
        *seen = now;
    return status;
}
