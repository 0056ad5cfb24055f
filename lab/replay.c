/*
 * replay.c -- `bowline-lab replay`: plays a schedule with a real server in place of the model.
 *
 * The machines are the same, and get the real server's answers.  The lab also handles:
 *
 *      time            passes in reality, some real milliseconds for each of the schedule; leases
 *                      are longer by the same factor
 *      a delay         the command is written when the schedule lets the server execute it
 *      a connection    breaks: the client opens another.  Late commands are written on the old one
 *      a crash         the client's connections stay open, and are not read
 *      a restart       the server is killed, and another one started
 *      other faults    of a server (its clock, eviction, a failover) leave a key as the model has
 *                      it: the lab sets the key, and logs that
 *
 * Each real answer is compared with the model's.  The replay ends at the first difference.  If
 * this machine was late, that proves nothing: the replay starts again, with a larger scale.
 */
#include "core/text.h"
#include "lab/base/lang.h"
#include "lab/base/say.h"
#include "lab/model/steps.h"
#include "lab/options.h"
#include "lab/replay/real_clock.h"
#include "lab/replay/real_server.h"
#include "lab/report/names.h"
#include "lab/report/record.h"
#include "lab/scenario/lock_file.h"
#include "engine/redis/wire/value.h"
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GRACE_MS = 3, LATE_MAX_MS = 10, ATTEMPTS_MAX = 5, EXIT_SIGNAL = 128 };

static volatile sig_atomic_t stopped_by;

static void stop(int number)
{
    stopped_by = number;
}

/* ---- the stage: the world beside the real server --------------------------------------------- */

#define KEY "bowline:{lab}"

typedef struct stage {
    const bwl_record   *record;
    bwl_world           w; /* its clients get the answers of the real server */
    bwl_real_server     server;
    bwl_real_connection watcher; /* reads the key, and sets it for faults */
    bwl_real_connection connections[BWL_CLIENTS_MAX];
    /* For the clients' late messages. */
    bwl_real_connection late[BWL_CLIENTS_MAX][BWL_MESSAGES_MAX];
    unsigned            scale;
    bwl_ms              began;  /* in real time */
    bwl_ms              anchor; /* the real time of the schedule's present */
    bwl_ms              started;
    bwl_ms              lateness; /* the largest so far, against the schedule */
    unsigned            answers;  /* compared so far */
    bool                differs;  /* the real server from the model */
    bwl_text            fault[3];
} stage;

static bool fails(stage *s, const char *what, bwl_text why)
{
    return bwl_refuse(s->fault, bwl_say("%s", bwl_tr(what)), why, "");
}

static void measure_lateness(stage *s)
{
    bwl_ms lateness = bwl_real_clock_ms() - s->anchor;

    if (lateness > s->lateness)
        s->lateness = lateness;
}

static bool differs(stage *s, const char *what, bwl_text why)
{
    measure_lateness(s);
    s->differs = true;
    return fails(s, what, why);
}

static void tell(const stage *s, unsigned step, unsigned client, const char *what)
{
    bwl_put(stdout, "%4u %6" PRId64 "  %c  %s", step, bwl_real_clock_ms() - s->began,
            bwl_client_name(client), what);
}

static void tell_of_server(const stage *s, unsigned step, const char *what)
{
    bwl_put(stdout, "%4u %6" PRId64 "  -  %s\n", step, bwl_real_clock_ms() - s->began, what);
}

/* Tokens are made of their numbers, so that their bytes identify them. */
static void write_token(char ret_text[BWL_TOKEN_MAX + 1], uint16_t number)
{
    bwl_random random = bwl_token_random(number, 0);

    bwl_token_write(ret_text, &random);
}

/* The bytes of a value of a lock file. */
static size_t write_file_value(const stage *s, int64_t value, char ret_bytes[BWL_VALUE_MAX])
{
    uint16_t             number;
    const bwl_lock_text *text = bwl_model_text_of(s->w.scenario->options.program, value, &number);
    char                 token[BWL_TOKEN_MAX + 1];

    if (text != NULL)
        return (size_t)snprintf(ret_bytes, BWL_VALUE_MAX, "%.*s", BWL_VALUE_MAX - 1, text->bytes);
    if (number == 0)
        return (size_t)snprintf(ret_bytes, BWL_VALUE_MAX, "%" PRId64, value);
    write_token(token, number);
    return (size_t)snprintf(ret_bytes, BWL_VALUE_MAX, "%s", token);
}

