/*
 * socket.c -- unix(7), SOCK_SEQPACKET, SO_PEERCRED.
 *
 * A keeper that is killed leaves its socket behind.  The next keeper connects to each socket in the
 * directory and removes those that refuse: that also works for keepers in other pid namespaces.
 * flock(2) on the directory keeps it from a socket that is bound and does not listen yet.
 */
#include "cli/hold/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/hold/watched.h"
#include "cli/run/child.h"

enum {
    BACKLOG = 16,
    END_MS  = 1000, /* time for a keeper to exit after its answer */
};

typedef struct place {
    char path[HOLD_PATH_MAX];
    int  fd;
} place;

/* False: the path is too long for an address. */
static bool address_of(struct sockaddr_un *ret_address, const char *directory, const char *name)
{
    size_t front = strlen(directory), back = strlen(name) + 1;

    *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (front + 1 + back > sizeof ret_address->sun_path)
        return false;
    memcpy(ret_address->sun_path, directory, front);
    ret_address->sun_path[front] = '/';
    memcpy(ret_address->sun_path + front + 1, name, back);
    return true;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Opens the directory, and creates it.  False with *ret_why: it cannot be used. */
static bool open_place(place *ret_place, words path, words *ret_why)
{
    struct stat        is;
    struct sockaddr_un longest;

    if (!address_of(&longest, path.text, "4194304-18446744073709551615")) {
        *ret_why = words_of("%s is too long for the address of a socket", path.text);
        return false;
    }
    int fd = -1;
    if (mkdir(path.text, 0700) == 0 || errno == EEXIST)
        fd = open(path.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &is) < 0) {
        *ret_why = words_of("%s: %s", path.text, strerror(errno));
    } else if (is.st_uid != geteuid() || (is.st_mode & 077) != 0) {
        *ret_why = words_of("%s is not a directory of mode 700 of this user", path.text);
    } else {
        memcpy(ret_place->path, path.text, strlen(path.text) + 1); /* shorter than an address */
        ret_place->fd = fd;
        return true;
    }
    if (fd >= 0)
        (void)close(fd);
    return false;
}

static int find_place(place *ret_place, failure *reterr)
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    words       why;

    if (runtime != NULL && runtime[0] == '/' &&
        open_place(ret_place, words_of("%s/bowline", runtime), &why))
        return 0;
    if (open_place(ret_place, words_of("/run/user/%u/bowline", (unsigned)geteuid()), &why) ||
        open_place(ret_place, words_of("/tmp/bowline-hold-%u", (unsigned)geteuid()), &why))
        return 0;
    return failed(
        reterr, words_of("there is no place for the socket of the hold"), why,
        words_of("type: export XDG_RUNTIME_DIR=DIRECTORY, one of mode 700 that is yours"));
}

/* True if no process listens there. */
static bool is_stale(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return false;
    bool is =
        connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return is;
}

static void remove_stale(const place *p)
{
    DIR                 *list = opendir(p->path);
    const struct dirent *entry;
    struct sockaddr_un   address;

    while (list != NULL && (entry = readdir(list)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            address_of(&address, p->path, entry->d_name) && is_stale(&address))
            (void)unlinkat(p->fd, entry->d_name, 0); /* (void): the next keeper tries again */
    if (list != NULL)
        (void)closedir(list);
}

/* ---- the socket ------------------------------------------------------------------------------ */

static int listen_at(hold_socket *ret_socket, const place *p, const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    /* (void): the names of this process are its own, so what has this name is stale. */
    (void)unlink(address->sun_path);
    if (flock(p->fd, LOCK_EX) < 0 ||
        bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 ||
        listen(fd, BACKLOG) < 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    remove_stale(p);
    ret_socket->fd = fd;
    (void)snprintf(ret_socket->path, sizeof ret_socket->path, "%s", address->sun_path);
    return 0;
}

int hold_listen(hold_socket *ret_socket, failure *reterr)
{
    struct sockaddr_un address;
    place              p;

    if (find_place(&p, reterr) < 0)
        return -1;
    words name = words_of("%d-%llu", (int)getpid(), family_started(getpid()));
    /* (void): find_place has checked the longest one. */
    (void)address_of(&address, p.path, name.text);
    int status = listen_at(ret_socket, &p, &address);
    int error  = errno;
    (void)close(p.fd); /* ends the flock */
    if (status < 0)
        return failed(reterr, words_of("%s cannot be made", address.sun_path),
                      words_of("%s", strerror(error)), words_of("type: ls -ld %s", p.path));
    return 0;
}

void hold_unlisten(const hold_socket *s)
{
    (void)unlink(s->path); /* (void): else the next keeper removes it */
    (void)close(s->fd);
}

int hold_accept(const hold_socket *s)
{
    struct ucred who;
    socklen_t    size = sizeof who;
    int          fd   = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
        (who.uid == geteuid() || who.uid == 0))
        return fd;
    (void)close(fd);
    return -1;
}

/* ---- packets --------------------------------------------------------------------------------- */

bool hold_receive(int fd, char ret_text[HOLD_PACKET_MAX])
{
    ssize_t got;

    do
        got = recv(fd, ret_text, HOLD_PACKET_MAX - 1, 0);
    while (got < 0 && errno == EINTR);
    ret_text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

void hold_send(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static int no_keeper(const char *path, words why, failure *reterr)
{
    return failed(
        reterr, words_of("there is no hold at %s", path), why,
        words_of("it was released before, or its keeper was killed, and the lock ends with "
                 "its lease"));
}

/* Waits until the keeper has ended, so that the next command of the caller does not meet it.  In
 * another pid namespace its pid is 0 or another one: then this waits in vain. */
static void wait_for_end(const watched *keeper)
{
    struct pollfd end = { .fd = keeper->fd, .events = POLLIN };

    if (keeper->fd < 0)
        return;
    (void)poll(&end, 1, END_MS);
    (void)close(keeper->fd);
}

/* The process that listens at the other end. */
static watched keeper_of(int fd)
{
    struct ucred who;
    socklen_t    size = sizeof who;
    watched      ret  = { .fd = -1 };
    failure      unused;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 0)
        (void)watched_open(&ret, who.pid, &unused); /* (void): then nothing is waited for */
    return ret;
}

int hold_ask(char ret_answer[HOLD_PACKET_MAX], const char *path, const char *question, bool ends,
             failure *reterr)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval     limit   = { .tv_sec = HOLD_ANSWER_MS / 1000 };

    if (strlen(path) >= sizeof address.sun_path)
        return no_keeper(path, words_of("the path is too long for a socket"), reterr);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return no_keeper(path, words_of("%s", strerror(errno)), reterr);
    /* (void): then it waits without a limit. */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        (void)close(fd);
        return no_keeper(path, words_of("%s", strerror(error)), reterr);
    }
    watched keeper = keeper_of(fd);
    hold_send(fd, question);
    errno      = 0;
    bool heard = hold_receive(fd, ret_answer);
    int  error = errno;
    (void)close(fd);
    if (heard && ends)
        wait_for_end(&keeper);
    else if (keeper.fd >= 0)
        (void)close(keeper.fd);
    if (heard)
        return 0;
    if (error == EAGAIN)
        return failed(reterr, words_of("the keeper of %s does not answer", path),
                      words_of("it was stopped, or its server is silent"),
                      words_of("type: pgrep -af 'bowline hold'"));
    return no_keeper(path, words_of("its keeper has ended without an answer"), reterr);
}
