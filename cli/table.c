/*
 * table.c -- writes the tables of commands and options as lines of text, for the build.
 *
 *      command  NAME  OPERANDS  HELP
 *      option   COMMAND  LETTER  NAME  ARGUMENT  HELP
 *
 * Fields are separated by tabs and may be empty.  COMMAND is empty for an option that precedes the
 * command.  tools/option_table.py makes the completions and a part of the manual page from these
 * lines.
 *
 * It runs on the machine that builds bowline, which may be another one than the target, and links
 * with no code of the project.
 */
#include <stdio.h>

#include "cli/settings/commands.h"
#include "cli/settings/options.h"

/* `rows` ends with a row without a name. */
static void write_options(const char *command, const option_row *rows)
{
    for (; rows->name != NULL; rows++) {
        (void)printf("option\t%s\t", command);
        if (rows->letter != 0)
            (void)putchar(rows->letter);
        (void)printf("\t%s\t%s\t%s\n", rows->name, rows->argument != NULL ? rows->argument : "",
                     rows->help);
    }
}

int main(void)
{
#define X(name, operands, OPTION_MAP, words)                       \
    (void)printf("command\t%s\t%s\t%s\n", #name, operands, words); \
    write_options(#name, (const option_row[]){ OPTION_MAP(OPTION_ROW){ 0 } });
    COMMAND_MAP(X)
#undef X
    write_options("", (const option_row[]){ GLOBAL_OPTION_MAP(OPTION_ROW){ 0 } });
    return fflush(stdout) != 0 || ferror(stdout) != 0;
}
