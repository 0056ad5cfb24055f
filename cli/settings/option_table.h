/*
 * option_table.h -- one parser and one help format for the options of every command.
 *
 * A command lists its options in an X-map (options.h, commands.h): name; letter or 0; long name;
 * name of the argument or NULL; help.  The parser, the help, the completions and the manual page
 * are made from that list.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/text/say.h"

typedef struct option_row {
    char        letter;
    const char *name;
    const char *argument;
    const char *help;
} option_row;

#define OPTION_ROW(name, letter, ...) { letter, __VA_ARGS__ },

typedef struct option_table {
    const char       *command;
    const char       *usage;
    const option_row *rows;
    unsigned          count;
    bool              stops_at_operand; /* options after the first operand belong to a command */
} option_table;

/* `stops`: see stops_at_operand. */
#define OPTION_TABLE(name, its_rows, operands, stops)                                         \
    {                                                                                         \
        .command = name, .usage = "bowline " name " [OPTION...] " operands, .rows = its_rows, \
        .count = sizeof its_rows / sizeof its_rows[0], .stops_at_operand = stops,             \
    }

/* Stores one option.  `row` is an index of the table; `value` is NULL if the option has none. */
typedef int option_store(void *arg, unsigned row, const char *value, failure *reterr);

/* Calls `store` for each option in argv[1...].  Returns the index of the first operand, 0 for
 * --help, or below 0 with *reterr. */
int options_parse(const option_table *t, int argc, char **argv, option_store *store, void *arg,
                  failure *reterr);

/* A usage error of this command. */
int options_fail(const option_table *t, failure *reterr, words what, words why);

void options_write(const option_table *t, FILE *out);
