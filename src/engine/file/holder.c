#include "engine/file/holder.h"
#include "core/text.h"
#include "base/clock.h"
#include "base/calls.h"
#include "engine/file/owner_record.h"
#include "engine/file/kernel_queue.h"

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

enum {
    USERS_SIZE  = 2048,
    WAITING_MAX = 1000, /* counted, at most: each costs a system call */
    SHARERS_MAX = 1000,
    PASSES_MAX  = 8, /* over the list of all file locks */
    MISSED_MAX  = 3, /* passes, until one has a line of the file */
    STAT_SIZE   = 512,
};

/* ---- from the kernel ------------------------------------------------------------------------- */

/* A file in /proc/locks.  The device is that of the file system, which differs from that of stat(2)
 * on btrfs and overlayfs. */
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
        (void)sscanf(line, "mnt_id: %d", &mount); /* other lines do not match */
    (void)fclose(info);                           /* was read only */
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
    (void)fclose(table); /* was read only */
    return id;
}

/* Finds the next flock of that file among the lines of /proc/locks, or of a file of
 * /proc/PID/fdinfo:
 *
 *      17: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF
 *      lock:  1: FLOCK  ADVISORY  READ 4711 08:01:1234 0 EOF
 *
 * A waiter has "->" before FLOCK.  *ret_pid is the process that took it; 0: none in this pid
 * namespace. */
static bool next_flock(FILE *locks, const identity *id, pid_t *ret_pid, bool *ret_is_shared)
{
    char          line[256];
    char          kind[16];
    char          access[8];
    unsigned      device_major;
    unsigned      device_minor;
    unsigned long inode;
    bool          found = false;

    while (!found && fgets(line, sizeof line, locks) != NULL) {
        const char *text = strstr(line, ": ");
        found            = text != NULL &&
                sscanf(text, ": %15s %*s %7s %d %x:%x:%lu", kind, access, ret_pid, &device_major,
                       &device_minor, &inode) == 6 &&
                strcmp(kind, "FLOCK") == 0 && inode == id->inode &&
                device_major == id->device_major && device_minor == id->device_minor;
    }
    if (found)
        *ret_is_shared = strcmp(access, "READ") == 0;
    return found;
}

/* The same, for the first one; closes the file. */
static bool find_flock(FILE *locks, const identity *id, pid_t *ret_pid)
{
    bool is_shared;
    bool found = next_flock(locks, id, ret_pid, &is_shared);

    (void)fclose(locks); /* was read only */
    return found;
}

/* The pid that took the flock; 0: none in this pid namespace.  That process may have ended, and its
 * pid may be in use again.  One pass over the list may leave out a line (see read_takers). */
static pid_t flock_taker(const identity *id)
{
    pid_t taker = 0;
    bool  found = false;

    for (unsigned pass = 0; pass < MISSED_MAX && !found; pass++) {
        FILE *locks = fopen("/proc/locks", "re");
        found       = locks != NULL && find_flock(locks, id, &taker);
    }
    return found ? taker : 0;
}

typedef enum visibility { HIDDEN, HAS_NO_FLOCK, HAS_FLOCK } visibility;

static bool has_flock(int descriptor_infos, const char *name, const identity *id)
{
    pid_t taker;
    int   fd   = bwl_file_openat(descriptor_infos, name, O_RDONLY | O_CLOEXEC, 0);
    FILE *info = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (info == NULL && fd >= 0)
        (void)close(fd);
    return info != NULL && find_flock(info, id, &taker);
}

/* Whether a descriptor of the process has that flock: proc(5), /proc/PID/fdinfo. */
static visibility check_process(const char *pid, const identity *id)
{
    char           path[48];
    struct dirent *entry;
    visibility     ret = HAS_NO_FLOCK;

    (void)snprintf(path, sizeof path, "/proc/%.20s/fdinfo", pid);
    DIR *infos = opendir(path);
    if (infos == NULL)
        return errno == ENOENT ? HAS_NO_FLOCK : HIDDEN;
    while (ret != HAS_FLOCK && (entry = readdir(infos)) != NULL)
        if (has_flock(dirfd(infos), entry->d_name, id))
            ret = HAS_FLOCK;
    (void)closedir(infos);
    return ret;
}