static size_t write_value(const stage *s, int64_t value, char ret_bytes[BWL_VALUE_MAX])
{
    static const char       alien[] = "foreign-value";
    const bwl_compat_rules *rules   = s->w.scenario->options.rules;
    char                    token[BWL_TOKEN_MAX + 1];
    uint16_t                number;

    if (value >= BWL_MODEL_FOREIGN_VALUE) {
        memcpy(ret_bytes, alien, sizeof alien - 1);
        return sizeof alien - 1;
    }
    if (s->w.scenario->options.program != NULL)
        return write_file_value(s, value, ret_bytes);
    number = bwl_model_token_of(rules, value);
    write_token(token, number != 0 ? number : bwl_token_number(0, 1));
    return bwl_value_write(ret_bytes, rules, token, bwl_model_timestamp_of(rules, value));
}

/* The visible owner of the lock: the value, the field of a hash, or the member of a set. */
static size_t write_lock(const stage *s, char ret_bytes[BWL_VALUE_MAX])
{
    const bwl_model_key *lock = bwl_model_lock(&s->w.servers[BWL_ONLY].redis);

    if (lock->kind == BWL_KIND_STRING)
        return write_value(s, lock->value, ret_bytes);
    write_token(ret_bytes, lock->writer);
    return strlen(ret_bytes);
}

static bool asks(stage *s, const char *command, bwl_text *ret_said)
{
    bwl_text why;

    if (bwl_real_connection_say(&s->watcher, command, NULL, 0, ret_said, &why))
        return true;
    return fails(s, "the real server failed", why);
}

static bool is_by_server(const stage *s)
{
    const bwl_compat_rules *rules = s->w.scenario->options.rules;

    return rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER;
}

static bool compares_key(stage *s)
{
    const bwl_model_key *lock     = bwl_model_lock(&s->w.servers[BWL_ONLY].redis);
    size_t               expected = SIZE_MAX;
    size_t               size;
    char                 model[BWL_VALUE_MAX];
    char                 real[BWL_VALUE_MAX];
    bwl_text             why;

    if (!bwl_real_connection_get(&s->watcher, KEY, real, sizeof real, &size, &why))
        return fails(s, "the real server failed", why);
    if (lock->kind != BWL_KIND_NONE)
        expected = write_lock(s, model);
    if (is_by_server(s) && (size == SIZE_MAX) == (expected == SIZE_MAX))
        return true;
    if (size == expected && (size == SIZE_MAX || memcmp(real, model, size) == 0))
        return true;
    return differs(
        s, "the real server has another key than the model",
        bwl_say("the model has %s, the server %s", bwl_key_name(&s->w).of,
                size == SIZE_MAX ? bwl_tr("no key") : bwl_say("%.*s", (int)size, real).of));
}

static bwl_ms real_left(const stage *s)
{
    return bwl_model_left(&s->w.servers[BWL_ONLY].redis) * s->scale / BWL_MODEL_PER_MS + 1;
}

/* Its scores are times of the real server's clock, which is this machine's clock. */
static bool puts_zset(stage *s, const char *member, size_t size)
{
    bwl_text said;
    bwl_ms   ends = bwl_real_clock_wall_ms() + real_left(s);

    return asks(s,
                bwl_say("ZADD %s %" PRId64 " %.*s %" PRId64 " __write__", KEY, ends, (int)size,
                        member, ends)
                    .of,
                &said);
}

