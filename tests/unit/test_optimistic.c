/*
 * test_optimistic.c -- when an optimistic update is tried again, when it ends, and that a write
 * that may have been carried out is never repeated.
 *
 * A row is a list of items: actions of the machine are in capitals, inputs in small letters.  +N: N
 * ms pass.  The time starts at 1000.  An end shows its tries and its conflicts.
 */
#include "lock/optimistic.h"
#include "tests/lib/suite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct row {
    const char *name;
    uint32_t    tries_max;
    bwl_ms      until;
    const char *text;
} row;

static bwl_optimistic machine;
static bwl_ms         now;
static char           said[1000];

static void say(bwl_optimistic_next next)
{
    static const char *const wants[] = { "?", "READ", "COMPUTE", "WRITE", "LEAVE" };
    static const char *const ends[]  = { "?",           "WRITTEN",       "LEFT",
                                         "STOPPED",     "FOREIGN_VALUE", "CONFLICTS",
                                         "TIME_UP",     "NOT_NOW",       "REFUSED",
                                         "UNREACHABLE", "UNKNOWN" };
    size_t                   size    = strlen(said);

    if (next.want == BWL_WANT_PAUSE)
        (void)snprintf(said + size, sizeof said - size, " PAUSE:%lld", (long long)next.at);
    else if (next.want == BWL_WANT_END)
        (void)snprintf(said + size, sizeof said - size, " %s:%u:%u", ends[next.end], machine.tries,
                       machine.conflicts);
    else
        (void)snprintf(said + size, sizeof said - size, " %s", wants[next.want]);
}

static void happens(const char *what)
{
    static const char *const answers[] = {
        "?", "yes", "no", "later", "refused", "unsent", "alien"
    };
    static const char *const choices[] = { "?", "write", "leave", "stop" };
    bwl_event                ev        = { .kind = BWL_REPLY, .now = now };

    for (unsigned i = 1; i < 4; i++)
        if (strcmp(what, choices[i]) == 0) {
            say(bwl_optimistic_computed(&machine, i));
            return;
        }
    for (unsigned i = BWL_YES; i < COUNT_OF(answers); i++)
        if (strcmp(what, answers[i]) == 0)
            ev.answer = i;
    if (strcmp(what, "alarm") == 0)
        ev.kind = BWL_ALARM;
    else if (strcmp(what, "cut") == 0)
        ev.kind = BWL_DOWN;
    else
        assert_true(ev.answer != 0);
    say(bwl_optimistic_event(&machine, &ev));
}

static void play(void **state)
{
    const row *r = *state;
    char       text[1000];

    now     = 1000;
    said[0] = '\0';
    memcpy(text, r->text, strlen(r->text) + 1);
    say(bwl_optimistic_begin(&machine, r->tries_max, r->until));
    for (char *at = strtok(text, " "); at != NULL; at = strtok(NULL, " ")) {
        if (isupper((unsigned char)*at))
            continue;
        (void)snprintf(said + strlen(said), sizeof said - strlen(said), " %s", at);
        if (*at == '+')
            now += atoi(at + 1);
        else
            happens(at);
    }
    assert_string_equal(said + 1, r->text);
}

static const row rows[] = {
    { "written", 0, BWL_NEVER, "READ yes COMPUTE write WRITE yes WRITTEN:1:0" },
    { "left", 0, BWL_NEVER, "READ yes COMPUTE leave LEAVE yes LEFT:1:0" },
    { "foreign_value_is_not_changed", 0, BWL_NEVER, "READ alien LEAVE yes FOREIGN_VALUE:1:0" },
    { "conflicts_pause_after_the_second", 0, BWL_NEVER,
      "READ yes COMPUTE write WRITE no READ yes COMPUTE write WRITE no PAUSE:1005 +5 alarm "
      "READ yes COMPUTE write WRITE no PAUSE:1015 +10 alarm READ yes COMPUTE write WRITE no "
      "PAUSE:1035 +20 alarm READ yes COMPUTE write WRITE no PAUSE:1075 +40 alarm READ yes "
      "COMPUTE write WRITE no PAUSE:1125 +50 alarm READ yes COMPUTE write WRITE yes "
      "WRITTEN:7:6" },
    { "conflicts_use_up_the_tries", 3, BWL_NEVER,
      "READ yes COMPUTE write WRITE no READ yes COMPUTE write WRITE no PAUSE:1005 alarm "
      "READ yes COMPUTE write WRITE no CONFLICTS:3:3" },
    { "one_try_is_one_try", 1, BWL_NEVER, "READ yes COMPUTE write WRITE no CONFLICTS:1:1" },
    { "conflict_before_the_end_is_tried_again", 0, 1001,
      "READ yes COMPUTE write WRITE no READ +1 yes COMPUTE write WRITE no TIME_UP:2:2" },
    { "conflict_at_the_end_is_the_end", 0, 1000, "READ yes COMPUTE write WRITE no TIME_UP:1:1" },
    { "not_now_to_a_read_pauses", 0, BWL_NEVER,
      "READ later PAUSE:1005 +5 alarm READ yes COMPUTE write WRITE yes WRITTEN:2:0" },
    { "not_now_pauses_double", 0, BWL_NEVER,
      "READ later PAUSE:1005 alarm READ later PAUSE:1010 alarm READ later PAUSE:1020 alarm "
      "READ yes COMPUTE write WRITE yes WRITTEN:4:0" },
    { "not_now_uses_up_the_tries", 2, BWL_NEVER,
      "READ later PAUSE:1005 alarm READ yes COMPUTE write WRITE later NOT_NOW:2:0" },
    { "not_now_at_the_end_is_the_end", 0, 1005,
      "READ later PAUSE:1005 +5 alarm READ later NOT_NOW:2:0" },
    { "read_is_cut_once", 0, BWL_NEVER, "READ cut READ yes COMPUTE write WRITE yes WRITTEN:2:0" },
    { "read_is_cut_twice", 0, BWL_NEVER, "READ cut READ cut UNREACHABLE:2:0" },
    { "write_is_unsent_once", 0, BWL_NEVER,
      "READ yes COMPUTE write WRITE unsent READ yes COMPUTE write WRITE unsent "
      "UNREACHABLE:2:0" },
    { "cut_uses_up_the_tries", 1, BWL_NEVER, "READ cut UNREACHABLE:1:0" },
    { "cut_at_the_end_is_the_end", 0, 1000, "READ unsent UNREACHABLE:1:0" },
    { "write_without_a_reply_is_UNKNOWN", 0, BWL_NEVER,
      "READ yes COMPUTE write WRITE cut UNKNOWN:1:0" },
    { "write_without_a_reply_after_a_conflict_is_UNKNOWN", 9, BWL_NEVER,
      "READ yes COMPUTE write WRITE no READ yes COMPUTE write WRITE cut UNKNOWN:2:1" },
};

ROWS(rows, play)
