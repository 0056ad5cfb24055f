/*
 * lab.c -- replaces bowline by bowline-lab.
 *
 * It looks only in the directory of the running file: a bowline-lab in PATH may belong to another
 * installation.
 */
#include "cli/command/command.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/text/say.h"

static const char program[] = "bowline-lab";

/* False: the kernel does not name the file, or the path is too long. */
static bool find_beside(char *ret_path, size_t capacity)
{
    ssize_t size = readlink("/proc/self/exe", ret_path, capacity);
    char   *slash;

    if (size <= 0 || (size_t)size >= capacity)
        return false;
    ret_path[size] = '\0';
    slash          = strrchr(ret_path, '/');
    if (slash == NULL || (size_t)(slash + 1 - ret_path) + sizeof program > capacity)
        return false;
    memcpy(slash + 1, program, sizeof program);
    return true;
}

int lab_main(int argc, char **argv)
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
        is.hint = words_of("install the whole package: it has bowline and bowline-lab");
    }
    say_failure(&is);
    return is.code;
}
