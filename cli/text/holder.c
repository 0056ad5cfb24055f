#include "cli/text/holder.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/text/json.h"
#include "cli/text/utf8.h"

static words person_of(const bowline_holder *holder)
{
    const char *at = holder->host[0] != '\0' ? "@" : "";

    return words_of("%s%s%s", holder->user, at, holder->host);
}

/* "at 03:00:04", with the date unless that is today: so long ago by the local clock. */
static words time_ago(int64_t ms)
{
    char      text[40];
    time_t    now  = time(NULL);
    time_t    then = now - (time_t)((ms + 500) / 1000);
    struct tm today, day;

    if (localtime_r(&now, &today) == NULL || localtime_r(&then, &day) == NULL)
        return words_of("%s ago", words_of_duration(ms).text);
    bool is_today = day.tm_year == today.tm_year && day.tm_yday == today.tm_yday;
    (void)strftime(text, sizeof text, is_today ? "at %H:%M:%S" : "at %Y-%m-%d %H:%M:%S", &day);
    return words_of("%s", text);
}

static words done_words(const bowline_holder *holder)
{
    words person = person_of(holder);

    return words_of("done by %s %s, next in %s",
                    person.text[0] != '\0' ? person.text : "an unknown user",
                    time_ago(holder->since_ms).text, words_of_duration(holder->left_ms).text);
}

static const char *name_of_unknown(const bowline_holder *holder)
{
    return holder->foreign != 0 ? "another program" : "unknown holder";
}

