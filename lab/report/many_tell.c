/*
 * many_tell.c -- a schedule of a world with several servers, in words.
 */
#include "lab/report/many_tell.h"
#include "lab/base/token_number.h"
#include <stdio.h>

enum { LINE_MAX = 160 };

static const char *word_text(unsigned word)
{
    switch ((bwl_redis_word)word) {
    case REDIS_SET_IF_ABSENT: return "SET NX PX";
    case REDIS_SET_IF_ABSENT_OR_MINE: return "SET NX PX, or mine";
    case REDIS_EXTEND_IF_MINE: return "extend if mine";
    case REDIS_DELETE_IF_MINE: return "delete if mine";
    case REDIS_SWAP: return "SET";
    default: return "?";
    }
}

static const char *answer_text(unsigned answer)
{
    return answer == BWL_YES ? "yes" : answer == BWL_NO ? "no" : "later";
}

static void say_choice(const bwl_many_world *w, bwl_choice choice, char text[LINE_MAX])
{
    char                 who   = (char)('A' + choice.client);
    unsigned             k     = choice.which;
    const bwl_many_line *line  = &w->lines[choice.client][k];
    unsigned             first = line->answered;

    switch ((bwl_many_kind)choice.kind) {
    case BWL_MANY_START: (void)snprintf(text, LINE_MAX, "%c wants the lock", who); break;
    case BWL_MANY_RELEASE: (void)snprintf(text, LINE_MAX, "%c releases", who); break;
    case BWL_MANY_GIVE_UP: (void)snprintf(text, LINE_MAX, "%c cancels", who); break;
    case BWL_MANY_ALARM: (void)snprintf(text, LINE_MAX, "%c wakes up", who); break;
    case BWL_MANY_SERVE:
    case BWL_MANY_DENY:
        (void)snprintf(text, LINE_MAX, "server %u %s %c's %s", k + 1,
                       choice.kind == BWL_MANY_SERVE ? "carries out" : "cannot carry out", who,
                       word_text(line->letters[first < BWL_MANY_LETTERS ? first : 0].word));
        break;
    case BWL_MANY_SERVE_LATE:
        (void)snprintf(text, LINE_MAX, "server %u carries out, late, %c's %s", k + 1, who,
                       word_text(line->late[0].word));
        break;
    case BWL_MANY_DELIVER:
        (void)snprintf(text, LINE_MAX, "%c hears %s from server %u", who,
                       line->letters[0].kind == BWL_LETTER_ANSWER
                           ? answer_text(line->letters[0].answer)
                           : "that the line is cut",
                       k + 1);
        break;
    case BWL_MANY_PASS:
        (void)snprintf(text, LINE_MAX, "%lld ms pass",
                       (long long)(bwl_many_next_instant(w) - w->now));
        break;
    case BWL_MANY_BREAK:
        (void)snprintf(text, LINE_MAX, "the line of %c to server %u breaks", who, k + 1);
        break;
    case BWL_MANY_TIME_OUT:
        (void)snprintf(text, LINE_MAX, "%c has waited long enough for server %u", who, k + 1);
        break;
    case BWL_MANY_FAIL: (void)snprintf(text, LINE_MAX, "%c is gone", who); break;
    case BWL_MANY_COME_BACK:
        (void)snprintf(text, LINE_MAX, "server %u restarts, empty", k + 1);
        break;
    case BWL_MANY_STEP_CLOCK:
        (void)snprintf(text, LINE_MAX, "the clock of server %u jumps", k + 1);
        break;
    case BWL_MANY_HALT: (void)snprintf(text, LINE_MAX, "server %u stops", k + 1); break;
    case BWL_MANY_GO_ON: (void)snprintf(text, LINE_MAX, "server %u goes on", k + 1); break;
    }
}

/* Who has the key where, and who believes: "A A - : A holds". */
static size_t say_world(const bwl_many_world *w, char *text, size_t room)
{
    size_t size = 0;

    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner = w->servers[k].owner;
        size += (size_t)snprintf(text + size, room - size, "%c ",
                                 owner == 0 ? '-' : (char)('A' + bwl_token_client(owner)));
    }
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (bwl_many_believes(w, i))
            size += (size_t)snprintf(text + size, room - size, " %c holds", (char)('A' + i));
    return size;
}

void bwl_many_tell(const bwl_many_scenario *s, const bwl_choice *path, unsigned count,
                   void (*write)(const char *line, void *arg), void *arg)
{
    bwl_many_world w;

    bwl_many_start(&w, s);
    for (unsigned i = 0; i < count; i++) {
        char what[LINE_MAX];
        char servers[LINE_MAX];
        char line[2 * LINE_MAX + 64];
        say_choice(&w, path[i], what);
        bwl_many_perform(&w, path[i]);
        (void)say_world(&w, servers, sizeof servers);
        (void)snprintf(line, sizeof line, "%3u  %5lld ms  %-52s %s", i + 1,
                       (long long)(w.now - BWL_BEGINNING_MS), what, servers);
        write(line, arg);
    }
}
