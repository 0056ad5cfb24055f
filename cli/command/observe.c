/*
 * observe.c -- `bowline observe`: a line for each change of the leader, until a signal or --until
 * ends it.
 *
 *      observe --differs--> one line --> observe ...
 *         `--failed--> one line; the next one that succeeds shows the state again
 *
 * A change arrives by a push.  Signals end it as they end any program, and so does the end of the
 * reader (SIGPIPE): an observer leaves nothing behind.
 */
#include <bowline/election.h>

#include "cli/command/command.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "cli/command/look.h"
#include "cli/run/loop.h"
#include "cli/settings/commands.h"
#include "cli/text/holder.h"
#include "cli/text/json.h"

enum { AGAIN_MS = 1000, EXIT_NOBODY = 1 };

static const option_row rows[] = { OBSERVE_OPTION_MAP(OPTION_ROW) };

const option_table observe_table = {
    OPTION_TABLE("observe", rows, OBSERVE_OPERANDS, false),
    .before = "bowline observe scheduler                  a line for each change, until Ctrl-C\n"
              "bowline observe --once scheduler           who leads now\n"
              "bowline observe --until leader scheduler   wait until somebody leads\n"
              "bowline observe --json scheduler | jq .    for a program\n"
              "\n",
    .after  = "\n"
              "Events: leader (who leads, the fence, and the text of bowline elect --value);\n"
              "none (nobody leads); unreachable (it is not known who leads).  Leaders that\n"
              "follow each other at once may be shown as one change.\n"
              "\n"
              "A moment later another host may lead.  The fence tells the two apart.\n"
              "\n"
              "Exit: 0 --until has happened, or with --once: somebody leads; 1 with --once:\n"
              "nobody leads; 125 the first look failed.  Ctrl-C ends it.\n",
};

typedef struct observer {
    look          *look;
    loop           loop;
    bowline_leader leader; /* as seen last */
    bool           is_reached;
    bool           was_reached; /* at least once */
    bool           is_over;     /* --until has happened */
} observer;

/* The leader as the holder that it is. */
static bowline_holder holder_of(const bowline_leader *leader)
{
    bowline_holder holder = { .size    = sizeof holder,
                              .held    = 1,
                              .left_ms = leader->left_ms,
                              .pid     = leader->pid,
                              .fence   = leader->fence };

    memcpy(holder.user, leader->user, sizeof holder.user);
    memcpy(holder.host, leader->host, sizeof holder.host);
    memcpy(holder.program, leader->program, sizeof holder.program);
    return holder;
}

static void write_text(const observer *o, const char *event, const char *why)
{
    time_t         now = time(NULL);
    struct tm      local;
    char           clock[16] = "";
    bowline_holder holder    = holder_of(&o->leader);
    const char    *name      = o->look->options.name;

    if (localtime_r(&now, &local) != NULL)
        (void)strftime(clock, sizeof clock, "%H:%M:%S", &local);
    (void)printf("%s  %-11s  ", clock, event);
    if (why == NULL && o->leader.leads != 0)
        holder_write_line(name, &holder, o->leader.text, SIZE_MAX);
    else
        (void)printf("%s%s%s\n", words_escaped(name, WORDS_MAX).text, why != NULL ? "  " : "",
                     words_escaped(why != NULL ? why : "", WORDS_MAX).text);
}

static void write_json(const observer *o, const char *event, const char *why)
{
    struct timespec now;
    bowline_holder  holder = holder_of(&o->leader);

    (void)clock_gettime(CLOCK_REALTIME, &now); /* (void): this clock exists */
    json_open(NULL, '{');
    json_text("event", event);
    json_text("name", o->look->options.name);
    json_number("time_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    if (why == NULL && o->leader.leads != 0) {
        json_text("value", o->leader.text);
        holder_write_json(&holder, NULL);
    }
    json_text("why", why);
    json_close('}');
}

/* `why`: of unreachable; else NULL. */
static void say(observer *o, const char *event, const char *why)
{
    const char *until = o->look->options.look.until;

    if (o->look->options.wants_json)
        write_json(o, event, why);
    else
        write_text(o, event, why);
    (void)fflush(stdout); /* say_done checks for errors */
    o->is_over = o->look->options.look.is_once || (until != NULL && strcmp(until, event) == 0);
}

/* Waits for the next change while the loop turns, and the reader of a pipe is there. */
static int next_change(observer *o, bowline_error *reterr)
{
    bowline_operation *op;
    int64_t            wait_ms = o->leader.seen != 0 ? BOWLINE_FOREVER : BOWLINE_NO_WAIT;
    int status = bowline_observe_start(&op, o->look->client, o->look->options.name, &o->leader,
                                       wait_ms, reterr);

    while (status == BOWLINE_OK && !bowline_operation_done(op)) {
        loop_turn(&o->loop, BOWLINE_FOREVER);
        look_pause(0);
    }
    return status == BOWLINE_OK ? bowline_observe_finish(&o->leader, op, reterr) : status;
}

/* False: the first look failed. */
static bool go_on(observer *o, failure *reterr)
{
    bowline_error error;
    look         *l      = o->look;
    int           status = next_change(o, &error);

    if (status == BOWLINE_USAGE) {
        (void)options_fail(l->table, reterr, words_of("there is no lock \"%s\"", l->options.name),
                           words_of("%s", error.text));
        return false;
    }
    if (status < 0 && !o->was_reached) {
        (void)settings_fail(&l->settings,
                            words_of("the leader of %s is not known", l->options.name), error.text,
                            reterr);
        return false;
    }
    if (status < 0 && o->is_reached)
        say(o, "unreachable", error.text);
    o->is_reached  = status == BOWLINE_OK;
    o->was_reached = true;
    if (status == BOWLINE_OK) {
        say(o, o->leader.leads != 0 ? "leader" : "none", NULL);
    } else {
        o->leader.seen = 0; /* the next look that succeeds is written */
        look_pause(AGAIN_MS);
    }
    return true;
}

static int observe(look *l, failure *reterr)
{
    observer o = { .look = l, .leader = BOWLINE_LEADER_INIT };

    (void)signal(SIGPIPE, SIG_DFL); /* a caller may ignore it; (void): a valid signal */
    if (look_open(l, reterr) < 0)
        return -1;
    loop_open(&o.loop, l->client, -1);
    o.loop.other_fd = look_pipe();
    while (!o.is_over && ferror(stdout) == 0)
        if (!go_on(&o, reterr))
            return -1;
    return l->options.look.is_once && o.leader.leads == 0 ? EXIT_NOBODY : 0;
}

int observe_main(int argc, char **argv)
{
    return look_main(&observe_table, observe, true, argc, argv);
}
