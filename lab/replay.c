/*
 * replay.c -- `bowline-lab replay`: a schedule, played with a real server in the place of the model.
 *
 * The machines are the same, and they hear what the real server answers.  What the lab does besides:
 *
 *      time            really passes, some real milliseconds for each of the schedule; leases are
 *                      as much longer
 *      a delay         the question is written when the schedule has the server carry it out
 *      a connection    breaks: the client opens another.  What is late is written on the old one
 *      a crash         the client's connections are left, and nobody listens to them
 *      a restart       the server is killed, and another started
 *      other faults    of a server (its clock, eviction, a take-over) leave a key behind as the
 *                      model says: it is put there by hand, and the log says so
 *
 * After each answer the real one is compared with the model's.  As soon as one differs the play is
 * over, because the rest of the schedule is about another world.
 */
#include "core/text.h"
#include "lab/line.h"
#include "lab/names.h"
#include "lab/output.h"
#include "lab/real_server.h"
#include "lab/record.h"
#include "lab/token_number.h"
#include "lab/verbs.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char key[] = "bowline:{lab}";

enum { GRACE_MS = 3, EXIT_SIGNAL = 128 };

typedef struct stage {
    const bwl_record *record;
    bwl_world         w; /* its clients hear the real server                                     */
    bwl_real_server   server;
    bwl_line          watcher; /* asks what there is, and puts there what must be by hand       */
    bwl_line          lines[BWL_CLIENTS_MAX];
    bwl_line          late[BWL_CLIENTS_MAX][BWL_LETTERS_MAX]; /* as the clients' own late letters */
    unsigned          scale;
    bwl_ms            began; /* really                                                           */
    bwl_ms            started;
    unsigned          answers; /* compared                                                       */
    bwl_text          fault[3];
} stage;

static volatile sig_atomic_t stopped_by;

static void stop(int number)
{
    stopped_by = number;
}

