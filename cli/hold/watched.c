/*
 * watched.c -- pidfd_open(2), poll(2), /proc/PID/stat.
 */
#include "cli/hold/watched.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/run/child.h"

int watched_open(watched *ret_watched, pid_t pid, failure *reterr)
{
    watched w  = { .pid = pid, .started = family_started(pid), .fd = -1 };
    words   no = words_of("--for: process %d cannot be watched", (int)pid);

    w.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (w.fd < 0 && (errno == ESRCH || w.started == 0))
        return failed(reterr, no, words_of("%s", strerror(errno)),
                      words_of("in a shell, its own number is $$: bowline hold --for $$ NAME"));
    *ret_watched = w;
    return 0;
}

bool watched_has_ended(const watched *w)
{
    struct pollfd end = { .fd = w->fd, .events = POLLIN };

    if (w->fd < 0)
        return !family_is_alive(w->pid, w->started);
    return poll(&end, 1, 0) == 1;
}
