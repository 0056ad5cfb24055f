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
 * Each real answer is compared with the model's.  The replay ends at the first difference, because
 * the rest of the schedule belongs to another world.
 */
#include "lab/report/names.h"
#include "lab/base/output.h"
#include "lab/replay/stage.h"
#include "lab/options.h"
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GRACE_MS = 3, EXIT_SIGNAL = 128 };

static volatile sig_atomic_t stopped_by;

static void stop(int number)
{
    stopped_by = number;
}

static bool serve(bwl_stage *s, unsigned step, bwl_transition transition)
{
    unsigned        client  = transition.client;
    bwl_link       *link    = &s->w.servers[BWL_ONLY].links[client];
    bwl_message    *served  = &link->messages[link->answered];
    bwl_message     message = *served;
    bwl_redis_reply real    = { 0 };
    bwl_text        said    = bwl_say("%s", "");

    if (transition.which == 0 && !bwl_stage_puts(s, &s->lines[client], &message, &real, &said))
        return false;
    bwl_world_perform(&s->w, transition);
    bwl_stage_tells(s, step, client, bwl_message_name(&message).of);
    if (transition.which != 0) {
        (void)printf(": the schedule has the server say %s, and it is not asked\n",
                     bwl_answer_name(transition.which));
        return true;
    }
    s->answers++;
    (void)printf(": the server says %s (%s), the model %s\n", bwl_answer_name(real.answer), said.of,
                 bwl_answer_name(served->answer));
    if (!bwl_stage_is_same(s, served, &real))
        return bwl_stage_fails(
            s, "the real server answers otherwise than the model",
            bwl_say("step %u, %s: the model says %s %" PRIu64 ", the server %s %" PRIu64, step,
                    bwl_message_name(&message).of, bwl_answer_name(served->answer),
                    bwl_stage_number(s, served), bwl_answer_name(real.answer), real.number));
    return bwl_stage_compares_key(s);
}

static bool serve_late(bwl_stage *s, unsigned step, bwl_transition transition)
{
    unsigned        client  = transition.client;
    bwl_message     message = s->w.servers[BWL_ONLY].links[client].late[transition.which];
    bwl_line       *lines   = s->late[client];
    bwl_redis_reply real;
    bwl_text        said;

    if (!bwl_stage_puts(s, &lines[transition.which], &message, &real, &said))
        return false;
    bwl_world_perform(&s->w, transition);
    bwl_stage_tells(s, step, client, bwl_message_name(&message).of);
    (void)printf(" arrives LATE, on the old connection: the server says %s, to nobody\n",
                 bwl_answer_name(real.answer));
    for (unsigned i = transition.which; i + 1 < BWL_MESSAGES_MAX; i++)
        lines[i] = lines[i + 1];
    lines[BWL_MESSAGES_MAX - 1].fd = -1;
    return bwl_stage_compares_key(s);
}

/* ---- everything else ------------------------------------------------------------------------- */

/* A late command goes out on its own connection.  The messages of a connection share its
 * descriptor, which is closed at the end. */
static bool retire(bwl_stage *s, unsigned client, unsigned late_before)
{
    const bwl_link *link = &s->w.servers[BWL_ONLY].links[client];

    if (link->late_count > late_before && !bwl_stage_opens(s, &s->lines[client]))
        return false;
    for (unsigned i = late_before; i < link->late_count; i++)
        s->late[client][i].fd = s->lines[client].fd;
    if (link->late_count == late_before)
        bwl_line_close(&s->lines[client]);
    s->lines[client].fd = -1;
    return true;
}

static void forget_lines(bwl_stage *s)
{
    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        bwl_line_close(&s->lines[i]);
        for (unsigned j = 0; j < BWL_MESSAGES_MAX; j++) {
            int fd = s->late[i][j].fd;
            bwl_line_close(&s->late[i][j]);
            for (unsigned k = j + 1; k < BWL_MESSAGES_MAX; k++)
                if (s->late[i][k].fd == fd)
                    s->late[i][k].fd = -1;
        }
    }
}

static bool restart(bwl_stage *s, unsigned step)
{
    bwl_text why;

    forget_lines(s);
    bwl_line_close(&s->watcher);
    if (!bwl_real_server_restart(&s->server, s->fault))
        return false;
    if (!bwl_line_open(&s->watcher, s->server.socket.of, &why))
        return bwl_stage_fails(s, "the real server failed", why);
    bwl_stage_tells_of_server(s, step,
                              "the server is killed, and started again with nothing in it");
    return true;
}

static bool pass(bwl_stage *s, unsigned step, bwl_ms by)
{
    bwl_ms until = bwl_real_ms() + by * s->scale + GRACE_MS;

    bwl_stage_tells_of_server(
        s, step, bwl_say("%" PRId64 " ms pass, really %" PRId64, by, by * s->scale).of);
    (void)fflush(stdout); /* shows progress; errors are checked at the end */
    while (stopped_by == 0 && bwl_real_ms() < until) {
        bwl_ms          left  = until - bwl_real_ms();
        struct timespec pause = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
        (void)nanosleep(&pause, NULL); /* after an early wake-up, checks again */
    }
    return stopped_by == 0;
}

static bool local(bwl_stage *s, unsigned step, bwl_transition transition)
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
    bwl_stage_tells(s, step, transition.client, what.of);
    if (left > 0 && had == 0)
        (void)printf(": %c HOLDS", bwl_client_name(transition.client));
    (void)printf("\n");
    return is_good;
}

