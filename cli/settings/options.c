/*
 * options.c -- reads the command line of `bowline run`.
 *
 * Parsing stops at NAME: what follows belongs to the command, so no "--" is needed.  A "--" before
 * the command is skipped.
 */
#include "cli/settings/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/settings/commands.h"
#include "cli/settings/option_table.h"
#include "cli/text/url.h"

enum {
#define X(name, ...) ROW_##name,
    RUN_OPTION_MAP(X)
#undef X
};

static const option_row rows[] = { RUN_OPTION_MAP(OPTION_ROW) };

static const option_table table = OPTION_TABLE("run", rows, RUN_OPERANDS, true);

static int usage_failed(failure *reterr, words what)
{
    return options_fail(&table, reterr, what, words_of("usage: %s", table.usage));
}

int options_duration(int64_t *ret_ms, const char *where, const char *text, const int64_t bounds[2],
                     failure *reterr)
{
    bowline_error error;
    int64_t       ms;

    if (bowline_duration_parse(&ms, text, &error) < 0)
        return options_fail(&table, reterr,
                            words_of("%s: \"%s\" is not a time", where, url_shown(text).text),
                            words_of("a time has a unit: 500ms, 30s, 5m, 2h, 1d, 1m30s"));
    if (ms < bounds[0] || ms > bounds[1])
        return options_fail(&table, reterr, words_of("%s: %s is out of range", where, text),
                            words_of("it is from %s to %s", words_of_duration(bounds[0]).text,
                                     words_of_duration(bounds[1]).text));
    *ret_ms = ms;
    return 0;
}

static int read_number(int *ret_number, const char *where, const char *value, int max,
                       failure *reterr)
{
    int    number = 0;
    size_t digits = strspn(value, "0123456789");

    if (digits > 0 && digits <= 9 && value[digits] == '\0')
        number = atoi(value);
    else
        number = max + 1;
    if (number > max)
        return options_fail(
            &table, reterr,
            words_of("%s: \"%s\" is not a number from 0 to %d", where, url_shown(value).text, max),
            words_of("%s", ""));
    *ret_number = number;
    return 0;
}

static int read_policy(lost_policy *ret_policy, const char *value, failure *reterr)
{
    static const char *const names[] = { "term", "kill", "warn", NULL };

    for (unsigned i = 0; names[i] != NULL; i++)
        if (strcmp(value, names[i]) == 0) {
            *ret_policy = (lost_policy)(LOST_TERM + i);
            return 0;
        }
    return options_fail(&table, reterr,
                        words_of("--on-lost: there is no policy \"%s\"", url_shown(value).text),
                        say_suggestion(say_nearest(value, names), "--on-lost ",
                                       "the policies are term, kill and warn"));
}

static int read_wait(run_options *o, const char *value, failure *reterr)
{
    int64_t ms;

    if (strcmp(value, "forever") == 0) {
        o->wait_ms = BOWLINE_FOREVER;
        return 0;
    }
    if (options_duration(&ms, "-w", value, (int64_t[]){ 0, BOWLINE_WAIT_MAX_MS }, reterr) < 0)
        return -1;
    o->wait_ms = ms;
    return 0;
}

static int read_lease(run_options *o, const char *value, failure *reterr)
{
    int64_t ms;

    if (options_duration(&ms, "-t", value,
                         (int64_t[]){ BOWLINE_LEASE_MIN_MS, BOWLINE_LEASE_MAX_MS }, reterr) < 0)
        return -1;
    o->lease_ms = (uint32_t)ms;
    return 0;
}

/* Implements option_store.  The last of several options of the same kind counts. */
static int store(void *arg, unsigned row, const char *value, failure *reterr)
{
    static const int64_t any[2]         = { 1, INT64_C(1) << 53 };
    static const int64_t any_or_none[2] = { 0, INT64_C(1) << 53 };
    run_options         *o              = arg;

    switch (row) {
    case ROW_WAIT: return read_wait(o, value, reterr);
    case ROW_NO_WAIT: o->wait_ms = BOWLINE_NO_WAIT; break;
    case ROW_SKIP:
        o->busy_code = 0;
        o->skips     = true;
        break;
    case ROW_BUSY_CODE: return read_number(&o->busy_code, "-E", value, 255, reterr);
    case ROW_LEASE: return read_lease(o, value, reterr);
    case ROW_MAX_HOLD: return options_duration(&o->max_hold_ms, "--max-hold", value, any, reterr);
    case ROW_NO_RENEW: o->no_renew = true; break;
    case ROW_ON_LOST: return read_policy(&o->on_lost, value, reterr);
    case ROW_KILL_AFTER:
        return options_duration(&o->kill_after_ms, "--kill-after", value, any_or_none, reterr);
    case ROW_CLOSE: o->closes = true; break;
    case ROW_STATUS_FD: return read_number(&o->status_fd, "--status-fd", value, 65535, reterr);
    case ROW_URL: o->url = value; break;
    case ROW_URL_FILE: o->url_file = value; break;
    case ROW_QUIET: o->quiet = true; break;
    case ROW_VERBOSE: o->verbose = true; break;
    default: assert(row == ROW_HELP);
    }
    return 0;
}

