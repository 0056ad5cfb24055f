/*
 * ask.c -- see ask.h.
 */
#include "cli/settings/ask.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

enum { ROWS_MAX = 8, NUMBER_OF_FIRST = 256, ARGUMENT_SHOWN_MAX = 20 };

int ask_complain(const ask *a, words what, words why, trouble *reterr)
{
    return trouble_set(reterr, (trouble){
                                   .code = EXIT_FAILED,
                                   .what = what,
                                   .why  = why,
                                   .type = words_of("type: bowline help %s", a->command),
                               });
}

static void take(ask *a, const char *name)
{
    if (strcmp(name, "json") == 0)
        a->wants_json = true;
    else if (strcmp(name, "help") == 0)
        a->wants_help = true;
    else if (strcmp(name, "url-file") == 0)
        a->url_file = optarg;
    else if (strcmp(name, "feature") == 0)
        a->feature = optarg;
    else if (strcmp(name, "user") == 0)
        a->user = optarg;
    else if (strcmp(name, "key") == 0)
        a->key = optarg;
}

/* What getopt_long wants; an option's number is its place, so that a letter needs no switch. */
static void getopt_tables(const ask *a, struct option ret_long[ROWS_MAX + 1],
                          char ret_letters[2 * ROWS_MAX + 2])
{
    size_t size = 0;

    assert(a->rows_count <= ROWS_MAX);
    ret_letters[size++] = ':';
    for (unsigned i = 0; i < a->rows_count; i++) {
        bool has_value = a->rows[i].argument != NULL;
        ret_long[i]    = (struct option){
               .name    = a->rows[i].name,
               .has_arg = has_value ? required_argument : no_argument,
               .val     = NUMBER_OF_FIRST + (int)i,
        };
        if (a->rows[i].letter == 0)
            continue;
        ret_letters[size++] = a->rows[i].letter;
        if (has_value)
            ret_letters[size++] = ':';
    }
    ret_long[a->rows_count] = (struct option){ 0 };
    ret_letters[size]       = '\0';
}

static const ask_row *row_of(const ask *a, int number)
{
    for (unsigned i = 0; i < a->rows_count; i++)
        if (number == NUMBER_OF_FIRST + (int)i ||
            (a->rows[i].letter != 0 && number == a->rows[i].letter))
            return &a->rows[i];
    return NULL;
}

static int complain_of_option(const ask *a, const char *typed, int found, trouble *reterr)
{
    const char *names[ROWS_MAX + 1] = { NULL };

    if (found == ':')
        return ask_complain(a, words_of("%s needs a value", typed),
                            words_of("none follows it on the command line"), reterr);
    for (unsigned i = 0; i < a->rows_count; i++)
        names[i] = a->rows[i].name;
    words bare = words_of("%.*s", (int)strcspn(typed, "="), typed);
    return ask_complain(a, words_of("there is no option %s here", url_shown(bare.text).text),
                        say_did_you_mean(say_nearest(bare.text + strspn(bare.text, "-"), names),
                                         "--", words_of("usage: %s", a->usage).text),
                        reterr);
}

int ask_read(ask *a, int argc, char **argv, trouble *reterr)
{
    struct option long_options[ROWS_MAX + 1];
    char          letters[2 * ROWS_MAX + 2];

    getopt_tables(a, long_options, letters);
    opterr = 0;
    optind = 1;
    while (!a->wants_help) {
        int before = optind;
        int number = getopt_long(argc, argv, letters, long_options, NULL);
        if (number == -1)
            break;
        const ask_row *row = row_of(a, number);
        if (row == NULL)
            return complain_of_option(a, argv[before], number, reterr);
        take(a, row->name);
    }
    if (a->wants_help)
        return 0;
    if (optind < argc)
        a->url = argv[optind++];
    if (optind < argc)
        return ask_complain(a, words_of("there is a word too many"),
                            words_of("usage: %s", a->usage), reterr);
    return 0;
}

void ask_help(const ask *a, FILE *out)
{
    (void)fprintf(out, "usage: %s\n", a->usage);
    for (unsigned i = 0; i < a->rows_count; i++) {
        const ask_row *row      = &a->rows[i];
        const char    *argument = row->argument;
        if (argument != NULL && strlen(argument) > ARGUMENT_SHOWN_MAX)
            argument = "NAME"; /* a choice that is listed elsewhere */
        words letter = row->letter != 0 ? words_of("-%c,", row->letter) : words_of("%s", "");
        words name   = words_of("--%s%s%s", row->name, argument != NULL ? " " : "",
                              argument != NULL ? argument : "");
        (void)fprintf(out, "%3s %-20s %s\n", letter.text, name.text, row->help);
    }
}

int ask_settings(settings *ret_settings, const ask *a, trouble *reterr)
{
    const run_options options = {
        .url           = a->url,
        .url_file      = a->url_file,
        .kill_after_ms = -1,
    };
    int status = settings_find(ret_settings, &options, reterr);

    /* The texts of settings_find are for those who typed `bowline run --url`. */
    if (status < 0 && a->url != NULL && url_has_password(a->url))
        return ask_complain(
            a, words_of("the URL has a password in it"),
            words_of("everyone on this machine can read the arguments of a program: give "
                     "--url-file FILE, with the URL in a FILE of mode 600"),
            reterr);
    if (status == 0 && a->url != NULL)
        ret_settings->url_from = words_of("the command line");
    return status;
}

int ask_main(const ask *asked, void (*explain)(FILE *out),
             int (*answer)(const settings *s, const ask *a, trouble *reterr), int argc, char **argv)
{
    ask      a    = *asked;
    settings s    = { .url = "" };
    trouble  is   = { .code = EXIT_FAILED };
    int      code = ask_read(&a, argc, argv, &is);

    if (code == 0 && a.wants_help) {
        explain(stdout);
        return say_done();
    }
    if (code == 0)
        code = ask_settings(&s, &a, &is);
    if (code == 0)
        code = answer(&s, &a, &is);
    settings_wipe(&s);
    if (code < 0) {
        say_trouble(&is);
        return is.code;
    }
    int done = say_done();
    return done != 0 ? done : code;
}
