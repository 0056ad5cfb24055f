/*
 * options.c -- parses options with getopt_long(3), and the whole command line of `bowline run`.
 *
 * Parsing of `run` stops at NAME: what follows belongs to the command, so no "--" is needed.  A
 * "--" before the command is skipped.
 */
#include "cli/settings/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/settings/commands.h"
#include "cli/text/url.h"
#include "cli/text/utf8.h"

static const option_row rows[] = { RUN_OPTION_MAP(OPTION_ROW) };

static const char run_details[] =
    "\n"
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
    "With --once-per TIME, on every host: one runs COMMAND, the others exit 0, until\n"
    "TIME is over since the lock was acquired, less a tenth of it and at most 60s, so\n"
    "that a schedule which drifts skips no run.  At most once, not exactly once: if\n"
    "COMMAND or its host dies, the period is used.\n"
    "\n"
    "The URL comes from the first of: --url, --url-file, $BOWLINE_URL,\n"
    "$XDG_CONFIG_HOME/bowline.conf (or ~/.config/bowline.conf) or, if that file does\n"
    "not exist, /etc/bowline.conf.  The default is file:, the locks of this user on\n"
    "this machine.  file:///run/lock/bowline has the locks of all users.\n"
    "The config file has lines KEY = VALUE: url, wait, lease, max-hold, kill-after,\n"
    "wait-for-server (yes or no).\n"
    "Put a URL with a password in a file that only you can read (--url-file).\n"
    /* In the order of bowline(7), which documents the defaults. */
    "\n"
    "A URL may have options, as in redis://HOST?lease=10s&wait=1m; man 7 bowline:\n"
    "  for every lock\n"
    "    lease=TIME  wait=TIME  max-hold=TIME  timeout=TIME  renew=off  spin=off\n"
    "  for Redis\n"
    "    protocol=NAME  protocol-file=FILE  profile=NAME  accept-risk=1  key=TEMPLATE\n"
    "    password-file=FILE\n"
    "    queue-max=N  turns=N  turns-time=TIME  sticky=TIME  sync=N  drift=TIME\n"
    "    restart-wait=off\n"
    "    db=N  ca=FILE  cert=FILE  cert-key=FILE\n"
    "    sentinel-password-file=FILE  sentinel-user=NAME\n"
    "  for a protocol of an article, or a profile\n"
    "    token=TEXT   the value of the lock (token, set-nx-ex), with accept-risk=1\n"
    "    retry=N      number of further attempts\n"
    "    pause=TIME   pause between attempts\n"
    "    buffer=TIME  time added to the end of the lock that the value holds\n"
    "    guard=TIME   release keeps a key that expires earlier (php-pidlock)\n";

const option_table run_table = {
    OPTION_TABLE("run", rows, RUN_OPERANDS, true),
    .before  = "bowline run nightly ./report.sh            run it when no one else does\n"
               "bowline run --skip nightly ./report.sh     from cron: skip while it runs\n"
               "bowline run --once-per 1d nightly ./report  on every host: one runs it\n"
               "\n",
    .after   = "Exit: status of COMMAND; 128+N if signal N killed it; 123 lock lost; 124 not\n"
               "acquired; 125 bowline failed; 126 cannot run, 127 not found.  bowline help run\n",
    .details = run_details,
};

static const option_row elect_rows[] = { ELECT_OPTION_MAP(OPTION_ROW) };

const option_table elect_table = {
    OPTION_TABLE("elect", elect_rows, ELECT_OPERANDS, true),
    .before = "bowline elect scheduler ./scheduler            on every host: one leads\n"
              "bowline elect --value $(hostname):80 web ./web   observers see where\n"
              "bowline observe scheduler                      who leads, until Ctrl-C\n"
              "\n",
    .after  = "\n"
              "Waits until it leads, without a limit, and runs COMMAND as bowline run does.\n"
              "Observers see TEXT and the fence at once.  If the leadership is lost, COMMAND\n"
              "is stopped in time, and bowline waits again.\n"
              "\n"
              "An old leader may still run for a moment, and TEXT is a hint: whatever COMMAND\n"
              "writes to must check $BOWLINE_FENCE.\n"
              "\n"
              "Exit: status of COMMAND when it ends by itself, as bowline run.\n",
};

