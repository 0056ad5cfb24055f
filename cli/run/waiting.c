/*
 * waiting.c -- see waiting.h.
 *
 * The line is erased with blanks, not with an escape sequence: every terminal knows a carriage
 * return.
 */
#include "cli/run/waiting.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/run/loop.h"

enum { FIRST_MS = 1000, LIVE_MS = 1000, LOG_MS = 60000, COLUMNS_USUAL = 80, COLUMNS_MAX = 400 };

void waiting_begin(waiting *ret_waiting, const char *name, bool is_quiet)
{
    *ret_waiting = (waiting){
        .name     = name,
        .is_quiet = is_quiet,
        .next_at  = loop_now() + FIRST_MS,
    };
}

int64_t waiting_wait_ms(const waiting *w)
{
    int64_t now = loop_now();

    if (w->is_quiet)
        return BOWLINE_FOREVER;
    return w->next_at > now ? w->next_at - now : 0;
}

words waiting_holder(const bowline_holder *holder)
{
    words person =
        words_of("%s%s%s", holder->user, holder->host[0] != '\0' ? "@" : "", holder->host);
    words ret = words_of("held by %s", person.text);

    if (person.text[0] == '\0')
        ret = words_of(holder->foreign != 0 ? "held by another program"
                                            : "held by an unknown holder");
    if (holder->pid > 0)
        ret = words_of("%s pid %lld", ret.text, (long long)holder->pid);
    if (holder->program[0] != '\0')
        ret = words_of("%s (%s)", ret.text, holder->program);
    if (holder->since_ms > 0)
        ret = words_of("%s for %s", ret.text, words_of_duration(holder->since_ms).text);
    if (holder->note[0] != '\0')
        ret = words_of("%s: %s", ret.text, holder->note);
    return ret;
}

words waiting_who(bowline_client *client, const char *name)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error;

    if (bowline_who(client, name, &holder, &error) < 0)
        return words_of("%s", error.text);
    if (holder.held == 0)
        return words_of("no one holds it at this moment");
    return waiting_holder(&holder);
}

/* The width of the terminal without the last column, where some terminals wrap. */
static size_t columns_there(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return COLUMNS_USUAL - 1;
    return (size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX) - 1U;
}

/* Replaces the present line by `text`, padded with blanks. */
static void draw(waiting *w, const char *text, size_t columns)
{
    char   line[WORDS_MAX + COLUMNS_MAX + 8];
    size_t blanks = w->columns > columns ? w->columns - columns : 0;
    int    size   = snprintf(line, sizeof line, "\r%s%*s\r%s", text, (int)blanks, "", text);

    if (size <= 0 || (size_t)size >= sizeof line)
        return;
    if (say_bytes(STDERR_FILENO, line, (size_t)size))
        w->columns = columns;
}

static size_t columns_of(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

bool waiting_is_due(const waiting *w)
{
    return !w->is_quiet && loop_now() >= w->next_at;
}

void waiting_say(waiting *w, bowline_client *client)
{
    w->is_live = isatty(STDERR_FILENO) == 1;
    w->next_at = loop_now() + (w->is_live ? LIVE_MS : LOG_MS);
    /* In the background, do not write to the terminal. */
    if (w->is_live && tcgetpgrp(STDERR_FILENO) != getpgrp())
        return;
    words text = words_of("waiting for %s: %s", w->name, waiting_who(client, w->name).text);
    if (!w->is_live) {
        say_line(text.text);
        return;
    }
    words shown = words_escaped(text.text, columns_there());
    draw(w, shown.text, columns_of(shown.text));
}

void waiting_end(waiting *w)
{
    if (w->columns > 0)
        draw(w, "", 0);
}
