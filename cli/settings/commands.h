/*
 * commands.h -- the commands of bowline and their options.
 *
 * table.c writes the maps as lines for the completions and the manual page.
 */
#pragma once

/* Operands.  CAPITALS are placeholders, lower-case words are literal, [ ] is optional.  COMMAND
 * and what follows is a command line of its own. */
#define RUN_OPERANDS     "NAME COMMAND [ARG...]"
#define ELECT_OPERANDS   "NAME COMMAND [ARG...]"
#define OBSERVE_OPERANDS "NAME"
#define HOLD_OPERANDS    "NAME"
#define RELEASE_OPERANDS ""
#define WHO_OPERANDS     "NAME"
#define LS_OPERANDS      "[PATTERN]"
#define TOP_OPERANDS     "[PATTERN]"
#define WATCH_OPERANDS   "NAME"
#define BREAK_OPERANDS   "NAME"
#define FENCE_OPERANDS   "check|run|show FILE [ARG...]"
#define LAB_OPERANDS     "list|try|replay|matrix|run|walk|servers [ARG...]"
#define CAPS_OPERANDS    "[URL]"
#define ACL_OPERANDS     "[URL]"
#define DOCTOR_OPERANDS  "[URL]"
#define HELP_OPERANDS                                  \
    "[run|elect|observe|hold|release|who|ls|watch|top" \
    "|break|fence|lab|caps|acl|doctor|version]"

/* Name, operands, map of options, help. */
#define COMMAND_MAP(X)                                                                         \
    X(run, RUN_OPERANDS, RUN_OPTION_MAP, "run a command while holding a lock")                 \
    X(elect, ELECT_OPERANDS, ELECT_OPTION_MAP, "run a command while this host is the leader")  \
    X(observe, OBSERVE_OPERANDS, OBSERVE_OPTION_MAP, "show who leads, and each change of it")  \
    X(hold, HOLD_OPERANDS, HOLD_OPTION_MAP, "hold a lock while another process lives")         \
    X(release, RELEASE_OPERANDS, RELEASE_OPTION_MAP, "release a lock that bowline hold keeps") \
    X(who, WHO_OPERANDS, WHO_OPTION_MAP, "show who holds a lock")                              \
    X(ls, LS_OPERANDS, LS_OPTION_MAP, "list the locks that are held")                          \
    X(watch, WATCH_OPERANDS, WATCH_OPTION_MAP, "show each change of a lock")                   \
    X(top, TOP_OPERANDS, TOP_OPTION_MAP, "show the held locks on a terminal page")             \
    X(break, BREAK_OPERANDS, BREAK_OPTION_MAP, "release a lock that someone else holds")       \
    X(fence, FENCE_OPERANDS, FENCE_OPTION_MAP, "reject writes from a stale holder")            \
    X(lab, LAB_OPERANDS, NO_OPTION_MAP, "find the interleavings that break a lock")            \
    X(caps, CAPS_OPERANDS, CAPS_OPTION_MAP, "show what the locks at a URL guarantee")          \
    X(acl, ACL_OPERANDS, ACL_OPTION_MAP, "print a minimal Redis ACL")                          \
    X(doctor, DOCTOR_OPERANDS, DOCTOR_OPTION_MAP, "check the server or directory of a URL")    \
    X(version, "", VERSION_OPTION_MAP, "show the version")                                     \
    X(help, HELP_OPERANDS, NO_OPTION_MAP, "show help: bowline help, bowline help run|who|...")

/* Columns of the maps of options: see options.h.  These are parts of several maps. */
#define WAIT_OPTIONS(X)                                                               \
    X(WAIT, 'w', "wait", "TIME", "wait at most this long for the lock (or: forever)") \
    X(NO_WAIT, 'n', "no-wait", NULL, "do not wait; the same as -w 0s")                \
    X(WAIT_FOR_SERVER, 0, "wait-for-server", NULL, "if there is no server, wait for it, too")

#define SHARE_OPTIONS(X)                                                               \
    X(SHARED, 's', "shared", NULL, "share the lock with others that have this option") \
    X(PERMITS, 0, "permits", "K/N", "hold K permits, while at most N are in use")

#define URL_FILE_OPTION(X) \
    X(URL_FILE, 0, "url-file", "FILE", "read the URL, with password, from FILE")

#define PLACE_OPTIONS(X)                                                \
    X(URL, 0, "url", "URL", "where the locks are: file:  redis://HOST") \
    URL_FILE_OPTION(X)

