/*
 * options.c -- reads the command line by the table in options.h, and explains it.
 *
 * getopt_long stops at the first word that is no option ('+'): that is NAME, and what follows is
 * the command's own business, so no "--" is needed before it.  One is taken off where people write
 * it.
 */
#include "cli/settings/options.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/settings/commands.h"
#include "cli/text/url.h"

/* An option's number is its letter, or else its place beyond all letters. */
enum {
#define X(name, letter, ...) PLACE_##name,
    RUN_OPTION_MAP(X)
#undef X
        PLACES
};
enum {
#define X(name, letter, ...) OPTION_##name = (letter) != 0 ? (letter) : 256 + PLACE_##name,
    RUN_OPTION_MAP(X)
#undef X
};

typedef struct option_row {
    int         number;
    char        letter;
    const char *name;
    const char *argument;
    const char *help;
} option_row;

static const option_row rows[] = {
#define X(name, letter, ...) { OPTION_##name, letter, __VA_ARGS__ },
    RUN_OPTION_MAP(X)
#undef X
};

static const char *const option_names[] = {
#define X(name, letter, long_name, ...) long_name,
    RUN_OPTION_MAP(X)
#undef X
        NULL,
};

static const char usage[] = "bowline run [OPTION...] " RUN_OPERANDS;

static int complain(trouble *reterr, words what, words why)
{
    return trouble_set(reterr, (trouble){
                                   .code = EXIT_FAILED,
                                   .what = what,
                                   .why  = why,
                                   .type = words_of("type: bowline run --help"),
                               });
}

int options_duration(int64_t *ret_ms, const char *where, const char *text, const int64_t bounds[2],
                     trouble *reterr)
{
    bowline_error error;
    int64_t       ms;

    if (bowline_duration_parse(&ms, text, &error) < 0)
        return complain(reterr, words_of("%s: \"%s\" is not a time", where, url_shown(text).text),
                        words_of("a time has a unit: 500ms, 30s, 5m, 2h, 1d, 1m30s"));
    if (ms < bounds[0] || ms > bounds[1])
        return complain(reterr, words_of("%s: %s is out of bounds", where, text),
                        words_of("it is from %s to %s", words_of_duration(bounds[0]).text,
                                 words_of_duration(bounds[1]).text));
    *ret_ms = ms;
    return 0;
}

static int read_number(int *ret_number, const char *where, int max, trouble *reterr)
{
    int    number = 0;
    size_t digits = strspn(optarg, "0123456789");

    if (digits > 0 && digits <= 9 && optarg[digits] == '\0')
        number = atoi(optarg);
    else
        number = max + 1;
    if (number > max)
        return complain(
            reterr,
            words_of("%s: \"%s\" is not a number from 0 to %d", where, url_shown(optarg).text, max),
            words_of("%s", ""));
    *ret_number = number;
    return 0;
}

static int read_policy(lost_policy *ret_policy, trouble *reterr)
{
    static const char *const names[] = { "term", "kill", "warn", NULL };

    for (unsigned i = 0; names[i] != NULL; i++)
        if (strcmp(optarg, names[i]) == 0) {
            *ret_policy = (lost_policy)(LOST_TERM + i);
            return 0;
        }
    return complain(
        reterr, words_of("--on-lost: there is no \"%s\"", url_shown(optarg).text),
        say_did_you_mean(say_nearest(optarg, names), "--on-lost ", "it is term, kill or warn"));
}

static int read_wait(run_options *o, trouble *reterr)
{
    int64_t ms;

    if (strcmp(optarg, "forever") == 0) {
        o->wait_ms = BOWLINE_FOREVER;
        return 0;
    }
    if (options_duration(&ms, "-w", optarg, (int64_t[]){ 0, BOWLINE_WAIT_MAX_MS }, reterr) < 0)
        return -1;
    o->wait_ms = ms > 0 ? ms : BOWLINE_NO_WAIT;
    return 0;
}

static int read_lease(run_options *o, trouble *reterr)
{
    int64_t ms;

    if (options_duration(&ms, "-t", optarg,
                         (int64_t[]){ BOWLINE_LEASE_MIN_MS, BOWLINE_LEASE_MAX_MS }, reterr) < 0)
        return -1;
    o->lease_ms = (uint32_t)ms;
    return 0;
}

/* What getopt_long says of an option that is unknown, or has no value, or one too many. */
static int complain_of_option(const char *typed, int found, trouble *reterr)
{
    if (found == ':')
        return complain(reterr, words_of("%s needs a value", typed),
                        words_of("none follows it on the command line"));
    if (strncmp(typed, "--", 2) != 0)
        return complain(reterr, words_of("there is no option -%c", optopt),
                        words_of("options of the command go behind NAME: %s", usage));

    words bare = words_of("%.*s", (int)strcspn(typed + 2, "="), typed + 2);
    for (unsigned i = 0; option_names[i] != NULL; i++)
        if (strcmp(bare.text, option_names[i]) == 0)
            return complain(reterr, words_of("--%s takes no value", bare.text),
                            words_of("\"%s\" was given", url_shown(typed).text));
    return complain(reterr, words_of("there is no option --%s", url_shown(bare.text).text),
                    say_did_you_mean(say_nearest(bare.text, option_names), "--",
                                     words_of("usage: %s", usage).text));
}