static bool puts_key(stage *s)
{
    const bwl_model_redis *r    = &s->w.servers[BWL_ONLY].redis;
    unsigned               kind = bwl_model_lock(r)->kind;
    char                   value[BWL_VALUE_MAX];
    size_t                 size;
    bwl_text               said;
    bwl_text               why;

    if (!asks(s, bwl_say("DEL %s", KEY).of, &said))
        return false;
    if (bwl_model_owner(r) == 0)
        return true;
    size = write_lock(s, value);
    if (kind == BWL_KIND_ZSET && !puts_zset(s, value, size))
        return false;
    if (kind == BWL_KIND_HASH &&
        !asks(s, bwl_say("HSET %s %.*s 1", KEY, (int)size, value).of, &said))
        return false;
    if (kind == BWL_KIND_STRING &&
        !bwl_real_connection_say(&s->watcher, bwl_say("SET %s", KEY).of, value, size, &said, &why))
        return fails(s, "the real server failed", why);
    return bwl_model_lock(r)->lasts ||
           asks(s, bwl_say("PEXPIRE %s %" PRId64, KEY, real_left(s)).of, &said);
}

static bool opens(stage *s, bwl_real_connection *connection)
{
    bwl_text why;

    if (connection->fd >= 0 || bwl_real_connection_open(connection, s->server.socket.of, &why))
        return true;
    return fails(s, "the real server failed", why);
}

/* The command of a mutation; "" if there is none. */
static bwl_text faulty_words(const bwl_scenario *world, const bwl_redis_command_args *q)
{
    unsigned mutations = world->mutations;
    bool     sets      = q->command == REDIS_SET_IF_ABSENT;
    bool     drops     = bwl_redis_command_releases(q->command);
    bool     renews    = bwl_redis_command_extends(q->command);

    if (drops && (mutations & BWL_MUTATION_DELETE_BLIND) != 0)
        return bwl_say("DEL %s", KEY);
    if (renews && (mutations & BWL_MUTATION_EXTEND_BLIND) != 0)
        return bwl_say("PEXPIRE %s %" PRId64, KEY, q->lease_ms);
    if (q->command == REDIS_EXTEND_IF_MINE && (mutations & BWL_MUTATION_EXTEND_CREATES) != 0)
        return bwl_say("SET %s %s PX %" PRId64, KEY, q->token, q->lease_ms);
    if (sets && (mutations & BWL_MUTATION_SET_OVERWRITES) != 0)
        return bwl_say("SET %s %s PX %" PRId64, KEY, q->token, q->lease_ms);
    if (sets && (mutations & BWL_MUTATION_SET_LASTS) != 0)
        return bwl_say("SET %s %s NX", KEY, q->token);
    return bwl_say("%s", "");
}

static bool puts_step(stage *s, bwl_real_connection *connection, const bwl_message *message,
                      bwl_redis_reply *ret_reply, bwl_text *ret_said)
{
    const bwl_scenario *world = s->w.scenario;
    char                token[BWL_TOKEN_MAX + 1];
    bwl_text            why;
    bwl_step_args       args = {
              .program  = world->options.program,
              .op       = &world->options.program->ops[message->step],
              .key      = { KEY, sizeof KEY - 1 },
              .token    = token,
              .lease_ms = (bwl_ms)message->lease_ms * s->scale * 100 / world->clocks.server_pace,
              .computed = message->timestamp,
              .end      = bwl_real_clock_end(&s->w, message, s->scale),
    };

    write_token(token, message->token);
    if (!opens(s, connection))
        return false;
    return bwl_real_connection_step(connection, &args, ret_reply, ret_said, &why) ||
           fails(s, "the real server failed", why);
}

static bool puts_command(stage *s, bwl_real_connection *connection, const bwl_message *message,
                         bwl_redis_reply *ret_reply, bwl_text *ret_said)
{
    if (message->command == REDIS_STEP)
        return puts_step(s, connection, message, ret_reply, ret_said);
    const bwl_scenario    *world = s->w.scenario;
    char                   token[BWL_TOKEN_MAX + 1];
    bwl_text               faulty;
    bwl_text               why;
    bool                   is_good;
    bwl_redis_command_args q = {
        .command  = (bwl_redis_command)message->command,
        .key      = KEY,
        .key_size = sizeof KEY - 1,
        .token    = token,
        .lease_ms = (bwl_ms)message->lease_ms * s->scale * 100 / world->clocks.server_pace,
        .number   = message->timestamp,
        .rules    = world->options.rules,
    };

    write_token(token, message->token);
    faulty = faulty_words(world, &q);
    if (!opens(s, connection))
        return false;
    if (faulty.of[0] == '\0') {
        is_good = bwl_real_connection_ask(connection, &q, ret_reply, ret_said, &why);
    } else {
        is_good           = bwl_real_connection_say(connection, faulty.of, NULL, 0, ret_said, &why);
        bool is_yes       = strcmp(ret_said->of, "OK") == 0 || strcmp(ret_said->of, "1") == 0;
        ret_reply->answer = is_yes ? BWL_YES : BWL_NO;
        ret_reply->value.is_mine = false;
    }
    return is_good || fails(s, "the real server failed", why);
}

