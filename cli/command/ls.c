/*
 * ls.c -- `bowline ls`: the held names of a store.
 *
 * The library reads the names step by step.  Between two steps, a line on the terminal shows the
 * progress if the list takes longer than a second.  Up to ROWS_MAX locks are kept, sorted by name
 * and written at the end; with more, all are written as they are found.
 */
#include "cli/command/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/command/look.h"
#include "cli/command/rows.h"
#include "cli/run/loop.h"
#include "cli/settings/commands.h"
#include "cli/text/holder.h"
#include "cli/text/status_line.h"

enum {
    STEP_KEYS       = 1000,    /* between two looks at the clock */
    MAX_KEYS        = 1000000, /* the default of --max-keys */
    PROGRESS_MS     = 1000,
    EXIT_INCOMPLETE = 1,
};

static const option_row rows_of_options[] = { LS_OPTION_MAP(OPTION_ROW) };

const option_table ls_table = {
    OPTION_TABLE("ls", rows_of_options, LS_OPERANDS, false),
    .before = "bowline ls                      the locks that are held\n"
              "bowline ls 'report-*'           those with such a name; quote the pattern\n"
              "bowline ls --json | jq .name    for a program\n"
              "\n",
    .after  = "\n"
              "A snapshot: a lock that is acquired or released meanwhile may be missing or shown.\n"
              "In a PATTERN, * is any text, ? one character, [a-z] one of these.\n"
              "\n"
              "Exit: 0 all that are held; 1 --max-keys was reached, the list is not complete;\n"
              "125 the locks could not be listed.\n",
};

typedef struct listing {
    look         *look;
    bowline_list *list;
    rows          found;
    bool          is_stream; /* too many to sort: written as they are found */
    uint64_t      written;   /* of a stream */
    status_line   progress;
    int64_t       progress_at;
} listing;

/* ---- output ---------------------------------------------------------------------------------- */

static void write_one(const listing *l, const bowline_holder *holder)
{
    if (l->look->options.wants_json)
        look_write_json(holder->name, holder, NULL, 0);
    else
        holder_write_line(holder->name, holder, NULL, SIZE_MAX);
}

static void write_table(const rows *found, size_t columns)
{
    char         row[HOLDER_ROW_MAX];
    holder_table t = { .has_short_fences = false };

    for (size_t i = 0; i < found->count; i++)
        holder_table_fit(&t, &found->held[i]);
    if (holder_table_width(&t) > columns) {
        t = (holder_table){ .has_short_fences = true };
        for (size_t i = 0; i < found->count; i++)
            holder_table_fit(&t, &found->held[i]);
    }
    for (size_t i = 0; i < found->count; i++) {
        holder_table_row(row, &t, &found->held[i]);
        (void)puts(row); /* say_done checks for errors */
    }
}

static void write_found(listing *l)
{
    size_t columns = look_columns();

    status_line_erase(&l->progress);
    if (!l->is_stream)
        rows_sort(&l->found, rows_by_name);
    if (!l->is_stream && !l->look->options.wants_json && columns != SIZE_MAX) {
        write_table(&l->found, columns);
    } else {
        for (size_t i = 0; i < l->found.count; i++)
            write_one(l, &l->found.held[i]);
    }
    l->written += l->found.count;
    rows_clear(&l->found);
}

static void add(listing *l, const bowline_holder *holder)
{
    if (!l->is_stream && rows_add(&l->found, holder))
        return;
    l->is_stream = true;
    write_found(l);
    status_line_erase(&l->progress);
    write_one(l, holder);
    l->written++;
}

/* "120000 of about 1000000 keys" */
static words progress_words(const listing *l)
{
    uint64_t total;
    uint64_t keys = bowline_list_progress(l->list, &total);

    if (total == 0)
        return words_of("%" PRIu64 " names", keys);
    return words_of("%" PRIu64 " of about %" PRIu64 " keys", keys, total > keys ? total : keys);
}

static void show_progress(listing *l)
{
    if (!status_line_is_possible() || loop_now() < l->progress_at)
        return;
    l->progress_at = loop_now() + PROGRESS_MS;
    words text     = words_of("looked at %s, held: %" PRIu64, progress_words(l).text,
                              l->written + l->found.count);
    status_line_show(&l->progress, text.text);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int incomplete(const listing *l, failure *reterr)
{
    return failed_with(reterr, (failure){
                                   .code = EXIT_INCOMPLETE,
                                   .what = words_of("the list is not complete"),
                                   .why  = words_of("it has looked at %s, as --max-keys says",
                                                    progress_words(l).text),
                                   .hint = words_of("to look at all, type: bowline ls --max-keys "
                                                    "0"),
                               });
}

static int start(listing *l, failure *reterr)
{
    look         *on      = l->look;
    const char   *pattern = on->options.name[0] != '\0' ? on->options.name : NULL;
    bowline_error error;
    int           status = bowline_list_start(&l->list, on->client, pattern, &error);

    if (status == BOWLINE_USAGE)
        return options_fail(&ls_table, reterr, words_of("there is no such pattern"),
                            words_of("%s", error.text));
    if (status < 0)
        return settings_fail(&on->settings, words_of("the locks cannot be listed"), error.text,
                             reterr);
    return 0;
}

/* Reads all names up to the limit.  What was found is written whatever happens. */
static int read_names(listing *l, uint64_t max_keys, failure *reterr)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error;

    for (;;) {
        uint64_t next = bowline_list_progress(l->list, NULL) + STEP_KEYS;
        bool     last = max_keys != 0 && next >= max_keys;
        bowline_list_limit(l->list, last ? max_keys : next);
        int status = bowline_list_next(&holder, l->list, &error);
        if (status == 0)
            return 0;
        if (status > 0)
            add(l, &holder);
        else if (status == BOWLINE_TIMEOUT && last)
            return incomplete(l, reterr);
        else if (status != BOWLINE_TIMEOUT)
            return settings_fail(&l->look->settings, words_of("the locks cannot be listed"),
                                 error.text, reterr);
        show_progress(l);
    }
}

static int ls(look *on, failure *reterr)
{
    listing l      = { .look = on, .progress_at = loop_now() + PROGRESS_MS };
    int     given  = on->options.look.max_keys;
    int     status = -1;

    status_line_erase_on_signals();
    if (look_open(on, reterr) == 0 && start(&l, reterr) == 0) {
        status = read_names(&l, given >= 0 ? (uint64_t)given : MAX_KEYS, reterr);
        write_found(&l);
    }
    bowline_list_free(l.list);
    return status;
}

int ls_main(int argc, char **argv)
{
    return look_main(&ls_table, ls, false, argc, argv);
}
