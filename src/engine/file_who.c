/*
 * file_who.c -- see file_who.h.
 */
#include "engine/file_who.h"
#include "engine/clock.h"
#include "engine/file_record.h"
#include "engine/file_ticket.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

enum { USERS_SIZE = 2048 };

/* ---- what the kernel says -------------------------------------------------------------------- */

/* What /proc/locks calls a file: the device is that of its file system, which stat(2) does not tell
 * where a file system has several (btrfs, overlayfs). */
typedef struct identity {
    unsigned device_major;
    unsigned device_minor;
    ino_t    inode;
} identity;

static int mount_of(int fd)
{
    char path[40];
    char line[64];
    int  mount = -1;

    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *info = fopen(path, "re");
    if (info == NULL)
        return -1;
    while (mount < 0 && fgets(line, sizeof line, info) != NULL)
        (void)sscanf(line, "mnt_id: %d", &mount); /* else it is another line */
    (void)fclose(info);                           /* was only read */
    return mount;
}

static identity identify(const bwl_file *file)
{
    identity id    = { major(file->device), minor(file->device), file->inode };
    int      mount = id.device_major == 0 ? mount_of(file->fd) : -1;
    FILE    *table = mount >= 0 ? fopen("/proc/self/mountinfo", "re") : NULL;
    char    *line  = NULL;
    size_t   size  = 0;
    unsigned device_major;
    unsigned device_minor;
    int      number;

    if (table == NULL)
        return id;
    while (getline(&line, &size, table) > 0) {
        /* "36 35 0:29 /home /home rw,relatime shared:1 - btrfs /dev/sda2 rw" */
        if (sscanf(line, "%d %*d %u:%u", &number, &device_major, &device_minor) == 3 &&
            number == mount) {
            id.device_major = device_major;
            id.device_minor = device_minor;
        }
    }
    free(line);
    (void)fclose(table); /* was only read */
    return id;
}

/* Who has the flock; 0: nobody whom we can see from here. */
static pid_t flock_holder(const bwl_file *file)
{
    identity      id    = identify(file);
    FILE         *locks = fopen("/proc/locks", "re");
    char          line[256];
    char          kind[16];
    pid_t         holder = 0;
    pid_t         pid;
    unsigned      device_major;
    unsigned      device_minor;
    unsigned long inode;

    if (locks == NULL)
        return 0; /* then nobody is seen */
    while (holder == 0 && fgets(line, sizeof line, locks) != NULL) {
        /* "17: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; who waits has "->" before FLOCK */
        if (sscanf(line, "%*u: %15s %*s %*s %d %x:%x:%lu", kind, &pid, &device_major, &device_minor,
                   &inode) == 5 &&
            strcmp(kind, "FLOCK") == 0 && inode == id.inode && device_major == id.device_major &&
            device_minor == id.device_minor)
            holder = pid;
    }
    (void)fclose(locks); /* was only read */
    return holder;
}

/* ---- what is known of him -------------------------------------------------------------------- */

/* Without control characters: others wrote the text, and it may end on a terminal. */
static void copy(char ret_text[BWL_HOLDER_TEXT_MAX], const char *text)
{
    size_t size = strnlen(text, BWL_HOLDER_TEXT_MAX - 1); /* cutting is meant */

    for (size_t i = 0; i < size; i++)
        ret_text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    ret_text[size] = '\0';
}

static void name_user(uid_t uid, char ret_text[BWL_HOLDER_TEXT_MAX])
{
    char           text[USERS_SIZE];
    struct passwd  user;
    struct passwd *found = NULL;

    if (getpwuid_r(uid, &user, text, sizeof text, &found) == 0 && found != NULL)
        copy(ret_text, user.pw_name);
    else
        (void)snprintf(ret_text, BWL_HOLDER_TEXT_MAX, "%u", uid);
}

static void here(char ret_host[BWL_HOLDER_TEXT_MAX])
{
    struct utsname system;

    copy(ret_host, uname(&system) == 0 ? system.nodename : "");
}