enum {
    ROWS_MAX     = 32,
    FIRST_NUMBER = 256,
    ARGUMENT_MAX = 20,
    PID_MAX      = 1 << 22, /* the limit of the kernel */
};

/* Input of getopt_long.  The number of an option is its row plus FIRST_NUMBER. */
typedef struct getopt_input {
    struct option options[ROWS_MAX + 1];
    char          letters[2 * ROWS_MAX + 3];
} getopt_input;

int options_fail(const option_table *t, failure *reterr, words what, words why)
{
    return failed(reterr, what, why, words_of("type: bowline help %s", t->command));
}

static getopt_input getopt_input_of(const option_table *t)
{
    getopt_input ret  = { .letters = "" };
    size_t       size = 0;

    assert(t->count <= ROWS_MAX);
    if (t->stops_at_operand)
        ret.letters[size++] = '+';
    ret.letters[size++] = ':';
    for (unsigned i = 0; i < t->count; i++) {
        const option_row *row = &t->rows[i];
        ret.options[i]        = (struct option){
                   .name    = row->name,
                   .has_arg = row->argument != NULL ? required_argument : no_argument,
                   .val     = FIRST_NUMBER + (int)i,
        };
        if (row->letter != 0)
            ret.letters[size++] = row->letter;
        if (row->letter != 0 && row->argument != NULL)
            ret.letters[size++] = ':';
    }
    return ret;
}

/* Returns t->count if getopt_long found no option of the table. */
static unsigned row_of(const option_table *t, int number)
{
    unsigned i = 0;

    while (i < t->count && number != FIRST_NUMBER + (int)i &&
           (t->rows[i].letter == 0 || number != t->rows[i].letter))
        i++;
    return i;
}

/* `number` is what getopt_long returned after it read the argument `typed`.  optopt is 0 for an
 * unknown long option, and the number of the option for a known one. */
static int fail_option(const option_table *t, const char *typed, int number, failure *reterr)
{
    const char *names[ROWS_MAX + 1] = { NULL };
    words       usage               = words_of("usage: %s", t->usage);
    words       bare                = words_of("%.*s", (int)strcspn(typed, "="), typed);

    for (unsigned i = 0; i < t->count; i++)
        names[i] = t->rows[i].name;
    if (optopt > 0 && optopt < FIRST_NUMBER)
        bare = words_of("-%c", optopt);
    else if (optopt >= FIRST_NUMBER)
        bare = words_of("--%s", names[optopt - FIRST_NUMBER]);
    if (number == ':')
        return options_fail(t, reterr, words_of("%s needs a value", bare.text),
                            words_of("the command line ends after it"));
    if (optopt >= FIRST_NUMBER)
        return options_fail(t, reterr, words_of("%s takes no value", bare.text),
                            words_of("\"%s\" was given", url_shown(typed).text));
    if (optopt > 0)
        return options_fail(t, reterr, words_of("there is no option %s", bare.text), usage);
    return options_fail(t, reterr, words_of("there is no option %s", url_shown(bare.text).text),
                        say_suggestion(bare.text + 2, names, "--", usage.text));
}

/* options_parse adds what to type. */
static int value_failed(failure *reterr, words what, words why)
{
    return failed(reterr, what, why, words_of("%s", ""));
}

int options_time(int64_t *ret_ms, const char *key, const char *where, const char *text,
                 failure *reterr)
{
    static const struct {
        const char *key;
        int64_t     min_ms, max_ms;
    } limits[] = {
        { "wait", 0, BOWLINE_WAIT_MAX_MS },
        { "lease", BOWLINE_LEASE_MIN_MS, BOWLINE_LEASE_MAX_MS },
        { "max-hold", 1, INT64_C(1) << 53 },
        { "kill-after", 0, INT64_C(1) << 53 },
        { "every", 50, INT64_C(86400000) },
        { "period", 1, BOWLINE_REST_MAX_MS },
    };
    unsigned      i = 0;
    bowline_error error;
    int64_t       ms;

    while (strcmp(limits[i].key, key) != 0)
        i++;
    if (i == 0 && strcmp(text, "forever") == 0) {
        *ret_ms = BOWLINE_FOREVER;
        return 0;
    }
    if (bowline_duration_parse(&ms, text, &error) < 0)
        return value_failed(reterr,
                            words_of("%s: \"%s\" is not a time", where, url_shown(text).text),
                            words_of("a time has a unit: 500ms, 30s, 5m, 2h, 1d, 1m30s"));
    if (ms < limits[i].min_ms || ms > limits[i].max_ms)
        return value_failed(reterr, words_of("%s: %s is out of range", where, text),
                            words_of("it is from %s to %s",
                                     words_of_duration(limits[i].min_ms).text,
                                     words_of_duration(limits[i].max_ms).text));
    *ret_ms = ms;
    return 0;
}