#define TALK_OPTIONS(X)                                                         \
    X(QUIET, 'q', "quiet", NULL, "no message while waiting or if not acquired") \
    X(VERBOSE, 'v', "verbose", NULL, "print what happens")

#define RUN_OPTION_MAP(X)                                                                     \
    WAIT_OPTIONS(X)                                                                           \
    X(SKIP, 0, "skip", NULL, "if not acquired, exit 0; implies -n unless -w")                 \
    X(ONCE_PER, 0, "once-per", "TIME", "run it once per TIME among all hosts; implies -n")    \
    X(AT_LEAST, 0, "at-least", "TIME", "keep the lock for at least TIME from now")            \
    X(RETRY_FAILED, 0, "retry-failed", NULL, "if COMMAND fails, the next may run at once")    \
    SHARE_OPTIONS(X)                                                                          \
    X(AND, 0, "and", "NAME2", "acquire NAME2, too: all or none; may be repeated")             \
    X(BUSY_CODE, 'E', "conflict-exit-code", "N", "if not acquired, exit N, not 124")          \
    X(LEASE, 't', "lease", "TIME", "how long the lock outlives a dead holder")                \
    X(MAX_HOLD, 0, "max-hold", "TIME", "stop COMMAND and release the lock after TIME")        \
    X(NO_RENEW, 0, "no-renew", NULL, "do not renew the lease")                                \
    X(ON_LOST, 0, "on-lost", "term|kill|warn", "what to do with COMMAND if the lock is lost") \
    X(KILL_AFTER, 0, "kill-after", "TIME", "time from TERM to KILL (5s)")                     \
    X(CLOSE, 0, "close", NULL, "COMMAND does not inherit the lock")                           \
    X(METRICS_FILE, 0, "metrics-file", "FILE", "write numbers to FILE, for Prometheus")       \
    X(METRICS_NAME, 0, "metrics-name", "TEXT", "add a label to these: name=\"TEXT\"")         \
    X(STATUS_FD, 0, "status-fd", "N", "write events to descriptor N, as JSON lines")          \
    X(TICKET, 0, "ticket", "FILE", "take over the lock that bowline hold passed on")          \
    PLACE_OPTIONS(X)                                                                          \
    TALK_OPTIONS(X)                                                                           \
    X(HELP, 'h', "help", NULL, "show this help")

#define ELECT_OPTION_MAP(X)                                                              \
    X(VALUE, 0, "value", "TEXT", "what observers see (HOST:PID of COMMAND)")             \
    X(WAIT_FOR_SERVER, 0, "wait-for-server", NULL, "if there is no server, wait for it") \
    X(LEASE, 't', "lease", "TIME", "how long a dead leader keeps the others waiting")    \
    X(KILL_AFTER, 0, "kill-after", "TIME", "time from TERM to KILL (5s)")                \
    X(STATUS_FD, 0, "status-fd", "N", "write events to descriptor N, as JSON lines")     \
    PLACE_OPTIONS(X)                                                                     \
    TALK_OPTIONS(X)                                                                      \
    X(HELP, 'h', "help", NULL, "show this help")

#define OBSERVE_OPTION_MAP(X)                                       \
    X(ONCE, 0, "once", NULL, "write who leads now, and end")        \
    X(UNTIL_LEADER, 0, "until", "leader|none", "end then, with 0")  \
    X(JSON, 0, "json", NULL, "write each change as a line of JSON") \
    PLACE_OPTIONS(X)                                                \
    X(HELP, 'h', "help", NULL, "show this help")

#define WHO_OPTION_MAP(X)                                               \
    X(QUIET, 'q', "quiet", NULL, "print nothing: only the exit status") \
    X(JSON, 0, "json", NULL, "write one line of JSON")                  \
    PLACE_OPTIONS(X)                                                    \
    X(HELP, 'h', "help", NULL, "show this help")

