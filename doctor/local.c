/*
 * local.c -- a place of this machine: the directory of file:, and what tells who waits there.
 */
#include "doctor/visit.h"
#include "engine/file/seat.h"
#include "engine/file/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static void look_at_directory(visit *v, const bwl_file_directory *d)
{
    doctor_finding *f = visit_find(v, "directory", DOCTOR_FINE);

    visit_what(f, "%.250s, mode %04o, of user %u%s", d->path, (unsigned)d->sharing.mode & 07777u,
               (unsigned)d->sharing.owner, d->is_private ? ", for that user alone" : "");
    if (!d->is_private && (d->sharing.mode & S_IWOTH) != 0) {
        f->grade = DOCTOR_NOTE;
        visit_why(f, "every user of this machine can take, and hold for ever, any lock in it");
        visit_type(f, "a directory for a group, mode 2775, if that is not meant");
    } else if (access(d->path, W_OK) != 0) {
        f->grade = DOCTOR_FAILURE;
        visit_why(f, "we cannot make a lock there: %s", strerror(errno));
        visit_type(f, "ls -ld %.250s", d->path);
    }
}

/* In a directory that users share, what one of them can do to the locks of another. */
static void look_at_sharing(visit *v, const bwl_file_directory *d)
{
    doctor_finding *f;

    if (d->is_private || !bwl_file_is_shared(d->sharing.mode))
        return;
    if (d->sharing.owner != 0 && d->sharing.owner != geteuid()) {
        f = visit_find(v, "owner", DOCTOR_WARNING);
        visit_what(f, "%.250s belongs to user %u", d->path, (unsigned)d->sharing.owner);
        visit_why(f, "that user can put another directory in its place: a lock is then held twice");
        visit_type(f, "chown root %.250s", d->path);
    }
    if (access(d->path, R_OK) != 0) {
        f = visit_find(v, "removal", DOCTOR_WARNING);
        visit_what(f, "%.250s cannot be read: %s", d->path, strerror(errno));
        visit_why(f, "who removes a lock file that he made, while we hold it, lets another one in");
        visit_type(f, "chmod a+r %.250s", d->path);
    }
}

/* `file:` alone means the directory of one user. */
static void look_at_users(visit *v, const bwl_file_store *store)
{
    if (store->parent == NULL)
        return;
    doctor_finding *f = visit_find(v, "users", DOCTOR_NOTE);
    visit_what(f, "these are the locks of user %u alone", (unsigned)geteuid());
    visit_why(f,
              "another user, root too, has another lock of the same name: both can hold at once");
    visit_type(
        f, "file:///run/lock/bowline as the URL of all of them, if they shall exclude each other");
}

static void look_at_file_system(visit *v, const bwl_file_directory *d)
{
    doctor_finding *f = visit_find(v, "file system", DOCTOR_FINE);

    if (!d->is_remote) {
        visit_what(f, "local: the kernel frees the lock of who dies");
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "%.250s is on a file system of others, such as NFS", d->path);
    visit_why(f, "its locks are as good as its server's, and waiting is polling");
    visit_type(f, "a local directory, or redis:// between machines");
}

static void look_at_inotify(visit *v)
{
    int             fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    doctor_finding *f  = visit_find(v, "inotify", fd >= 0 ? DOCTOR_FINE : DOCTOR_WARNING);

    if (fd >= 0) {
        (void)close(fd); /* nothing was watched */
        visit_what(f, "who waits is told by the kernel");
        return;
    }
    visit_what(f, "inotify cannot be had: %s", strerror(errno));
    visit_why(f, "who waits looks again from time to time instead of being told");
    visit_type(f, "sysctl fs.inotify.max_user_instances");
}

static void visit_file(visit *v, bwl_file_store *store)
{
    bwl_fault           fault = { 0 };
    bwl_file_directory *d     = &store->directory;

    if (bwl_file_store_open(store, false, &fault) < 0) {
        doctor_finding *f = visit_find(v, "directory", DOCTOR_FAILURE);
        visit_what(f, "%s", fault.text);
        visit_why(f, "who could replace files there could have a lock twice");
        visit_type(f, "ls -ld %.250s", d->path);
        return;
    }
    if (d->fd < 0) {
        doctor_finding *f = visit_find(v, "directory", DOCTOR_FINE);
        visit_what(f, "the directory is not there yet: the first lock makes it");
    } else {
        look_at_directory(v, d);
        look_at_sharing(v, d);
        look_at_file_system(v, d);
    }
    look_at_users(v, store);
    look_at_inotify(v);
}

void visit_local(visit *v)
{
    const bwl_shard *client = v->target->client;

    if (client->host.engine->kind == BWL_ENGINE_FILE)
        visit_file(v, client->host.store);
    else
        visit_what(visit_find(v, "process", DOCTOR_FINE),
                   "locks between the threads of one process: there is nothing to look at");
}