static int read_number(int *ret_number, const char *where, const char *value, int max,
                       failure *reterr)
{
    size_t digits = strspn(value, "0123456789");
    int    number = digits > 0 && digits <= 9 && value[digits] == '\0' ? atoi(value) : max + 1;

    if (number > max)
        return value_failed(
            reterr,
            words_of("%s: \"%s\" is not a number from 0 to %d", where, url_shown(value).text, max),
            words_of("%s", ""));
    *ret_number = number;
    return 0;
}

/* As it is written in JSON: 16 hexadecimal digits. */
static int read_id(uint64_t *ret_id, const char *value, failure *reterr)
{
    enum { DIGITS = 16 };
    bool is_id = strlen(value) == DIGITS && strspn(value, "0123456789abcdef") == DIGITS;

    *ret_id = is_id ? strtoull(value, NULL, DIGITS) : 0;
    if (*ret_id != 0)
        return 0;
    return failed(reterr, words_of("--id: %s is no id of a hold", value),
                  words_of("an id has 16 digits from 0 to 9 and a to f"),
                  words_of("type: bowline who --json NAME"));
}

static int read_pid(int *ret_pid, const char *value, failure *reterr)
{
    if (read_number(ret_pid, "--for", value, PID_MAX, reterr) < 0)
        return -1;
    if (*ret_pid > 0)
        return 0;
    return value_failed(reterr, words_of("--for: %d is no process to wait for", *ret_pid),
                        words_of("in a shell, $$ is its own number: --for $$"));
}

/* The index of `value` among the choices, which end with NULL; below 0 with *reterr.  `what`: what
 * they are, such as "policy". */
static int read_choice(const char *where, const char *what, const char *value,
                       const char *const *choices, failure *reterr)
{
    words known = words_of("it is one of %s", choices[0]);

    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(value, choices[i]) == 0)
            return i;
        if (i > 0)
            known = words_of("%s, %s", known.text, choices[i]);
    }
    words prefix = words_of("%s ", where);
    return value_failed(reterr,
                        words_of("%s: there is no %s \"%s\"", where, what, url_shown(value).text),
                        say_suggestion(value, choices, prefix.text, known.text));
}

static int read_label(const char **ret_label, const char *value, failure *reterr)
{
    uint32_t    character;
    const char *at = value;

    while (*at != '\0') {
        at += utf8_next(&character, at);
        if (character == UTF8_BROKEN)
            return value_failed(reterr, words_of("--metrics-name: the text is not UTF-8"),
                                words_of("Prometheus reads nothing else"));
    }
    *ret_label = value;
    return 0;
}

static int read_policy(lost_policy *ret_policy, const char *value, failure *reterr)
{
    static const char *const names[] = { "term", "kill", "warn", NULL };
    int                      i       = read_choice("--on-lost", "policy", value, names, reterr);

    if (i < 0)
        return -1;
    *ret_policy = (lost_policy)(LOST_TERM + i);
    return 0;
}

static int read_until(const char **ret_event, const char *value, failure *reterr)
{
    static const char *const names[] = { "held",     "free",   "done", "acquired",
                                         "released", "broken", "lost", NULL };
    int                      i       = read_choice("--until", "event", value, names, reterr);

    if (i < 0)
        return -1;
    *ret_event = names[i];
    return 0;
}

static int read_until_leader(const char **ret_event, const char *value, failure *reterr)
{
    static const char *const names[] = { "leader", "none", NULL };
    int                      i       = read_choice("--until", "event", value, names, reterr);

    if (i < 0)
        return -1;
    *ret_event = names[i];
    return 0;
}

