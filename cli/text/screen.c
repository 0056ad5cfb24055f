/*
 * screen.c -- termios(3), and the control sequences of ECMA-48 and xterm that every terminal of
 * today knows.  A library for terminals of other kinds is not worth its dependency here.
 *
 * The signal handler calls only what signal-safety(7) permits.
 */
#include "cli/text/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/text/utf8.h"

enum { ROWS_USUAL = 24, COLUMNS_USUAL = 80, COLUMNS_MAX = 400 };

/* Other buffer, no cursor, no wrap at the right edge. */
static const char enter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
static const char leave[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT };

static struct termios        before; /* the terminal as it was */
static struct termios        during;
static volatile sig_atomic_t is_open;
static volatile sig_atomic_t is_changed;
static size_t                lines; /* of the page that is drawn */

/* ---- the terminal ---------------------------------------------------------------------------- */

/* (void) in these two: a terminal that is gone cannot be told anything. */
static void take(void)
{
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &during);
    if (write(STDOUT_FILENO, enter, sizeof enter - 1) < 0)
        return;
}

/* In the background, a shell has set the terminal already; and this would be stopped a second
 * time. */
static void give_back(void)
{
    if (write(STDOUT_FILENO, leave, sizeof leave - 1) < 0)
        return;
    if (tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* Sends the signal to this process with its default action.  Returns after a stop. */
static void do_usual(int number)
{
    struct sigaction usual = { .sa_handler = SIG_DFL }, handled;
    sigset_t         one, masked;

    (void)sigaction(number, &usual, &handled);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &one, &masked);
    (void)sigprocmask(SIG_SETMASK, &masked, NULL);
    (void)sigaction(number, &handled, NULL);
}

static void end_or_stop(int number)
{
    int error = errno;

    if (is_open)
        give_back();
    do_usual(number);
    if (is_open)
        take();
    is_changed = 1;
    errno      = error;
}

static void note_change(int number)
{
    (void)number;
    is_changed = 1;
}

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };

    /* Not one in the middle of another: both write to the terminal.  TTOU stops a program that is
     * continued in the background, before it changes the terminal. */
    (void)sigfillset(&action.sa_mask);
    (void)sigdelset(&action.sa_mask, SIGTTOU);
    if (!is_ignored(number))
        (void)sigaction(number, &action, NULL); /* (void): valid numbers, as above */
}

int screen_open(failure *reterr)
{
    const char *kind = getenv("TERM");

    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1 ||
        tcgetattr(STDIN_FILENO, &before) < 0)
        return failed(reterr, words_of("this is not a terminal"),
                      words_of("bowline top draws a page on a terminal and reads its keys"),
                      words_of("type: bowline ls --json"));
    if (kind == NULL || strcmp(kind, "dumb") == 0)
        return failed(reterr, words_of("the terminal cannot show a page"),
                      words_of("TERM is \"%s\"", kind != NULL ? kind : ""),
                      words_of("type: bowline ls"));
    during = before;
    during.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    during.c_cc[VMIN]  = 0;
    during.c_cc[VTIME] = 0;
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
        handle(ends[i], end_or_stop);
    handle(SIGTSTP, end_or_stop);
    handle(SIGWINCH, note_change);
    is_open = 1;
    take();
    return 0;
}

void screen_close(void)
{
    if (is_open)
        give_back();
    is_open = 0;
}

/* ---- size and keys --------------------------------------------------------------------------- */

static struct winsize size_now(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
        return (struct winsize){ .ws_row = ROWS_USUAL, .ws_col = COLUMNS_USUAL };
    if (size.ws_col > COLUMNS_MAX)
        size.ws_col = COLUMNS_MAX;
    return size;
}

size_t screen_rows(void)
{
    return size_now().ws_row;
}

size_t screen_columns(void)
{
    return size_now().ws_col;
}

static screen_key key_of(const char *typed)
{
    static const struct {
        const char *typed;
        screen_key  key;
    } keys[] = {
        { "q", SCREEN_QUIT },      { "Q", SCREEN_QUIT },          { "k", SCREEN_UP },
        { "j", SCREEN_DOWN },      { " ", SCREEN_PAGE_DOWN },     { "b", SCREEN_PAGE_UP },
        { "\x1b[A", SCREEN_UP },   { "\x1bOA", SCREEN_UP },       { "\x1b[B", SCREEN_DOWN },
        { "\x1bOB", SCREEN_DOWN }, { "\x1b[5~", SCREEN_PAGE_UP }, { "\x1b[6~", SCREEN_PAGE_DOWN },
        { "\x1b[H", SCREEN_HOME }, { "\x1bOH", SCREEN_HOME },     { "\x1b[1~", SCREEN_HOME },
        { "g", SCREEN_HOME },      { "\x1b[F", SCREEN_END },      { "\x1bOF", SCREEN_END },
        { "\x1b[4~", SCREEN_END }, { "G", SCREEN_END },           { "\x0c", SCREEN_CHANGED },
    };

    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(typed, keys[i].typed) == 0)
            return keys[i].key;
    return SCREEN_OTHER;
}

/* One key: a byte, or a sequence after ESC.  "": none is there. */
static void read_typed(char ret_typed[8])
{
    size_t size = 0;
    char   byte;

    while (size < 7 && read(STDIN_FILENO, &byte, 1) == 1) {
        ret_typed[size++] = byte;
        bool is_sequence  = ret_typed[0] == '\x1b';
        bool is_last      = size > 2 && (byte == '~' || (byte >= 'A' && byte <= 'Z'));
        if (!is_sequence || is_last)
            break;
    }
    ret_typed[size] = '\0';
}

screen_key screen_read(int wait_ms)
{
    struct pollfd keyboard = { .fd = STDIN_FILENO, .events = POLLIN };
    char          typed[8];
    int           ready = is_changed ? 0 : poll(&keyboard, 1, wait_ms);

    if (is_changed) {
        is_changed = 0;
        return SCREEN_CHANGED;
    }
    if (ready <= 0)
        return SCREEN_NOTHING;
    read_typed(typed);
    return typed[0] == '\0' ? SCREEN_QUIT : key_of(typed);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* (void) in these: the end of the terminal is seen when a key is read. */

void screen_begin(void)
{
    lines = 0;
    (void)fputs("\x1b[H", stdout);
}

static void draw(const char *text, bool is_title)
{
    words  shown  = words_escaped(text, screen_columns());
    size_t blanks = is_title ? screen_columns() - utf8_columns_of(shown.text) : 0;

    /* Blanked before, because that would take the last column after a line that fills it. */
    (void)printf("%s\x1b[K%s%s%*s%s", lines > 0 ? "\r\n" : "", is_title ? "\x1b[7m" : "",
                 shown.text, (int)blanks, "", is_title ? "\x1b[0m" : "");
    lines++;
}

void screen_line(const char *text)
{
    draw(text, false);
}

void screen_title(const char *text)
{
    draw(text, true);
}

void screen_end(void)
{
    if (lines < screen_rows())
        (void)fputs("\r\n\x1b[J", stdout);
    (void)fflush(stdout);
}