static uint64_t number_of(const stage *s, const bwl_message *served)
{
    if (served->command == REDIS_STEP || !bwl_redis_shows_value((bwl_redis_command)served->command))
        return (uint64_t)served->timestamp;
    return (uint64_t)bwl_model_timestamp_of(s->w.scenario->options.rules, served->timestamp);
}

/* The same kind, and the same value.  A reply that counts down differs by the time that passes, and
 * TTL is rounded: 0 s of the model may be more on the server. */
static bool is_same_step(const stage *s, const bwl_message *served, const bwl_redis_reply *real)
{
    const bwl_lock_program *program = s->w.scenario->options.program;
    const bwl_lock_op      *op      = &program->ops[served->step];
    unsigned                word    = program->calls[op->call + op->calls_count - 1].word;
    bool                    is_time = word == BWL_CALL_TTL || word == BWL_CALL_PTTL;

    if (served->answer != (uint8_t)real->answer || real->answer != BWL_YES)
        return served->answer == (uint8_t)real->answer;
    if (served->reply_kind != real->value.kind || real->value.kind != BWL_REPLY_VALUE)
        return served->reply_kind == real->value.kind;
    if (is_time && served->timestamp >= 0)
        return real->value.is_number && (int64_t)real->number >= 0;
    return served->is_mine == real->value.is_mine &&
           real->value.is_number == (served->timestamp < BWL_MODEL_TEXT) &&
           (!real->value.is_number || (int64_t)real->number == served->timestamp);
}

static bool is_same(const stage *s, const bwl_message *served, const bwl_redis_reply *real)
{
    if (served->command == REDIS_STEP)
        return is_same_step(s, served, real);
    bool shows = real->answer == BWL_YES && !is_by_server(s) && served->timestamp != 0;

    return served->answer == (uint8_t)real->answer &&
           (real->answer != BWL_YES || is_by_server(s) || served->is_mine == real->value.is_mine) &&
           (!shows || number_of(s, served) == real->number);
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool serve(stage *s, unsigned step, bwl_transition transition)
{
    unsigned        client  = transition.client;
    bwl_link       *link    = &s->w.servers[BWL_ONLY].links[client];
    bwl_message    *served  = &link->messages[link->answered];
    bwl_message     message = *served;
    bwl_redis_reply real    = { 0 };
    bwl_text        said    = bwl_say("%s", "");

    if (transition.which == 0 && !puts_command(s, &s->connections[client], &message, &real, &said))
        return false;
    bwl_world_perform(&s->w, transition);
    tell(s, step, client, bwl_message_name(&s->w, &message).of);
    if (transition.which != 0) {
        bwl_put(stdout, ": the schedule has the server say %s, and it is not asked\n",
                bwl_answer_name(transition.which));
        return true;
    }
    s->answers++;
    bwl_put(stdout, ": the server says %s (%s), the model %s\n", bwl_answer_name(real.answer),
            said.of, bwl_reply_name(&s->w, served).of);
    if (!is_same(s, served, &real))
        return differs(s, "the real server answers otherwise than the model",
                       bwl_say("step %u, %s: the model says %s %" PRIu64 ", the server %s %" PRIu64,
                               step, bwl_message_name(&s->w, &message).of,
                               bwl_answer_name(served->answer), number_of(s, served),
                               bwl_answer_name(real.answer), real.number));
    return compares_key(s);
}

static bool serve_late(stage *s, unsigned step, bwl_transition transition)
{
    unsigned             client      = transition.client;
    bwl_message          message     = s->w.servers[BWL_ONLY].links[client].late[transition.which];
    bwl_real_connection *connections = s->late[client];
    bwl_redis_reply      real;
    bwl_text             said;

    if (!puts_command(s, &connections[transition.which], &message, &real, &said))
        return false;
    bwl_world_perform(&s->w, transition);
    tell(s, step, client, bwl_message_name(&s->w, &message).of);
    bwl_put(stdout,
            " arrives LATE, on the old connection: the server says %s, and no client reads it\n",
            bwl_answer_name(real.answer));
    for (unsigned i = transition.which; i + 1 < BWL_MESSAGES_MAX; i++)
        connections[i] = connections[i + 1];
    connections[BWL_MESSAGES_MAX - 1].fd = -1;
    return compares_key(s);
}

/* ---- everything else ------------------------------------------------------------------------- */

/* A late command goes out on its own connection.  The messages of a connection share its
 * descriptor, which is closed at the end. */
static bool retire(stage *s, unsigned client, unsigned late_before)
{
    const bwl_link *link = &s->w.servers[BWL_ONLY].links[client];

    if (link->late_count > late_before && !opens(s, &s->connections[client]))
        return false;
    for (unsigned i = late_before; i < link->late_count; i++)
        s->late[client][i].fd = s->connections[client].fd;
    if (link->late_count == late_before)
        bwl_real_connection_close(&s->connections[client]);
    s->connections[client].fd = -1;
    return true;
}

static void forget_connections(stage *s)
{
    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        bwl_real_connection_close(&s->connections[i]);
        for (unsigned j = 0; j < BWL_MESSAGES_MAX; j++) {
            int fd = s->late[i][j].fd;
            bwl_real_connection_close(&s->late[i][j]);
            for (unsigned k = j + 1; k < BWL_MESSAGES_MAX; k++)
                if (s->late[i][k].fd == fd)
                    s->late[i][k].fd = -1;
        }
    }
}