/* A process that has the flock, taken or inherited; 0: none that is visible. */
static pid_t search_flock_pid(const identity *id)
{
    struct dirent *entry;
    uint64_t       pid;
    pid_t          found     = 0;
    DIR           *processes = opendir("/proc");

    if (processes == NULL)
        return 0;
    while (found == 0 && (entry = readdir(processes)) != NULL)
        if (bwl_number_parse(&pid, entry->d_name, strlen(entry->d_name), INT32_MAX) &&
            check_process(entry->d_name, id) == HAS_FLOCK)
            found = (pid_t)pid;
    (void)closedir(processes);
    return found;
}

/* The pid that has the flock according to the kernel; 0: it does not tell. */
static pid_t find_flock_pid(const bwl_file *file)
{
    char     digits[24];
    identity id    = identify(file);
    pid_t    taker = flock_taker(&id);

    (void)snprintf(digits, sizeof digits, "%d", taker);
    if (taker > 0 && check_process(digits, &id) != HAS_NO_FLOCK)
        return taker;
    pid_t found = search_flock_pid(&id);
    return found != 0 ? found : taker;
}

static void add_flocks(bwl_file_flocks *flocks, size_t *room)
{
    FILE         *locks = fopen("/proc/locks", "re");
    char          line[256];
    char          kind[16];
    unsigned long inode;

    flocks->is_known = flocks->is_known && locks != NULL;
    while (flocks->is_known && fgets(line, sizeof line, locks) != NULL) {
        const char *text = strstr(line, ": ");
        if (text == NULL || strncmp(text, ": ->", 4) == 0 ||
            sscanf(text, ": %15s %*s %*s %*d %*x:%*x:%lu", kind, &inode) != 2 ||
            strcmp(kind, "FLOCK") != 0)
            continue;
        if (flocks->count == *room) {
            *room         = *room == 0 ? 64 : 2 * *room;
            ino_t *inodes = realloc(flocks->inodes, *room * sizeof *inodes);
            if (inodes == NULL) {
                flocks->is_known = false;
                break;
            }
            flocks->inodes = inodes;
        }
        flocks->inodes[flocks->count++] = inode;
    }
    if (locks != NULL)
        (void)fclose(locks); /* was read only */
}

/* In two passes: one alone may have left out a lock (see read_takers). */
void bwl_file_flocks_read(bwl_file_flocks *ret_flocks)
{
    size_t room = 0;

    *ret_flocks = (bwl_file_flocks){ .is_known = true };
    add_flocks(ret_flocks, &room);
    add_flocks(ret_flocks, &room);
}

void bwl_file_flocks_free(bwl_file_flocks *flocks)
{
    free(flocks->inodes);
    *flocks = (bwl_file_flocks){ .count = 0 };
}

/* The first in the queue, and the ticket that was granted last; 0: none. */
static bwl_file_queue_first head_of_queue(const bwl_file *queue, uint64_t *ret_granted)
{
    bwl_file_head head = { 0 };

    if (bwl_file_read_head(queue->fd, &head) != 0 || head.granted > BWL_FILE_TICKET_MAX)
        head.granted = 0;
    *ret_granted = head.granted;
    return bwl_file_queue_head(queue->fd, head.granted);
}

bool bwl_file_may_be_held(const bwl_file *queue, const bwl_file_flocks *flocks)
{
    uint64_t granted;

    if (!flocks->is_known || head_of_queue(queue, &granted).kind != BWL_FILE_NOBODY)
        return true;
    for (size_t i = 0; i < flocks->count; i++)
        if (flocks->inodes[i] == queue->inode)
            return true;
    return false;
}

/* ---- about the holder ------------------------------------------------------------------------ */

