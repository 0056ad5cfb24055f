/*
 * run.c -- see lock_file.h.
 */
#include "protocol/lock_file/lock_file.h"

enum { NO_FENCE = 0 };

/* What a step needs besides the state. */
typedef struct step {
    const bwl_lock_program *program;
    const bwl_lock_request *request;
    bwl_moment              moment;
    bwl_effects            *fx;
} step;

static void init(void *state, unsigned nodes)
{
    assert(nodes == 1);
    *(bwl_lock_file_state *)state = (bwl_lock_file_state){ 0 };
}

int64_t bwl_lock_file_sum(const bwl_lock_file_state *s, const bwl_lock_request *request,
                          int64_t wall_ns, const bwl_lock_sum *sum)
{
    enum { NS_PER_MS = 1000000 };
    int64_t unit_ns = request->options->rules->unit_ns;
    int64_t number  = sum->units;

    if (sum->now != 0)
        number += wall_ns / unit_ns;
    number += sum->lease * (request->lease_ms * NS_PER_MS / unit_ns);
    if (sum->name != 0)
        number += s->names[sum->name - 1].number;
    return number;
}

static int64_t sum_of(const step *t, const bwl_lock_file_state *s, const bwl_lock_sum *sum)
{
    return bwl_lock_file_sum(s, t->request, t->moment.wall_ns, sum);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool compares(const bwl_lock_file_state *s, bwl_lock_test test, int64_t with)
{
    int64_t number = s->reply.number;

    if (!s->is_number)
        return false;
    switch (test) {
    case BWL_TEST_EQUAL: return number == with;
    case BWL_TEST_LESS: return number < with;
    case BWL_TEST_LESS_OR_EQUAL: return number <= with;
    case BWL_TEST_MORE: return number > with;
    case BWL_TEST_MORE_OR_EQUAL: return number >= with;
    default: bwl_unreachable("no comparison of numbers");
    }
}

bool bwl_lock_file_passes(const bwl_lock_file_state *s, const bwl_lock_request *request,
                          int64_t wall_ns, const bwl_lock_op *op)
{
    switch ((bwl_lock_test)op->test) {
    case BWL_TEST_NIL: return s->kind == BWL_REPLY_NIL;
    case BWL_TEST_OK: return s->kind == BWL_REPLY_OK;
    case BWL_TEST_ERROR: return s->kind == BWL_REPLY_ERROR;
    case BWL_TEST_DOWN: return s->kind == BWL_REPLY_DOWN;
    case BWL_TEST_TOKEN: return s->is_mine;
    case BWL_TEST_TEXT:
        return s->reply.hash == (int64_t)request->options->program->texts[op->number].hash;
    case BWL_TEST_SAME: return s->reply.hash == s->names[op->name].hash;
    case BWL_TEST_EQUAL:
    case BWL_TEST_LESS:
    case BWL_TEST_LESS_OR_EQUAL:
    case BWL_TEST_MORE:
    case BWL_TEST_MORE_OR_EQUAL:
        return compares(s, (bwl_lock_test)op->test,
                        bwl_lock_file_sum(s, request, wall_ns, &op->sum));
    }
    bwl_unreachable("no such test");
}

/* ---- operations ------------------------------------------------------------------------------ */

static void call(const step *t, bwl_lock_file_state *s, const bwl_lock_op *op)
{
    bwl_send *send;

    bwl_send_one(&s->in_flight, REDIS_STEP, t->fx);
    send                           = &t->fx->sends[t->fx->send_count - 1];
    send->args[REDIS_ARG_STEP]     = s->at;
    send->args[REDIS_ARG_COMPUTED] = op->number != 0 ? sum_of(t, s, &op->sum) : 0;
}

static void end(const step *t, const bwl_lock_file_state *s, bwl_outcome_kind outcome)
{
    if (outcome == BWL_HELD)
        bwl_complete_held(t->fx, s->until, NO_FENCE);
    else
        bwl_complete(t->fx, outcome);
}

static unsigned section_of(const bwl_lock_file_state *s)
{
    return s->verb == BWL_ACQUIRE ? 0 : s->verb == BWL_RELEASE ? 1 : 2;
}

/* Executes one operation.  False: the program waits, or has ended. */
static bool execute(const step *t, bwl_lock_file_state *s)
{
    const bwl_lock_op *op = &t->program->ops[s->at];

    switch ((bwl_lock_op_kind)op->kind) {
    case BWL_OP_CALL: call(t, s, op); return false;
    case BWL_OP_TEST:
        s->at = bwl_lock_file_passes(s, t->request, t->moment.wall_ns, op) != op->is_negated
                    ? op->target
                    : s->at + 1;
        return true;
    case BWL_OP_GO: s->at = op->target; return true;
    case BWL_OP_LET:
        s->names[op->name] = (bwl_lock_value){ .number = sum_of(t, s, &op->sum) };
        break;
    case BWL_OP_SAVE: s->names[op->name] = s->reply; break;
    case BWL_OP_SLEEP:
        s->at++;
        s->sleeps = true;
        bwl_wake_at(t->fx, t->moment.now + op->number);
        return false;
    case BWL_OP_RETRY:
        if (op->number == 0 || s->tries < op->number) {
            s->tries = (uint8_t)(s->tries + (op->number != 0));
            s->at    = t->program->sections[section_of(s)];
            return true;
        }
        break;
    case BWL_OP_END: end(t, s, (bwl_outcome_kind)op->outcome); return false;
    }
    s->at++;
    return true;
}

static void run(const step *t, bwl_lock_file_state *s)
{
    /* Each cycle has a command or a pause: the parser has checked that. */
    while (execute(t, s)) {
    }
}

static bwl_ms end_of_trust(const step *t)
{
    bwl_ms lease_ms = t->request->lease_ms;

    switch (t->program->trust) {
    case BWL_TRUSTS_LEASE: return t->moment.now + lease_ms - bwl_drift_ms(lease_ms);
    case BWL_TRUSTS_WHOLE: return t->moment.now + lease_ms;
    case BWL_TRUSTS_FOREVER: return BWL_NEVER;
    }
    bwl_unreachable("no such trust");
}

static step step_of(const bwl_lock_request *request, bwl_ms now, int64_t wall_ns, bwl_effects *fx)
{
    return (step){ .program = request->options->program,
                   .request = request,
                   .moment  = { .now = now, .wall_ns = wall_ns },
                   .fx      = fx };
}

static void command(void *state, const bwl_lock_request *request, const bwl_command *cmd,
                    bwl_effects *fx)
{
    bwl_lock_file_state *s = state;
    const step           t = step_of(request, cmd->now, cmd->wall_ns, fx);

    s->verb          = (uint8_t)cmd->verb;
    s->at            = t.program->sections[section_of(s)];
    s->tries         = 0;
    s->sleeps        = false;
    s->in_flight.tag = 0;
    if (cmd->verb != BWL_RELEASE)
        s->until = end_of_trust(&t);
    run(&t, s);
}

/* Notes the reply.  False: the program has no case for it, and has ended. */
static bool note(const step *t, bwl_lock_file_state *s, const bwl_event *ev)
{
    const bwl_lock_op     *op    = &t->program->ops[s->at];
    const bwl_redis_value *value = ev->details;

    s->is_mine = s->is_number = false;
    s->reply                  = (bwl_lock_value){ 0 };
    if (ev->kind == BWL_DOWN) {
        s->kind = BWL_REPLY_DOWN;
        if (!op->handles_down)
            bwl_complete(t->fx, BWL_UNKNOWN);
        return op->handles_down;
    }
    if (ev->answer != BWL_YES) {
        s->kind = BWL_REPLY_ERROR;
        if (!op->handles_error || ev->answer == BWL_NOT_SENT)
            (void)bwl_was_answered(ev, t->fx);
        return op->handles_error && ev->answer != BWL_NOT_SENT;
    }
    s->kind      = (uint8_t)value->kind;
    s->is_mine   = value->is_mine;
    s->is_number = value->is_number;
    s->reply     = (bwl_lock_value){ .number = value->is_number ? (int64_t)ev->number : 0,
                                     .hash   = (int64_t)value->hash };
    return true;
}

static void event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                  bwl_effects *fx)
{
    bwl_lock_file_state *s = state;
    const step           t = step_of(request, ev->now, ev->wall_ns, fx);

    if (ev->kind == BWL_ALARM && s->sleeps) {
        s->sleeps = false;
        run(&t, s);
        return;
    }
    if (!bwl_ends_request(&s->in_flight, ev) || !note(&t, s, ev))
        return;
    s->at++;
    run(&t, s);
}

void bwl_lock_file_finish(bwl_lock_program *program, const char *name)
{
    program->protocol = (bwl_protocol){
        .name          = name,
        .fault         = "bowline does what the file says, and nothing has checked that",
        .state_size    = sizeof(bwl_lock_file_state),
        .request_first = true,
        .uses_token    = true,
        .uses_wall     = true,
        .extends       = program->sections[2] != BWL_LOCK_FILE_NO_SECTION,
        .init          = init,
        .command       = command,
        .event         = event,
    };
    program->options = (bwl_protocol_options){ .rules = &program->rules, .program = program };
}
