#include "engine/file/owner_record.h"
#include "core/text.h"
#include "base/calls.h"
#include "base/clock.h"
#include "engine/file/kernel_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    TICKET_BYTES = 8,
    MAGIC_BYTES  = 10,
    MAGIC_AT     = TICKET_BYTES,
    GRANTED_AT   = MAGIC_AT + MAGIC_BYTES,
    DIGITS_MAX   = 20,
    SHARE_MAX    = 32, /* "share=256/1000000 " */
};
_Static_assert(GRANTED_AT + TICKET_BYTES == BWL_FILE_HEAD_BYTES, "the head is these three");

static const char magic[MAGIC_BYTES + 1] = "bowline 1\n";

/* ---- the head -------------------------------------------------------------------------------- */

static uint64_t get_ticket(const uint8_t bytes[TICKET_BYTES])
{
    uint64_t ticket = 0;

    for (unsigned i = TICKET_BYTES; i-- > 0;)
        ticket = ticket << 8 | bytes[i];
    return ticket;
}

static void put_ticket(char bytes[TICKET_BYTES], uint64_t ticket)
{
    for (unsigned i = 0; i < TICKET_BYTES; i++)
        bytes[i] = (char)(uint8_t)(ticket >> 8 * i);
}

/* A file system may leave zeros after a power failure.  More of them than a lock file has may be
 * the beginning of another file. */
static bool is_new(int fd, const uint8_t head[BWL_FILE_HEAD_BYTES], size_t size)
{
    static const uint8_t zeros[BWL_FILE_HEAD_BYTES];
    struct stat          st;

    if (memcmp(head, zeros, size) != 0)
        return false;
    return size < sizeof zeros || (fstat(fd, &st) == 0 && st.st_size <= BWL_FILE_BYTES);
}

int bwl_file_read_head(int fd, bwl_file_head *ret_head)
{
    uint8_t head[BWL_FILE_HEAD_BYTES] = { 0 };
    ssize_t size                      = bwl_file_read_at(fd, head, sizeof head, 0);

    if (size < 0)
        return errno;
    bool is_ours = size >= GRANTED_AT && memcmp(head + MAGIC_AT, magic, MAGIC_BYTES) == 0;
    if (!is_ours && !is_new(fd, head, (size_t)size))
        return EBADMSG;
    ret_head->drawn   = get_ticket(head);
    ret_head->granted = get_ticket(head + GRANTED_AT);
    return 0;
}

uint64_t bwl_file_next_ticket(const bwl_file_head *head, uint64_t wall_us, uint32_t weight)
{
    uint64_t last = head->drawn > head->granted ? head->drawn : head->granted;
    uint64_t more = weight > 0 ? weight - 1 : 0;

    if (last >= BWL_FILE_TICKET_MAX - more)
        return 0;
    return (last + 1 > wall_us ? last + 1 : wall_us) + more;
}

/* With a part of a head, the file would no longer be taken for a lock file.  There was no head
 * before, because an existing one is overwritten in place. */
static void remove_part_of_head(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_size < GRANTED_AT)
        (void)!ftruncate(fd, 0); /* if it fails, the next error message names the remedy */
}

static int write_all(int fd, const char *bytes, size_t size, off_t at)
{
    size_t done = 0;

    while (done < size) {
        ssize_t written = pwrite(fd, bytes + done, size - done, at + (off_t)done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int error = written < 0 ? errno : ENOSPC;
            if (done > 0)
                remove_part_of_head(fd);
            return error;
        }
        done += (size_t)written;
    }
    return 0;
}

static off_t record_at(unsigned number)
{
    return number == BWL_FILE_OWNER ? BWL_FILE_HEAD_BYTES : (off_t)number * BWL_FILE_BYTES;
}

/* ---- writing the record ---------------------------------------------------------------------- */

typedef struct line {
    char  *at;
    size_t left;
} line;

static void add(line *to, const char *text, size_t size)
{
    assert(size <= to->left); /* the longest record fits: see test_file_record.c */
    memcpy(to->at, text, size);
    to->at += size;
    to->left -= size;
}

static void add_number(line *to, const char *key, uint64_t number)
{
    char   digits[DIGITS_MAX];
    size_t size = 0;

    do
        digits[DIGITS_MAX - ++size] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    add(to, key, strlen(key));
    add(to, digits + DIGITS_MAX - size, size);
    add(to, "\n", 1);
}