static int read_value(const char **ret_value, const char *value, failure *reterr)
{
    size_t size = strlen(value);

    if (size > BOWLINE_ANNOUNCEMENT_MAX)
        return value_failed(
            reterr, words_of("--value: the text has more than %d bytes", BOWLINE_ANNOUNCEMENT_MAX),
            words_of("observers get a short text, such as an address"));
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
            return value_failed(
                reterr, words_of("--value: the text has a control character, such as a new line"),
                words_of("observers see it as one line"));
    *ret_value = value;
    return 0;
}

static int fail_modes(failure *reterr)
{
    return value_failed(reterr, words_of("-s and --permits exclude each other"),
                        words_of("-s has no limit: give --permits alone, so that at most N run at "
                                 "a time, or -s alone"));
}

static int take_shared(share *ret_share, failure *reterr)
{
    if (ret_share->mode == BOWLINE_PERMITS)
        return fail_modes(reterr);
    *ret_share = (share){ .mode = BOWLINE_SHARED };
    return 0;
}

/* "2/5": two of five. */
static int read_permits(share *ret_share, const char *value, failure *reterr)
{
    const char *slash   = strchr(value, '/');
    size_t      digits  = strspn(value, "0123456789");
    bool        is_pair = slash == value + digits && digits > 0 && slash[1] != '\0' &&
                   slash[1 + strspn(slash + 1, "0123456789")] == '\0';
    long long permits = is_pair ? strtoll(value, NULL, 10) : 0;
    long long limit   = is_pair ? strtoll(slash + 1, NULL, 10) : 0;

    if (ret_share->mode == BOWLINE_SHARED)
        return fail_modes(reterr);
    if (permits < 1 || permits > BOWLINE_PERMITS_MAX || limit < permits ||
        limit > BOWLINE_LIMIT_MAX)
        return value_failed(reterr,
                            words_of("--permits %s: not K/N, with K from 1 to %d and N "
                                     "from K to %d",
                                     value, BOWLINE_PERMITS_MAX, BOWLINE_LIMIT_MAX),
                            words_of("1/4 is one of four permits: four may run at a time"));
    *ret_share =
        (share){ .mode = BOWLINE_PERMITS, .permits = (uint32_t)permits, .limit = (uint32_t)limit };
    return 0;
}

static int add_name(more_names *others, const char *name, failure *reterr)
{
    if (options_check_name(name, "run", reterr) < 0)
        return -1;
    if (others->count == OTHERS_MAX)
        return value_failed(reterr, words_of("--and is there more than %d times", OTHERS_MAX),
                            words_of("one acquire has at most %d names", OTHERS_MAX + 1));
    others->names[others->count++] = name;
    return 0;
}

