#include "lab/report/clocks.h"
#include "lab/model/steps.h"
#include "lab/report/names.h"
#include "lab/report/steps.h"
#include "protocol/lock_file/lock_file.h"

#include <inttypes.h>

enum { NS_PER_MS = 1000000 };

/* ---- how far a clock is wrong ---------------------------------------------------------------- */

static bwl_ms ahead_of(const bwl_world *w, unsigned client)
{
    const bwl_lab_clock *clock = &w->clients[client].clock;

    return clock->skew_ms + clock->now - w->now;
}

bwl_text bwl_clock_words(const bwl_world *w, unsigned client)
{
    const bwl_lab_clock *clock   = &w->clients[client].clock;
    bool                 is_even = clock->pace == BWL_PACE_TRUE;
    bwl_ms               ahead   = w->scenario->protocol->uses_wall ? ahead_of(w, client) : 0;

    if (ahead != 0 && !is_even)
        return bwl_say("clock %+" PRId64 " ms, at %u %%", ahead, clock->pace);
    if (ahead != 0)
        return bwl_say("clock %+" PRId64 " ms", ahead);
    return is_even ? bwl_say("%s", "") : bwl_say("clock at %u %%", clock->pace);
}

bwl_text bwl_server_clock_words(const bwl_scenario *s)
{
    if (s->clocks.server_pace == BWL_PACE_TRUE)
        return bwl_say("%s", "");
    return bwl_say("clock at %u %%", s->clocks.server_pace);
}

bwl_text bwl_clock_step_words(const bwl_world *w, unsigned client)
{
    char   name  = bwl_client_name(client);
    bwl_ms ahead = ahead_of(w, client);

    if (ahead == 0)
        return bwl_say("%c's clock is right", name);
    if (ahead < 0)
        return bwl_say("%c's clock is behind by %" PRId64 " ms", name, -ahead);
    return bwl_say("%c's clock is ahead by %" PRId64 " ms", name, ahead);
}

