/*
 * owner_record.h -- the bytes of a lock file: the ticket counters and the owner record, 512 bytes,
 * and behind them the records of those that share the lock.
 *
 *      byte 0    the last ticket that was drawn: 64 bits, little endian
 *           8    "bowline 1\n", which identifies a lock file
 *          18    the last ticket that was granted: 64 bits, little endian
 *          26    the owner record: these lines in this order, then zeros to byte 512
 *
 *                fence=   the ticket
 *                uid=     of the user
 *                pid=
 *                host=    percent-encoded, as are the next two
 *                program= the name of the program, by default that of the kernel
 *                boot=    the boot that `since` counts from: /proc/sys/kernel/random/boot_id
 *                since=   when the lock was taken: milliseconds, CLOCK_BOOTTIME
 *                end=     the ticket once more
 *                share=   of a shared lock: the permits of the holder, a slash, its limit (0:
 *                         none), a space, the ticket once more
 *                command= a pid, a space, the ticket (bowline_hold_set_command); added later,
 *                         if at all
 *
 *   512 * n    the same lines, of one that shares the lock; n is 1 .. 63
 *
 * The holder writes the bytes from 18 on when it takes the lock.  A release writes nothing: the
 * record names the holder only while the kernel has the lock of that ticket (kernel_queue.h).  A
 * read is not atomic with a write; a record with two different tickets is torn, and not used.
 *
 * Of a shared lock, the first record is that of the *period*: the first of those that share the
 * lock wrote it, and its ticket is the fence of all.  Each of them also has a record with its own
 * ticket, which describes it while the kernel has the lock of that ticket.
 *
 * The next ticket is one more than the last, or the microseconds of the wall clock if that is more.
 * So tickets grow from one boot to the next and after the file was removed, unless the clock is set
 * back as well.
 *
 * Not promised: in a shared directory, any of its users can write a false record.
 */
#pragma once

#include "core/core.h"
#include "engine/file/kernel_queue.h"

enum {
    BWL_FILE_BYTES       = 512,
    BWL_FILE_HEAD_BYTES  = 26,
    BWL_FILE_OWNER_BYTES = BWL_FILE_BYTES - BWL_FILE_HEAD_BYTES,
    BWL_FILE_TEXT_MAX    = 64,
    BWL_FILE_BOOT_MAX    = 40,
    BWL_FILE_OWNER       = 0,  /* the number of the first record */
    BWL_FILE_SHARES_MAX  = 63, /* and of the last one            */
};

/* The lines from uid= to boot=, which are the same in all records of a process. */
typedef struct bwl_file_identity {
    size_t size; /* 0: not read yet                                                             */
    char   text[BWL_FILE_OWNER_BYTES];
} bwl_file_identity;

typedef struct bwl_file_owner {
    uint64_t  fence;
    uint64_t  uid;
    uint64_t  pid;
    uint64_t  since; /* CLOCK_BOOTTIME of the boot with this id                                   */
    uint64_t  command; /* 0: none */
    bwl_share share;   /* weight 0: exclusive */
    char      host[BWL_FILE_TEXT_MAX];
    char      program[BWL_FILE_TEXT_MAX];
    char      boot[BWL_FILE_BOOT_MAX];
} bwl_file_owner;

/* Reads it from the system.  `program` "": the name of the process. */
void bwl_file_identity_read(bwl_file_identity *self, const char *program);

/* The first line of a small file of the system; "" if it cannot be read. */
void bwl_file_read_line(const char *path, char *ret_line, size_t capacity);

/* The id of this boot; "" if unknown. */
void bwl_file_boot_id_read(char ret_boot[BWL_FILE_BOOT_MAX]);

typedef struct bwl_file_head {
    uint64_t drawn;   /* the last ticket that was drawn; 0: none yet   */
    uint64_t granted; /* the last ticket that was granted; 0: none yet */
} bwl_file_head;

/* 0 or an errno.  EBADMSG: it is not a lock file. */
int bwl_file_read_head(int fd, bwl_file_head *ret_head);

/* The last of the next `weight` tickets (0: of one).  0: the counters are too high. */
uint64_t bwl_file_next_ticket(const bwl_file_head *head, uint64_t wall_us, uint32_t weight);

/* What a record says. */
typedef struct bwl_file_entry {
    uint64_t                 ticket;
    bwl_share                share; /* weight 0: none */
    const bwl_file_identity *self;
} bwl_file_entry;

/* Writes the ticket as drawn, as granted with the owner record, or both.  0 or an errno. */
int bwl_file_write(int fd, const bwl_file_entry *entry, bool drawn, bool granted);

/* With the latch or the whole queue locked, writes the record of a new share.  Returns its number;
 * 0: all are in use, or an error: then only the kernel describes it. */
unsigned bwl_file_write_share(int fd, const bwl_file_entry *entry);

/* Reads the record with this number.  False: it is not complete. */
bool bwl_file_read_owner(int fd, unsigned number, bwl_file_owner *ret_owner);

/* Adds the command to that record, if it is of this ticket.  False: it is not, or an error. */
bool bwl_file_write_command(int fd, unsigned number, uint64_t ticket, int64_t pid);