/* The lines of the record, and zeros behind them. */
static void fill(char bytes[BWL_FILE_OWNER_BYTES], const bwl_file_entry *entry)
{
    line to = { bytes, BWL_FILE_OWNER_BYTES };
    char share[SHARE_MAX];

    assert(entry->self->size > 0);
    add_number(&to, "fence=", entry->ticket);
    add(&to, entry->self->text, entry->self->size);
    add_number(&to, "since=", (uint64_t)bwl_clock_now());
    add_number(&to, "end=", entry->ticket);
    if (entry->share.weight > 0) {
        (void)snprintf(share, sizeof share, "share=%u/%u ", (unsigned)entry->share.weight,
                       (unsigned)entry->share.limit);
        add_number(&to, share, entry->ticket);
    }
    memset(to.at, 0, to.left);
}

int bwl_file_write(int fd, const bwl_file_entry *entry, bool drawn, bool granted)
{
    char   bytes[BWL_FILE_BYTES];
    size_t from = drawn ? 0 : GRANTED_AT;

    put_ticket(bytes, entry->ticket);
    memcpy(bytes + MAGIC_AT, magic, MAGIC_BYTES);
    if (!granted)
        return write_all(fd, bytes, GRANTED_AT, 0);
    put_ticket(bytes + GRANTED_AT, entry->ticket);
    fill(bytes + BWL_FILE_HEAD_BYTES, entry);
    return write_all(fd, bytes + from, sizeof bytes - from, (off_t)from);
}

unsigned bwl_file_write_share(int fd, const bwl_file_entry *entry)
{
    char           bytes[BWL_FILE_OWNER_BYTES];
    bwl_file_owner owner;

    for (unsigned number = 1; number <= BWL_FILE_SHARES_MAX; number++) {
        if (bwl_file_read_owner(fd, number, &owner) &&
            bwl_file_queue_test_node(fd, owner.fence) != BWL_FILE_FREE)
            continue; /* its holder lives */
        fill(bytes, entry);
        return write_all(fd, bytes, sizeof bytes, record_at(number)) == 0 ? number : 0;
    }
    return 0;
}

/* ---- the identity of this process ------------------------------------------------------------ */

void bwl_file_read_line(const char *path, char *ret_line, size_t capacity)
{
    int     fd   = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, ret_line, capacity - 1) : 0;

    if (fd >= 0)
        (void)close(fd); /* was read only */
    ret_line[size > 0 ? size : 0]     = '\0';
    ret_line[strcspn(ret_line, "\n")] = '\0';
}

void bwl_file_boot_id_read(char ret_boot[BWL_FILE_BOOT_MAX])
{
    bwl_file_read_line("/proc/sys/kernel/random/boot_id", ret_boot, BWL_FILE_BOOT_MAX);
}

/* Percent-encoded; cut if the encoding does not fit. */
static void add_text(line *to, const char *key, const char *text)
{
    char   encoded[BWL_FILE_TEXT_MAX * 2];
    size_t size = strnlen(text, BWL_FILE_TEXT_MAX - 1);

    while (size > 0 && bwl_percent_encode(encoded, sizeof encoded, text, size, "") == 0)
        size--;
    if (size == 0)
        encoded[0] = '\0';
    add(to, key, strlen(key));
    add(to, encoded, strlen(encoded));
    add(to, "\n", 1);
}

void bwl_file_identity_read(bwl_file_identity *self, const char *program)
{
    line           to = { self->text, sizeof self->text };
    struct utsname system;
    char           own[BWL_FILE_TEXT_MAX];
    char           boot[BWL_FILE_BOOT_MAX];

    if (program[0] == '\0')
        bwl_file_read_line("/proc/self/comm", own, sizeof own);
    bwl_file_boot_id_read(boot);
    if (uname(&system) != 0)
        system.nodename[0] = '\0';
    add_number(&to, "uid=", geteuid());
    add_number(&to, "pid=", (uint64_t)getpid());
    add_text(&to, "host=", system.nodename);
    add_text(&to, "program=", program[0] != '\0' ? program : own);
    add_text(&to, "boot=", boot);
    self->size = sizeof self->text - to.left;
}

/* ---- reading the record ---------------------------------------------------------------------- */

/* The value of the next line, if it has this key. */
static bool next(line *from, const char *key, const char **ret_value, size_t *ret_size)
{
    size_t      key_size = strlen(key);
    const char *end      = memchr(from->at, '\n', from->left);

    if (end == NULL || (size_t)(end - from->at) < key_size || memcmp(from->at, key, key_size) != 0)
        return false;
    *ret_value = from->at + key_size;
    *ret_size  = (size_t)(end - *ret_value);
    from->left -= (size_t)(end + 1 - from->at);
    from->at += end + 1 - from->at;
    return true;
}

