#include "cli/settings/option_table.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "cli/text/url.h"

enum { ROWS_MAX = 20, FIRST_NUMBER = 256, ARGUMENT_MAX = 20 };

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
                        say_suggestion(say_nearest(bare.text + 2, names), "--", usage.text));
}

int options_parse(const option_table *t, int argc, char **argv, option_store *store, void *arg,
                  failure *reterr)
{
    getopt_input input = getopt_input_of(t);

    opterr = 0;
    optind = 0; /* makes getopt_long start again: a command may parse twice */
    for (;;) {
        int number = getopt_long(argc, argv, input.letters, input.options, NULL);
        if (number == -1)
            return optind;
        unsigned row = row_of(t, number);
        if (row == t->count)
            return fail_option(t, argv[optind - 1], number, reterr);
        if (strcmp(t->rows[row].name, "help") == 0)
            return 0;
        if (store(arg, row, optarg, reterr) < 0)
            return -1;
    }
}

void options_write(const option_table *t, FILE *out)
{
    (void)fprintf(out, "usage: %s\n", t->usage);
    for (unsigned i = 0; i < t->count; i++) {
        const option_row *row      = &t->rows[i];
        const char       *argument = row->argument != NULL ? row->argument : "";
        if (strlen(argument) > ARGUMENT_MAX)
            argument = "NAME"; /* the choices are listed elsewhere in the help */
        words letter = row->letter != 0 ? words_of("-%c,", row->letter) : words_of("%s", "");
        words name   = words_of("--%s %s", row->name, argument);
        (void)fprintf(out, "%3s %-25s %s\n", letter.text, name.text, row->help);
    }
}
