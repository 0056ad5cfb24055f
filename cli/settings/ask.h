/*
 * ask.h -- the words of the commands that answer a question about a URL: caps, doctor, acl.
 *
 * The URL is the operand, or that which `bowline run` would use: settings_find says whose turn it
 * is.  One with a password is refused where everybody could read it, as there.
 */
#ifndef BOWLINE_CLI_SETTINGS_ASK_H
#define BOWLINE_CLI_SETTINGS_ASK_H

#include "cli/settings/config.h"

/* A table in commands.h, row by row.  An option is known by its long name. */
typedef struct ask_row {
    char        letter;
    const char *name;
    const char *argument;
    const char *help;
} ask_row;

#define ASK_ROW(name, letter, ...) { letter, __VA_ARGS__ },

/* What a command is, and what was said. */
typedef struct ask {
    const char    *command;
    const char    *usage;
    const ask_row *rows;
    unsigned       rows_count;
    const char    *feature; /* --feature; NULL: nothing was said                                 */
    const char    *user;
    const char    *key;
    const char    *url;
    const char    *url_file;
    bool           wants_json;
    bool           wants_help;
} ask;

/* `asked` of a command: its name, its table, what it takes. */
#define ASK_INIT(name, its_rows, operands)                                                    \
    {                                                                                         \
        .command = name, .usage = "bowline " name " [OPTION...] " operands, .rows = its_rows, \
        .rows_count = sizeof its_rows / sizeof its_rows[0],                                   \
    }

/* Reads `caps ...`; argv[0] is the command.  What it finds borrows from argv. */
int ask_read(ask *a, int argc, char **argv, trouble *reterr);

/* The options, a line for each. */
void ask_help(const ask *a, FILE *out);

/* What a run with this URL would use.  To be wiped, also when it fails. */
int ask_settings(settings *ret_settings, const ask *a, trouble *reterr);

/* The whole of such a command: reads, explains or answers, complains.  `answer` returns the
 * exit code, or below 0 with *reterr. */
int ask_main(const ask *asked, void (*explain)(FILE *out),
             int (*answer)(const settings *s, const ask *a, trouble *reterr), int argc,
             char **argv);

/* For a command that cannot do what it was asked. */
int ask_complain(const ask *a, words what, words why, trouble *reterr);

#endif