/* The last of several options of the same kind counts. */
static int store(run_options *o, option_id id, const char *value, failure *reterr)
{
    int64_t lease_ms = o->lease_ms;

    switch (id) {
    case OPTION_WAIT: return options_time(&o->wait_ms, "wait", "-w", value, reterr);
    case OPTION_NO_WAIT: o->wait_ms = BOWLINE_NO_WAIT; break;
    case OPTION_SKIP:
        o->busy_code = 0;
        o->skips     = true;
        break;
    case OPTION_ONCE_PER:
        return options_time(&o->period.once_ms, "period", "--once-per", value, reterr);
    case OPTION_AT_LEAST:
        return options_time(&o->period.at_least_ms, "period", "--at-least", value, reterr);
    case OPTION_RETRY_FAILED: o->period.retries_failed = true; break;
    case OPTION_SHARED: return take_shared(&o->share, reterr);
    case OPTION_PERMITS: return read_permits(&o->share, value, reterr);
    case OPTION_AND: return add_name(&o->others, value, reterr);
    case OPTION_BUSY_CODE: return read_number(&o->busy_code, "-E", value, 255, reterr);
    case OPTION_LEASE:
        if (options_time(&lease_ms, "lease", "-t", value, reterr) < 0)
            return -1;
        o->lease_ms = (uint32_t)lease_ms;
        break;
    case OPTION_MAX_HOLD:
        return options_time(&o->max_hold_ms, "max-hold", "--max-hold", value, reterr);
    case OPTION_NO_RENEW: o->no_renew = true; break;
    case OPTION_ON_LOST: return read_policy(&o->on_lost, value, reterr);
    case OPTION_KILL_AFTER:
        return options_time(&o->kill_after_ms, "kill-after", "--kill-after", value, reterr);
    case OPTION_CLOSE: o->closes = true; break;
    case OPTION_STATUS_FD: return read_number(&o->status_fd, "--status-fd", value, 65535, reterr);
    case OPTION_URL: o->url = value; break;
    case OPTION_URL_FILE: o->url_file = value; break;
    case OPTION_QUIET: o->quiet = true; break;
    case OPTION_VERBOSE: o->verbose = true; break;
    case OPTION_YES: o->look.is_confirmed = true; break;
    case OPTION_JSON: o->wants_json = true; break;
    case OPTION_FEATURE: o->acl.feature = value; break;
    case OPTION_USER: o->acl.user = value; break;
    case OPTION_KEY: o->acl.key = value; break;
    case OPTION_STRICT: o->acl.is_strict = true; break;
    case OPTION_EVERY: return options_time(&o->look.every_ms, "every", "--every", value, reterr);
    case OPTION_MAX_KEYS:
        return read_number(&o->look.max_keys, "--max-keys", value, 999999999, reterr);
    case OPTION_UNTIL: return read_until(&o->look.until, value, reterr);
    case OPTION_ID: return read_id(&o->look.id, value, reterr);
    case OPTION_FOR: return read_pid(&o->hold.pid, value, reterr);
    case OPTION_HOLD: o->hold.socket = value; break;
    case OPTION_CHECK: o->hold.checks = true; break;
    case OPTION_METRICS_FILE: o->metrics.file = value; break;
    case OPTION_METRICS_NAME: return read_label(&o->metrics.name, value, reterr);
    case OPTION_WAIT_FOR_SERVER: o->waits_for_server = true; break;
    case OPTION_TICKET: o->hold.ticket = value; break;
    case OPTION_VALUE: return read_value(&o->hold.value, value, reterr);
    case OPTION_ONCE: o->look.is_once = true; break;
    case OPTION_UNTIL_LEADER: return read_until_leader(&o->look.until, value, reterr);
    case OPTION_HELP:
    case OPTION_VERSION: break; /* see options_parse, main.c */
    }
    return 0;
}

int options_parse(run_options *ret_options, const option_table *t, int argc, char **argv,
                  failure *reterr)
{
    getopt_input input = getopt_input_of(t);

    *ret_options = (run_options){
        .name          = "",
        .wait_ms       = BOWLINE_DEFAULT,
        .kill_after_ms = -1,
        .on_lost       = LOST_TERM,
        .busy_code     = EXIT_NOT_ACQUIRED,
        .status_fd     = -1,
        .look          = { .max_keys = -1 },
    };
    opterr = 0;
    optind = 0; /* makes getopt_long start again: a command may parse twice */
    for (;;) {
        int number = getopt_long(argc, argv, input.letters, input.options, NULL);
        if (number == -1)
            return optind;
        unsigned row = row_of(t, number);
        if (row == t->count)
            /* musl counts a value that is missing. */
            return fail_option(t, argv[(optind < argc ? optind : argc) - 1], number, reterr);
        if (t->rows[row].id == OPTION_HELP)
            return 0;
        if (store(ret_options, t->rows[row].id, optarg, reterr) < 0) {
            if (reterr->hint.text[0] == '\0')
                reterr->hint = words_of("type: bowline help %s", t->command);
            return -1;
        }
    }
}

void options_write(const option_table *t, bool with_details)
{
    (void)printf("%susage: %s\n", t->before, t->usage);
    for (unsigned i = 0; i < t->count; i++) {
        const option_row *row      = &t->rows[i];
        const char       *argument = row->argument != NULL ? row->argument : "";
        if (strlen(argument) > ARGUMENT_MAX)
            argument = "NAME"; /* the choices are listed elsewhere in the help */
        words letter = row->letter != 0 ? words_of("-%c,", row->letter) : words_of("%s", "");
        words name   = words_of("--%s %s", row->name, argument);
        (void)printf("%3s %-25s %s\n", letter.text, name.text, row->help);
    }
    if (t->more != NULL)
        t->more();
    (void)printf("%s%s", t->after, with_details && t->details != NULL ? t->details : "");
}

