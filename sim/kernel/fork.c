/*
 * fork.c -- see fork.h.
 */
#include "sim/kernel/fork.h"

#include "sim/kernel/say.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 400, PATIENCE_S = 60 };

static struct {
    bool        is_child;
    int         pipe[2]; /* an error of the child */
    const char *what;
} family;

bool sim_is_child(void)
{
    return family.is_child;
}

void sim_child_does(const char *what)
{
    family.what = what;
}

void sim_child_fail(const char *format, ...)
{
    char    text[TEXT_MAX];
    va_list arguments;

    assert(family.is_child);
    int size = snprintf(text, sizeof text, "%s ", family.what);
    va_start(arguments, format);
    (void)vsnprintf(text + size, sizeof text - (size_t)size, format, arguments);
    va_end(arguments);
    ssize_t written = write(family.pipe[1], text, strlen(text));
    _exit(written > 0 ? 1 : 2);
}

/* Standard output belongs to the parent: nothing is printed, and _exit does not flush it. */
static _Noreturn void be_child(void (*child)(void *arg), void *arg)
{
    (void)alarm(PATIENCE_S); /* of the real clock: a fault may make it endless */
    family.is_child = true;
    family.what     = "the child";
    sim_say_begin(false);
    sim_heap_wipe();
    child(arg);
    _exit(0);
}

const char *sim_fork(void (*child)(void *arg), void *arg)
{
    static char text[TEXT_MAX];
    int         status = 0;

    int failed = pipe(family.pipe);
    assert(failed == 0);
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0)
        be_child(child, arg);
    (void)close(family.pipe[1]);
    ssize_t size = read(family.pipe[0], text, sizeof text - 1); /* written by one write */
    (void)close(family.pipe[0]);
    pid_t ended = waitpid(pid, &status, 0);
    assert(ended == pid);
    if (size <= 0 && status == 0)
        return NULL;
    if (size > 0)
        text[size] = '\0';
    else
        (void)snprintf(text, sizeof text, "the child ended with wait status %#x", (unsigned)status);
    return text;
}
