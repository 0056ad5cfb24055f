/*
 * main.c -- the bowline command: selects one of its commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <bowline/bowline.h>

#include "cli/command/command.h"
#include "cli/hold/hold.h"
#include "cli/run/job.h"
#include "cli/settings/commands.h"
#include "cli/settings/options.h"
#include "cli/text/say.h"
#include "cli/text/url.h"

static const char *const command_names[] = {
#define X(name, ...) #name,
    COMMAND_MAP(X)
#undef X
        NULL,
};

static int help_main(int argc, char **argv);
static int version_main(int argc, char **argv);

static void write_commands(void)
{
#define X(name, operands, map, words) (void)printf("  %-7s %s\n", #name, words);
    COMMAND_MAP(X)
#undef X
}

static const option_table help_table = {
    .usage  = "bowline COMMAND ...",
    .before = "bowline run nightly ./report.sh     run it while no one else holds \"nightly\"\n"
              "\n",
    .more   = write_commands,
    .after  = "\n"
              "Without a URL, the locks are those of one user of this machine.  With\n"
              "BOWLINE_URL=file:///run/lock/bowline they are those of all its users, with\n"
              "redis://HOST those of all clients of that server.  See bowline run --help.\n",
};

/* ---- lab ------------------------------------------------------------------------------------- */

static const char lab_program[] = "bowline-lab";

/* Looks only in the directory of the running file: a bowline-lab in PATH may belong to another
 * installation.  False: the kernel does not name the file, or the path is too long. */
static bool find_beside(char *ret_path, size_t capacity)
{
    ssize_t size = readlink("/proc/self/exe", ret_path, capacity);
    char   *slash;

    if (size <= 0 || (size_t)size >= capacity)
        return false;
    ret_path[size] = '\0';
    slash          = strrchr(ret_path, '/');
    if (slash == NULL || (size_t)(slash + 1 - ret_path) + sizeof lab_program > capacity)
        return false;
    memcpy(slash + 1, lab_program, sizeof lab_program);
    return true;
}

/* Replaces this process by bowline-lab.  Returns only if that fails. */
static int lab_main(int argc, char **argv)
{
    static char name[] = "bowline-lab";
    char        path[PATH_MAX];
    failure     is = { .code = EXIT_NOT_FOUND, .what = words_of("bowline-lab was not found") };

    (void)argc; /* argv ends with NULL */
    argv[0] = name;
    if (!find_beside(path, sizeof path)) {
        is.why = words_of(
            "bowline looks for it in its own directory, and /proc does not name that directory");
        is.hint = words_of("type: bowline-lab ...");
    } else {
        (void)execv(path, argv);
        is.code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
        is.why  = words_of("%s: %s", path, strerror(errno));
        is.hint = words_of("install bowline-lab, in the same version");
    }
    say_failure(&is);
    return is.code;
}

static const option_table lab_table; /* bowline-lab prints its own help */

static const option_row version_rows[] = { VERSION_OPTION_MAP(OPTION_ROW) };

static const option_table version_table = {
    .command = "version",
    .usage   = "bowline version [OPTION...]",
    .rows    = version_rows,
    .count   = sizeof version_rows / sizeof version_rows[0],
    .before  = "Shows the version of the command, and that of its library if it is another one.\n"
               "bowline --version does the same.\n"
               "\n",
    .after   = "",
};

/* ---- the commands ---------------------------------------------------------------------------- */

static const struct command {
    int (*main)(int argc, char **argv);
    const option_table *table;
} commands[] = {
#define X(name, ...) { name##_main, &name##_table },
    COMMAND_MAP(X)
#undef X
};

static const struct command *find_command(const char *name)
{
    for (unsigned i = 0; command_names[i] != NULL; i++)
        if (strcmp(command_names[i], name) == 0)
            return &commands[i];
    return NULL;
}

static int usage_failed(words what, words why)
{
    failure is;

    (void)failed(&is, what, why, words_of("type: bowline help"));
    say_failure(&is);
    return is.code;
}

static int help_main(int argc, char **argv)
{
    const char           *name = argc < 2 || argv[1][0] == '-' ? "help" : argv[1];
    const struct command *c    = find_command(name);

    if (c == NULL)
        return usage_failed(words_of("there is no help on %s", url_shown(name).text),
                            say_suggestion(name, command_names, "bowline help ",
                                           "usage: bowline help " HELP_OPERANDS));
    if (c->main == lab_main)
        return lab_main(1, (char *[]){ argv[0], NULL });
    options_write(c->table, true);
    return say_done();
}

static int version_main(int argc, char **argv)
{
    run_options o;
    failure     is;
    int         at = options_parse(&o, &version_table, argc, argv, &is);

    if (at > 0 && at < argc)
        at = options_fail(&version_table, &is, words_of("too many arguments"),
                          words_of("usage: %s", version_table.usage));
    if (at < 0) {
        say_failure(&is);
        return is.code;
    }
    if (at == 0) {
        options_write(&version_table, false);
        return say_done();
    }
    (void)printf("bowline %s\n", BOWLINE_VERSION_STRING);
    if (bowline_version() != BOWLINE_VERSION_NUMBER)
        (void)printf("library %s\n", bowline_version_string());
    return say_done();
}

/* A descriptor that bowline opens must not become the standard input of the command.  A standard
 * stream that was closed is closed for the command too, because of O_CLOEXEC. */
static bool fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    const char *usage = "usage: bowline run " RUN_OPERANDS;

    if (getauxval(AT_SECURE) != 0)
        return usage_failed(words_of("bowline does not run with more rights than its user"),
                            words_of("it is setuid, setgid or has capabilities, and it starts any "
                                     "command that its user names"));
    if (!fill_standard_descriptors())
        return EXIT_FAILED;
    if (argc < 2)
        return usage_failed(words_of("the command is missing"), words_of("%s", usage));
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return help_main(1, argv);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return version_main(1, (char *[]){ argv[0], NULL });
    const struct command *c = find_command(word);
    if (c != NULL)
        return c->main(argc - 1, argv + 1);
    words shown = url_shown(word);
    if (word[0] == '-')
        return usage_failed(words_of("there is no option %s here", shown.text),
                            words_of("options follow the command: bowline run %s ...", shown.text));
    return usage_failed(words_of("there is no command %s", shown.text),
                        say_suggestion(word, command_names, "bowline ", usage));
}