/* ---- the command line of run ----------------------------------------------------------------- */

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
static int read_operands(run_options *o, const option_table *t, int at, int argc, char **argv,
                         failure *reterr)
{
    words usage = words_of("usage: %s", t->usage);

    if (at >= argc)
        return options_fail(t, reterr, words_of("the name of the lock is missing"), usage);
    o->name = argv[at++];
    if (options_check_name(o->name, t->command, reterr) < 0)
        return -1;
    if (at < argc && strcmp(argv[at], "--") == 0)
        at++;
    if (at >= argc)
        return options_fail(t, reterr, words_of("the command for lock %s is missing", o->name),
                            usage);
    o->command = argv + at;
    if (url_has_password(o->command[0]))
        return options_fail(t, reterr, words_of("a URL with a password is in the place of COMMAND"),
                            usage);
    return 0;
}

int options_take_wait(run_options *o, const option_table *t, failure *reterr)
{
    if (o->skips && o->wait_ms == BOWLINE_DEFAULT)
        o->wait_ms = BOWLINE_NO_WAIT;
    if (!o->waits_for_server || o->wait_ms != BOWLINE_NO_WAIT)
        return 0;
    return options_fail(t, reterr, words_of("--wait-for-server needs a wait"),
                        words_of("without -w, neither -n nor --skip waits"));
}

static int check_period(const run_options *o, failure *reterr)
{
    const period *p = &o->period;

    if (o->hold.ticket != NULL && (p->once_ms != 0 || p->at_least_ms != 0))
        return options_fail(&run_table, reterr,
                            words_of("--ticket excludes --once-per and --at-least"),
                            words_of("its lock is acquired already"));
    if (o->share.mode != BOWLINE_EXCLUSIVE && (p->once_ms != 0 || p->at_least_ms != 0))
        return options_fail(&run_table, reterr,
                            words_of("-s and --permits exclude --once-per and --at-least"),
                            words_of("a period is for one command at a time"));
    if (o->share.mode != BOWLINE_EXCLUSIVE && o->hold.ticket != NULL)
        return options_fail(&run_table, reterr, words_of("--ticket excludes -s and --permits"),
                            words_of("the lock of a ticket is exclusive"));
    if (o->others.count > 0 && (p->once_ms != 0 || p->at_least_ms != 0 || o->hold.ticket != NULL))
        return options_fail(&run_table, reterr,
                            words_of("--and excludes --once-per, --at-least and --ticket"),
                            words_of("a period and a ticket are of one lock"));
    if (p->once_ms != 0 && p->at_least_ms != 0)
        return options_fail(&run_table, reterr,
                            words_of("--once-per and --at-least exclude each other"),
                            words_of("--once-per runs COMMAND once among all hosts, --at-least "
                                     "runs it on each host, one after the other"));
    if (p->retries_failed && p->once_ms == 0 && p->at_least_ms == 0)
        return options_fail(&run_table, reterr,
                            words_of("--retry-failed needs --once-per or --at-least"),
                            words_of("it gives back what is left of their period"));
    return 0;
}

int run_options_read(run_options *ret_options, const option_table *t, int argc, char **argv,
                     failure *reterr)
{
    run_options *o  = ret_options;
    int          at = options_parse(o, t, argc, argv, reterr);

    if (at > 0 && (check_period(o, reterr) < 0 || read_operands(o, t, at, argc, argv, reterr) < 0))
        return -1;
    /* While another host runs it, there is nothing to do here, either. */
    if (o->period.once_ms != 0 && o->wait_ms == BOWLINE_DEFAULT) {
        o->busy_code = o->busy_code == EXIT_NOT_ACQUIRED ? 0 : o->busy_code;
        o->skips     = true;
    }
    if (at > 0 && options_take_wait(o, t, reterr) < 0)
        return -1;
    if (at > 0 && o->metrics.name != NULL && o->metrics.file == NULL)
        return options_fail(t, reterr, words_of("--metrics-name needs --metrics-file"),
                            words_of("usage: %s", t->usage));
    return at > 0 ? 1 : at;
}
