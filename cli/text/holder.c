#include "cli/text/holder.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/json.h"
#include "cli/text/utf8.h"

static words person_of(const bowline_holder *holder)
{
    const char *at = holder->host[0] != '\0' ? "@" : "";

    return words_of("%s%s%s", holder->user, at, holder->host);
}

static const char *name_of_unknown(const bowline_holder *holder)
{
    return holder->foreign != 0 ? "another program" : "unknown holder";
}

words holder_words(const bowline_holder *holder)
{
    words person = person_of(holder);
    words ret    = words_of("held by %s", person.text);

    if (person.text[0] == '\0')
        ret = words_of("held by %s%s", holder->foreign != 0 ? "" : "an ", name_of_unknown(holder));
    if (holder->pid > 0)
        ret = words_of("%s pid %" PRId64, ret.text, holder->pid);
    if (holder->program[0] != '\0')
        ret = words_of("%s (%s)", ret.text, holder->program);
    if (holder->since_ms > 0)
        ret = words_of("%s for %s", ret.text, words_of_duration(holder->since_ms).text);
    if (holder->note[0] != '\0')
        ret = words_of("%s: %s", ret.text, holder->note);
    return ret;
}

/* The program that works under the lock, and its process. */
static words program_of(const bowline_holder *holder)
{
    const char *program = holder->program;
    int64_t     pid     = holder->pid;

    if (pid <= 0)
        return words_of("%s", program);
    if (program[0] == '\0')
        return words_of("pid %" PRId64, pid);
    return words_of("%s (pid %" PRId64 ")", program, pid);
}

static words text_of(const bowline_holder *holder, holder_part part)
{
    words person = person_of(holder);

    switch (part) {
    case HOLDER_PERSON:
        return person.text[0] != '\0' ? person : words_of("%s", name_of_unknown(holder));
    case HOLDER_PROGRAM: return program_of(holder);
    case HOLDER_HELD:
        if (holder->since_ms > 0)
            return words_of("held %s", words_of_duration(holder->since_ms).text);
        break;
    case HOLDER_LEASE:
        if (holder->left_ms != INT64_MAX)
            return words_of("lease %s left", words_of_duration(holder->left_ms).text);
        break;
    case HOLDER_FENCE:
        if (holder->fence != 0)
            return words_of("fence %" PRIu64, holder->fence);
        break;
    case HOLDER_WAITING: break;
    case HOLDER_NOTE: return words_of("%s", holder->note);
    }
    return words_of("%s", "");
}

words holder_part_of(const bowline_holder *holder, holder_part part)
{
    if (holder->held == 0 && part == HOLDER_PERSON)
        return words_of("free");
    if (holder->held == 0 && part != HOLDER_WAITING)
        return words_of("%s", "");
    return words_escaped(text_of(holder, part).text, WORDS_MAX);
}

/* "fence 18384…" */
static words short_fence(const char *fence)
{
    enum { SHORT = sizeof "fence 12345" - 1 };

    return strlen(fence) > SHORT + 1 ? words_of("%.*s\xe2\x80\xa6", SHORT, fence)
                                     : words_of("%s", fence);
}

void holder_write_line(const char *name, const bowline_holder *holder, const char *more,
                       size_t columns)
{
    words  shown = words_escaped(name, WORDS_MAX);
    words  parts[HOLDER_PARTS + 1];
    size_t width = utf8_columns_of(shown.text);

    for (unsigned i = HOLDER_PERSON; i <= HOLDER_PARTS; i++) {
        parts[i]    = holder_part_of(holder, i);
        size_t some = utf8_columns_of(parts[i].text);
        width += some > 0 ? 2 + some : 0;
    }
    if (width > columns)
        parts[HOLDER_FENCE] = short_fence(parts[HOLDER_FENCE].text);
    (void)fputs(shown.text, stdout); /* say_done checks for errors */
    for (unsigned i = HOLDER_PERSON; i <= HOLDER_PARTS; i++)
        if (parts[i].text[0] != '\0')
            (void)printf("  %s", parts[i].text);
    if (more != NULL)
        (void)printf("  %s", words_escaped(more, WORDS_MAX).text);
    (void)putchar('\n');
}

static void write_number(const char *key, int64_t number, int64_t unknown)
{
    if (number != unknown)
        json_number(key, number);
}

static void write_text(const char *key, const char *text)
{
    json_text(key, text[0] != '\0' ? text : NULL);
}

void holder_write_json(const bowline_holder *holder)
{
    if (holder->held != 0) {
        if (holder->id != 0)
            json_text("id", words_of("%016" PRIx64, holder->id).text);
        write_text("user", holder->user);
        write_text("host", holder->host);
        write_text("program", holder->program);
        write_number("pid", holder->pid, 0);
        write_number("since_ms", holder->since_ms, 0);
        write_number("left_ms", holder->left_ms, INT64_MAX);
        if (holder->fence != 0)
            json_text("fence", words_of("%" PRIu64, holder->fence).text);
        if (holder->foreign != 0)
            json_flag("foreign", true);
        write_text("note", holder->note);
    }
}
