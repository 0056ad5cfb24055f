/*
 * top.c -- `bowline top`: a page on the terminal with the locks that are held, drawn again at an
 * interval.
 *
 *      list step by step --end--> count, sort, draw --pause--> list ...
 *
 * Keys are read between two steps.  The pause is at least four times as long as the list took: a
 * page that is left open costs the store a fifth of one connection at most.
 */
#include "cli/command/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/command/change.h"
#include "cli/command/look.h"
#include "cli/command/rows.h"
#include "cli/run/loop.h"
#include "cli/settings/commands.h"
#include "cli/text/holder.h"
#include "cli/text/screen.h"
#include "doctor/caps.h"

enum {
    STEP_KEYS = 1000,
    MAX_KEYS  = 100000, /* the default of --max-keys */
    EVERY_MS  = 1000,
    REST      = 4,  /* times as long as a list */
    WINDOW    = 10, /* lists over which the rate is taken */
};

static const option_row rows_of_options[] = { TOP_OPTION_MAP(OPTION_ROW) };

const option_table top_table = {
    OPTION_TABLE("top", rows_of_options, TOP_OPERANDS, false),
    .before = "bowline top                 the locks that are held, drawn every second\n"
              "bowline top 'report-*'      those with such a name\n"
              "\n",
    .after  = "\n"
              "Keys: q leaves; arrows, page up and down, home and end scroll.\n"
              "The locks with most waiters come first, then those that are held longest.\n"
              "A lock that is held for less than the time between two looks may not be seen.\n"
              "\n"
              "Exit: 0 after q; 125 without a terminal, or if the first look failed.\n",
};

/* What one list has found. */
typedef struct found {
    rows     rows;
    uint64_t held; /* with those that are not in `rows` */
    uint64_t waiting;
    uint64_t keys; /* looked at; 0: all of them */
} found;

typedef struct top {
    look         *look;
    bowline_list *list; /* NULL: a pause */
    found         shown;
    found         next;
    bool          has_shown;        /* `shown` is a list */
    int64_t       began_at;         /* the list, or the pause */
    int64_t       next_at;          /* the end of the pause */
    uint64_t      acquired[WINDOW]; /* by each of the last lists */
    int64_t       ended_at[WINDOW];
    unsigned      lists; /* so far */
    size_t        first; /* row on the page */
    words         trouble;
    caps          caps;
} top;

/* ---- counting -------------------------------------------------------------------------------- */

/* How many holds of `now` are not in `before`.  Both are sorted by name. */
static uint64_t count_new(const rows *before, const rows *now)
{
    uint64_t count = 0;
    size_t   k     = 0;

    for (size_t i = 0; i < now->count; i++) {
        const bowline_holder *is = &now->held[i];
        while (k < before->count && strcmp(before->held[k].name, is->name) < 0)
            k++;
        bool was = k < before->count && strcmp(before->held[k].name, is->name) == 0;
        if (!was || !change_is_same_hold(&before->held[k], is))
            count++;
    }
    return count;
}

