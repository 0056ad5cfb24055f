/*
 * say.c -- builds, escapes and writes messages.
 */
#include "cli/text/say.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/text/url.h"
#include "cli/text/utf8.h"

/* Marks a text that was cut off. */
static const char cut_mark[] = "...";

enum { CUT_MARK = sizeof cut_mark - 1 };

__attribute__((format(printf, 1, 0))) static words words_from(const char *format, va_list arguments)
{
    words ret;
    int   size = vsnprintf(ret.text, sizeof ret.text, format, arguments);

    assert(size >= 0);
    if ((size_t)size < sizeof ret.text)
        return ret;
    size_t end = sizeof ret.text - sizeof cut_mark;
    while (end > 0 && ((unsigned char)ret.text[end] & 0xc0) == 0x80)
        end--; /* not inside a character */
    memcpy(ret.text + end, cut_mark, sizeof cut_mark);
    return ret;
}

words words_of(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    words ret = words_from(format, arguments);
    va_end(arguments);
    return ret;
}

words words_of_duration(int64_t ms)
{
    static const struct {
        int64_t     ms;
        const char *name;
    } units[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
    enum { UNITS = sizeof units / sizeof units[0] };
    unsigned u = 0;

    if (ms < 0)
        ms = 0;
    while (u < UNITS - 1 && ms < units[u].ms)
        u++;
    long long large = ms / units[u].ms;
    /* No milliseconds after seconds. */
    if (u >= UNITS - 2)
        return words_of("%lld%s", large, units[u].name);
    long long small = ms % units[u].ms / units[u + 1].ms;
    if (small == 0)
        return words_of("%lld%s", large, units[u].name);
    return words_of("%lld%s%lld%s", large, units[u].name, small, units[u + 1].name);
}

/* Escapes one character.  Returns its width in columns; each byte of broken UTF-8 counts alone. */
static size_t escape(char ret_shown[16], const char *text, size_t size, uint32_t character)
{
    if (character == UTF8_BROKEN || (size == 1 && utf8_is_control(character)))
        return (size_t)snprintf(ret_shown, 16, "\\x%02x", (unsigned)(unsigned char)text[0]);
    if (utf8_is_control(character))
        return (size_t)snprintf(ret_shown, 16, "\\u%04x", (unsigned)character);
    assert(size < 16);
    memcpy(ret_shown, text, size);
    ret_shown[size] = '\0';
    return utf8_columns(character);
}

words words_escaped(const char *text, size_t columns)
{
    words       ret;
    size_t      length = 0, column = 0, secret_size;
    size_t      room   = 0; /* the longest length that leaves space for the mark */
    const char *secret = url_secret_in(text, &secret_size);

    while (*text != '\0') {
        char     shown[16] = "***";
        uint32_t character;
        size_t   size = secret_size, width = strlen(shown);
        if (text == secret) {
            secret = url_secret_in(text + size, &secret_size);
        } else {
            size  = utf8_next(&character, text);
            width = escape(shown, text, size, character);
        }
        size_t bytes = strlen(shown);
        if (column + CUT_MARK <= columns && length + CUT_MARK < sizeof ret.text)
            room = length;
        if (column + width > columns || length + bytes >= sizeof ret.text) {
            length = room;
            for (size_t i = 0; i < CUT_MARK && i < columns; i++)
                ret.text[length++] = cut_mark[i];
            break;
        }
        memcpy(ret.text + length, shown, bytes);
        length += bytes;
        column += width;
        text += size;
    }
    ret.text[length] = '\0';
    return ret;
}

int failed(failure *reterr, words what, words why, words hint)
{
    return failed_with(reterr, (failure){ EXIT_FAILED, what, why, hint });
}

int failed_with(failure *reterr, failure happened)
{
    assert(happened.code > 0);
    *reterr = happened;
    return -1;
}

void failure_explain(failure *is, const char *text, words otherwise)
{
    const char *end = strstr(text, ".  ");

    is->why  = words_of("%s", text);
    is->hint = otherwise;
    if (end == NULL)
        return;
    is->why          = words_of("%.*s", (int)(end - text), text);
    is->hint         = words_of("%s", end + strlen(".  "));
    is->hint.text[0] = (char)tolower((unsigned char)is->hint.text[0]);
}

bool say_bytes(int fd, const char *bytes, size_t size)
{
    struct pollfd ready = { .fd = fd, .events = POLLOUT };

    /* A pipe that polls as writable accepts PIPE_BUF bytes, and no message is longer. */
    assert(size <= 4096);
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0)
        return false;
    for (;;) {
        ssize_t written = write(fd, bytes, size);
        if (written >= 0 || errno != EINTR)
            return written == (ssize_t)size;
    }
}

void say_line(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    words text = words_from(format, arguments);
    va_end(arguments);
    words shown = words_escaped(text.text, WORDS_MAX);
    char  line[WORDS_MAX + 16];
    int   size = snprintf(line, sizeof line, "bowline: %s\n", shown.text);

    assert(size > 0 && (size_t)size < sizeof line);
    /* (void): the error cannot be reported. */
    (void)say_bytes(STDERR_FILENO, line, (size_t)size);
}

void say_failure(const failure *happened)
{
    const char *const lines[] = { happened->what.text, happened->why.text, happened->hint.text };

    for (unsigned i = 0; i < 3; i++)
        if (lines[i][0] != '\0')
            say_line("%s", lines[i]);
}

int say_done(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return 0;
    say_line("standard output: %s", strerror(errno));
    return EXIT_FAILED;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum { GUESS_MAX = 31 };

/* Edit distance with insertions, deletions, substitutions and swaps of neighbours (optimal string
 * alignment). */
static size_t distance(const char *a, const char *b)
{
    size_t rows[GUESS_MAX + 1][GUESS_MAX + 1];
    size_t a_size = strlen(a), b_size = strlen(b);

    if (a_size > GUESS_MAX || b_size > GUESS_MAX)
        return GUESS_MAX;
    for (size_t i = 0; i <= a_size; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++)
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best        = least(best, rows[i - 1][j] + 1);
            best        = least(best, rows[i][j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, rows[i - 2][j - 2] + 1);
            rows[i][j] = best;
        }
    return rows[a_size][b_size];
}

static const char *nearest_to(const char *typed, const char *const *known)
{
    const char *nearest = NULL;
    size_t      length  = strlen(typed);
    /* Two edits in a long word, one in a short one; a prefix always counts as near. */
    size_t best = length > 4 ? 3 : 2;

    for (; *known != NULL; known++) {
        size_t far = distance(typed, *known);
        if (length >= 3 && strncmp(typed, *known, length) == 0)
            far = 1;
        if (far < best) {
            best    = far;
            nearest = *known;
        }
    }
    return nearest;
}

words say_suggestion(const char *typed, const char *const *known, const char *prefix,
                     const char *otherwise)
{
    const char *nearest = nearest_to(typed, known);

    return nearest == NULL ? words_of("%s", otherwise)
                           : words_of("did you mean %s%s?", prefix, nearest);
}