static bool next_number(line *from, const char *key, uint64_t max, uint64_t *ret_number)
{
    const char *value;
    size_t      size;

    return next(from, key, &value, &size) && bwl_number_parse(ret_number, value, size, max);
}

static bool next_text(line *from, const char *key, char *ret_text, size_t capacity)
{
    const char *value;
    size_t      size;

    return next(from, key, &value, &size) && bwl_percent_decode(ret_text, capacity, value, size);
}

static bool parse(line *from, bwl_file_owner *r)
{
    uint64_t end;

    return next_number(from, "fence=", BWL_FILE_TICKET_MAX, &r->fence) &&
           next_number(from, "uid=", (uid_t)-1, &r->uid) &&
           next_number(from, "pid=", INT32_MAX, &r->pid) &&
           next_text(from, "host=", r->host, sizeof r->host) &&
           next_text(from, "program=", r->program, sizeof r->program) &&
           next_text(from, "boot=", r->boot, sizeof r->boot) &&
           next_number(from, "since=", INT64_MAX, &r->since) &&
           next_number(from, "end=", BWL_FILE_TICKET_MAX, &end) && end == r->fence && r->fence != 0;
}

/* Behind the record: "KEY=VALUE TICKET".  Another ticket: it was written for an earlier record. */
static bool next_of(line *from, const char *key, uint64_t ticket, const char **ret_value,
                    size_t *ret_size)
{
    line     behind = *from;
    size_t   size;
    uint64_t of;

    if (!next(&behind, key, ret_value, &size))
        return false;
    const char *space = memchr(*ret_value, ' ', size);
    if (space == NULL ||
        !bwl_number_parse(&of, space + 1, size - (size_t)(space + 1 - *ret_value), ticket) ||
        of != ticket)
        return false;
    *ret_size = (size_t)(space - *ret_value);
    *from     = behind;
    return true;
}

static bwl_share parse_share(line *from, uint64_t ticket)
{
    const char *value;
    size_t      size;
    uint64_t    weight;
    uint64_t    limit;

    if (!next_of(from, "share=", ticket, &value, &size))
        return (bwl_share){ .weight = 0 };
    const char *slash = memchr(value, '/', size);
    if (slash == NULL || !bwl_number_parse(&weight, value, (size_t)(slash - value), INT32_MAX) ||
        !bwl_number_parse(&limit, slash + 1, size - (size_t)(slash + 1 - value), INT32_MAX))
        return (bwl_share){ .weight = 0 };
    return (bwl_share){ .weight = (uint32_t)weight, .limit = (uint32_t)limit };
}

static uint64_t parse_command(line *from, uint64_t ticket)
{
    const char *value;
    size_t      size;
    uint64_t    pid;

    return next_of(from, "command=", ticket, &value, &size) &&
                   bwl_number_parse(&pid, value, size, INT32_MAX)
               ? pid
               : 0;
}

/* *ret_size: of the record without the command. */
static bool read_record(int fd, unsigned number, bwl_file_owner *ret_record, size_t *ret_size)
{
    char           bytes[BWL_FILE_OWNER_BYTES];
    bwl_file_owner record = { 0 };
    line           from   = { bytes, sizeof bytes };

    if (bwl_file_read_at(fd, bytes, sizeof bytes, record_at(number)) != (ssize_t)sizeof bytes ||
        !parse(&from, &record))
        return false;
    record.share   = parse_share(&from, record.fence);
    *ret_size      = sizeof bytes - from.left;
    record.command = parse_command(&from, record.fence);
    *ret_record    = record;
    return true;
}

bool bwl_file_read_owner(int fd, unsigned number, bwl_file_owner *ret_record)
{
    size_t size;

    return read_record(fd, number, ret_record, &size);
}

bool bwl_file_write_command(int fd, unsigned number, uint64_t ticket, int64_t pid)
{
    char           bytes[BWL_FILE_OWNER_BYTES];
    bwl_file_owner record;
    size_t         before;

    if (!read_record(fd, number, &record, &before) || record.fence != ticket)
        return false;
    int size = snprintf(bytes, sizeof bytes, "command=%lld %llu\n", (long long)pid,
                        (unsigned long long)ticket);
    if (size < 0 || before + (size_t)size > sizeof bytes)
        return false;
    return pwrite(fd, bytes, (size_t)size, record_at(number) + (off_t)before) == size;
}
