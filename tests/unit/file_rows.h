/*
 * file_rows.h -- tables that say which files a lock uses.
 *
 * A row makes some entries in a new directory and acquires a lock in a child process, and gives the
 * expected result.  Rows that need another user of the system run as root only.
 */
#pragma once

#include "file_users.h"

#include <sys/socket.h>
#include <sys/un.h>

typedef struct row {
    const char *steps;   /* see do_step; NULL: none                                            */
    const char *lock;    /* its name; "@/x": the path of x in the directory; NULL: "n"         */
    const char *text;    /* text of the error; NULL: the lock is held */
    const char *made;    /* exists afterwards ... */
    mode_t      mode;    /* ... with this mode; 0: any                                         */
    const char *missing; /* does not exist afterwards */
    const char *place;   /* of the lock directory, in the directory; NULL: the directory       */
    uid_t       uid;     /* of the process                                                     */
    mode_t      mask;    /* its umask; 0: 022                                                  */
    bool        shown;   /* bowline_who returns the same error */
} row;

static inline void make_socket(const char *leaf)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int                fd      = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", in(leaf));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    (void)close(fd);
}

/* "d D 755": a directory; "f F 644": a file; "p F", "s F": a FIFO, a socket; "l L TO": a symbolic
 * link; "h L TO": a hard link; "o F 1": its owner; "m F 755": its mode; "c D": the working
 * directory. */
static inline void do_step(const char *step)
{
    char kind_of   = 0;
    char leaf[256] = "";
    char to[256]   = "";

    assert_true(sscanf(step, " %c %255s %255s", &kind_of, leaf, to) >= 2);
    unsigned long number = strtoul(to, NULL, kind_of == 'o' ? 10 : 8);
    switch (kind_of) {
    case 'd': assert_int_equal(mkdir(in(leaf), 0700), 0); break;
    case 'f': put(leaf, "", 0); break;
    case 'p': assert_int_equal(mkfifo(in(leaf), 0600), 0); break;
    case 's': make_socket(leaf); break;
    case 'l': assert_int_equal(symlink(to[0] == '@' ? in(to + 2) : to, in(leaf)), 0); break;
    case 'h': assert_int_equal(link(in(to), in(leaf)), 0); break;
    case 'o': assert_int_equal(lchown(in(leaf), (uid_t)number, (gid_t)number), 0); break;
    case 'c': assert_int_equal(chdir(in(leaf)), 0); break;
    default: break;
    }
    if (strchr("dfm", kind_of) != NULL && to[0] != '\0')
        assert_int_equal(chmod(in(leaf), (mode_t)number), 0);
}

static inline void do_steps(const char *steps)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "%s", steps != NULL ? steps : "");
    for (char *rest = text, *step; (step = strsep(&rest, ";")) != NULL;)
        if (step[0] != '\0')
            do_step(step);
}

static inline bool is_as_wanted(const row *r, const char *call_, int status)
{
    if (r->text == NULL ? status == BOWLINE_OK
                        : status == BOWLINE_REFUSED && strstr(error.text, r->text) != NULL)
        return true;
    (void)dprintf(STDERR_FILENO, "# %s %s: %s gives %s: %s\n", r->steps, r->lock, call_,
                  bowline_status_name(status), status < 0 ? error.text : "");
    return false;
}

static inline int play(void *arg)
{
    const row      *r      = arg;
    bowline_holder  holder = { .size = sizeof holder };
    bowline_client *client;
    bowline_hold   *hold;

    if (r->uid != 0 && (setegid(r->uid) != 0 || seteuid(r->uid) != 0))
        return 1;
    (void)snprintf(url, sizeof url, "file:%s", r->place != NULL ? in(r->place) : directory);
    unsigned before = count_descriptors();
    int      status = bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error);
    if (status != BOWLINE_OK)
        return is_as_wanted(r, "open", status) && count_descriptors() == before ? 0 : 2;
    if (r->lock == NULL || r->lock[0] != '@')
        (void)snprintf(lock_name, sizeof lock_name, "%s", r->lock != NULL ? r->lock : "n");
    else
        (void)snprintf(lock_name, sizeof lock_name, "%s", in(r->lock + 2));
    if (r->shown && !is_as_wanted(r, "who", bowline_who(client, lock_name, &holder, &error)))
        return 3;
    if (!is_as_wanted(r, "acquire", bowline_acquire(&hold, client, lock_name, NULL, &error)))
        return 4;
    bowline_close(client);
    return count_descriptors() == before ? 0 : 5;
}

static inline void play_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const row *r     = &rows[i];
        void      *state = NULL;
        if (geteuid() != 0 &&
            (r->uid != 0 || (r->steps != NULL && strstr(r->steps, ";o ") != NULL)))
            continue;
        (void)make_directory(&state);
        assert_int_equal(chdir(directory), 0);
        do_steps(r->steps);
        (void)umask(r->mask != 0 ? r->mask : 022);
        int how = in_child(play, (void *)(uintptr_t)r);
        if (how != 0)
            fail_msg("row %zu (%s, %s): %d", i, r->steps, r->lock, how);
        if (r->made != NULL && (!exists(r->made) || (r->mode != 0 && mode_of(r->made) != r->mode)))
            fail_msg("row %zu (%s): %s is missing, or of mode %03o", i, r->steps, r->made,
                     exists(r->made) ? mode_of(r->made) : 0);
        if (r->missing != NULL && exists(r->missing))
            fail_msg("row %zu (%s): made %s", i, r->steps, r->missing);
        assert_int_equal(chdir("/"), 0);
        (void)remove_directory(&state);
    }
}

#define PLAY(rows) play_rows(rows, sizeof(rows) / sizeof(rows)[0])