static bwl_ms real_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (bwl_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool fail(stage *s, const char *what, bwl_text why)
{
    s->fault[0] = bwl_say("%s", what);
    s->fault[1] = why;
    s->fault[2] = bwl_say("%s", "");
    return false;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void tell(const stage *s, unsigned step, unsigned client, const char *what)
{
    (void)printf("%4u %6" PRId64 "  %c  %s", step, real_now() - s->began, bwl_client_name(client),
                 what);
}

static void tell_server(const stage *s, unsigned step, const char *what)
{
    (void)printf("%4u %6" PRId64 "  -  %s\n", step, real_now() - s->began, what);
}

/* ---- the key --------------------------------------------------------------------------------- */

/* The text of a token is made of its number here too, so that it can be told whose it is. */
static void write_token(char ret_text[BWL_TOKEN_MAX + 1], uint16_t number)
{
    bwl_random random = bwl_token_random(number, 0);

    bwl_token_write(ret_text, &random);
}

/* Whose token a text is; a stranger's, if it is nobody's. */
static uint16_t owner_of(const stage *s, const char *text)
{
    char token[BWL_TOKEN_MAX + 1];

    for (unsigned i = 0; i < s->w.scenario->clients; i++)
        for (unsigned serial = 1; serial <= s->w.clients[i].tokens + 2u; serial++) {
            write_token(token, bwl_token_number(i, serial));
            if (strcmp(token, text) == 0)
                return bwl_token_number(i, serial);
        }
    return BWL_TOKEN_OF_STRANGER;
}

static bool ask_watcher(stage *s, const char *command, bwl_text *ret_said)
{
    bwl_text why;

    if (bwl_line_say(&s->watcher, command, ret_said, &why))
        return true;
    return fail(s, "the real server failed", why);
}

/* Is the real key what the model's is?  Its time is compared by what the server answers later. */
static bool compare_key(stage *s)
{
    bwl_text said;
    uint16_t owner;

    if (!ask_watcher(s, bwl_say("GET %s", key).of, &said))
        return false;
    owner = strcmp(said.of, "(nil)") == 0 ? 0 : owner_of(s, said.of);
    if (owner == bwl_model_owner(&s->w.redis))
        return true;
    return fail(s, "the real server has another key than the model",
                bwl_say("the model: %s; the server: %s", bwl_key_name(&s->w.redis).of,
                        owner == 0 ? "no key" : bwl_say("key %s", bwl_token_name(owner).of).of));
}

/* Puts the key there as the model has it after a fault of the server. */
static bool put_by_hand(stage *s, unsigned step, const char *what)
{
    const bwl_model_redis *r                        = &s->w.redis;
    char                   token[BWL_TOKEN_MAX + 1] = "somebody-elses";
    bwl_text               said;

    tell_server(s, step,
                bwl_say("%s: the key is put as that leaves it, %s", what, bwl_key_name(r).of).of);
    if (bwl_model_owner(r) == 0)
        return ask_watcher(s, bwl_say("DEL %s", key).of, &said);
    if (bwl_model_owner(r) != BWL_TOKEN_OF_STRANGER)
        write_token(token, bwl_model_owner(r));
    if (bwl_model_lock(r)->lasts)
        return ask_watcher(s, bwl_say("SET %s %s", key, token).of, &said);
    return ask_watcher(s,
                       bwl_say("SET %s %s PX %" PRId64, key, token,
                               bwl_model_left(r) * s->scale / BWL_MODEL_PER_MS + 1)
                           .of,
                       &said);
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool need_line(stage *s, bwl_line *line)
{
    bwl_text why;

    if (line->fd >= 0 || bwl_line_open(line, s->server.socket.of, &why))
        return true;
    return fail(s, "the real server failed", why);
}

/* What a client sends whose words have the fault that was planted; "" if they have none. */
static bwl_text faulty_words(const bwl_scenario *world, unsigned word, const char *token,
                             bwl_ms lease_ms)
{
    unsigned twists = world->twists;
    bool     sets   = word == REDIS_SET_IF_ABSENT;

    if (word == REDIS_DELETE_IF_MINE && (twists & BWL_TWIST_DELETE_BLIND) != 0)
        return bwl_say("DEL %s", key);
    if (word == REDIS_EXTEND_IF_MINE && (twists & BWL_TWIST_EXTEND_BLIND) != 0)
        return bwl_say("PEXPIRE %s %" PRId64, key, lease_ms);
    if (word == REDIS_EXTEND_IF_MINE && (twists & BWL_TWIST_EXTEND_CREATES) != 0)
        return bwl_say("SET %s %s PX %" PRId64, key, token, lease_ms);
    if (sets && (twists & BWL_TWIST_SET_OVERWRITES) != 0)
        return bwl_say("SET %s %s PX %" PRId64, key, token, lease_ms);
    if (sets && (twists & BWL_TWIST_SET_LASTS) != 0)
        return bwl_say("SET %s %s NX", key, token);
    return bwl_say("%s", "");
}

static bool ask(stage *s, bwl_line *line, const bwl_letter *letter, bwl_answer *ret_answer,
                bwl_text *ret_said)
{
    bwl_ms   lease_ms = (bwl_ms)letter->lease_ms * s->scale * 100 / s->w.scenario->server_pace;
    char     token[BWL_TOKEN_MAX + 1];
    bwl_text faulty;
    bwl_text why;
    bool     is_good;
    bwl_redis_question q = {
        .word     = (bwl_redis_word)letter->word,
        .key      = key,
        .key_size = sizeof key - 1,
        .token    = token,
        .lease_ms = lease_ms,
    };

    write_token(token, letter->token);
    faulty = faulty_words(s->w.scenario, letter->word, token, lease_ms);
    if (!need_line(s, line))
        return false;
    if (faulty.of[0] == '\0') {
        is_good = bwl_line_ask(line, &q, ret_answer, ret_said, &why);
    } else {
        is_good = bwl_line_say(line, faulty.of, ret_said, &why);
        *ret_answer =
            strcmp(ret_said->of, "OK") == 0 || strcmp(ret_said->of, "1") == 0 ? BWL_YES : BWL_NO;
    }
    return is_good || fail(s, "the real server failed", why);
}

static bool serve(stage *s, unsigned step, bwl_choice choice)
{
    unsigned    client = choice.client;
    unsigned    at     = s->w.clients[client].answered;
    bwl_letter  letter = s->w.clients[client].letters[at];
    bwl_letter *served = &s->w.clients[client].letters[at];
    bwl_answer  answer = 0;
    bwl_text    said   = bwl_say("%s", "");

    if (choice.which == 0 && !ask(s, &s->lines[client], &letter, &answer, &said))
        return false;
    bwl_world_perform(&s->w, choice);
    tell(s, step, client, bwl_letter_name(&letter).of);
    if (choice.which != 0) {
        (void)printf(": the schedule has the server say %s, and it is not asked\n",
                     bwl_answer_name(choice.which));
        return true;
    }
    s->answers++;
    (void)printf(": the server says %s (%s), the model %s\n", bwl_answer_name(answer), said.of,
                 bwl_answer_name(served->answer));
    if (answer != served->answer)
        return fail(s, "the real server answers otherwise than the model",
                    bwl_say("step %u, %s: the model says %s, the server %s", step,
                            bwl_letter_name(&letter).of, bwl_answer_name(served->answer),
                            bwl_answer_name(answer)));
    served->answer = (uint8_t)answer; /* what the client will hear is what the real server said */
    return compare_key(s);
}

static bool serve_late(stage *s, unsigned step, bwl_choice choice)
{
    unsigned   client = choice.client;
    bwl_letter letter = s->w.clients[client].late[choice.which];
    bwl_line  *lines  = s->late[client];
    bwl_answer answer;
    bwl_text   said;

    if (!ask(s, &lines[choice.which], &letter, &answer, &said))
        return false;
    bwl_world_perform(&s->w, choice);
    tell(s, step, client, bwl_letter_name(&letter).of);
    (void)printf(" arrives LATE, on the old connection: the server says %s, to nobody\n",
                 bwl_answer_name(answer));
    for (unsigned i = choice.which; i + 1 < BWL_LETTERS_MAX; i++)
        lines[i] = lines[i + 1];
    lines[BWL_LETTERS_MAX - 1].fd = -1;
    return compare_key(s);
}

/* ---- everything else ------------------------------------------------------------------------- */

/* What became late is written on the connection that it was asked on.  Descriptors are shared by the
 * letters of one connection, and closed all together at the end. */
static bool retire(stage *s, unsigned client, unsigned late_before)
{
    const bwl_lab_client *c = &s->w.clients[client];

    if (c->late_count > late_before && !need_line(s, &s->lines[client]))
        return false;
    for (unsigned i = late_before; i < c->late_count; i++)
        s->late[client][i].fd = s->lines[client].fd;
    if (c->late_count == late_before)
        bwl_line_close(&s->lines[client]);
    s->lines[client].fd = -1;
    return true;
}

static void forget_lines(stage *s)
{
    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        bwl_line_close(&s->lines[i]);
        for (unsigned j = 0; j < BWL_LETTERS_MAX; j++) {
            int fd = s->late[i][j].fd;
            bwl_line_close(&s->late[i][j]);
            for (unsigned k = j + 1; k < BWL_LETTERS_MAX; k++)
                if (s->late[i][k].fd == fd)
                    s->late[i][k].fd = -1;
        }
    }
}

static bool restart(stage *s, unsigned step)
{
    bwl_text why;

    forget_lines(s);
    bwl_line_close(&s->watcher);
    if (!bwl_real_server_restart(&s->server, s->fault))
        return false;
    if (!bwl_line_open(&s->watcher, s->server.socket.of, &why))
        return fail(s, "the real server failed", why);
    tell_server(s, step, "the server is killed, and started again with nothing in it");
    return true;
}

static bool pass(stage *s, unsigned step, bwl_ms by)
{
    bwl_ms until = real_now() + by * s->scale + GRACE_MS;

    tell_server(s, step, bwl_say("%" PRId64 " ms pass, really %" PRId64, by, by * s->scale).of);
    (void)fflush(stdout); /* what follows takes a while; the end looks for errors */
    while (stopped_by == 0 && real_now() < until) {
        bwl_ms          left  = until - real_now();
        struct timespec pause = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
        (void)nanosleep(&pause, NULL); /* woken early, we look again */
    }
    return stopped_by == 0;
}

static bool local(stage *s, unsigned step, bwl_choice choice)
{
    bwl_text what = bwl_choice_words(&s->w, choice);
    unsigned late = s->w.clients[choice.client].late_count;
    bwl_ms   had  = bwl_world_believes(&s->w, choice.client);
    bwl_ms   left;
    bool     is_good = true;

    bwl_world_perform(&s->w, choice);
    if (choice.kind == BWL_CHOICE_BREAK || choice.kind == BWL_CHOICE_CRASH)
        is_good = retire(s, choice.client, late);
    left = bwl_world_believes(&s->w, choice.client);
    tell(s, step, choice.client, what.of);
    if (left > 0 && had == 0)
        (void)printf(": %c HOLDS", bwl_client_name(choice.client));
    (void)printf("\n");
    return is_good;
}

static bool perform(stage *s, unsigned step, bwl_choice choice)
{
    bwl_text what = bwl_choice_words(&s->w, choice);
    bwl_ms   by;

    switch ((bwl_choice_kind)choice.kind) {
    case BWL_CHOICE_SERVE: return serve(s, step, choice);
    case BWL_CHOICE_SERVE_LATE: return serve_late(s, step, choice);
    case BWL_CHOICE_PASS:
        by = s->w.now;
        bwl_world_perform(&s->w, choice);
        return pass(s, step, s->w.now - by) && compare_key(s);
    case BWL_CHOICE_RESTART: bwl_world_perform(&s->w, choice); return restart(s, step);
    case BWL_CHOICE_RESTORE:
    case BWL_CHOICE_FAILOVER:
        bwl_world_perform(&s->w, choice);
        return restart(s, step) && put_by_hand(s, step, what.of);
    case BWL_CHOICE_JUMP:
    case BWL_CHOICE_EVICT:
    case BWL_CHOICE_STRANGER:
        bwl_world_perform(&s->w, choice);
        return put_by_hand(s, step, what.of);
    case BWL_CHOICE_SAVE: bwl_world_perform(&s->w, choice); return true;
    case BWL_CHOICE_DELIVER:
    case BWL_CHOICE_ALARM:
    case BWL_CHOICE_START:
    case BWL_CHOICE_RELEASE:
    case BWL_CHOICE_EXTEND:
    case BWL_CHOICE_CANCEL:
    case BWL_CHOICE_BREAK:
    case BWL_CHOICE_STOP_WAITING:
    case BWL_CHOICE_CRASH:
    case BWL_CHOICE_STEP_WALL:
    case BWL_CHOICE_WRITE: return local(s, step, choice);
    }
    bwl_unreachable("no such choice");
}

/* ---- the play -------------------------------------------------------------------------------- */

static bool set_up(stage *s, const bwl_lab_options *set)
{
    struct sigaction on_stop = { .sa_handler = stop };
    bwl_text         said;
    bwl_text         why;

    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        s->lines[i].fd = -1;
        for (unsigned j = 0; j < BWL_LETTERS_MAX; j++)
            s->late[i][j].fd = -1;
    }
    (void)sigaction(SIGINT, &on_stop, NULL); /* these two cannot fail */
    (void)sigaction(SIGTERM, &on_stop, NULL);
    if (!bwl_real_server_start(&s->server, set->server, s->fault))
        return false;
    if (!bwl_line_open(&s->watcher, s->server.socket.of, &why) ||
        !bwl_line_say(&s->watcher, "LOLWUT VERSION 1", &said, &why))
        return fail(s, "the real server failed", why);
    bwl_world_start(&s->w, &s->record->world);
    s->started = s->w.now;
    s->began   = real_now();
    return true;
}

static bool print_end(stage *s)
{
    const bwl_world *w = &s->w;
    bwl_text         ttl;

    if (!ask_watcher(s, bwl_say("PTTL %s", key).of, &ttl))
        return false;

    (void)printf(
        "\n%u answers of the real server, all as the model's.  At the end, by these answers:\n",
        s->answers);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_ms left = bwl_world_believes(w, i);
        if (left == BWL_NEVER)
            (void)printf("  %c believes that it has the lock, without an end\n",
                         bwl_client_name(i));
        else if (left > 0)
            (void)printf("  %c believes that it has the lock, for %" PRId64 " ms more\n",
                         bwl_client_name(i), left);
        else if (w->clients[i].is_working)
            (void)printf("  %c works on, though its time is over\n", bwl_client_name(i));
    }
    (void)printf("  the server has %s; it says PTTL %s\n", bwl_key_name(&w->redis).of, ttl.of);
    (void)printf("=> broken on a real server: %s: %s.\n", bwl_law_label(s->record->broken),
                 bwl_law_sentence(s->record->broken));
    return true;
}

