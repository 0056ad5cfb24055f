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
#define RUN_OPERANDS    "NAME COMMAND [ARG...]"
#define BREAK_OPERANDS  "NAME"
#define FENCE_OPERANDS  "check|run|show FILE [ARG...]"
#define LAB_OPERANDS    "list|try|replay|matrix|run|walk|servers [ARG...]"
#define CAPS_OPERANDS   "[URL]"
#define ACL_OPERANDS    "[URL]"
#define DOCTOR_OPERANDS "[URL]"
#define HELP_OPERANDS   "[run|break|fence|lab|caps|acl|doctor]"

/* Name, operands, what it does. */
#define COMMAND_MAP(X)                                                         \
    X(run, RUN_OPERANDS, "run a command while holding a lock")                 \
    X(break, BREAK_OPERANDS, "end somebody else's hold of a lock")             \
    X(fence, FENCE_OPERANDS, "let a file refuse who comes too late")           \
    X(lab, LAB_OPERANDS, "find out what breaks a lock")                        \
    X(caps, CAPS_OPERANDS, "what a lock at a URL gives, and what it does not") \
    X(acl, ACL_OPERANDS, "the least rights that a user of Redis needs")        \
    X(doctor, DOCTOR_OPERANDS, "what is wrong with the locks at a URL")        \
    X(help, HELP_OPERANDS, "explain: bowline help, bowline help run|break|...")

/* Columns as in RUN_OPTION_MAP. */
#define BREAK_OPTION_MAP(X)                                                             \
    X(YES, 'y', "yes", NULL, "do not ask whether it is to be broken")                   \
    X(JSON, 0, "json", NULL, "say it as a line of JSON, and ask nothing")               \
    X(URL, 0, "url", "URL", "where locks live: redis://HOST")                           \
    X(URL_FILE, 0, "url-file", "FILE", "the same from FILE: for a URL with a password") \
    X(HELP, 'h', "help", NULL, "when a lock is to be broken, and what then happens")

/* Columns as in RUN_OPTION_MAP. */
#define FENCE_OPTION_MAP(X) X(HELP, 'h', "help", NULL, "what a fence file is for")

/* As doctor/rights.c has them. */
#define ACL_FEATURES                                                                        \
    "queue|token|redisson|symfony|setnx-del|setnx-del-expire|setnx-stamp-del|setnx-getset|" \
    "set-nx-ex|setnx-expire-watch|stamp|status|doctor|update"

/* Of the commands that answer a question about a URL; cli/ask.c reads them. */
#define CAPS_OPTION_MAP(X)                                                           \
    X(URL_FILE, 0, "url-file", "FILE", "the URL from FILE: for one with a password") \
    X(JSON, 0, "json", NULL, "the same as one line of JSON")                         \
    X(HELP, 'h', "help", NULL, "this text")

#define DOCTOR_OPTION_MAP(X)                                                         \
    X(URL_FILE, 0, "url-file", "FILE", "the URL from FILE: for one with a password") \
    X(JSON, 0, "json", NULL, "the same as one line of JSON")                         \
    X(HELP, 'h', "help", NULL, "this text")

#define ACL_OPTION_MAP(X)                                                                \
    X(FEATURE, 0, "feature", ACL_FEATURES, "what is to be done; with commas: all of it") \
    X(USER, 0, "user", "NAME", "whose rule it is; that of the URL, or bowline")          \
    X(KEY, 0, "key", "PATTERN", "for update: whose keys those are")                      \
    X(URL_FILE, 0, "url-file", "FILE", "the URL from FILE: for one with a password")     \
    X(JSON, 0, "json", NULL, "the same as one line of JSON")                             \
    X(HELP, 'h', "help", NULL, "this text")

/* What may stand in a command's place; columns as in RUN_OPTION_MAP. */
#define GLOBAL_OPTION_MAP(X)                                            \
    X(HELP, 'h', "help", NULL, "what bowline is for, and its commands") \
    X(VERSION, 'V', "version", NULL, "the version of the command, and of its library")

#endif
