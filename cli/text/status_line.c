#include "cli/text/status_line.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text/say.h"
#include "cli/text/utf8.h"

enum { COLUMNS_USUAL = 80, COLUMNS_MAX = 400 };

static volatile sig_atomic_t columns_shown; /* for the signal handler */

bool status_line_is_possible(void)
{
    return isatty(STDERR_FILENO) == 1;
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
static void draw(status_line *l, const char *text)
{
    char   line[WORDS_MAX + COLUMNS_MAX + 8];
    size_t columns = utf8_columns_of(text);
    size_t blanks  = l->columns > columns ? l->columns - columns : 0;
    int    size    = snprintf(line, sizeof line, "\r%s%*s\r%s", text, (int)blanks, "", text);

    if (size <= 0 || (size_t)size >= sizeof line)
        return;
    if (columns > l->columns)
        columns_shown = (int)columns; /* before the line: a signal may come in between */
    if (say_bytes(STDERR_FILENO, line, (size_t)size))
        l->columns = columns;
    columns_shown = (int)l->columns;
}

void status_line_show(status_line *l, const char *text)
{
    if (tcgetpgrp(STDERR_FILENO) == getpgrp())
        draw(l, words_escaped(text, columns_there()).text);
}

void status_line_erase(status_line *l)
{
    if (l->columns > 0)
        draw(l, "");
}

/* Runs in a signal handler, and calls only what signal-safety(7) permits.  The signal was reset to
 * its default action, and ends the program when the handler returns. */
static void erase_and_end(int number)
{
    char   blanks[COLUMNS_MAX + 2] = "\r";
    size_t columns                 = (size_t)columns_shown;
    size_t size                    = 1;

    while (size <= columns)
        blanks[size++] = ' ';
    blanks[size++] = '\r';
    if (columns > 0 && write(STDERR_FILENO, blanks, size) < 0)
        columns_shown = 0; /* nothing else can be done */
    (void)raise(number);   /* (void): a valid number */
}

void status_line_erase_on_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct sigaction before, erase = { .sa_handler = erase_and_end, .sa_flags = (int)SA_RESETHAND };

    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &erase, NULL); /* (void): valid numbers */
}
