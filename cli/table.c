/*
 * table.c -- writes the tables of commands and options as lines of text, for the build.
 *
 *      command  NAME  OPERANDS  WORDS
 *      option   COMMAND  LETTER  NAME  ARGUMENT  WORDS
 *
 * Fields have tabs between them; one without a value is empty, and so is COMMAND for what may stand
 * in a command's place.  The completions and parts of the manual page are made
 * of it (tools/option_table.py), so that nobody has to type an option twice.
 *
 * It runs where bowline is built, which need not be where bowline will run, and links with nothing.
 */
#include <stdio.h>

#include "cli/settings/commands.h"
#include "cli/settings/options.h"

static void write_option(const char *command, char letter, const char *const fields[3])
{
    (void)printf("option\t%s\t", command);
    if (letter != 0)
        (void)putchar(letter);
    for (unsigned i = 0; i < 3; i++)
        (void)printf("\t%s", fields[i] != NULL ? fields[i] : "");
    (void)putchar('\n');
}

#define OPTION(command, letter, ...) \
    write_option(command, letter, (const char *const[3]){ __VA_ARGS__ });

/* One for each command: one that is missing here does not compile below. */

static void write_options_of_run(void)
{
#define X(name, letter, ...) OPTION("run", letter, __VA_ARGS__)
    RUN_OPTION_MAP(X)
#undef X
}

static void write_options_of_break(void)
{
#define X(name, letter, ...) OPTION("break", letter, __VA_ARGS__)
    BREAK_OPTION_MAP(X)
#undef X
}

static void write_options_of_fence(void)
{
#define X(name, letter, ...) OPTION("fence", letter, __VA_ARGS__)
    FENCE_OPTION_MAP(X)
#undef X
}

static void write_options_of_caps(void)
{
#define X(name, letter, ...) OPTION("caps", letter, __VA_ARGS__)
    CAPS_OPTION_MAP(X)
#undef X
}

static void write_options_of_acl(void)
{
#define X(name, letter, ...) OPTION("acl", letter, __VA_ARGS__)
    ACL_OPTION_MAP(X)
#undef X
}

static void write_options_of_doctor(void)
{
#define X(name, letter, ...) OPTION("doctor", letter, __VA_ARGS__)
    DOCTOR_OPTION_MAP(X)
#undef X
}

static void write_options_of_lab(void)
{
    /* They are those of a program of its own. */
}

static void write_options_of_help(void)
{
    /* It has none. */
}

int main(void)
{
#define X(name, operands, words)                                   \
    (void)printf("command\t%s\t%s\t%s\n", #name, operands, words); \
    write_options_of_##name();
    COMMAND_MAP(X)
#undef X
#define X(name, letter, ...) OPTION("", letter, __VA_ARGS__)
    GLOBAL_OPTION_MAP(X)
#undef X
    return fflush(stdout) != 0 || ferror(stdout) != 0;
}