static bool play(stage *s)
{
    const bwl_record *record = s->record;
    bwl_choices       choices;

    for (unsigned i = 0; i < record->path_count; i++)
        if (stopped_by != 0 || !perform(s, i + 1, record->path[i]))
            return false;
    bwl_world_choices(&s->w, &choices);
    if ((bwl_laws_broken_in(&s->w, &choices) & record->broken) == 0)
        return fail(s, "the law is not broken on the real server", bwl_say("%s", ""));
    return true;
}

int bwl_verb_replay(const bwl_lab_options *set)
{
    bwl_record record;
    stage      s = { .record = &record, .scale = set->scale, .watcher = { -1 } };
    bool       is_good;

    if (!bwl_record_load(&record, set->operands[0], s.fault))
        return bwl_complain(s.fault[0], s.fault[1], s.fault[2]);
    is_good = set_up(&s, set);
    if (is_good) {
        (void)printf("%s: %u steps, 1 ms of the schedule is %u ms\n\nstep     ms  who\n",
                     bwl_shown(record.subject).of, record.path_count, s.scale);
        is_good = play(&s);
    }
    is_good = is_good && print_end(&s);
    if (!is_good && stopped_by == 0)
        (void)bwl_complain(s.fault[0], s.fault[1], s.fault[2]);
    forget_lines(&s);
    bwl_line_close(&s.watcher);
    bwl_real_server_stop(&s.server);
    bwl_record_free(&record);
    if (stopped_by != 0)
        return EXIT_SIGNAL + stopped_by;
    return bwl_output_done() && is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