static bool perform_at_server(bwl_stage *s, unsigned step, bwl_transition transition)
{
    bwl_text what = bwl_transition_words(&s->w, transition);

    bwl_world_perform(&s->w, transition);
    if (transition.kind == BWL_TRANSITION_RESTART)
        return restart(s, step);
    if (transition.kind == BWL_TRANSITION_SAVE)
        return true;
    if (transition.kind == BWL_TRANSITION_HALT || transition.kind == BWL_TRANSITION_GO_ON) {
        bwl_stage_tells_of_server(s, step, what.of); /* it is not asked in that time */
        return true;
    }
    if ((transition.kind == BWL_TRANSITION_RESTORE || transition.kind == BWL_TRANSITION_FAILOVER) &&
        !restart(s, step))
        return false;
    return bwl_stage_puts_by_hand(s, step, what.of);
}

static bool perform(bwl_stage *s, unsigned step, bwl_transition transition)
{
    bwl_actor actor  = bwl_transition_actor(transition);
    bwl_ms    before = s->w.now;

    if (transition.kind == BWL_TRANSITION_SERVE)
        return serve(s, step, transition);
    if (transition.kind == BWL_TRANSITION_SERVE_LATE)
        return serve_late(s, step, transition);
    if (actor == BWL_ACTOR_SERVER || actor == BWL_ACTOR_SERVER_FAULT)
        return perform_at_server(s, step, transition);
    if (transition.kind != BWL_TRANSITION_PASS)
        return local(s, step, transition);
    bwl_world_perform(&s->w, transition);
    return pass(s, step, s->w.now - before) && bwl_stage_compares_key(s);
}

/* Leases in whole seconds are not scaled. */
static unsigned scale_for(const bwl_record *record)
{
    enum { USUAL = 20, LONG_MS = 1000 };
    const bwl_terms        *terms      = &record->world.terms;
    const bwl_compat_rules *rules      = record->world.options.rules;
    bool                    in_seconds = rules != NULL && rules->lease_in_seconds;

    return in_seconds || terms->lease_ms >= LONG_MS ? 1 : USUAL;
}

/* ---- the replay ------------------------------------------------------------------------------ */

static bool set_up(bwl_stage *s, const bwl_lab_options *set)
{
    struct sigaction on_stop = { .sa_handler = stop };
    bwl_text         said;
    bwl_text         why;

    for (unsigned i = 0; i < BWL_CLIENTS_MAX; i++) {
        s->lines[i].fd = -1;
        for (unsigned j = 0; j < BWL_MESSAGES_MAX; j++)
            s->late[i][j].fd = -1;
    }
    (void)sigaction(SIGINT, &on_stop, NULL); /* these two cannot fail */
    (void)sigaction(SIGTERM, &on_stop, NULL);
    if (!bwl_real_server_start(&s->server, set->server, s->fault))
        return false;
    if (!bwl_line_open(&s->watcher, s->server.socket.of, &why) ||
        !bwl_line_say(&s->watcher, "LOLWUT VERSION 1", &said, &why))
        return bwl_stage_fails(s, "the real server failed", why);
    bwl_world_start(&s->w, &s->record->world);
    s->started = s->w.now;
    s->began   = bwl_real_ms();
    return bwl_stage_puts_key(s);
}

static bool print_end(bwl_stage *s)
{
    const bwl_world *w = &s->w;
    bwl_text         ttl;

    if (!bwl_stage_asks(s, bwl_say("PTTL %s", BWL_STAGE_KEY).of, &ttl))
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
        else if (w->clients[i].caller.is_working)
            (void)printf("  %c works on, though its time is over\n", bwl_client_name(i));
    }
    (void)printf("  the server has %s; it says PTTL %s\n", bwl_key_name(w).of, ttl.of);
    (void)printf("=> broken on a real server: %s: %s.\n", bwl_invariant_label(s->record->broken),
                 bwl_invariant_sentence(s->record->broken));
    return true;
}

static bool play(bwl_stage *s)
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
        return bwl_stage_fails(s, "the invariant is not broken on the real server",
                               bwl_say("%s", ""));
    return true;
}

/* What a replay cannot show; "" if nothing. */
static bwl_text unplayable(const bwl_scenario *world)
{
    if (world->options.rules != NULL && world->options.rules->clock == BWL_CLOCK_OF_SERVER)
        return bwl_say("its stamps are made by the server, of the true time of day; "
                       "the schedule's are of another day");
    if (world->protocol->uses_push)
        return bwl_say("its clients are told things unasked, and the lab does not listen to a "
                       "real server yet");
    return bwl_say("%s", "");
}

int bwl_verb_replay(const bwl_lab_options *set)
{
    bwl_record record;
    bwl_stage  s = { .record = &record, .scale = set->scale, .watcher = { .fd = -1 } };
    bwl_text   why;
    bool       is_good;

    if (!bwl_record_load(&record, set->operands[0], set->protocol, s.fault))
        return bwl_complain(s.fault[0], s.fault[1], s.fault[2]);
    why = unplayable(&record.world);
    if (why.of[0] != '\0') {
        bwl_record_free(&record);
        return bwl_complain(bwl_say("this schedule cannot be played"), why, bwl_say("%s", ""));
    }
    if (s.scale == 0)
        s.scale = scale_for(&record);
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