static bool restart(stage *s, unsigned step)
{
    bwl_text why;

    forget_connections(s);
    bwl_real_connection_close(&s->watcher);
    if (!bwl_real_server_restart(&s->server, s->fault))
        return false;
    if (!bwl_real_connection_open(&s->watcher, s->server.socket.of, &why))
        return fails(s, "the real server failed", why);
    tell_of_server(s, step,
                   bwl_say("the server is killed, and started again with nothing in it").of);
    s->anchor = bwl_real_clock_ms(); /* the time of the start is not part of the schedule */
    return true;
}

static void wait_until(bwl_ms until)
{
    while (stopped_by == 0 && bwl_real_clock_ms() < until) {
        bwl_ms left = until - bwl_real_clock_ms();
        (void)poll(NULL, 0, left > 0 ? (int)left : 0); /* after an early wake-up, checks again */
    }
}

/* A key that the model has no longer: its command was up to LATE_MAX_MS late, and so is its end. */
static bool await_expiry(stage *s)
{
    bwl_text said;

    if (bwl_model_lock(&s->w.servers[BWL_ONLY].redis)->kind != BWL_KIND_NONE)
        return true;
    if (!asks(s, "PTTL " KEY, &said))
        return false;
    bwl_ms left = strtoll(said.of, NULL, 10);
    if (left < 0 || left > LATE_MAX_MS)
        return true;
    wait_until(bwl_real_clock_ms() + left + 1);
    s->anchor = bwl_real_clock_ms();
    return true;
}

/* Short delays of the steps do not add up: many steps would come too late for a lease. */
static bool pass(stage *s, unsigned step, bwl_ms by)
{
    s->anchor += by * s->scale;
    tell_of_server(s, step, bwl_say("%" PRId64 " ms pass, really %" PRId64, by, by * s->scale).of);
    (void)fflush(stdout); /* shows progress; errors are checked at the end */
    wait_until(s->anchor + GRACE_MS);
    measure_lateness(s);
    return stopped_by == 0 && await_expiry(s);
}

