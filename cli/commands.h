/*
 * commands.h -- the commands, and what may stand before one.
 *
 * With the table in options.h this is all that can be said to bowline.  table.c writes both out for
 * the completions and the manual page.
 */
#ifndef BOWLINE_CLI_COMMANDS_H
#define BOWLINE_CLI_COMMANDS_H

/* Operands: CAPITALS stand for something, lower-case words are meant literally, [ ] may be left
 * out.  Everything from COMMAND on is a command line of its own. */
#define RUN_OPERANDS   "NAME COMMAND [ARG...]"
#define FENCE_OPERANDS "check|run|show FILE [ARG...]"
#define LAB_OPERANDS   "list|try|replay|matrix|run|wander [ARG...]"
#define CAPS_OPERANDS  "[URL]"
#define HELP_OPERANDS  "[run|fence|lab|caps]"

/* Name, operands, what it does. */
#define COMMAND_MAP(X)                                                         \
    X(run, RUN_OPERANDS, "run a command while holding a lock")                 \
    X(fence, FENCE_OPERANDS, "let a file refuse who comes too late")           \
    X(lab, LAB_OPERANDS, "find out what breaks a lock")                        \
    X(caps, CAPS_OPERANDS, "what a lock at a URL gives, and what it does not") \
    X(help, HELP_OPERANDS, "explain: bowline help, bowline help run|fence|...")

/* Columns as in RUN_OPTION_MAP. */
#define FENCE_OPTION_MAP(X) X(HELP, 'h', "help", NULL, "what a fence file is for")

/* Of the commands that answer a question about a URL; cli/ask.c reads them. */
#define CAPS_OPTION_MAP(X)                                                           \
    X(URL_FILE, 0, "url-file", "FILE", "the URL from FILE: for one with a password") \
    X(JSON, 0, "json", NULL, "the same as one line of JSON")                         \
    X(HELP, 'h', "help", NULL, "this text")

/* What may stand in a command's place; columns as in RUN_OPTION_MAP. */
#define GLOBAL_OPTION_MAP(X)                                            \
    X(HELP, 'h', "help", NULL, "what bowline is for, and its commands") \
    X(VERSION, 'V', "version", NULL, "the version of the command, and of its library")

#endif