words holder_words(const bowline_holder *holder)
{
    words person = person_of(holder);
    words ret    = words_of("held by %s", person.text);

    if (holder->done != 0)
        return done_words(holder);
    if (person.text[0] == '\0')
        ret = words_of("held by %s%s", holder->foreign != 0 ? "" : "an ", name_of_unknown(holder));
    if (holder->pid > 0)
        ret = words_of("%s pid %" PRId64, ret.text, holder->pid);
    if (holder->program[0] != '\0')
        ret = words_of("%s (%s)", ret.text, holder->program);
    if (holder->since_ms > 0)
        ret = words_of("%s for %s", ret.text, words_of_duration(holder->since_ms).text);
    if (holder->command_pid > 0)
        ret = words_of("%s, command pid %" PRId64, ret.text, holder->command_pid);
    if (holder->sharers > 1)
        ret = words_of("%s, and shared by %u more", ret.text, holder->sharers - 1);
    if (holder->note[0] != '\0')
        ret = words_of("%s: %s", ret.text, holder->note);
    return ret;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* The program that works under the lock, and its process. */
static words program_of(const bowline_holder *holder)
{
    static const char run[]   = "bowline run ";
    const char       *program = holder->program;
    int64_t           pid     = holder->pid;
    bool              is_run  = strncmp(program, run, strlen(run)) == 0;

    if (holder->command_pid > 0 && is_run) {
        program += strlen(run);
        pid = holder->command_pid;
    } else if (holder->command_pid > 0) {
        return words_of("%s (pid %" PRId64 ", for pid %" PRId64 ")", program, pid,
                        holder->command_pid);
    }
    if (pid <= 0)
        return words_of("%s", program);
    if (program[0] == '\0')
        return words_of("pid %" PRId64, pid);
    return words_of("%s (pid %" PRId64 ")", program, pid);
}

/* Of one share: "2 of 5 permits", "2 permits", "1 permit". */
static words permits_of(const bowline_holder *share)
{
    const char *more = share->permits > 1 || share->limit > 1 ? "s" : "";

    return share->limit > 0 ? words_of("%u of %u permit%s", share->permits, share->limit, more)
                            : words_of("%u permit%s", share->permits, more);
}

/* One client has permits, and no other client has any. */
static bool is_of_one(const bowline_holder *holder)
{
    return holder->sharers == 1 && holder->mode == BOWLINE_PERMITS;
}

/* "3", "2, 5 permits" or, of one client with permits, "1 of 4 permits". */
static words shared_by(const bowline_holder *holder)
{
    words none = { .text = "" };

    if (holder->sharers == 0)
        return none;
    if (is_of_one(holder))
        return permits_of(holder);
    if (holder->mode != BOWLINE_PERMITS)
        return words_of("%u", holder->sharers);
    return words_of("%u, %s", holder->sharers, permits_of(holder).text);
}

/* "18384…" */
static words short_fence(uint64_t fence)
{
    enum { SHORT = 5 };
    words whole = words_of("%" PRIu64, fence);

    return strlen(whole.text) > SHORT + 1 ? words_of("%.*s\xe2\x80\xa6", SHORT, whole.text) : whole;
}

/* The value of a part, without the words around it; "": not known. */
static words value_of(const bowline_holder *holder, holder_part part, bool has_short_fence)
{
    words person = person_of(holder);
    words none   = { .text = "" };

    switch (part) {
    case HOLDER_PERSON:
        return person.text[0] != '\0' ? person : words_of("%s", name_of_unknown(holder));
    case HOLDER_PROGRAM: return program_of(holder);
    case HOLDER_SHARED: return shared_by(holder);
    case HOLDER_HELD: return holder->since_ms > 0 ? words_of_duration(holder->since_ms) : none;
    case HOLDER_LEASE:
        return holder->left_ms != INT64_MAX ? words_of_duration(holder->left_ms) : none;
    case HOLDER_FENCE:
        if (holder->fence == 0)
            return none;
        return has_short_fence ? short_fence(holder->fence) : words_of("%" PRIu64, holder->fence);
    case HOLDER_WAITING: return holder->waiting > 0 ? words_of("%u", holder->waiting) : none;
    case HOLDER_NOTE: return words_of("%s", holder->note);
    }
    return none;
}

/* A part as the user sees it. */
static words part_of(const bowline_holder *holder, holder_part part, bool has_short_fence,
                     bool is_bare)
{
    static const struct {
        const char *before, *after;
    } around[HOLDER_PARTS + 1] = {
        [HOLDER_PERSON] = { "", "" },           [HOLDER_PROGRAM] = { "", "" },
        [HOLDER_SHARED] = { "shared by ", "" }, [HOLDER_HELD] = { "held ", "" },
        [HOLDER_LEASE] = { "lease ", " left" }, [HOLDER_FENCE] = { "fence ", "" },
        [HOLDER_WAITING] = { "", " waiting" },  [HOLDER_NOTE] = { "", "" },
    };
    words value = words_escaped(value_of(holder, part, has_short_fence).text, WORDS_MAX);

    if (is_bare || value.text[0] == '\0' || (part == HOLDER_SHARED && is_of_one(holder)))
        return value;
    return words_of("%s%s%s", around[part].before, value.text, around[part].after);
}

static void write_parts(const bowline_holder *holder, bool has_short_fence)
{
    for (unsigned i = HOLDER_PERSON; i <= HOLDER_PARTS; i++) {
        words part = part_of(holder, i, has_short_fence, false);
        if (part.text[0] != '\0' && (holder->held != 0 || i == HOLDER_WAITING))
            (void)printf("  %s", part.text);
    }
}

void holder_write_line(const char *name, const bowline_holder *holder, const char *more,
                       size_t columns)
{
    words  shown = words_escaped(name, WORDS_MAX);
    size_t width = utf8_columns_of(shown.text);

    for (unsigned i = HOLDER_PERSON; i <= HOLDER_PARTS; i++) {
        size_t some = utf8_columns_of(part_of(holder, i, false, false).text);
        width += some > 0 ? 2 + some : 0;
    }
    (void)fputs(shown.text, stdout); /* say_done checks for errors, here and below */
    if (holder->held == 0)
        (void)printf("  %s", holder->done != 0
                                 ? words_escaped(done_words(holder).text, WORDS_MAX).text
                                 : "free");
    write_parts(holder, width > columns);
    if (more != NULL)
        (void)printf("  %s", words_escaped(more, WORDS_MAX).text);
    (void)putchar('\n');
}

void holder_write_share(const bowline_holder *share, bool with_id, size_t columns)
{
    bowline_holder alone = *share;
    words          more  = permits_of(share);

    alone.sharers = 0;
    alone.waiting = 0; /* for the lock, and not for this share */
    if (share->mode != BOWLINE_PERMITS)
        more.text[0] = '\0';
    if (with_id)
        more =
            words_of("%s%sid %016" PRIx64, more.text, more.text[0] != '\0' ? "  " : "", share->id);
    holder_write_line("", &alone, more.text[0] != '\0' ? more.text : NULL, columns);
}

/* ---- rows of a table ------------------------------------------------------------------------- */

static words cell_of(const holder_table *t, const bowline_holder *holder, unsigned part)
{
    static const char *const titles[HOLDER_PARTS + 1] = { "NAME",   "HOLDER",  "PROGRAM",
                                                          "SHARED", "HELD",    "LEASE",
                                                          "FENCE",  "WAITING", "NOTE" };

    if (holder == NULL)
        return words_of("%s", titles[part]);
    if (part == 0)
        return words_escaped(holder->name, WORDS_MAX);
    return part_of(holder, part, t->has_short_fences, t->has_titles);
}

void holder_table_fit(holder_table *t, const bowline_holder *holder)
{
    for (unsigned i = 0; i <= HOLDER_PARTS; i++) {
        size_t columns = utf8_columns_of(cell_of(t, holder, i).text);
        size_t title   = t->has_titles && columns > 0 ? strlen(cell_of(t, NULL, i).text) : 0;
        size_t width   = columns > title ? columns : title;
        if (width > t->widths[i])
            t->widths[i] = width;
    }
}

size_t holder_table_width(const holder_table *t)
{
    size_t width = 0;

    for (unsigned i = 0; i <= HOLDER_PARTS; i++)
        width += t->widths[i] > 0 ? t->widths[i] + (i > 0 ? 2 : 0) : 0;
    return width;
}

void holder_table_row(char ret_row[HOLDER_ROW_MAX], const holder_table *t,
                      const bowline_holder *holder)
{
    size_t size = 0, blanks = 0;

    for (unsigned i = 0; i <= HOLDER_PARTS; i++) {
        if (t->widths[i] == 0)
            continue;
        words  cell    = cell_of(t, holder, i);
        size_t columns = utf8_columns_of(cell.text);
        assert(columns <= t->widths[i]);
        if (columns > 0) {
            size += (size_t)snprintf(ret_row + size, HOLDER_ROW_MAX - size, "%*s%s", (int)blanks,
                                     "", cell.text);
            assert(size < HOLDER_ROW_MAX);
            blanks = 0;
        }
        blanks += t->widths[i] - columns + 2;
    }
    ret_row[size] = '\0';
}

/* ---- the mode -------------------------------------------------------------------------------- */

void holder_learn_limit(bowline_holder *holder, const bowline_holder shares[], int count)
{
    if (holder->sharers == 0 || count == 0)
        return;
    for (int i = 0; i < count; i++)
        if (shares[i].mode != BOWLINE_PERMITS || shares[i].limit != shares[0].limit)
            return;
    holder->mode  = BOWLINE_PERMITS;
    holder->limit = shares[0].limit;
}

/* A single permit counts as shared until its limit is known, which is together with its time. */
static const char *mode_of_share(const bowline_holder *share)
{
    if (share->mode == BOWLINE_PERMITS)
        return "permits";
    return share->since_ms > 0 || share->foreign != 0 ? "shared" : NULL;
}

const char *holder_mode(const bowline_holder *holder, const bowline_holder shares[], int count)
{
    if (holder->sharers == 0)
        return holder->held != 0 && holder->foreign == 0 ? "exclusive" : NULL;
    if (count == 0)
        return holder->mode == BOWLINE_PERMITS ? "permits" : NULL;
    const char *mode = mode_of_share(&shares[0]);
    for (int i = 1; i < count && mode != NULL; i++) {
        const char *other = mode_of_share(&shares[i]);
        if (other == NULL || strcmp(other, mode) != 0)
            mode = NULL;
    }
    return mode;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_number(const char *key, int64_t number, int64_t unknown)
{
    if (number != unknown)
        json_number(key, number);
}

static void write_text(const char *key, const char *text)
{
    json_text(key, text[0] != '\0' ? text : NULL);
}

void holder_write_json(const bowline_holder *holder, const char *mode)
{
    if (holder->done != 0)
        json_flag("done", true);
    if (holder->held != 0 || holder->done != 0) {
        if (holder->id != 0)
            json_text("id", words_of("%016" PRIx64, holder->id).text);
        write_text("user", holder->user);
        write_text("host", holder->host);
        write_text("program", holder->program);
        write_number("pid", holder->pid, 0);
        write_number("command_pid", holder->command_pid, 0);
        json_text("mode", mode);
        write_number("sharers", holder->sharers, 0);
        write_number("permits", holder->permits, 0);
        write_number("limit", holder->limit, 0);
        write_number("since_ms", holder->since_ms, 0);
        write_number("left_ms", holder->left_ms, INT64_MAX);
        if (holder->fence != 0)
            json_text("fence", words_of("%" PRIu64, holder->fence).text);
        if (holder->foreign != 0)
            json_flag("foreign", true);
        write_text("note", holder->note);
    }
    write_number("waiting", holder->waiting, 0);
}
