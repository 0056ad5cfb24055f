/*
 * fence.c -- the words of `bowline fence`: what to check, with which fence, and what then.
 *
 * `check` answers, and what the script does after that is a step of its own: somebody else may
 * come in between.  `run` keeps the file locked while its command runs, so that the comparison and
 * the write are one step.  The command takes our place; the lock goes with the descriptor.
 */
#include "cli/command/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fence/file.h"
#include "cli/fence/line.h"
#include "cli/run/child.h"
#include "cli/settings/commands.h"
#include "cli/text/url.h"

static const char usage[] = "bowline fence " FENCE_OPERANDS;

static const char *const verbs[] = { "check", "run", "show", NULL };

static int complain(trouble *reterr, words what, words why)
{
    return trouble_set(reterr, (trouble){
                                   .code = EXIT_FAILED,
                                   .what = what,
                                   .why  = why,
                                   .type = words_of("type: bowline help fence"),
                               });
}

void fence_help(FILE *out)
{
    (void)fprintf(out,
                  "bowline fence check report.fence && ./write      in a script under bowline run\n"
                  "bowline fence run report.fence mv new report     check and write as one step\n"
                  "bowline fence show report.fence                  the highest fence it has seen\n"
                  "\n"
                  "usage: bowline fence check FILE [FENCE]\n"
                  "       bowline fence run FILE COMMAND [ARG...]\n"
                  "       bowline fence show FILE\n");
#define X(name, letter, long_name, argument, words) \
    (void)fprintf(out, " -%c, --%-8s %s\n", letter, long_name, words);
    FENCE_OPTION_MAP(X)
#undef X
    (void)fputs("\n"
                "FILE remembers the highest fence that it was shown, and refuses a lower one: its\n"
                "holder has lost the lock, and does not know it.  The fence is $BOWLINE_FENCE, or\n"
                "FENCE.  The first check makes FILE.  run keeps FILE locked until COMMAND has\n"
                "ended, so that nobody comes between the check and the write.\n"
                "\n"
                "Exit: 0 the fence is remembered (run: COMMAND's own); 123 refused: the lock is\n"
                "not ours any more; 125 it could not be checked; 126/127 cannot run / not found.\n",
                out);
}

/* ---- which fence ----------------------------------------------------------------------------- */

static int complain_of_none(trouble *reterr, const char *verb, const char *path)
{
    const char *name = getenv("BOWLINE_NAME");
    trouble     is   = {
              .code = EXIT_FAILED,
              .what = words_of("there is no fence to check with %s", path),
              .why  = words_of("BOWLINE_FENCE is not set: bowline run sets it for its command"),
              .type = words_of("type: bowline run NAME bowline fence %s %s ...", verb, path),
    };

    if (name != NULL) {
        is.why =
            words_of("the lock %s has none: file: gives one, and Redis without protocol=", name);
        is.type = words_of("type: bowline run --url file: %s ...", name);
    }
    return trouble_set(reterr, is);
}

/* From the command line, or else from the environment of `bowline run`. */
static int find_fence(uint64_t *ret_fence, const char *verb, char **operands, trouble *reterr)
{
    const char *given = strcmp(verb, "check") == 0 ? operands[1] : NULL;
    const char *text  = given != NULL ? given : getenv("BOWLINE_FENCE");

    if (text == NULL)
        return complain_of_none(reterr, verb, operands[0]);
    if (fence_number_read(ret_fence, text))
        return 0;
    return complain(reterr,
                    words_of("%s\"%s\" is not a fence", given == NULL ? "BOWLINE_FENCE: " : "",
                             url_shown(text).text),
                    words_of("it is a number from 1 to %" PRIu64 ", digits alone", UINT64_MAX));
}

/* ---- what is done ---------------------------------------------------------------------------- */

static int check(const char *verb, char **operands, int *ret_fd, trouble *reterr)
{
    uint64_t fence;

    if (find_fence(&fence, verb, operands, reterr) < 0)
        return -1;
    return fence_file_check(ret_fd, operands[0], fence, reterr);
}

