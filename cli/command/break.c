/*
 * break.c -- the story of `bowline break`: who holds it, are you sure, and then exactly that hold
 * is ended.
 *
 *      look --nobody--> said
 *        |--cannot be broken--> said, with what to do instead
 *        `--held--> shown --yes--> broken, if it is the same hold still
 *
 * Between the look and the answer the lock may have changed hands.  So what is broken is the hold
 * that was shown, which has an id of its own, and never the lock as such.
 */
#include "cli/command/break.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/waiting.h"
#include "cli/settings/commands.h"
#include "cli/settings/config.h"
#include "cli/text/status.h"
#include "cli/text/url.h"
#include "doctor/caps.h"

static const char usage[] = "bowline break [OPTION...] " BREAK_OPERANDS;

typedef struct break_job {
    run_options     options; /* its name, and where locks live */
    bool            is_sure;
    bool            says_json;
    settings        settings;
    bowline_client *client;
    bowline_holder  holder;
    bool            is_renewed; /* locks of this URL are, by a bowline that holds them            */
    bool            is_shared;  /* with other programs, by a profile                              */
} break_job;

static words help_words(void)
{
    return words_of("type: bowline help break");
}

static int complain(trouble *reterr, words what, words why, words type)
{
    return trouble_set(reterr, (trouble){ EXIT_FAILED, what, why, type });
}