/* Acquisitions in a second, over the last lists; below 0: not known yet. */
static double rate_of(const top *t)
{
    unsigned count = t->lists < WINDOW ? t->lists : WINDOW;
    uint64_t sum   = 0;

    if (count < 2)
        return -1;
    for (unsigned i = 1; i < count; i++)
        sum += t->acquired[(t->lists - i) % WINDOW];
    int64_t ms = t->ended_at[(t->lists - 1) % WINDOW] - t->ended_at[(t->lists - count) % WINDOW];
    return ms > 0 ? 1000.0 * (double)sum / (double)ms : -1;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void draw_head(const top *t)
{
    time_t    now = time(NULL);
    struct tm local;
    char      clock[16] = "";
    double    rate      = rate_of(t);

    if (localtime_r(&now, &local) != NULL)
        (void)strftime(clock, sizeof clock, "%H:%M:%S", &local);
    words protocol = words_of("%s%s", t->caps.row.protocol != NULL ? "  protocol " : "",
                              t->caps.row.protocol != NULL ? t->caps.row.protocol : "");
    words counts = words_of("held %" PRIu64 "  waiting %" PRIu64, t->shown.held, t->shown.waiting);
    if (rate >= 0)
        counts = words_of("%s  acquired %.1f/s, as far as seen", counts.text, rate);
    if (t->shown.keys > 0)
        counts =
            words_of("%s  not complete: %" PRIu64 " keys looked at", counts.text, t->shown.keys);
    screen_line(words_of("%s  bowline top  %s%s", clock, t->caps.place, protocol.text).text);
    screen_line(t->has_shown ? counts.text : "looking");
    screen_line(t->trouble.text);
}

static size_t rows_on_page(void)
{
    enum { OTHERS = 5 }; /* head, titles, foot */

    return screen_rows() > OTHERS ? screen_rows() - OTHERS : 1;
}

static void draw(top *t)
{
    const rows  *r     = &t->shown.rows;
    size_t       room  = rows_on_page();
    size_t       most  = r->count > room ? r->count - room : 0;
    holder_table table = { .has_short_fences = true, .has_titles = true };
    char         row[HOLDER_ROW_MAX];

    if (t->first > most)
        t->first = most;
    size_t end = t->first + room < r->count ? t->first + room : r->count;
    for (size_t i = t->first; i < end; i++)
        holder_table_fit(&table, &r->held[i]);
    screen_begin();
    draw_head(t);
    holder_table_row(row, &table, NULL);
    screen_title(r->count > 0 ? row : "");
    for (size_t i = t->first; i < end; i++) {
        holder_table_row(row, &table, &r->held[i]);
        screen_line(row);
    }
    words place = words_of("%s", "");
    if (r->count > room)
        place = words_of("  %zu to %zu of %zu", t->first + 1, end, r->count);
    screen_line(words_of("q quit  arrows scroll%s", place.text).text);
    screen_end();
}

/* ---- the list -------------------------------------------------------------------------------- */

static void clear(found *f)
{
    rows_clear(&f->rows);
    *f = (found){ .held = 0 };
}

static void add(found *f, const bowline_holder *holder)
{
    f->held++;
    f->waiting += holder->waiting;
    /* (void): the page has the first ones, and counts all. */
    (void)rows_add(&f->rows, holder);
}

/* The list is at its end, or at --max-keys. */
static void show(top *t)
{
    rows_sort(&t->shown.rows, rows_by_name);
    rows_sort(&t->next.rows, rows_by_name);
    t->acquired[t->lists % WINDOW] = count_new(&t->shown.rows, &t->next.rows);
    t->ended_at[t->lists % WINDOW] = loop_now();
    t->lists++;
    rows_sort(&t->next.rows, rows_by_wait);
    clear(&t->shown);
    t->shown     = t->next;
    t->next      = (found){ .held = 0 };
    t->has_shown = true;
    t->trouble   = words_of("%s", "");
}

static void pause_after_list(top *t)
{
    int64_t every_ms =
        t->look->options.look.every_ms > 0 ? t->look->options.look.every_ms : EVERY_MS;
    int64_t now     = loop_now();
    int64_t rest_ms = REST * (now - t->began_at);

    bowline_list_free(t->list);
    t->list    = NULL;
    t->next_at = now + (rest_ms > every_ms ? rest_ms : every_ms);
}

static int begin(top *t, bowline_error *reterr)
{
    const char *pattern = t->look->options.name;

    t->began_at = loop_now();
    clear(&t->next);
    return bowline_list_start(&t->list, t->look->client, pattern[0] != '\0' ? pattern : NULL,
                              reterr);
}

/* Returns 1 if the list goes on, 0 at its end, below 0 with *reterr. */
static int step(top *t, bowline_error *reterr)
{
    int            given    = t->look->options.look.max_keys;
    uint64_t       max_keys = given >= 0 ? (uint64_t)given : MAX_KEYS;
    uint64_t       next     = bowline_list_progress(t->list, NULL) + STEP_KEYS;
    bool           is_last  = max_keys != 0 && next >= max_keys;
    bowline_holder holder   = { .size = sizeof holder };
    int            status;

    bowline_list_limit(t->list, is_last ? max_keys : next);
    while ((status = bowline_list_next(&holder, t->list, reterr)) > 0)
        add(&t->next, &holder);
    if (status != BOWLINE_TIMEOUT)
        return status;
    if (!is_last)
        return 1;
    t->next.keys = bowline_list_progress(t->list, NULL);
    return 0;
}

/* Looks, if it is time to.  Returns 1 if the page has changed, 0 if not, below 0 with *reterr. */
static int look_on(top *t, failure *reterr)
{
    bowline_error error;
    int           status = 1;

    if (t->list == NULL && loop_now() < t->next_at)
        return 0;
    if (t->list == NULL)
        status = begin(t, &error);
    if (status >= 0)
        status = step(t, &error);
    if (status > 0)
        return 0;
    if (status == 0)
        show(t);
    else
        t->trouble = words_of("no look since %s: %s",
                              words_of_duration(loop_now() - t->began_at).text, error.text);
    pause_after_list(t);
    if (status == 0 || t->has_shown)
        return 1;
    if (status == BOWLINE_USAGE)
        return options_fail(&top_table, reterr, words_of("there is no such pattern"),
                            words_of("%s", error.text));
    return settings_fail(&t->look->settings, words_of("the locks cannot be listed"), error.text,
                         reterr);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void scroll(top *t, screen_key key)
{
    size_t page = rows_on_page();

    switch (key) {
    case SCREEN_UP: t->first -= t->first > 0; break;
    case SCREEN_DOWN: t->first++; break; /* draw() limits it, here and below */
    case SCREEN_PAGE_UP: t->first -= t->first > page ? page : t->first; break;
    case SCREEN_PAGE_DOWN: t->first += page; break;
    case SCREEN_HOME: t->first = 0; break;
    case SCREEN_END: t->first = t->shown.rows.count; break;
    case SCREEN_NOTHING:
    case SCREEN_QUIT:
    case SCREEN_CHANGED:
    case SCREEN_OTHER: break;
    }
}

static int wait_ms(const top *t)
{
    int64_t ms = t->list != NULL ? 0 : t->next_at - loop_now();

    return ms < 0 ? 0 : ms > 1000 ? 1000 : (int)ms;
}

/* Until q is typed. */
static int run_page(top *t, failure *reterr)
{
    screen_key key = SCREEN_CHANGED;

    while (key != SCREEN_QUIT) {
        scroll(t, key);
        int status = look_on(t, reterr);
        if (status < 0)
            return -1;
        if (status > 0 || key != SCREEN_NOTHING)
            draw(t);
        key = screen_read(wait_ms(t));
    }
    return 0;
}

static int run_top(look *l, failure *reterr)
{
    top  t = { .look = l };
    char why[CAPS_TEXT_MAX];

    if (look_open(l, reterr) < 0)
        return -1;
    if (caps_find(&t.caps, l->settings.url, 0, why) < 0)
        return settings_fail(&l->settings, words_of("the locks cannot be opened"), why, reterr);
    if (screen_open(reterr) < 0)
        return -1;
    int status = run_page(&t, reterr);
    screen_close();
    bowline_list_free(t.list);
    clear(&t.next);
    clear(&t.shown);
    return status;
}

int top_main(int argc, char **argv)
{
    return look_main(&top_table, run_top, false, argc, argv);
}
