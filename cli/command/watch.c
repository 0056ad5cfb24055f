/*
 * watch.c -- `bowline watch`: a line for each change of a lock, until a signal or --until ends it.
 *
 *      look --same--> pause --> look ...
 *        |--changed--> one line for each event
 *        `--failed---> one line; the next look that succeeds shows the state again
 *
 * A store tells no one what happens to a lock, so bowline looks at an interval: see change.h.
 *
 * Signals end it as they end any program, and so does the end of the reader (SIGPIPE): a watch
 * leaves nothing behind.
 */
#include "cli/command/command.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "cli/command/change.h"
#include "cli/command/look.h"
#include "cli/run/loop.h"
#include "cli/settings/commands.h"
#include "cli/text/holder.h"
#include "cli/text/json.h"

enum { EVERY_MS = 500, AGAIN_MS = 20, AGAIN_MAX = 10, LATER_MS = 50 };

static const option_row rows[] = { WATCH_OPTION_MAP(OPTION_ROW) };

const option_table watch_table = {
    OPTION_TABLE("watch", rows, WATCH_OPERANDS, false),
    .before = "bowline watch nightly                    a line for each change, until Ctrl-C\n"
              "bowline watch --until free nightly       wait until no one holds it\n"
              "bowline watch --json nightly | jq .      for a program\n"
              "\n",
    .after  = "\n"
              "Events: held, free, done (at the start, and after a failed look); done, later free\n"
              "(no one holds it, and --once-per or --at-least keeps it taken for a time); waiting\n"
              "(another number of clients waits); acquired; released; broken (by bowline break);\n"
              "lost (its lease has ended); ended (released or lost: no look was possible\n"
              "meanwhile); unreachable.  A hold that begins and ends between two looks is not\n"
              "seen.\n"
              "\n"
              "Exit: 0 --until has happened; 125 the first look failed.  Ctrl-C ends it.\n",
};

/* The names of --until too, in the order of WATCH_EVENTS. */
typedef enum watch_event {
    WATCH_HELD = 1,
    WATCH_FREE,
    WATCH_DONE,
    WATCH_WAITING,
    WATCH_ACQUIRED,
    WATCH_RELEASED,
    WATCH_BROKEN,
    WATCH_LOST,
    WATCH_ENDED,
    WATCH_UNREACHABLE,
} watch_event;

static const char *const event_names[] = { "",        "held",     "free",       "done",
                                           "waiting", "acquired", "released",   "broken",
                                           "lost",    "ended",    "unreachable" };

typedef struct watcher {
    look *look;
    sight before;   /* the last look that did not fail */
    bool  is_known; /* the last look did not fail */
    bool  is_over;  /* --until has happened */
} watcher;

/* ---- output ---------------------------------------------------------------------------------- */

static void write_text(const watcher *w, watch_event event, const bowline_holder *holder,
                       const char *why)
{
    time_t    now = time(NULL);
    struct tm local;
    char      clock[16] = "";

    if (localtime_r(&now, &local) != NULL)
        (void)strftime(clock, sizeof clock, "%H:%M:%S", &local);
    (void)printf("%s  %-8s  ", clock, event_names[event]);
    if (holder != NULL)
        holder_write_line(w->look->options.name, holder, why, SIZE_MAX);
    else
        (void)printf("%s%s%s\n", words_escaped(w->look->options.name, WORDS_MAX).text,
                     why != NULL ? "  " : "",
                     words_escaped(why != NULL ? why : "", WORDS_MAX).text);
}

static void write_json(const watcher *w, watch_event event, const bowline_holder *holder,
                       const char *why)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* (void): this clock exists */
    json_open(NULL, '{');
    json_text("event", event_names[event]);
    json_text("name", w->look->options.name);
    json_number("time_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    if (holder != NULL)
        holder_write_json(holder, holder_mode(holder, NULL, 0));
    json_text(event == WATCH_BROKEN ? "by" : "why", why);
    json_close('}');
}