#define HOLD_OPTION_MAP(X)                                                                 \
    X(FOR, 0, "for", "PID", "release the lock when process PID ends; in a shell: $$")      \
    X(MAX_HOLD, 0, "max-hold", "TIME", "release the lock after TIME")                      \
    WAIT_OPTIONS(X)                                                                        \
    X(SKIP, 0, "skip", NULL, "if not acquired, print \"exit 0\"; implies -n unless -w")    \
    SHARE_OPTIONS(X)                                                                       \
    X(BUSY_CODE, 'E', "conflict-exit-code", "N", "if not acquired, exit N, not 124")       \
    X(LEASE, 't', "lease", "TIME", "how long the lock outlives a dead holder")             \
    X(NO_RENEW, 0, "no-renew", NULL, "do not renew the lease")                             \
    X(TICKET, 0, "ticket", "FILE", "pass the lock on: bowline run --ticket takes it over") \
    X(JSON, 0, "json", NULL, "print one line of JSON, not shell text")                     \
    PLACE_OPTIONS(X)                                                                       \
    TALK_OPTIONS(X)                                                                        \
    X(HELP, 'h', "help", NULL, "show this help")

#define RELEASE_OPTION_MAP(X)                                                      \
    X(HOLD, 0, "hold", "SOCKET", "which hold; without it, that of $BOWLINE_HOLD")  \
    X(CHECK, 0, "check", NULL, "release nothing: exit 0 if it holds, 123 if lost") \
    X(HELP, 'h', "help", NULL, "show this help")

#define LS_OPTION_MAP(X)                                                           \
    X(MAX_KEYS, 0, "max-keys", "N", "look at N keys at most (1000000); 0: at all") \
    X(JSON, 0, "json", NULL, "write each lock as a line of JSON")                  \
    PLACE_OPTIONS(X)                                                               \
    X(HELP, 'h', "help", NULL, "show this help")

#define WATCH_OPTION_MAP(X)                                                                  \
    X(UNTIL, 0, "until", "held|free|done|acquired|released|broken|lost", "end then, with 0") \
    X(EVERY, 0, "every", "TIME", "time between two looks (500ms)")                           \
    X(JSON, 0, "json", NULL, "write each event as a line of JSON")                           \
    PLACE_OPTIONS(X)                                                                         \
    X(HELP, 'h', "help", NULL, "show this help")

#define TOP_OPTION_MAP(X)                                                         \
    X(EVERY, 0, "every", "TIME", "time between two looks (1s)")                   \
    X(MAX_KEYS, 0, "max-keys", "N", "look at N keys at most (100000); 0: at all") \
    PLACE_OPTIONS(X)                                                              \
    X(HELP, 'h', "help", NULL, "show this help")

#define BREAK_OPTION_MAP(X)                                                    \
    X(ID, 0, "id", "ID", "only the hold with this id, as who --json shows it") \
    X(YES, 'y', "yes", NULL, "do not ask for confirmation")                    \
    X(JSON, 0, "json", NULL, "write one line of JSON, do not ask")             \
    X(URL, 0, "url", "URL", "where the locks are: redis://HOST")               \
    URL_FILE_OPTION(X)                                                         \
    X(HELP, 'h', "help", NULL, "when to break a lock, and what happens then")

#define FENCE_OPTION_MAP(X) X(HELP, 'h', "help", NULL, "what a fence file is for")

/* The features of doctor/rights.c. */
#define ACL_FEATURES                                                                        \
    "queue|token|redisson|symfony|setnx-del|setnx-del-expire|setnx-stamp-del|setnx-getset|" \
    "set-nx-ex|setnx-expire-watch|stamp|sharing|status|doctor|update"

#define CAPS_OPTION_MAP(X)                             \
    URL_FILE_OPTION(X)                                 \
    X(JSON, 0, "json", NULL, "write one line of JSON") \
    X(HELP, 'h', "help", NULL, "show this help")

#define DOCTOR_OPTION_MAP(X)                                          \
    X(STRICT, 0, "strict", NULL, "exit 1 also if there is a warning") \
    CAPS_OPTION_MAP(X)

#define VERSION_OPTION_MAP(X) X(HELP, 'h', "help", NULL, "show this help")

#define ACL_OPTION_MAP(X)                                                            \
    X(FEATURE, 0, "feature", ACL_FEATURES, "features to allow, separated by commas") \
    X(USER, 0, "user", "NAME", "user of the rule (that of the URL, or bowline)")     \
    X(KEY, 0, "key", "PATTERN", "keys that the feature update changes")              \
    CAPS_OPTION_MAP(X)

/* lab passes its options to bowline-lab; help has none. */
#define NO_OPTION_MAP(X)

/* Options in the place of a command. */
#define GLOBAL_OPTION_MAP(X)                                          \
    X(HELP, 'h', "help", NULL, "what bowline does, and its commands") \
    X(VERSION, 'V', "version", NULL, "version of the command and of its library")