bwl_text bwl_server_clock_step_words(const bwl_world *w, unsigned server)
{
    bwl_ms is    = w->servers[server].redis.now / BWL_MODEL_PER_MS;
    bwl_ms ahead = is - (BWL_BEGINNING_WALL_MS + w->now - BWL_BEGINNING_MS);

    return ahead < 0 ? bwl_say("its clock is behind by %" PRId64 " ms", -ahead)
                     : bwl_say("its clock is ahead by %" PRId64 " ms", ahead);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* A time, and what is added to it: both in the unit of the lock. */
typedef struct moment {
    int64_t at;
    int64_t more;
} moment;

static bwl_text moment_words(const bwl_world *w, moment m)
{
    bwl_text at = bwl_time_words(w, m.at);

    if (m.more == 0)
        return at;
    return bwl_say("%s %c %" PRId64 "%s", at.of, m.more < 0 ? '-' : '+',
                   m.more < 0 ? -m.more : m.more, bwl_unit_name(w));
}

static bwl_text clock_words(const bwl_world *w, unsigned client, moment reads)
{
    bwl_text is    = moment_words(w, reads);
    char     name  = bwl_client_name(client);
    bwl_ms   ahead = ahead_of(w, client);

    if (ahead == 0)
        return bwl_say("%c's clock %s", name, is.of);
    if (ahead < 0)
        return bwl_say("%c's clock %s (behind by %" PRId64 " ms)", name, is.of, -ahead);
    return bwl_say("%c's clock %s (ahead by %" PRId64 " ms)", name, is.of, ahead);
}

/* How a stamp relates to a clock; `equal`: the lock counts as over, or not, when the two are the
 * same. */
typedef enum tie {
    EQUAL_IS_OPEN = 0, /* the lock does not say */
    EQUAL_IS_OVER,
    EQUAL_IS_NOT_OVER,
} tie;

static bwl_text compared(bwl_text stamp, int64_t difference, tie equal, bwl_text clock)
{
    bool is_over = difference < 0 || (difference == 0 && equal == EQUAL_IS_OVER);

    if (equal == EQUAL_IS_OPEN && difference == 0)
        return bwl_say("stamp %s = %s", stamp.of, clock.of);
    if (is_over)
        return bwl_say(equal == EQUAL_IS_OVER ? "stamp %s <= %s: over" : "stamp %s < %s: over",
                       stamp.of, clock.of);
    return bwl_say(equal == EQUAL_IS_NOT_OVER ? "stamp %s >= %s: not over"
                                              : "stamp %s > %s: not over",
                   stamp.of, clock.of);
}

static bwl_text same_words(const bwl_world *w, int64_t is, bool is_same, bwl_text was)
{
    if (is_same)
        return bwl_say("stamp %s is the one that it has read", bwl_value_words(w, is).of);
    return bwl_say("stamp %s is not the %s that it has read", bwl_value_words(w, is).of, was.of);
}

/* ---- the protocols of articles --------------------------------------------------------------- */

static bwl_text decision_of_rules(const bwl_world *w, unsigned client, const bwl_message *answer,
                                  const bwl_clock_past *past)
{
    const bwl_compat_rules *rules  = w->scenario->options.rules;
    int64_t                 end_ns = w->scenario->lease_of_ms[client] * NS_PER_MS + rules->extra_ns;
    bool                    is_once = rules->reads == BWL_READS_ONCE && answer->acquires;
    int64_t                 now_ns  = is_once ? past->started_ns : bwl_world_wall_ns(w, client);
    moment                  reads   = { .at = now_ns / rules->unit_ns };
    moment                  stamp   = { .at = bwl_model_timestamp_of(rules, answer->timestamp) };
    tie                     equal   = EQUAL_IS_OPEN;

    if (answer->command == REDIS_SWAP && rules->wins == BWL_WINS_IF_SAME)
        return same_words(w, answer->timestamp, answer->timestamp == past->shown,
                          past->shown == 0 ? bwl_say("nil") : bwl_value_words(w, past->shown));
    if (!answer->acquires) /* before the DEL of a release */
        reads.more = rules->guard_ms * NS_PER_MS / rules->unit_ns;
    if (rules->timestamp_is_start)
        stamp.more = end_ns / rules->unit_ns;
    if (!answer->acquires || rules->expired == BWL_TIMESTAMP_NOT_AFTER_NOW)
        equal = EQUAL_IS_OVER;
    else if (rules->expired == BWL_TIMESTAMP_BEFORE_NOW)
        equal = EQUAL_IS_NOT_OVER;
    return compared(moment_words(w, stamp), stamp.at + stamp.more - reads.at - reads.more, equal,
                    clock_words(w, client, reads));
}

/* True if the answer shows a value that the client compares. */
static bool is_compared(const bwl_compat_rules *rules, const bwl_message *answer)
{
    if (answer->command == REDIS_SWAP)
        return rules->wins != 0;
    return answer->command == REDIS_READ &&
           (answer->acquires || rules->release == BWL_RELEASE_IF_AHEAD);
}

/* ---- lock files ------------------------------------------------------------------------------ */

/* What a client compares, as run.c does: its state with the reply, a number or nil. */
typedef struct reply {
    const bwl_world        *w;
    unsigned                client;
    const bwl_lock_request *request;
    int64_t                 wall_ns;
    bwl_lock_file_state     state;
} reply;

static reply reply_of(const bwl_world *w, unsigned client, const bwl_message *answer)
{
    const bwl_hold *hold = &w->clients[client].hold;
    reply           r    = { .w       = w,
                             .client  = client,
                             .request = &hold->request,
                             .wall_ns = bwl_world_wall_ns(w, client),
                             .state   = *(const bwl_lock_file_state *)(const void *)hold->memory };

    r.state.kind      = answer->reply_kind;
    r.state.is_number = answer->reply_kind != BWL_REPLY_NIL;
    r.state.is_mine   = false;
    r.state.reply     = (bwl_lock_value){ 0 };
    if (r.state.is_number)
        r.state.reply = (bwl_lock_value){
            .number = answer->timestamp,
            .hash   = (int64_t)bwl_model_hash_of(w->scenario->options.program, answer->timestamp),
        };
    return r;
}

static bool passes(const reply *r, const bwl_lock_op *op)
{
    return bwl_lock_file_passes(&r->state, r->request, r->wall_ns, op);
}

static moment sum_of(const reply *r, const bwl_lock_sum *sum)
{
    int64_t at = sum->now != 0 ? r->wall_ns / r->w->scenario->options.rules->unit_ns : 0;

    return (moment){
        .at   = at,
        .more = bwl_lock_file_sum(&r->state, r->request, r->wall_ns, sum) - at,
    };
}

/* "": the test does not depend on a time. */
static bwl_text test_words(const reply *r, const bwl_lock_op *op)
{
    bool   is_order = op->test == BWL_TEST_MORE || op->test == BWL_TEST_LESS_OR_EQUAL;
    tie    equal    = is_order ? EQUAL_IS_OVER : EQUAL_IS_NOT_OVER;
    moment with     = sum_of(r, &op->sum);
    bool   is_nil   = r->state.kind == BWL_REPLY_NIL;

    const bwl_lock_value *is = &r->state.reply;
    if (op->test == BWL_TEST_SAME && bwl_value_is_time(r->w, is->number))
        return same_words(r->w, is->number, passes(r, op),
                          r->state.names[op->name].hash == 0
                              ? bwl_say("nil")
                              : bwl_value_words(r->w, r->state.names[op->name].number));
    if (op->sum.now == 0 || op->test < BWL_TEST_EQUAL || (is_nil && op->test < BWL_TEST_MORE))
        return bwl_say("%s", "");
    if (is_nil)
        return bwl_say("no stamp: over");
    return compared(bwl_time_words(r->w, is->number), is->number - with.at - with.more,
                    op->test == BWL_TEST_EQUAL ? EQUAL_IS_OPEN : equal,
                    clock_words(r->w, r->client, with));
}

/* Walks the tests of the reply as run.c does, to the first one that depends on a time. */
static bwl_text decision_of_file(const bwl_world *w, unsigned client, const bwl_message *answer)
{
    const bwl_lock_program *program = w->scenario->options.program;
    reply                   r       = reply_of(w, client, answer);
    bwl_text                said    = bwl_say("%s", "");

    for (unsigned i = answer->step + 1u; i < program->ops_count && said.of[0] == '\0';) {
        const bwl_lock_op *op = &program->ops[i++];
        if (op->kind == BWL_OP_SAVE)
            r.state.names[op->name] = r.state.reply;
        else if (op->kind != BWL_OP_TEST)
            break;
        else if ((said = test_words(&r, op)).of[0] == '\0' && passes(&r, op) != op->is_negated)
            i = op->target;
    }
    return said;
}

/* True if the tests of the file may depend on a time. */
static bool is_number_or_nil(const bwl_message *answer)
{
    return answer->reply_kind == BWL_REPLY_NIL ||
           (answer->reply_kind == BWL_REPLY_VALUE && answer->timestamp < BWL_MODEL_TEXT);
}

bwl_text bwl_clock_decision_words(const bwl_world *w, unsigned client, const bwl_message *answer,
                                  const bwl_clock_past *past)
{
    const bwl_lab_client   *c     = &w->clients[client];
    const bwl_compat_rules *rules = w->scenario->options.rules;
    bool                    is_heard =
        answer->kind == BWL_MESSAGE_ANSWER && c->is_running && answer->round == c->round;

    if (!is_heard || rules == NULL || rules->unit_ns == 0 || !w->scenario->protocol->uses_wall)
        return bwl_say("%s", "");
    if (answer->command == REDIS_STEP && answer->answer == BWL_YES && is_number_or_nil(answer))
        return decision_of_file(w, client, answer);
    if (answer->answer == BWL_YES && is_compared(rules, answer))
        return decision_of_rules(w, client, answer, past);
    if (answer->answer == BWL_NO && answer->command == REDIS_READ && answer->acquires &&
        rules->gone == BWL_GONE_SWAP)
        return bwl_say("no stamp: over");
    return bwl_say("%s", "");
}
