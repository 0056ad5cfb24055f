/*
 * main.c -- the bowline command: which of its commands is meant.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <bowline/bowline.h>

#include "cli/command/acl.h"
#include "cli/command/break.h"
#include "cli/command/caps.h"
#include "cli/command/doctor.h"
#include "cli/command/fence.h"
#include "cli/command/lab.h"
#include "cli/run/run.h"
#include "cli/settings/commands.h"
#include "cli/settings/options.h"
#include "cli/text/say.h"
#include "cli/text/url.h"

static const char *const command_names[] = {
#define X(name, operands, words) #name,
    COMMAND_MAP(X)
#undef X
        NULL,
};

static void write_help(void)
{
    (void)fputs("bowline run nightly ./report.sh     run it while nobody else holds \"nightly\"\n"
                "\n"
                "usage: bowline COMMAND ...\n",
                stdout);
#define X(name, operands, words) (void)printf("  %-6s %s\n", #name, words);
    COMMAND_MAP(X)
#undef X
    (void)fputs("\n"
                "Without a URL it locks between the processes of one user of this machine; with\n"
                "BOWLINE_URL=file:///run/lock/bowline of all its users, and with redis://HOST\n"
                "across all that use that server.  bowline run --help says more.\n",
                stdout);
}

static int complain(words what, words why)
{
    trouble is = {
        .code = EXIT_FAILED,
        .what = what,
        .why  = why,
        .type = words_of("type: bowline help"),
    };

    say_trouble(&is);
    return is.code;
}

static int help_main(int argc, char **argv)
{
    const char *word = argc < 2 ? "help" : argv[1];

    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        write_help();
    else if (strcmp(argv[1], "run") == 0)
        options_manual(stdout);
    else if (strcmp(argv[1], "break") == 0)
        break_help(stdout);
    else if (strcmp(argv[1], "fence") == 0)
        fence_help(stdout);
    else if (strcmp(argv[1], "lab") == 0)
        return lab_main(1, (char *[]){ argv[1], NULL }); /* which then explains itself */
    else if (strcmp(argv[1], "caps") == 0)
        caps_help(stdout);
    else if (strcmp(argv[1], "acl") == 0)
        acl_help(stdout);
    else if (strcmp(argv[1], "doctor") == 0)
        doctor_help(stdout);
    else
        return complain(words_of("there is no help on %s", url_shown(argv[1]).text),
                        say_did_you_mean(say_nearest(argv[1], command_names), "bowline help ",
                                         "there is help on: run, break, fence, lab, caps, acl, "
                                         "doctor"));
    return say_done();
}

static int version_main(void)
{
    (void)printf("bowline %s\n", BOWLINE_VERSION_STRING);
    if (bowline_version() != BOWLINE_VERSION_NUMBER)
        (void)printf("library %s\n", bowline_version_string());
    return say_done();
}

/* A descriptor that we open must not become what the command takes for its standard input.  One
 * that was closed is closed again for the command, because these are close-on-exec. */
static bool fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (opened < 0)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (getauxval(AT_SECURE) != 0)
        return complain(words_of("bowline does not run setuid or with more rights than its user"),
                        words_of("it starts what its user tells it to start"));
    if (!fill_standard_descriptors())
        return EXIT_FAILED;
    if (argc < 2)
        return complain(words_of("no command was given"),
                        words_of("usage: bowline run " RUN_OPERANDS));
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        word = "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return version_main();
    if (strcmp(word, "run") == 0)
        return run_main(argc - 1, argv + 1);
    if (strcmp(word, "break") == 0)
        return break_main(argc - 1, argv + 1);
    if (strcmp(word, "fence") == 0)
        return fence_main(argc - 1, argv + 1);
    if (strcmp(word, "lab") == 0)
        return lab_main(argc - 1, argv + 1);
    if (strcmp(word, "caps") == 0)
        return caps_main(argc - 1, argv + 1);
    if (strcmp(word, "acl") == 0)
        return acl_main(argc - 1, argv + 1);
    if (strcmp(word, "doctor") == 0)
        return doctor_main(argc - 1, argv + 1);
    if (strcmp(word, "help") == 0)
        return help_main(argc - 1, argv + 1);
    if (word[0] == '-')
        return complain(
            words_of("there is no option %s here", url_shown(word).text),
            words_of("options follow the command: bowline run %s ...", url_shown(word).text));
    return complain(words_of("there is no command %s", url_shown(word).text),
                    say_did_you_mean(say_nearest(word, command_names), "bowline ",
                                     "usage: bowline run " RUN_OPERANDS));
}
