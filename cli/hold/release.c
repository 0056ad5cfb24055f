/*
 * release.c -- `bowline release`: asks a keeper to release its lock, or whether it still holds it.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/hold/hold.h"
#include "cli/hold/socket.h"
#include "cli/settings/commands.h"

static const option_row rows[] = { RELEASE_OPTION_MAP(OPTION_ROW) };

const option_table release_table = {
    OPTION_TABLE("release", rows, RELEASE_OPERANDS, false),
    .before = "bowline release             release the lock of $BOWLINE_HOLD\n"
              "bowline release --check     is it still held?\n"
              "\n",
    .after  = "\n"
              "Exit: 0 released, or with --check still held; 123 the lock was lost: check the\n"
              "work that was done under it; 125 no such hold, or the release failed.\n",
};

/* Cuts off the first line of *text and returns it. */
static const char *next_line(char **text)
{
    char *line = *text;
    char *end  = line + strcspn(line, "\n");

    *text = *end != '\0' ? end + 1 : end;
    *end  = '\0';
    return line;
}

static int report(char *answer, failure *reterr)
{
    const char *word = next_line(&answer);
    const char *name = next_line(&answer);
    const char *why  = next_line(&answer);

    if (strcmp(word, "released") == 0 || strcmp(word, "held") == 0)
        return 0;
    failure is = {
        .code = EXIT_LOST,
        .what = words_of("%s was lost", name),
        .why  = words_of("%s", why),
        .hint = words_of("the work under it may overlap with that of another holder: check it"),
    };
    if (strcmp(word, "lost") != 0)
        is = (failure){
            .code = EXIT_FAILED,
            .what = words_of("%s was not released", name),
            .why  = words_of("%s", why),
            .hint = words_of("it was held until now, and ends with its lease"),
        };
    return failed_with(reterr, is);
}

static int release(const run_options *o, int operands_count, failure *reterr)
{
    const char *path = o->hold.socket != NULL ? o->hold.socket : getenv(HOLD_VARIABLE);
    char        answer[HOLD_PACKET_MAX];

    if (operands_count > 0)
        return options_fail(&release_table, reterr, words_of("too many arguments"),
                            words_of("usage: %s", release_table.usage));
    if (path == NULL || path[0] == '\0')
        return failed(reterr, words_of("no hold is named"),
                      words_of("%s is not set, and --hold was not given", HOLD_VARIABLE),
                      words_of("type before: eval \"$(bowline hold --for $$ NAME)\""));
    bool checks = o->hold.checks;
    if (hold_ask(answer, path, checks ? "check" : "release", !checks, reterr) < 0)
        return -1;
    return report(answer, reterr);
}

int release_main(int argc, char **argv)
{
    run_options o;
    failure     is;
    int         at = options_parse(&o, &release_table, argc, argv, &is);

    if (at == 0) {
        options_write(&release_table, false);
        return say_done();
    }
    if (at > 0 && release(&o, argc - at, &is) == 0)
        return 0;
    say_failure(&is);
    return is.code;
}