/* His files were handed to a child, which has outlived him. */
static bool has_ended(const bwl_file_record *record)
{
    char host[BWL_HOLDER_TEXT_MAX];

    here(host);
    return strcmp(host, record->host) == 0 && kill(record->pid, 0) != 0 && errno == ESRCH;
}

static void from_record(const bwl_file_record *record, bwl_holder *ret_holder)
{
    char   boot[BWL_FILE_BOOT_MAX];
    bwl_ms now = bwl_clock_now();

    ret_holder->pid = record->pid;
    name_user(record->uid, ret_holder->user);
    copy(ret_holder->host, record->host);
    copy(ret_holder->program, record->program);
    bwl_file_boot_learn(boot);
    if (boot[0] != '\0' && strcmp(boot, record->boot) == 0 && record->since <= now)
        ret_holder->since_ms = now - record->since;
    if (has_ended(record))
        copy(ret_holder->note, "that process has ended, a child of it holds on");
}

static void name_program(pid_t pid, char ret_text[BWL_HOLDER_TEXT_MAX])
{
    char path[32];
    char line[BWL_HOLDER_TEXT_MAX] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *comm = fopen(path, "re");
    if (comm == NULL)
        return;
    if (fgets(line, sizeof line, comm) != NULL)
        line[strcspn(line, "\n")] = '\0';
    (void)fclose(comm); /* was only read */
    copy(ret_text, line);
}

/* By a lock of another kind than ours.  The kernel says no more than the pid, if that. */
static void outsider(pid_t pid, const char *how, bwl_holder *ret_holder)
{
    char        path[32];
    struct stat st;

    ret_holder->held    = true;
    ret_holder->foreign = true;
    copy(ret_holder->note, how);
    if (pid <= 0)
        return;
    ret_holder->pid = pid;
    name_program(pid, ret_holder->program);
    (void)snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) == 0)
        name_user(st.st_uid, ret_holder->user);
    here(ret_holder->host);
}

/* He stands first in the queue, and it was granted to him. */
static void insider(int queue_fd, const bwl_file *flocked, uint64_t ticket, bwl_holder *ret_holder)
{
    bwl_file_record record;

    ret_holder->held  = true;
    ret_holder->fence = ticket;
    if (bwl_file_read_record(queue_fd, &record) && record.fence == ticket)
        from_record(&record, ret_holder);
    else
        ret_holder->pid = flock_holder(flocked);
}

void bwl_file_who(const bwl_file *queue, const bwl_file *flocked, bwl_holder *ret_holder)
{
    bwl_file_first first  = { .kind = BWL_FILE_NOBODY };
    bwl_file_head  head   = { 0 };
    bwl_holder     holder = { .held = false };

    if (queue->fd >= 0) {
        if (bwl_file_read_head(queue->fd, &head) != 0 || head.granted > BWL_FILE_TICKET_MAX)
            head.granted = 0;
        first = bwl_file_look(queue->fd, head.granted);
    }
    if (first.kind == BWL_FILE_OUTSIDER) {
        outsider(first.pid, "by a record lock (fcntl) on the lock file", &holder);
    } else if (first.kind == BWL_FILE_TICKET && first.ticket == head.granted) {
        insider(queue->fd, flocked, head.granted, &holder);
    } else {
        pid_t pid = flocked->fd >= 0 ? flock_holder(flocked) : 0;
        if (pid != 0)
            outsider(pid, "by flock, without bowline", &holder);
        else
            holder.held = first.kind != BWL_FILE_NOBODY; /* is being taken just now */
    }
    holder.left_ms = holder.held ? BWL_NEVER : 0;
    *ret_holder    = holder;
}

void bwl_file_who_marked(bwl_holder *ret_holder)
{
    *ret_holder = (bwl_holder){ .held = true, .left_ms = BWL_NEVER };
    copy(ret_holder->note, "its lock file was removed while it is held");
}