int options_check_name(const char *name, const char *command, failure *reterr)
{
    bool has_password = url_has_password(name);

    if (!has_password && !url_is_of_server(name))
        return 0;
    failure is = {
        .code = EXIT_FAILED,
        .what = words_of("a URL is in the place of the name of the lock"),
        .why  = words_of("NAME says which lock, --url where it is"),
        .hint = words_of("type: bowline %s --url %s NAME ...", command, url_shown(name).text),
    };
    if (has_password) {
        is.why = words_of(
            "it contains a password, and every user of this machine can read the arguments of a "
            "process with ps");
        is.hint = words_of(
            "write the URL into a FILE of mode 600, and type: bowline %s --url-file FILE NAME ...",
            command);
    }
    return failed_with(reterr, is);
}

/* NAME, COMMAND and its arguments, from argv[at] on. */
static int read_operands(run_options *o, int at, int argc, char **argv, failure *reterr)
{
    if (at >= argc)
        return usage_failed(reterr, words_of("the name of the lock is missing"));
    o->name = argv[at++];
    if (options_check_name(o->name, "run", reterr) < 0)
        return -1;
    if (at < argc && strcmp(argv[at], "--") == 0)
        at++;
    if (at >= argc)
        return usage_failed(reterr, words_of("the command for lock %s is missing", o->name));
    o->command = argv + at;
    if (url_has_password(o->command[0]))
        return usage_failed(reterr, words_of("a URL with a password is in the place of COMMAND"));
    return 0;
}

int run_options_read(run_options *ret_options, int argc, char **argv, failure *reterr)
{
    run_options o = {
        .wait_ms       = BOWLINE_DEFAULT,
        .kill_after_ms = -1,
        .on_lost       = LOST_TERM,
        .busy_code     = EXIT_NOT_ACQUIRED,
        .status_fd     = -1,
    };
    int at = options_parse(&table, argc, argv, store, &o, reterr);

    if (at > 0 && read_operands(&o, at, argc, argv, reterr) < 0)
        return -1;
    if (o.skips && o.wait_ms == BOWLINE_DEFAULT)
        o.wait_ms = BOWLINE_NO_WAIT;
    *ret_options = o;
    return at > 0 ? 1 : at;
}

void run_usage(FILE *out)
{
    (void)fputs("bowline run nightly ./report.sh            run it when no one else does\n"
                "bowline run --skip nightly ./report.sh     from cron: skip while it runs\n"
                "bowline run -w 5m -t 30s deploy sh -c '...'\n"
                "\n",
                out);
    options_write(&table, out);
    (void)fputs("\n"
                "Exit: status of COMMAND; 128+N if signal N killed it; 123 lock lost; 124 not\n"
                "acquired; 125 bowline failed; 126 cannot run, 127 not found.  bowline help run\n",
                out);
}

/* In the order of bowline(7), which documents the defaults. */
static void write_url_options(FILE *out)
{
    (void)fputs("\n"
                "A URL may have options, as in redis://HOST?lease=10s&wait=1m; man 7 bowline:\n"
                "  for every lock\n"
                "    lease=TIME  wait=TIME  max-hold=TIME  timeout=TIME  renew=off  spin=off\n"
                "  for Redis\n"
                "    protocol=NAME  profile=NAME  accept-risk=1  key=TEMPLATE  password-file=FILE\n"
                "    queue-max=N  turns=N  turns-time=TIME  sync=N  drift=TIME  restart-wait=off\n"
                "    db=N  ca=FILE  cert=FILE  cert-key=FILE\n"
                "    sentinel-password-file=FILE  sentinel-user=NAME\n"
                "  for a protocol of an article, or a profile\n"
                "    retry=N      number of further attempts\n"
                "    pause=TIME   pause between attempts\n"
                "    buffer=TIME  time added to the end of the lock that the value holds\n"
                "    guard=TIME   release keeps a key that expires earlier (php-pidlock)\n",
                out);
}

void run_help(FILE *out)
{
    run_usage(out);
    (void)fputs("\n"
                "COMMAND runs without a shell, in its own process group, with these variables:\n"
                "  BOWLINE_NAME         name of the lock\n"
                "  BOWLINE_FENCE        fencing token: grows with every holder; unset if the\n"
                "                       lock has none\n"
                "  BOWLINE_DEADLINE_MS  time until the lease ends, at the start of COMMAND;\n"
                "                       unset if no lease ends the lock\n"
                "\n"
                "Bowline renews a lease while COMMAND runs.  If it cannot, it stops all processes\n"
                "of COMMAND before someone else can acquire the lock: TERM, then KILL after\n"
                "--kill-after (at most half of the lease).  Then it exits 123.  If the lock is\n"
                "already lost, it sends KILL at once.  A stopped bowline (Ctrl-Z) cannot renew:\n"
                "if the lease ends meanwhile, COMMAND is stopped when bowline continues.\n"
                "\n"
                "If bowline is killed, COMMAND gets TERM.  With file:, COMMAND keeps the lock\n"
                "until it ends, unless --close was given.  Background processes that COMMAND\n"
                "leaves behind do not keep the lock.\n"
                "\n"
                "The URL comes from the first of: --url, --url-file, $BOWLINE_URL,\n"
                "$XDG_CONFIG_HOME/bowline.conf (or ~/.config/bowline.conf) or, if that file does\n"
                "not exist, /etc/bowline.conf.  The default is file:, the locks of this user on\n"
                "this machine.  file:///run/lock/bowline has the locks of all users.\n"
                "The config file has lines KEY = VALUE: url, wait, lease, max-hold, kill-after.\n"
                "Put a URL with a password in a file that only you can read (--url-file).\n",
                out);
    write_url_options(out);
}
