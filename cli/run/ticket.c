/*
 * ticket.c -- link(2) does not replace a file: an unused ticket there stays.
 */
#include "cli/run/ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/trust.h"

/* ---- writing --------------------------------------------------------------------------------- */

static int not_written(const char *path, words why, failure *reterr)
{
    return failed(reterr, words_of("--ticket: %s cannot be written", path), why,
                  words_of("type: ls -ld %s", path));
}

int ticket_begin(ticket_file *ret_file, const char *path, failure *reterr)
{
    ticket_file file  = { .path = path, .fd = -1 };
    int         wrote = snprintf(file.draft, sizeof file.draft, "%s.XXXXXX", path);

    if (wrote < 0 || (size_t)wrote >= sizeof file.draft)
        return not_written(path, words_of("%s", strerror(ENAMETOOLONG)), reterr);
    if (access(path, F_OK) == 0)
        return not_written(path, words_of("it exists, and may be a ticket that is not used yet"),
                           reterr);
    file.fd = mkostemp(file.draft, O_CLOEXEC); /* with mode 600 */
    if (file.fd < 0)
        return not_written(path, words_of("%s", strerror(errno)), reterr);
    *ret_file = file;
    return 0;
}

void ticket_abandon(ticket_file *file)
{
    (void)unlink(file->draft); /* (void): there is nothing else to do */
    (void)close(file->fd);
}

static bool write_all(int fd, const char *text)
{
    char line[BOWLINE_TICKET_MAX + 2];
    int  size       = snprintf(line, sizeof line, "%s\n", text);
    bool is_written = size > 0 && write(fd, line, (size_t)size) == (ssize_t)size && fsync(fd) == 0;

    explicit_bzero(line, sizeof line);
    return is_written;
}

/* The name is on the disk, too. */
static bool sync_directory(const char *path)
{
    char copy[PATH_MAX];

    (void)snprintf(copy, sizeof copy, "%s", path);
    int  fd      = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    return is_done;
}

int ticket_end(ticket_file *file, const char *ticket, failure *reterr)
{
    bool is_done = write_all(file->fd, ticket) && link(file->draft, file->path) == 0;
    int  error   = errno;

    if (is_done && !sync_directory(file->path)) {
        error   = errno;
        is_done = false;
        (void)unlink(file->path);
    }
    ticket_abandon(file);
    return is_done ? 0 : not_written(file->path, words_of("%s", strerror(error)), reterr);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int not_read(const char *path, words why, words hint, failure *reterr)
{
    return failed(reterr, words_of("--ticket: %s cannot be used", path), why, hint);
}

static int read_ticket(char ret_ticket[BOWLINE_TICKET_MAX], const char *path, const char *name,
                       failure *reterr)
{
    trust_fault fault;
    int         fd   = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    words       look = words_of("type: ls -l %s", path);

    if (fd < 0 && errno == ENOENT)
        look = words_of("a ticket is good once, and its file is removed; for a new one, type: "
                        "bowline hold --ticket %s %s",
                        path, name);
    if (fd < 0)
        return not_read(path, words_of("%s", strerror(errno)), look, reterr);
    if (!trust_is_private(fd, path, &fault)) {
        (void)close(fd);
        return not_read(path, words_of("a ticket is a secret, and %s", fault.why),
                        words_of("%s", fault.type), reterr);
    }
    ssize_t got   = read(fd, ret_ticket, BOWLINE_TICKET_MAX);
    int     error = errno;
    (void)close(fd);
    if (got < 0)
        return not_read(path, words_of("%s", strerror(error)), look, reterr);
    if (got == BOWLINE_TICKET_MAX || memchr(ret_ticket, '\0', (size_t)got) != NULL)
        return not_read(path, words_of("this is not a ticket of bowline"), look, reterr);
    ret_ticket[got]                       = '\0';
    ret_ticket[strcspn(ret_ticket, "\n")] = '\0';
    return 0;
}

/* Anything that is no ticket, the import refuses with the reason. */
static int import(job *j, const char *path, const char *ticket, failure *reterr)
{
    char          name[BOWLINE_NAME_MAX + 1];
    bowline_error error;

    if (bowline_ticket_name(name, ticket, NULL) == BOWLINE_OK && strcmp(name, j->options.name) != 0)
        return not_read(path, words_of("it is the ticket of %s, not of %s", name, j->options.name),
                        words_of("type: bowline run --ticket %s %s ...", path, name), reterr);
    int status = bowline_hold_import(
        &j->hold, j->client, ticket,
        BOWLINE_ACQUIRE(.wait_ms     = BOWLINE_NO_WAIT,
                        .max_hold_ms = j->settings.max_hold_ms != 0 ? INT64_MAX : 0,
                        .lease_ms    = j->settings.lease_ms),
        &error);
    if (status == BOWLINE_OK)
        return 0;
    failure is = { .code = status == BOWLINE_LOST ? EXIT_LOST : EXIT_FAILED,
                   .what = words_of("%s was not taken over from %s", j->options.name, path) };
    failure_explain(&is, error.text, words_of("check the URL, from %s", j->settings.url_from.text));
    if (status == BOWLINE_LOST)
        is.hint = words_of("to acquire it anew, type: bowline run %s ...", j->options.name);
    return failed_with(reterr, is);
}

int ticket_import(job *j, const char *path, failure *reterr)
{
    char ticket[BOWLINE_TICKET_MAX];

    if (read_ticket(ticket, path, j->options.name, reterr) < 0)
        return -1;
    j->began_at = loop_now();
    int status  = import(j, path, ticket, reterr);
    explicit_bzero(ticket, sizeof ticket);
    if (status < 0)
        return -1;
    j->held_at = loop_now();
    (void)unlink(path); /* (void): it is of no use any more */
    return 0;
}
