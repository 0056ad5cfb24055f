/*
 * local.c -- checks the directory of file: and inotify.
 */
#include "doctor/visit.h"
#include "engine/file/store.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static void check_directory(visit *v, const bwl_file_directory *d)
{
    doctor_finding *f = visit_find(v, "directory", DOCTOR_FINE);

    visit_what(f, "%.250s, mode %04o, of user %u%s", d->path, (unsigned)d->sharing.mode & 07777u,
               (unsigned)d->sharing.owner, d->is_private ? ", for that user only" : "");
    if (!d->is_private && (d->sharing.mode & S_IWOTH) != 0) {
        f->grade = DOCTOR_NOTE;
        visit_why(f, "every user of this machine can acquire any lock in it, and never release it");
        visit_type(f, "if that is not intended, use a directory for a group, mode 2775");
    } else if (access(d->path, W_OK) != 0) {
        f->grade = DOCTOR_FAILURE;
        visit_why(f, "bowline cannot create a lock there: %s", strerror(errno));
        visit_type(f, "ls -ld %.250s", d->path);
    }
}

/* In a shared directory, a user may be able to break the locks of another. */
static void check_sharing(visit *v, const bwl_file_directory *d)
{
    doctor_finding *f;

    if (d->is_private || !bwl_file_is_shared(d->sharing.mode))
        return;
    if (d->sharing.owner != 0 && d->sharing.owner != geteuid()) {
        f = visit_find(v, "owner", DOCTOR_WARNING);
        visit_what(f, "%.250s belongs to user %u", d->path, (unsigned)d->sharing.owner);
        visit_why(f, "that user can replace the directory: two processes then hold the same lock");
        visit_type(f, "chown root %.250s", d->path);
    }
    if (access(d->path, R_OK) != 0) {
        f = visit_find(v, "removal", DOCTOR_WARNING);
        visit_what(f, "%.250s cannot be read: %s", d->path, strerror(errno));
        visit_why(f, "bowline cannot notice that a user removes a lock file while it is held: a "
                     "second process then holds the lock");
        visit_type(f, "chmod a+r %.250s", d->path);
    }
}

/* `file:` alone means the directory of one user. */
static void check_users(visit *v, const bwl_file_store *store)
{
    if (store->parent == NULL)
        return;
    doctor_finding *f = visit_find(v, "users", DOCTOR_NOTE);
    visit_what(f, "these are the locks of user %u only", (unsigned)geteuid());
    visit_why(f,
              "another user, also root, has another lock of the same name, and both can be held; "
              "use one URL for all users if they must exclude each other");
    visit_type(f, "export BOWLINE_URL=file:///run/lock/bowline");
}

static void check_file_system(visit *v, const bwl_file_directory *d)
{
    doctor_finding *f = visit_find(v, "file system", DOCTOR_FINE);

    if (!d->is_remote) {
        visit_what(f, "local: the kernel releases the lock of a dead process");
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "%.250s is on a network file system, such as NFS", d->path);
    visit_why(f, "its locks are only as good as those of its server, and waiters must poll");
    visit_type(f, "use a local directory, or redis:// between machines");
}

static void check_inotify(visit *v)
{
    int             fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    doctor_finding *f  = visit_find(v, "inotify", fd >= 0 ? DOCTOR_FINE : DOCTOR_WARNING);

    if (fd >= 0) {
        (void)close(fd); /* nothing was watched */
        visit_what(f, "the kernel wakes waiters");
        return;
    }
    visit_what(f, "inotify is not available: %s", strerror(errno));
    visit_why(f, "waiters poll instead");
    visit_type(f, "sysctl fs.inotify.max_user_instances");
}

static void visit_file(visit *v, bwl_file_store *store)
{
    bwl_fault           fault = { 0 };
    bwl_file_directory *d     = &store->directory;

    if (bwl_file_store_open(store, false, &fault) < 0) {
        doctor_finding *f = visit_find(v, "directory", DOCTOR_FAILURE);
        visit_what(f, "%s", fault.text);
        visit_why(f, "a user who can replace files there can get a lock that is held");
        visit_type(f, "ls -ld %.250s", d->path);
        return;
    }
    if (d->fd < 0) {
        doctor_finding *f = visit_find(v, "directory", DOCTOR_FINE);
        visit_what(f, "the directory does not exist yet: the first lock creates it");
    } else {
        check_directory(v, d);
        check_sharing(v, d);
        check_file_system(v, d);
    }
    check_users(v, store);
    check_inotify(v);
}

void visit_local(visit *v)
{
    const bwl_shard *client = v->target->client;

    if (client->host.engine->kind == BWL_ENGINE_FILE)
        visit_file(v, client->host.store);
    else
        visit_what(visit_find(v, "process", DOCTOR_FINE),
                   "locks between the threads of one process: there is nothing to check");
}