static bool local(stage *s, unsigned step, bwl_transition transition)
{
    bwl_text what = bwl_transition_words(&s->w, transition);
    unsigned late = s->w.servers[BWL_ONLY].links[transition.client].late_count;
    bwl_ms   had  = bwl_world_believes(&s->w, transition.client);
    bwl_ms   left;
    bool     is_good = true;

    bwl_world_perform(&s->w, transition);
    if (transition.kind == BWL_TRANSITION_BREAK || transition.kind == BWL_TRANSITION_TIME_OUT ||
        transition.kind == BWL_TRANSITION_CRASH)
        is_good = retire(s, transition.client, late);
    left = bwl_world_believes(&s->w, transition.client);
    tell(s, step, transition.client, what.of);
    if (left > 0 && had == 0)
        bwl_put(stdout, ": %c HOLDS", bwl_client_name(transition.client));
    bwl_put(stdout, "\n");
    return is_good;
}

static bool perform_at_server(stage *s, unsigned step, bwl_transition transition)
{
    bwl_text what = bwl_transition_words(&s->w, transition);

    bwl_world_perform(&s->w, transition);
    if (transition.kind == BWL_TRANSITION_RESTART)
        return restart(s, step);
    if (transition.kind == BWL_TRANSITION_SAVE)
        return true;
    if (transition.kind == BWL_TRANSITION_HALT || transition.kind == BWL_TRANSITION_GO_ON) {
        tell_of_server(s, step, what.of); /* it is not asked in that time */
        return true;
    }
    if ((transition.kind == BWL_TRANSITION_RESTORE || transition.kind == BWL_TRANSITION_FAILOVER) &&
        !restart(s, step))
        return false;
    tell_of_server(s, step,
                   bwl_say("%s: put as that leaves it, %s", what.of, bwl_key_name(&s->w).of).of);
    return puts_key(s);
}

static bool perform(stage *s, unsigned step, bwl_transition transition)
{
    bwl_actor actor  = bwl_transition_actor(transition);
    bwl_ms    before = s->w.now;

    measure_lateness(s);
    if (transition.kind == BWL_TRANSITION_SERVE)
        return serve(s, step, transition);
    if (transition.kind == BWL_TRANSITION_SERVE_LATE)
        return serve_late(s, step, transition);
    if (actor == BWL_ACTOR_SERVER || actor == BWL_ACTOR_SERVER_FAULT)
        return perform_at_server(s, step, transition);
    if (transition.kind != BWL_TRANSITION_PASS)
        return local(s, step, transition);
    bwl_world_perform(&s->w, transition);
    return pass(s, step, s->w.now - before) && compares_key(s);
}

/* Leases in whole seconds are not scaled, nor is a time that is in the file. */
static unsigned scale_for(const bwl_record *record)
{
    enum { USUAL = 20, LONG_MS = 1000 };
    const bwl_terms        *terms      = &record->world.terms;
    const bwl_compat_rules *rules      = record->world.options.rules;
    const bwl_lock_program *program    = record->world.options.program;
    bool                    in_seconds = rules != NULL && rules->lease_in_seconds;

    if (program != NULL && bwl_lock_file_has_literal_times(program))
        return 1;
    return in_seconds || terms->lease_ms >= LONG_MS ? 1 : USUAL;
}

/* ---- the replay ------------------------------------------------------------------------------ */

static bool set_up(stage *s, const bwl_lab_options *set)
{
    struct sigaction on_stop = { .sa_handler = stop };
    bwl_text         said;
    bwl_text         why;

    s->watcher.fd = -1;
    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        s->connections[i].fd = -1;
        for (unsigned j = 0; j < BWL_MESSAGES_MAX; j++)
            s->late[i][j].fd = -1;
    }
    (void)sigaction(SIGINT, &on_stop, NULL); /* these two cannot fail */
    (void)sigaction(SIGTERM, &on_stop, NULL);
    if (!bwl_real_server_start(&s->server, set->server, s->fault))
        return false;
    if (!bwl_real_connection_open(&s->watcher, s->server.socket.of, &why) ||
        !bwl_real_connection_say(&s->watcher, "LOLWUT VERSION 1", NULL, 0, &said, &why))
        return fails(s, "the real server failed", why);
    bwl_real_clock_align(s->record->world.options.program);
    bwl_world_start(&s->w, &s->record->world);
    s->started = s->w.now;
    s->began   = bwl_real_clock_ms();
    s->anchor  = s->began;
    return puts_key(s);
}

