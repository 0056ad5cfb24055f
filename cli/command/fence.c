/*
 * fence.c -- `bowline fence`: checks a fencing token against a fence file.
 *
 * `check` only reports.  The script's next command is a separate step, and the lock can get another
 * holder in between.  `run` keeps the file locked while its command runs, so the check and the
 * write are one step.  The command replaces bowline and inherits the descriptor that holds the
 * lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/fence/file.h"
#include "cli/run/child.h"
#include "cli/settings/commands.h"
#include "cli/settings/options.h"
#include "cli/text/url.h"

static const option_row rows[] = { FENCE_OPTION_MAP(OPTION_ROW) };

const option_table fence_table = {
    OPTION_TABLE("fence", rows, FENCE_OPERANDS, true),
    .before = "bowline fence check report.fence && ./write      in a script under bowline run\n"
              "bowline fence run report.fence mv new report     check and write in one step\n"
              "bowline fence show report.fence                  print the highest fence\n"
              "\n",
    .after  = "\n"
              "A fence is a number that grows with every holder of a lock (a fencing token).\n"
              "FILE stores the highest fence that it was shown, and a lower one is refused: its\n"
              "holder has lost the lock and does not know it.  check and run take the fence\n"
              "from $BOWLINE_FENCE; check also from its argument.  The first check creates\n"
              "FILE.  run keeps FILE locked until its command has ended.\n"
              "\n"
              "Exit: 0 the fence is stored (run: the status of the command); 123 refused, the\n"
              "lock is lost; 125 not checked; 126 cannot run, 127 not found.\n",
};

static const char *const verb_names[] = { "check", "run", "show", NULL };

static int usage_failed(failure *reterr, words what)
{
    return options_fail(&fence_table, reterr, what, words_of("usage: %s", fence_table.usage));
}

static int no_fence(failure *reterr, const char *verb, const char *path)
{
    const char *name = getenv("BOWLINE_NAME");
    failure     is   = {
              .code = EXIT_FAILED,
              .what = words_of("there is no fence to check against %s", path),
              .why  = words_of("BOWLINE_FENCE is not set; bowline run sets it for its command"),
              .hint = words_of("type: bowline run NAME bowline fence %s %s ...", verb, path),
    };

    if (name != NULL) {
        is.why = words_of("lock %s has no fence; file: has one, and Redis without protocol=", name);
        is.hint = words_of("type: bowline run --url file: %s ...", name);
    }
    return failed_with(reterr, is);
}

/* From the argument of check, or else from the environment of `bowline run`. */
static int find_fence(uint64_t *ret_fence, const char *verb, char **operands, failure *reterr)
{
    const char *given = strcmp(verb, "check") == 0 ? operands[1] : NULL;
    const char *text  = given != NULL ? given : getenv("BOWLINE_FENCE");

    if (text == NULL)
        return no_fence(reterr, verb, operands[0]);
    if (fence_number_read(ret_fence, text))
        return 0;
    return options_fail(
        &fence_table, reterr,
        words_of("%s\"%s\" is not a fence", given == NULL ? "BOWLINE_FENCE: " : "",
                 url_shown(text).text),
        words_of("a fence is a number from 1 to %" PRIu64 ", in digits", UINT64_MAX));
}

static int check(const char *verb, char **operands, int *ret_fd, failure *reterr)
{
    uint64_t fence;

    if (find_fence(&fence, verb, operands, reterr) < 0)
        return -1;
    return fence_file_check(ret_fd, operands[0], fence, reterr);
}

/* Replaces this process by the command.  Returns only if that fails. */
static int run(char **operands, failure *reterr)
{
    char **command = operands + 1;
    int    fd;

    if (strcmp(command[0], "--") == 0)
        command++;
    if (command[0] == NULL)
        return usage_failed(reterr, words_of("the command is missing"));
    if (child_find(command, reterr) < 0 || check("run", operands, &fd, reterr) < 0)
        return -1;
    if (fcntl(fd, F_SETFD, 0) < 0)
        return options_fail(&fence_table, reterr, words_of("%s was not started", command[0]),
                            words_of("fcntl: %s", strerror(errno)));
    (void)execvp(command[0], command);
    return failed_with(reterr, child_failure(command, errno));
}

static int show(char **operands, failure *reterr)
{
    uint64_t fence;

    if (fence_file_seen(&fence, operands[0], reterr) < 0)
        return -1;
    (void)printf("%" PRIu64 "\n", fence);
    return 0;
}

static int check_fence(char **operands, failure *reterr)
{
    int fd;

    return check("check", operands, &fd, reterr); /* the end of the process unlocks the file */
}

/* What follows the name of the verb, which is in verb_names at the same place. */
static const struct verb {
    int (*run)(char **operands, failure *reterr);
    int         operands_max; /* 0: any number */
    const char *usage;
} verbs[] = {
    { check_fence, 2, "usage: bowline fence check FILE [FENCE]" },
    { run, 0, "usage: bowline fence run FILE COMMAND [ARG...]" },
    { show, 1, "usage: bowline fence show FILE" },
};

static int check_operands(const struct verb *verb, int count, char **operands, failure *reterr)
{
    if (count > 0 && url_has_password(operands[0]))
        return usage_failed(reterr, words_of("a URL is in the place of FILE"));
    if (count < 1)
        return usage_failed(reterr, words_of("the name of the file is missing"));
    if (verb->operands_max == 0 && count < 2)
        return options_fail(&fence_table, reterr, words_of("the command is missing"),
                            words_of("%s", verb->usage));
    if (verb->operands_max != 0 && count > verb->operands_max)
        return options_fail(&fence_table, reterr, words_of("too many arguments"),
                            words_of("%s", verb->usage));
    return 0;
}

/* An option may precede or follow the verb. */
static int run_verb(int argc, char **argv, failure *reterr)
{
    run_options none; /* the table has no option but --help */
    int         at = options_parse(&none, &fence_table, argc, argv, reterr);

    if (at > 0 && at >= argc)
        return usage_failed(reterr, words_of("check, run or show is missing"));
    const char *verb = argv[at > 0 ? at : 0];
    if (at > 0) {
        argc -= at;
        argv += at;
        at = options_parse(&none, &fence_table, argc, argv, reterr);
    }
    if (at == 0)
        options_write(&fence_table, false);
    if (at <= 0)
        return at;
    unsigned i = 0;
    while (verb_names[i] != NULL && strcmp(verb_names[i], verb) != 0)
        i++;
    if (verb_names[i] == NULL)
        return options_fail(&fence_table, reterr,
                            words_of("there is no bowline fence %s", url_shown(verb).text),
                            say_suggestion(verb, verb_names, "bowline fence ",
                                           words_of("usage: %s", fence_table.usage).text));
    if (check_operands(&verbs[i], argc - at, argv + at, reterr) < 0)
        return -1;
    return verbs[i].run(argv + at, reterr);
}

int fence_main(int argc, char **argv)
{
    failure is;

    if (run_verb(argc, argv, &is) < 0) {
        say_failure(&is);
        return is.code;
    }
    return say_done();
}