/* One option.  A second of the same kind replaces the first, as everywhere. */
static int take(run_options *o, int number, trouble *reterr)
{
    static const int64_t any[2]         = { 1, INT64_C(1) << 53 };
    static const int64_t any_or_none[2] = { 0, INT64_C(1) << 53 };

    switch (number) {
    case OPTION_WAIT: return read_wait(o, reterr);
    case OPTION_NO_WAIT: o->wait_ms = BOWLINE_NO_WAIT; return 0;
    case OPTION_SKIP:
        o->busy_code = 0;
        o->skips     = true;
        return 0;
    case OPTION_BUSY_CODE: return read_number(&o->busy_code, "-E", 255, reterr);
    case OPTION_LEASE: return read_lease(o, reterr);
    case OPTION_MAX_HOLD:
        return options_duration(&o->max_hold_ms, "--max-hold", optarg, any, reterr);
    case OPTION_NO_RENEW: o->no_renew = true; return 0;
    case OPTION_ON_LOST: return read_policy(&o->on_lost, reterr);
    case OPTION_KILL_AFTER:
        return options_duration(&o->kill_after_ms, "--kill-after", optarg, any_or_none, reterr);
    case OPTION_CLOSE: o->closes = true; return 0;
    case OPTION_STATUS_FD: return read_number(&o->status_fd, "--status-fd", 65535, reterr);
    case OPTION_URL: o->url = optarg; return 0;
    case OPTION_URL_FILE: o->url_file = optarg; return 0;
    case OPTION_QUIET: o->quiet = true; return 0;
    case OPTION_VERBOSE: o->verbose = true; return 0;
    case OPTION_HELP: o->wants_help = true; return 0;
    default: assert(number == '?' || number == ':');
    }
    return 1;
}

/* What getopt_long wants, from the table. */
static void getopt_tables(struct option ret_long[PLACES + 1], char ret_letters[2 * PLACES + 3])
{
    size_t size = 0;

    ret_letters[size++] = '+';
    ret_letters[size++] = ':';
    for (unsigned i = 0; i < PLACES; i++) {
        bool has_value = rows[i].argument != NULL;
        ret_long[i]    = (struct option){
               .name    = rows[i].name,
               .has_arg = has_value ? required_argument : no_argument,
               .val     = rows[i].number,
        };
        if (rows[i].letter == 0)
            continue;
        ret_letters[size++] = rows[i].letter;
        if (has_value)
            ret_letters[size++] = ':';
    }
    ret_long[PLACES]  = (struct option){ 0 };
    ret_letters[size] = '\0';
}

int options_check_name(const char *name, const char *command, trouble *reterr)
{
    bool has_password = url_has_password(name);

    if (!has_password && !url_is_of_server(name))
        return 0;
    trouble is = {
        .code = EXIT_FAILED,
        .what = words_of("a URL stands where the name of the lock is meant"),
        .why  = words_of("a name says which lock, and --url where it lives"),
        .type = words_of("type: bowline %s --url %s NAME ...", command, url_shown(name).text),
    };
    if (has_password) {
        is.why  = words_of("it has a password, and everyone on this machine can read the arguments "
                            "of a program, with ps");
        is.type = words_of("type: bowline %s --url-file FILE NAME ..., with the URL in a FILE of "
                           "mode 600",
                           command);
    }
    return trouble_set(reterr, is);
}

static int take_words(run_options *o, int argc, char **argv, trouble *reterr)
{
    if (optind >= argc)
        return complain(reterr, words_of("no lock was named"), words_of("usage: %s", usage));
    o->name = argv[optind++];
    if (options_check_name(o->name, "run", reterr) < 0)
        return -1;
    if (optind < argc && strcmp(argv[optind], "--") == 0)
        optind++;
    if (optind >= argc)
        return complain(reterr, words_of("no command was given for the lock %s", o->name),
                        words_of("usage: %s", usage));
    o->command = argv + optind;
    if (url_has_password(o->command[0]))
        return complain(reterr, words_of("a URL with a password stands where the command is meant"),
                        words_of("usage: %s", usage));
    return 0;
}

