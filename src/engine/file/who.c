/*
 * who.c -- see who.h.
 */
#include "engine/file/who.h"
#include "core/text.h"
#include "base/clock.h"
#include "base/calls.h"
#include "engine/file/record.h"
#include "engine/file/ticket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* "FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"; who waits has "->" before FLOCK.  True: it is a
 * flock of that file. */
static bool is_flock_of(const identity *id, const char *text, pid_t *ret_pid)
{
    char          kind[16];
    unsigned      device_major;
    unsigned      device_minor;
    unsigned long inode;

    return sscanf(text, "%15s %*s %*s %d %x:%x:%lu", kind, ret_pid, &device_major, &device_minor,
                  &inode) == 5 &&
           strcmp(kind, "FLOCK") == 0 && inode == id->inode && device_major == id->device_major &&
           device_minor == id->device_minor;
}

/* Who took the flock; 0: nobody whom we can see from here.  That process may have ended, and its
 * pid be another's by now. */
static pid_t flock_taker(const identity *id)
{
    FILE *locks = fopen("/proc/locks", "re");
    char  line[256];
    pid_t taker = 0;
    pid_t pid   = 0;
    int   text  = 0;

    if (locks == NULL)
        return 0; /* then nobody is seen */
    while (taker == 0 && fgets(line, sizeof line, locks) != NULL) {
        text = 0;
        (void)sscanf(line, "%*u: %n", &text); /* "17: FLOCK ..." */
        if (text > 0 && is_flock_of(id, line + text, &pid))
            taker = pid;
    }
    (void)fclose(locks); /* was only read */
    return taker;
}

typedef enum sight { UNSEEN, SEEN_WITHOUT, SEEN_WITH } sight;

static bool has_flock(int descriptor_infos, const char *name, const identity *id)
{
    char  line[256];
    pid_t taker;
    bool  has  = false;
    int   fd   = bwl_file_openat(descriptor_infos, name, O_RDONLY | O_CLOEXEC, 0);
    FILE *info = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (info == NULL && fd >= 0)
        (void)close(fd);
    if (info == NULL)
        return false;
    while (!has && fgets(line, sizeof line, info) != NULL) {
        int text = 0;
        (void)sscanf(line, "lock: %*u: %n", &text); /* else it is another line */
        has = text > 0 && is_flock_of(id, line + text, &taker);
    }
    (void)fclose(info); /* was only read */
    return has;
}

/* Whether a process has that flock by one of its descriptors: proc(5), /proc/PID/fdinfo. */
static sight look_at_process(const char *pid, const identity *id)
{
    char           path[48];
    struct dirent *entry;
    sight          ret = SEEN_WITHOUT;

    (void)snprintf(path, sizeof path, "/proc/%.20s/fdinfo", pid);
    DIR *infos = opendir(path);
    if (infos == NULL)
        return errno == ENOENT ? SEEN_WITHOUT : UNSEEN;
    while (ret != SEEN_WITH && (entry = readdir(infos)) != NULL)
        if (has_flock(dirfd(infos), entry->d_name, id))
            ret = SEEN_WITH;
    (void)closedir(infos);
    return ret;
}

/* A process that has the flock, taken by itself or inherited; 0: none that we can see. */
static pid_t find_flock_holder(const identity *id)
{
    struct dirent *entry;
    uint64_t       pid;
    pid_t          found     = 0;
    DIR           *processes = opendir("/proc");

    if (processes == NULL)
        return 0;
    while (found == 0 && (entry = readdir(processes)) != NULL)
        if (bwl_number_parse(&pid, entry->d_name, strlen(entry->d_name), INT32_MAX) &&
            look_at_process(entry->d_name, id) == SEEN_WITH)
            found = (pid_t)pid;
    (void)closedir(processes);
    return found;
}

/* Who has the flock by the word of the kernel; 0: it does not say. */
static pid_t flock_holder(const bwl_file *file)
{
    char     digits[24];
    identity id    = identify(file);
    pid_t    taker = flock_taker(&id);

    (void)snprintf(digits, sizeof digits, "%d", taker);
    if (taker > 0 && look_at_process(digits, &id) != SEEN_WITHOUT)
        return taker;
    pid_t found = find_flock_holder(&id);
    return found != 0 ? found : taker;
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

static bool has_ended(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
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

/* What the kernel says of a process. */
static void from_kernel(pid_t pid, bwl_holder *ret_holder)
{
    char        path[32];
    struct stat st;

    ret_holder->pid = pid;
    name_program(pid, ret_holder->program);
    (void)snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) == 0)
        name_user(st.st_uid, ret_holder->user);
    here(ret_holder->host);
}

/* By a lock of another kind than ours.  The kernel says no more than the pid, if that. */
static void outsider(pid_t pid, const char *how, bwl_holder *ret_holder)
{
    ret_holder->held    = true;
    ret_holder->foreign = true;
    copy(ret_holder->note, how);
    if (pid > 0)
        from_kernel(pid, ret_holder);
}

/* Whoever may write to the lock file can have written the record.  People are told to end the
 * process that has the lock, so its pid is that of the kernel.  A pid of the record that the kernel
 * does not confirm is only quoted. */
static void compare(const bwl_file_record *record, pid_t kernel, bwl_holder *ret_holder)
{
    char host[BWL_HOLDER_TEXT_MAX];
    char note[BWL_HOLDER_TEXT_MAX] = "";

    here(host);
    if (kernel > 0 && kernel != record->pid) {
        *ret_holder = (bwl_holder){ .held = true, .fence = record->fence };
        from_kernel(kernel, ret_holder);
        if (has_ended(record->pid))
            (void)snprintf(note, sizeof note, "pid %d took it and has ended, a child holds on",
                           record->pid);
        else
            (void)snprintf(note, sizeof note, "the lock file says pid %d, the kernel does not",
                           record->pid);
    } else if (kernel > 0 && has_ended(kernel)) {
        ret_holder->pid = 0;
        (void)snprintf(note, sizeof note, "pid %d took it and has ended, a child holds on", kernel);
    } else if (kernel == 0 && strcmp(host, record->host) == 0) {
        ret_holder->pid = 0;
        (void)snprintf(note, sizeof note, "pid %d by the lock file, the kernel does not say",
                       record->pid);
    }
    copy(ret_holder->note, note);
}

/* He stands first in the queue, and it was granted to him. */
static void insider(int queue_fd, const bwl_file *flocked, uint64_t ticket, bwl_holder *ret_holder)
{
    bwl_file_record record;
    pid_t           kernel = flocked->fd >= 0 ? flock_holder(flocked) : 0;

    ret_holder->held  = true;
    ret_holder->fence = ticket;
    ret_holder->pid   = kernel;
    if (bwl_file_read_record(queue_fd, &record) && record.fence == ticket) {
        from_record(&record, ret_holder);
        compare(&record, kernel, ret_holder);
    }
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