static bool print_end(stage *s)
{
    const bwl_world *w = &s->w;
    bwl_text         ttl;

    if (!asks(s, bwl_say("PTTL %s", KEY).of, &ttl))
        return false;

    bwl_put(stdout,
            "\n%u answers of the real server, all as the model's.  At the end, by these answers:\n",
            s->answers);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_ms left = bwl_world_believes(w, i);
        if (left == BWL_NEVER)
            bwl_put(stdout, "  %c believes that it has the lock, without an end\n",
                    bwl_client_name(i));
        else if (left > 0)
            bwl_put(stdout, "  %c believes that it has the lock, for %" PRId64 " ms more\n",
                    bwl_client_name(i), left);
        else if (w->clients[i].caller.is_working)
            bwl_put(stdout, "  %c works on, though its time is over\n", bwl_client_name(i));
    }
    bwl_put(stdout, "  the server has %s; it says PTTL %s\n", bwl_key_name(w).of, ttl.of);
    bwl_put(stdout, "=> broken on a real server: %s: %s.\n",
            bwl_invariant_words(s->record->broken).of, bwl_invariant_sentence(s->record->broken));
    return true;
}

static bool play(stage *s)
{
    const bwl_record *record = s->record;
    bwl_transitions   transitions;

    for (unsigned i = 0; i < record->path_count; i++)
        if (stopped_by != 0 || !perform(s, i + 1, record->path[i]))
            return false;
    bwl_world_transitions(&s->w, &transitions);
    if ((record->broken & BWL_INVARIANTS_BACKWARDS) != 0)
        return true; /* NEVER is long for a real server too: the log has the index */
    if ((bwl_invariants_broken_in(&s->w, &transitions) & record->broken) == 0)
        return differs(s, "the invariant is not broken on the real server", bwl_say("%s", ""));
    return true;
}

/* What a replay cannot show; "" if nothing. */
static bwl_text unplayable(const bwl_scenario *world)
{
    if (world->options.rules != NULL && world->options.rules->clock == BWL_CLOCK_OF_SERVER)
        return bwl_say("its stamps are made by the server, of the true time of day; "
                       "the schedule's are of another day");
    if (world->protocol->uses_push)
        return bwl_say("its clients receive pushes, and the lab does not subscribe to a "
                       "real server yet");
    return bwl_say("%s", "");
}

static void tear_down(stage *s)
{
    forget_connections(s);
    bwl_real_connection_close(&s->watcher);
    bwl_real_server_stop(&s->server);
}

static bool attempt(stage *s, const bwl_lab_options *set)
{
    if (!set_up(s, set))
        return false;
    bwl_put(stdout, "%s: %u steps, 1 ms of the schedule is %u ms\n\nstep     ms  who\n",
            bwl_shown(s->record->subject).of, s->record->path_count, s->scale);
    return play(s) && print_end(s);
}

int bwl_verb_replay(const bwl_lab_options *set)
{
    bwl_record record;
    stage      s = { .record = &record };

    if (!bwl_record_load(&record, set->operands[0], set->protocol, s.fault))
        return bwl_complain(s.fault[0], s.fault[1].of, s.fault[2].of);
    bwl_text why = unplayable(&record.world);
    if (why.of[0] != '\0') {
        bwl_record_free(&record);
        return bwl_complain(bwl_say("this schedule cannot be played"), why.of, "");
    }
    s.scale      = set->scale != 0 ? set->scale : scale_for(&record);
    bool is_good = attempt(&s, set);
    for (int i = 1; i < ATTEMPTS_MAX && s.differs && s.lateness > LATE_MAX_MS; i++) {
        bwl_put(stdout, "\nThis machine was %" PRId64 " ms late.  Once more, more slowly:\n\n",
                s.lateness);
        tear_down(&s);
        s       = (stage){ .record = &record, .scale = 2 * s.scale };
        is_good = attempt(&s, set);
    }
    if (!is_good && stopped_by == 0)
        (void)bwl_complain(s.fault[0], s.fault[1].of, s.fault[2].of);
    tear_down(&s);
    bwl_record_free(&record);
    if (stopped_by != 0)
        return EXIT_SIGNAL + stopped_by;
    return bwl_output_done() && is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
