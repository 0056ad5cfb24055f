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
#define BREAK_OPERANDS "NAME"
#define FENCE_OPERANDS "check|run|show FILE [ARG...]"
#define LAB_OPERANDS   "list|try|replay|matrix|run|wander [ARG...]"
#define HELP_OPERANDS  "[run|break|fence|lab]"

/* Name, operands, what it does. */
#define COMMAND_MAP(X)                                               \
    X(run, RUN_OPERANDS, "run a command while holding a lock")       \
    X(break, BREAK_OPERANDS, "end somebody else's hold of a lock")   \
    X(fence, FENCE_OPERANDS, "let a file refuse who comes too late") \
    X(lab, LAB_OPERANDS, "find out what breaks a lock")              \
    X(help, HELP_OPERANDS, "explain: bowline help, bowline help run|break|fence|lab")

/* Columns as in RUN_OPTION_MAP. */
#define BREAK_OPTION_MAP(X)                                                             \
    X(YES, 'y', "yes", NULL, "do not ask whether it is to be broken")                   \
    X(JSON, 0, "json", NULL, "say it as a line of JSON, and ask nothing")               \
    X(URL, 0, "url", "URL", "where locks live: redis://HOST")                           \
    X(URL_FILE, 0, "url-file", "FILE", "the same from FILE: for a URL with a password") \
    X(HELP, 'h', "help", NULL, "when a lock is to be broken, and what then happens")

/* Columns as in RUN_OPTION_MAP. */
#define FENCE_OPTION_MAP(X) X(HELP, 'h', "help", NULL, "what a fence file is for")

/* What may stand in a command's place; columns as in RUN_OPTION_MAP. */
#define GLOBAL_OPTION_MAP(X)                                            \
    X(HELP, 'h', "help", NULL, "what bowline is for, and its commands") \
    X(VERSION, 'V', "version", NULL, "the version of the command, and of its library")

#endif