void break_help(FILE *out)
{
    (void)fprintf(out,
                  "bowline break nightly             shows who holds it, and asks\n"
                  "bowline break --yes nightly       in a script\n"
                  "\n"
                  "usage: %s\n",
                  usage);
#define X(name, letter, long_name, argument, words)                                          \
    (void)fprintf(out, "%3s %-25s %s\n", (letter) != 0 ? words_of("-%c,", letter).text : "", \
                  words_of("--%s %s", long_name, (argument) != NULL ? (argument) : "").text, \
                  words);
    BREAK_OPTION_MAP(X)
#undef X
    (void)fputs(
        "\n"
        "Exactly the hold that was shown is ended, and the next in line has the lock then.\n"
        "Its holder works on until the next renewal (a third of its lease), unless it is\n"
        "dead. A lock of stamps (setnx-getset, jedis-lock-1) is never renewed, and a program\n"
        "that shares a profile may never look: such a holder works on beside the next one.\n"
        "End it first if you can reach it, or see that a fence keeps its writes out.\n"
        "A lock of file: ends with its process, and is not to be broken.\n"
        "\n"
        "Exit: 0 it is broken, or nobody holds it; 122 it was not: the hold that was shown\n"
        "has ended, or the answer was no; 125 it could not be.\n",
        out);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void say_event(const break_job *j, const char *event, const char *why)
{
    const bowline_holder *h = &j->holder;
    status_line           line;

    if (!j->says_json)
        return;
    status_begin(&line, STDOUT_FILENO, event, j->options.name);
    if (h->held != 0) {
        if (h->id != 0)
            status_add_text(&line, "id", words_of("%016llx", (unsigned long long)h->id).text);
        if (h->left_ms != INT64_MAX)
            status_add_number(&line, "left_ms", h->left_ms);
        if (h->pid != 0)
            status_add_number(&line, "pid", h->pid);
        status_add_text(&line, "user", h->user);
        status_add_text(&line, "host", h->host);
        status_add_text(&line, "program", h->program);
        status_add_text(&line, "note", h->note);
    }
    if (why != NULL)
        status_add_text(&line, "why", why);
    status_print(&line);
}

static void say(const break_job *j, words text)
{
    if (!j->says_json)
        (void)printf("%s\n", words_escaped(text.text, WORDS_MAX).text);
}

/* "nightly: held by deploy@web-2 pid 4121 (pg_dump), which ends in 25s unless it is renewed" */
static words holder_words(const break_job *j)
{
    const bowline_holder *h    = &j->holder;
    words                 text = words_of("%s: %s", j->options.name, waiting_holder(h).text);

    if (h->left_ms == INT64_MAX)
        return text;
    return words_of("%s, which ends in %s%s", text.text, words_of_duration(h->left_ms).text,
                    j->is_renewed ? " unless it is renewed" : "");
}

/* ---- the command line ------------------------------------------------------------------------ */

static int take(break_job *j, int number, trouble *reterr, const char *typed)
{
    switch (number) {
    case 'y': j->is_sure = true; return 0;
    case 'J': j->says_json = true; return 0;
    case 'U': j->options.url = optarg; return 0;
    case 'F': j->options.url_file = optarg; return 0;
    case 'h': j->options.wants_help = true; return 0;
    case ':':
        return complain(reterr, words_of("%s needs a value", typed),
                        words_of("none follows it on the command line"), help_words());
    default:
        return complain(reterr, words_of("there is no option %s here", url_shown(typed).text),
                        words_of("usage: %s", usage), help_words());
    }
}

static int read_options(break_job *j, int argc, char **argv, trouble *reterr)
{
    enum { YES = 'y', JSON = 'J', URL = 'U', URL_FILE = 'F', HELP = 'h' };
    static const struct option options[] = {
#define X(name, letter, long_name, argument, words) \
    { long_name, (argument) != NULL ? required_argument : no_argument, NULL, name },
        BREAK_OPTION_MAP(X)
#undef X
            { 0 },
    };

    opterr = 0;
    optind = 1;
    for (;;) {
        int number = getopt_long(argc, argv, ":yh", options, NULL);
        if (number == -1)
            break;
        words typed = words_of("%s", argv[optind - 1]);
        if (strncmp(typed.text, "--", 2) != 0)
            typed = words_of("-%c", optopt);
        if (take(j, number, reterr, typed.text) < 0)
            return -1;
    }
    if (j->options.wants_help)
        return 0;
    if (optind + 1 != argc)
        return complain(reterr,
                        words_of(optind < argc ? "one lock at a time" : "no lock was named"),
                        words_of("usage: %s", usage), help_words());
    j->options.name = argv[optind];
    return options_check_name(j->options.name, "break", reterr);
}

/* What the holder does after the break. */
static const char *consequence(const break_job *j)
{
    if (!j->is_renewed)
        return "This lock is never renewed, and nothing tells its holder: it works on beside the "
               "next one.";
    if (j->is_shared)
        return "A bowline works on until its next renewal; a program with a lock of its own may "
               "never notice.";
    return "It works on until its next renewal, if it is alive.";
}

/* ---- looking --------------------------------------------------------------------------------- */

static int complain_of_error(const break_job *j, words what, const char *text, trouble *reterr)
{
    trouble is = { .code = EXIT_FAILED, .what = what };

    trouble_explain(&is, text,
                    words_of("look at the URL; it is from %s", j->settings.url_from.text));
    return trouble_set(reterr, is);
}

static int look(break_job *j, trouble *reterr)
{
    bowline_options options = { .size    = sizeof options,
                                .url     = j->settings.url,
                                .keeper  = BOWLINE_OFF,
                                .program = "bowline break" };
    bowline_error   error;
    char            why[CAPS_TEXT_MAX];
    caps            gives;

    if (strncmp(j->settings.url, "thread:", 7) == 0)
        return complain(reterr, words_of("thread: has no lock that could be broken from here"),
                        words_of("it locks between the threads of one process"),
                        words_of("end that process, or mend it"));
    if (bowline_open(&j->client, &options, &error) < 0)
        return complain_of_error(j, words_of("the locks cannot be opened"), error.text, reterr);
    if (caps_find(&gives, j->settings.url, 0, why) < 0)
        return complain_of_error(j, words_of("the locks cannot be opened"), why, reterr);
    j->is_renewed  = gives.row->renews;
    j->is_shared   = gives.profile[0] != '\0';
    j->holder.size = sizeof j->holder;
    int status     = bowline_who(j->client, j->options.name, &j->holder, &error);
    if (status == BOWLINE_USAGE)
        return complain(reterr, words_of("there is no lock \"%s\"", j->options.name),
                        words_of("%s", error.text), help_words());
    if (status < 0)
        return complain_of_error(j, words_of("who holds %s is not known", j->options.name),
                                 error.text, reterr);
    return 0;
}

/* It has no id: why, and what to do instead. */
static int complain_of_holder(const break_job *j, trouble *reterr)
{
    const bowline_holder *h = &j->holder;
    words                 why, type;

    if (strncmp(j->settings.url, "file:", 5) == 0) {
        why  = words_of("a lock of file: is the system's, and ends when its process does");
        type = h->pid > 0 ? words_of("type: kill %lld", (long long)h->pid)
                          : words_of("type: lsof, or fuser, on its file, and end who has it open");
    } else if (strncmp(j->settings.url, "redlock", 7) == 0) {
        why  = words_of("it is on most of several servers, and ends with its lease or its holder");
        type = words_of("end who has it, or wait until its lease is over: redlock.md");
    } else if (h->foreign != 0) {
        why  = words_of("its value is none of this protocol's: it may be anything");
        type = words_of("if it is a lock of another program, say which: a URL with ?profile= or "
                        "?protocol=");
    } else {
        why  = words_of("its value does not say whose hold it is: breaking it might end another's");
        type = words_of("if nobody can be at work, delete the key: redis-cli DEL");
    }
    return complain(reterr, words_of("%s was not broken", j->options.name), why, type);
}

/* ---- breaking -------------------------------------------------------------------------------- */

/* 1: yes; 0: no. */
static int ask(const break_job *j, trouble *reterr)
{
    const char *name = j->options.name;
    char        line[16];

    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return complain(reterr, words_of("%s was not broken", name),
                        words_of("nobody can be asked: this is no terminal"),
                        words_of("type: bowline break --yes %s", name));
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s  Break it? [y/N] ", consequence(j));
    if (fgets(line, sizeof line, stdin) == NULL)
        return 0;
    return strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0 ? 1 : 0;
}

static int not_broken(const break_job *j, int status, const bowline_error *error, trouble *reterr)
{
    bool  is_changed = status == BOWLINE_BUSY;
    words type       = words_of("look at the URL; it is from %s", j->settings.url_from.text);

    if (is_changed || status == BOWLINE_UNKNOWN)
        type = words_of("to see who holds it now, type: bowline break --json %s", j->options.name);
    return trouble_set(reterr, (trouble){
                                   .code = is_changed ? EXIT_CHANGED : EXIT_FAILED,
                                   .what = words_of("%s was not broken", j->options.name),
                                   .why  = words_of("%s", error->text),
                                   .type = type,
                               });
}

/* Above 0: an exit code, and all is said. */
static int break_it(break_job *j, trouble *reterr)
{
    bowline_error error;

    if (j->holder.held == 0) {
        say(j, words_of("%s: nobody holds it", j->options.name));
        say_event(j, "free", NULL);
        return 0;
    }
    say(j, holder_words(j));
    if (j->holder.id == 0)
        return complain_of_holder(j, reterr);
    if (j->says_json && !j->is_sure) {
        say_event(j, "held", NULL);
        return EXIT_CHANGED;
    }
    int answer = j->is_sure ? 1 : ask(j, reterr);
    if (answer <= 0)
        return answer < 0 ? -1 : EXIT_CHANGED;
    int status = bowline_break(j->client, j->options.name, j->holder.id, &error);
    if (status < 0)
        return not_broken(j, status, &error, reterr);
    say(j, words_of("%s: broken", j->options.name));
    say_event(j, "broken", NULL);
    return 0;
}

int break_main(int argc, char **argv)
{
    break_job j = { .options = { .kill_after_ms = -1, .name = "" } };
    trouble   is;
    int       code = read_options(&j, argc, argv, &is);

    if (code == 0 && j.options.wants_help) {
        break_help(stdout);
        return say_done();
    }
    if (code == 0 && settings_find(&j.settings, &j.options, &is) == 0 && look(&j, &is) == 0)
        code = break_it(&j, &is);
    else
        code = -1;
    if (code < 0) {
        say_event(&j, is.code == EXIT_CHANGED ? "changed" : "failed", is.why.text);
        say_trouble(&is);
        code = is.code;
    }
    settings_wipe(&j.settings);
    bowline_close(j.client);
    int done = say_done();
    return code != 0 ? code : done;
}