/* `holder`: NULL without one.  `why`: by whom, or why; may be NULL. */
static void say(watcher *w, watch_event event, const bowline_holder *holder, const char *why)
{
    const char *until = w->look->options.look.until;

    if (w->look->options.wants_json)
        write_json(w, event, holder, why);
    else
        write_text(w, event, holder, why);
    (void)fflush(stdout); /* say_done checks for errors */
    if (until != NULL && strcmp(until, event_names[event]) == 0)
        w->is_over = true;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A lock of file: that is handed to the next waiter has no holder for a moment. */
static bool is_handed_over(const bowline_holder *h)
{
    return h->held != 0 && h->foreign == 0 && h->left_ms == INT64_MAX && h->id == 0 &&
           h->fence == 0 && h->note[0] == '\0';
}

static int see(watcher *w, sight *ret_now, failure *reterr)
{
    unsigned tries  = 0;
    int      status = 0;

    do {
        if (tries > 0)
            (void)poll(NULL, 0, AGAIN_MS); /* (void): a shorter pause does no harm */
        *ret_now         = (sight){ .asked_at = loop_now() };
        status           = look_at_holder(w->look, &ret_now->holder, reterr);
        ret_now->seen_at = loop_now();
    } while (status == 0 && is_handed_over(&ret_now->holder) && ++tries < AGAIN_MAX);
    return status;
}

/* Says who has broken the hold.  False: no one has, or it is not known. */
static bool say_breaker(watcher *w, const bowline_holder *was)
{
    const look *l = w->look;
    char        by[BOWLINE_BREAKER_MAX];

    if (was->id == 0 ||
        bowline_broken_by(l->client, l->options.name, was->id, by, NULL) != BOWLINE_OK ||
        by[0] == '\0')
        return false;
    if (l->options.wants_json)
        say(w, WATCH_BROKEN, was, by);
    else
        say(w, WATCH_BROKEN, was, words_of("broken by %s", by).text);
    return true;
}

static void say_end(watcher *w, const sight *now, hold_end end)
{
    bowline_holder was = w->before.holder;

    if (was.since_ms > 0)
        was.since_ms += now->seen_at - w->before.seen_at;
    was.left_ms = INT64_MAX;
    was.waiting = now->holder.waiting;
    switch (end) {
    case HOLD_GOES_ON: return;
    case HOLD_RELEASED:
        if (!say_breaker(w, &was))
            say(w, WATCH_RELEASED, &was, NULL);
        return;
    case HOLD_LOST: say(w, WATCH_LOST, &was, "its lease has ended"); return;
    case HOLD_ENDED:
        say(w, WATCH_ENDED, &was, "released, or its lease has ended: no look was possible");
        return;
    }
}

/* A new holder publishes its fence and its command a moment later. */
static void see_again(watcher *w, sight *now)
{
    sight   later;
    failure ignored;

    if (now->holder.held == 0 || now->holder.fence != 0)
        return;
    (void)poll(NULL, 0, LATER_MS); /* (void): a shorter pause does no harm */
    if (see(w, &later, &ignored) == 0 && later.holder.held != 0 &&
        change_is_same_hold(&now->holder, &later.holder))
        *now = later;
}

static watch_event state_of(const bowline_holder *h)
{
    if (h->held != 0)
        return WATCH_HELD;
    return h->done != 0 ? WATCH_DONE : WATCH_FREE;
}

static void say_changes(watcher *w, sight *now)
{
    const bowline_holder *was    = &w->before.holder;
    const bowline_holder *is     = &now->holder;
    hold_end              end    = change_between(&w->before, now);
    watch_event           before = end == HOLD_GOES_ON ? state_of(was) : WATCH_FREE;

    say_end(w, now, end);
    if (before != WATCH_HELD)
        see_again(w, now);
    watch_event state = state_of(is);
    if (state == WATCH_HELD && before != WATCH_HELD && w->before.seen_at > 0)
        say(w, WATCH_ACQUIRED, is, NULL);
    else if (state != before || (!w->is_known && end == HOLD_GOES_ON))
        say(w, state, state != WATCH_FREE ? is : NULL, NULL);
    else if (end == HOLD_GOES_ON && state != WATCH_FREE && was->waiting != is->waiting)
        say(w, WATCH_WAITING, is, NULL);
}

static bool is_until(const watcher *w, const char *state)
{
    const char *until = w->look->options.look.until;

    return until != NULL && strcmp(until, state) == 0;
}

/* False: the first look failed. */
static bool look_again(watcher *w, failure *reterr)
{
    sight now;

    if (see(w, &now, reterr) < 0) {
        if (w->is_known)
            say(w, WATCH_UNREACHABLE, NULL, reterr->why.text);
        w->is_known = false;
        return w->before.seen_at > 0;
    }
    say_changes(w, &now);
    w->before   = now;
    w->is_known = true;
    if (is_until(w, event_names[state_of(&now.holder)]))
        w->is_over = true;
    return true;
}

static int watch(look *l, failure *reterr)
{
    watcher w        = { .look = l };
    int64_t every_ms = l->options.look.every_ms > 0 ? l->options.look.every_ms : EVERY_MS;

    (void)signal(SIGPIPE, SIG_DFL); /* a caller may ignore it; (void): a valid signal */
    if (look_open(l, reterr) < 0)
        return -1;
    while (!w.is_over && ferror(stdout) == 0) {
        if (!look_again(&w, reterr))
            return -1;
        if (!w.is_over)
            look_pause(w.is_known ? change_pause_ms(&w.before, every_ms) : every_ms);
    }
    return 0;
}

int watch_main(int argc, char **argv)
{
    return look_main(&watch_table, watch, true, argc, argv);
}