/* Returns only if the command could not be started. */
static int run(char **operands, trouble *reterr)
{
    char **command = operands + 1;
    int    fd;

    if (strcmp(command[0], "--") == 0)
        command++;
    if (command[0] == NULL)
        return complain(reterr, words_of("no command was given"), words_of("usage: %s", usage));
    if (child_find(command, reterr) < 0 || check("run", operands, &fd, reterr) < 0)
        return -1;
    if (fcntl(fd, F_SETFD, 0) < 0)
        return complain(reterr, words_of("%s was not started", command[0]),
                        words_of("fcntl: %s", strerror(errno)));
    (void)execvp(command[0], command);
    return trouble_set(reterr, child_trouble(command, errno));
}

static int show(const char *path, trouble *reterr)
{
    uint64_t fence;

    if (fence_file_seen(&fence, path, reterr) < 0)
        return -1;
    (void)printf("%" PRIu64 "\n", fence);
    return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Options may stand before the verb and behind it.  1: help is wanted. */
static int read_options(int argc, char **argv, trouble *reterr)
{
    static const struct option options[] = {
#define X(name, letter, long_name, argument, words) { long_name, no_argument, NULL, letter },
        FENCE_OPTION_MAP(X)
#undef X
            { 0 },
    };

    opterr = 0;
    optind = 0; /* from the start, though it was used before */
    switch (getopt_long(argc, argv, "+h", options, NULL)) {
    case -1: return 0;
    case 'h': return 1;
    default:
        return complain(reterr, words_of("there is no option %s here", url_shown(argv[1]).text),
                        words_of("usage: %s", usage));
    }
}

static int check_operands(const char *verb, int count, char **operands, trouble *reterr)
{
    bool runs  = strcmp(verb, "run") == 0;
    bool shows = strcmp(verb, "show") == 0;

    if (count > 0 && url_has_password(operands[0]))
        return complain(reterr, words_of("a URL stands where the file is meant"),
                        words_of("usage: %s", usage));
    if (count < 1)
        return complain(reterr, words_of("no file was named"), words_of("usage: %s", usage));
    if (runs && count < 2)
        return complain(reterr, words_of("no command was given"),
                        words_of("usage: bowline fence run FILE COMMAND [ARG...]"));
    if (!runs && count > (shows ? 1 : 2))
        return complain(reterr, words_of("there is a word too many"),
                        words_of("usage: bowline fence %s FILE%s", verb, shows ? "" : " [FENCE]"));
    return 0;
}

static bool is_verb(const char *word)
{
    for (unsigned i = 0; verbs[i] != NULL; i++)
        if (strcmp(verbs[i], word) == 0)
            return true;
    return false;
}

static int obey(int argc, char **argv, trouble *reterr)
{
    int status = read_options(argc, argv, reterr);

    if (status == 0 && optind >= argc)
        return complain(reterr, words_of("nothing was asked of the fence"),
                        words_of("usage: %s", usage));
    const char *verb = argv[optind];
    if (status == 0) {
        argc -= optind;
        argv += optind;
        status = read_options(argc, argv, reterr);
    }
    if (status > 0)
        fence_help(stdout);
    if (status != 0)
        return status < 0 ? -1 : 0;
    char **operands = argv + optind;
    int    fd;
    if (!is_verb(verb))
        return complain(reterr, words_of("there is no bowline fence %s", url_shown(verb).text),
                        say_did_you_mean(say_nearest(verb, verbs), "bowline fence ",
                                         words_of("usage: %s", usage).text));
    if (check_operands(verb, argc - optind, operands, reterr) < 0)
        return -1;
    if (strcmp(verb, "show") == 0)
        return show(operands[0], reterr);
    if (strcmp(verb, "run") == 0)
        return run(operands, reterr);
    return check(verb, operands, &fd, reterr); /* the end of the process unlocks the file */
}

int fence_main(int argc, char **argv)
{
    trouble is;

    if (obey(argc, argv, &is) < 0) {
        say_trouble(&is);
        return is.code;
    }
    return say_done();
}