int options_read(run_options *ret_options, int argc, char **argv, trouble *reterr)
{
    struct option long_options[PLACES + 1];
    char          letters[2 * PLACES + 3];
    run_options   o = {
          .kill_after_ms = -1,
          .on_lost       = LOST_TERM,
          .busy_code     = EXIT_NOT_ACQUIRED,
          .status_fd     = -1,
    };

    getopt_tables(long_options, letters);
    opterr = 0;
    optind = 1;
    for (;;) {
        /* Which word an unknown option stands in: getopt_long has left it when it complains. */
        int before = optind;
        int number = getopt_long(argc, argv, letters, long_options, NULL);
        if (number == -1)
            break;
        int status = take(&o, number, reterr);
        if (status > 0)
            return complain_of_option(argv[before], number, reterr);
        if (status < 0)
            return status;
        if (o.wants_help) {
            *ret_options = o;
            return 0;
        }
    }
    if (take_words(&o, argc, argv, reterr) < 0)
        return -1;
    if (o.skips && o.wait_ms == 0)
        o.wait_ms = BOWLINE_NO_WAIT;
    *ret_options = o;
    return 0;
}

static void write_options(FILE *out)
{
    for (unsigned i = 0; i < PLACES; i++) {
        const option_row *row = &rows[i];
        words letter = row->letter != 0 ? words_of("-%c,", row->letter) : words_of("%s", "");
        words name   = words_of("--%s%s%s", row->name, row->argument != NULL ? " " : "",
                              row->argument != NULL ? row->argument : "");
        (void)fprintf(out, "%3s %-25s %s\n", letter.text, name.text, row->help);
    }
}

void options_help(FILE *out)
{
    (void)fprintf(out,
                  "bowline run nightly ./report.sh            one at a time; wait for our turn\n"
                  "bowline run --skip nightly ./report.sh     from cron: not while another runs\n"
                  "bowline run -w 5m -t 30s deploy sh -c '...'\n"
                  "\n"
                  "usage: %s\n",
                  usage);
    write_options(out);
    (void)fprintf(out, "\n"
                       "Exit: COMMAND's own; 128+N killed by signal N; 123 lock lost; 124 not "
                       "acquired;\n"
                       "125 bowline failed; 126/127 cannot run / not found.  More: bowline help "
                       "run\n");
}

/* In the order of bowline(7), which says what each is without it. */
static void write_url_options(FILE *out)
{
    (void)fputs("\n"
                "A URL may have options, as in redis://HOST?lease=10s&wait=1m; man 7 bowline:\n"
                "  of any lock\n"
                "    lease=TIME  wait=TIME  max-hold=TIME  timeout=TIME  renew=off  spin=off\n"
                "  of Redis\n"
                "    protocol=NAME  profile=NAME  accept-risk=1  key=TEMPLATE  password-file=FILE\n"
                "    queue-max=N  turns=N  turns-time=TIME  sync=N  drift=TIME  restart-wait=off\n"
                "    db=N  ca=FILE  cert=FILE  cert-key=FILE\n"
                "    sentinel-password-file=FILE  sentinel-user=NAME\n"
                "  of a protocol of an article, or a profile\n"
                "    retry=N      how often to try again\n"
                "    pause=TIME   how long to pause between tries\n"
                "    buffer=TIME  is added to the end of the lock, where that is its value\n"
                "    guard=TIME   a release leaves a key that ends sooner (php-pidlock)\n",
                out);
}

void options_manual(FILE *out)
{
    options_help(out);
    (void)fputs("\n"
                "COMMAND runs without a shell, in a process group of its own, and sees\n"
                "  BOWLINE_NAME         the name of the lock\n"
                "  BOWLINE_FENCE        grows with every holder; unset where there is none\n"
                "  BOWLINE_DEADLINE_MS  how long the lock is ours at the start; unset if no\n"
                "                       lease ends it\n"
                "\n"
                "A lock with a lease is renewed while COMMAND runs.  Where it cannot be, all\n"
                "its processes are ended before the lock can pass to another: TERM first, KILL\n"
                "after --kill-after (at most half of the lease), and bowline exits 123.  A lock\n"
                "that is gone already means KILL at once.  A stopped bowline (Ctrl-Z) cannot\n"
                "renew: a lease that ran out meanwhile ends COMMAND when it is continued.\n"
                "\n"
                "If bowline is killed, COMMAND gets TERM; with file: it keeps the lock until it\n"
                "has ended, unless --close is given.  What COMMAND leaves in the background has\n"
                "no lock any more when COMMAND has ended.\n"
                "\n"
                "Where locks live, the first that says so: --url, --url-file, $BOWLINE_URL, then\n"
                "$XDG_CONFIG_HOME/bowline.conf (or ~/.config/bowline.conf), or if there is none\n"
                "/etc/bowline.conf; and file:, the locks of this user on this machine, if nothing\n"
                "does. file:///run/lock/bowline has those of all its users.\n"
                "The file has lines KEY = VALUE: url, wait, lease, max-hold, kill-after.\n"
                "A URL with a password belongs in a file that only you can read (--url-file).\n",
                out);
    write_url_options(out);
}