/* Without control characters: other users write the text, and a terminal may show it. */
static void copy(char ret_text[BWL_HOLDER_TEXT_MAX], const char *text)
{
    bwl_printable_copy(ret_text, BWL_HOLDER_TEXT_MAX, text, strlen(text)); /* cut on purpose */
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

static void name_host(char ret_host[BWL_HOLDER_TEXT_MAX])
{
    struct utsname system;

    copy(ret_host, uname(&system) == 0 ? system.nodename : "");
}

static bool has_ended(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static void from_owner(const bwl_file_owner *owner, bwl_holder *ret_holder)
{
    char   boot[BWL_FILE_BOOT_MAX];
    bwl_ms now = bwl_clock_now();

    ret_holder->pid = (pid_t)owner->pid;
    name_user((uid_t)owner->uid, ret_holder->user);
    copy(ret_holder->host, owner->host);
    copy(ret_holder->program, owner->program);
    bwl_file_boot_id_read(boot);
    if (boot[0] != '\0' && strcmp(boot, owner->boot) == 0 && (bwl_ms)owner->since <= now)
        ret_holder->since_ms = now - (bwl_ms)owner->since;
}

/* From /proc/PID. */
static void from_kernel(pid_t pid, bwl_holder *ret_holder)
{
    char        path[32];
    char        program[BWL_HOLDER_TEXT_MAX];
    struct stat st;

    ret_holder->pid = pid;
    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    bwl_file_read_line(path, program, sizeof program);
    copy(ret_holder->program, program);
    *strrchr(path, '/') = '\0';
    if (stat(path, &st) == 0)
        name_user(st.st_uid, ret_holder->user);
    name_host(ret_holder->host);
}

/* A holder that is not bowline.  The kernel reports at most its pid. */
static void set_foreign(pid_t pid, const char *how, bwl_holder *ret_holder)
{
    ret_holder->held    = true;
    ret_holder->foreign = true;
    copy(ret_holder->note, how);
    if (pid > 0)
        from_kernel(pid, ret_holder);
}

/* Any user who may write to the lock file can have written the record.  An administrator may kill
 * the process that is shown, so its pid must come from the kernel.  A pid of the record that the
 * kernel does not confirm is only quoted. */
static void compare(const bwl_file_owner *owner, pid_t kernel, bwl_holder *ret_holder)
{
    char  host[BWL_HOLDER_TEXT_MAX];
    char *note = ret_holder->note; /* "" */
    pid_t pid  = (pid_t)owner->pid;

    name_host(host);
    if (kernel > 0 && kernel != pid) {
        *ret_holder = (bwl_holder){ .held = true, .fence = owner->fence };
        from_kernel(kernel, ret_holder);
        if (has_ended(pid))
            (void)snprintf(note, BWL_HOLDER_TEXT_MAX,
                           "pid %d took it and has ended, a child holds on", pid);
        else
            (void)snprintf(note, BWL_HOLDER_TEXT_MAX,
                           "the lock file says pid %d, the kernel does not", pid);
    } else if (kernel > 0 && has_ended(kernel)) {
        ret_holder->pid = 0;
        (void)snprintf(note, BWL_HOLDER_TEXT_MAX, "pid %d took it and has ended, a child holds on",
                       kernel);
    } else if (kernel == 0 && strcmp(host, owner->host) == 0) {
        ret_holder->pid = 0;
        (void)snprintf(note, BWL_HOLDER_TEXT_MAX,
                       "pid %d by the lock file, the kernel does not say", pid);
    }
}

/* The parent of a process; 0: unknown.  "4711 (name, any bytes) S 4700 ..." */
static pid_t parent_of(pid_t pid)
{
    char path[32];
    char line[STAT_SIZE];
    int  parent = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    bwl_file_read_line(path, line, sizeof line);
    const char *end = strrchr(line, ')');
    if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

/* As for the pid: the kernel must confirm a command of this machine, as a child of the holder, or
 * as the process that has inherited the lock. */
static void set_command(const bwl_file_owner *owner, pid_t kernel, bwl_holder *ret_holder)
{
    pid_t command = (pid_t)owner->command;

    if (command > 0 &&
        (kernel == 0 ? ret_holder->pid != 0 : command == kernel || parent_of(command) == kernel))
        ret_holder->command_pid = command;
}

/* The first node of the queue is that of the ticket granted last. */
static void set_owner(int queue_fd, const bwl_file *flocked, uint64_t ticket,
                      bwl_holder *ret_holder)
{
    bwl_file_owner owner;
    pid_t          kernel = flocked->fd >= 0 ? find_flock_pid(flocked) : 0;

    ret_holder->held  = true;
    ret_holder->fence = ticket;
    ret_holder->pid   = kernel;
    if (bwl_file_read_owner(queue_fd, BWL_FILE_OWNER, &owner) && owner.fence == ticket) {
        from_owner(&owner, ret_holder);
        compare(&owner, kernel, ret_holder);
        set_command(&owner, kernel, ret_holder);
    }
}

/* ---- those that share the lock --------------------------------------------------------------- */

typedef struct sharers {
    size_t         nodes; /* the first of all: those of bowline, in the order of the queue */
    size_t         count;
    size_t         takers;              /* processes that took a shared flock of the file */
    pid_t          pids[SHARERS_MAX];   /* of these; 0: it is described already */
    pid_t          before[SHARERS_MAX]; /* in an earlier pass over the kernel's list */
    bwl_file_owner owners[SHARERS_MAX]; /* of the nodes */
    bwl_holder     all[SHARERS_MAX];
} sharers;

/* False: the flock is exclusive. */
static bool pass_over_takers(sharers *s, const identity *id)
{
    FILE *locks     = fopen("/proc/locks", "re");
    bool  is_shared = true;
    pid_t pid;

    s->takers = 0;
    while (locks != NULL && s->takers < SHARERS_MAX && next_flock(locks, id, &pid, &is_shared))
        s->pids[s->takers++] = pid;
    if (locks != NULL)
        (void)fclose(locks); /* was read only */
    return s->takers == 0 || is_shared;
}

/* The kernel writes its list a part at a time, by the number of the line: when another lock comes
 * or goes in between, a line is there twice or not at all.  So two passes must agree; if none of
 * PASSES_MAX agrees with the one before, the last one counts. */
static bool read_takers(sharers *s, const bwl_file *flocked)
{
    size_t   before = SIZE_MAX;
    bool     shares = true;
    identity id;

    if (flocked->fd < 0)
        return true;
    id = identify(flocked);
    for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
        shares = pass_over_takers(s, &id);
        if (s->takers == before && memcmp(s->pids, s->before, before * sizeof *s->pids) == 0)
            break;
        before = s->takers;
        memcpy(s->before, s->pids, before * sizeof *s->pids);
    }
    return shares;
}

/* A process that took a flock, each once; of any process if `pid` is 0. */
static pid_t remove_taker(sharers *s, pid_t pid)
{
    for (size_t i = 0; i < s->takers; i++) {
        pid_t taker = s->pids[i];
        if (taker > 0 && (pid == 0 || taker == pid)) {
            s->pids[i] = 0;
            return taker;
        }
    }
    return 0;
}

static void add_sharer(sharers *s, uint32_t permits, uint64_t fence)
{
    s->all[s->count++] = (bwl_holder){
        .held = true, .left_ms = BWL_NEVER, .sharers = 1, .permits = permits, .fence = fence
    };
}

/* The nodes from the first on, until one that does not share. */
static void add_nodes(sharers *s, int queue_fd, uint64_t granted)
{
    bwl_file_queue_first first = bwl_file_queue_head(queue_fd, granted);

    while (s->count < SHARERS_MAX && first.kind == BWL_FILE_TICKET && first.weight > 0 &&
           first.ticket < BWL_FILE_TICKET_MAX) {
        s->owners[s->count].fence = first.ticket;
        add_sharer(s, first.weight, granted);
        first = bwl_file_queue_head(queue_fd, first.ticket + 1);
    }
    s->nodes = s->count;
}

/* By their records, if the kernel confirms the pid or tells none. */
static void describe_nodes(sharers *s, int queue_fd)
{
    bwl_file_owner owner;

    for (unsigned number = 1; number <= BWL_FILE_SHARES_MAX; number++) {
        size_t i     = 0;
        bool   reads = bwl_file_read_owner(queue_fd, number, &owner);
        while (reads && i < s->nodes && s->owners[i].fence != owner.fence)
            i++;
        if (!reads || i == s->nodes || s->all[i].host[0] != '\0')
            continue;
        pid_t kernel = remove_taker(s, (pid_t)owner.pid);
        if (kernel == 0 && s->takers > 0)
            continue;
        from_owner(&owner, &s->all[i]);
        compare(&owner, kernel, &s->all[i]);
        set_command(&owner, kernel, &s->all[i]);
        s->all[i].limit = owner.share.limit;
    }
}

/* By the flocks that no record explains: of these nodes, or of other programs. */
static void describe_rest(sharers *s)
{
    pid_t pid;

    for (size_t i = 0; i < s->nodes; i++)
        if (s->all[i].host[0] == '\0' && (pid = remove_taker(s, 0)) != 0)
            from_kernel(pid, &s->all[i]);
    while (s->count < SHARERS_MAX && (pid = remove_taker(s, 0)) != 0) {
        add_sharer(s, 1, 0);
        set_foreign(pid, "by flock -s, without bowline", &s->all[s->count - 1]);
    }
}

/* All that share the lock: s->count is 0 if nobody does. */
static void find_sharers(sharers *s, const bwl_file *queue, const bwl_file *flocked,
                         uint64_t granted)
{
    if (!read_takers(s, flocked))
        return;
    if (queue->fd >= 0 && bwl_file_queue_test_shares(queue->fd) == BWL_FILE_BUSY) {
        add_nodes(s, queue->fd, granted);
        describe_nodes(s, queue->fd);
    }
    describe_rest(s);
}

/* The first of them stands for all. */
static void set_sharers(const sharers *s, bwl_holder *ret_holder)
{
    *ret_holder         = s->all[0];
    ret_holder->sharers = (uint32_t)s->count;
    ret_holder->limit   = 0;
    ret_holder->permits = 0;
    for (size_t i = 0; i < s->count; i++)
        ret_holder->permits += s->all[i].permits;
}

/* Held by one, or about to be taken, or free. */
static void set_one(const bwl_file *flocked, bool is_awaited, bwl_holder *ret_holder)
{
    pid_t pid = flocked->fd >= 0 ? find_flock_pid(flocked) : 0;

    if (pid != 0)
        set_foreign(pid, "by flock, without bowline", ret_holder);
    else
        ret_holder->held = is_awaited;
}

/* The nodes from this ticket on, without those of `holders`. */
static uint32_t count_waiting(int queue_fd, uint64_t from, size_t holders)
{
    unsigned count =
        bwl_file_queue_count(queue_fd, from, BWL_FILE_TICKET_MAX, WAITING_MAX + (unsigned)holders);

    return count > holders ? count - (unsigned)holders : 0;
}

bwl_holder *bwl_file_find_holder(const bwl_file *queue, const bwl_file *flocked,
                                 bool name_is_locked, bwl_holder *ret_holder)
{
    bwl_file_queue_first first   = { .kind = BWL_FILE_NOBODY };
    uint64_t             granted = 0;
    bwl_holder           holder  = { .held = false };
    bwl_holder          *all     = NULL;
    size_t               nodes   = 0;

    if (queue->fd >= 0)
        first = head_of_queue(queue, &granted);
    if (first.kind == BWL_FILE_FOREIGN) {
        set_foreign(first.pid, "by a record lock (fcntl) on the lock file", &holder);
    } else if (first.kind == BWL_FILE_TICKET && first.weight == 0 && first.ticket == granted) {
        set_owner(queue->fd, flocked, granted, &holder);
    } else {
        sharers *s = calloc(1, sizeof *s); /* without memory, only that it is held is known */
        if (s != NULL)
            find_sharers(s, queue, flocked, granted);
        if (s != NULL && s->count > 0)
            set_sharers(s, &holder);
        else
            set_one(flocked, first.kind != BWL_FILE_NOBODY, &holder);
        nodes = s != NULL ? s->nodes : 0;
        all   = s != NULL && s->count > 0 ? malloc(s->count * sizeof *all) : NULL;
        if (all != NULL)
            memcpy(all, s->all, s->count * sizeof *all);
        free(s);
    }
    if (name_is_locked && holder.fence == 0 && !holder.foreign) {
        holder.held = true;
        copy(holder.note, "its lock file was removed while it is held");
    }
    holder.left_ms = holder.held ? BWL_NEVER : 0;
    if (holder.held && queue->fd >= 0 && granted < BWL_FILE_TICKET_MAX)
        holder.waiting = count_waiting(queue->fd, granted + (holder.sharers == 0), nodes);
    for (size_t i = 0; all != NULL && i < holder.sharers; i++)
        all[i].waiting = holder.waiting;
    *ret_holder = holder;
    return all;
}
