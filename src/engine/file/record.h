/*
 * record.h -- the 512 bytes of a lock file: the last ticket, and who holds.
 *
 *      byte 0    the last ticket that was drawn: 64 bits, little endian
 *           8    "bowline 1\n", by which a file is known to be ours
 *          18    the last ticket that was granted: 64 bits, little endian
 *          26    who has, or had, that one: these lines in this order, then zeros to byte 512
 *
 *                fence=   his ticket
 *                uid=     of the user
 *                pid=
 *                host=    percent-encoded, as are the next two
 *                program= what the kernel calls it
 *                boot=    the boot that `since` counts from: /proc/sys/kernel/random/boot_id
 *                since=   when he took it: milliseconds, CLOCK_BOOTTIME
 *                end=     his ticket once more
 *
 * What is said from byte 18 on is written by who takes the lock, and by nobody when it is given
 * back: it says who holds only while the kernel has the lock of that ticket.  Reading is not atomic
 * with writing; the ticket at both ends tells a record that is half of one and half of another.
 *
 * The next ticket is one more than the last, or the microseconds of the wall clock if that is more.
 * So tickets also grow from one boot to the next, and when the file was removed, unless the clock
 * was set back as well.
 *
 * What it does not promise: in a directory that users share, any of them can write lies here.
 */
#ifndef BWL_ENGINE_FILE_RECORD_H
#define BWL_ENGINE_FILE_RECORD_H

#include "core/status.h"

#include <sys/types.h>

enum {
    BWL_FILE_BYTES        = 512,
    BWL_FILE_HEAD_BYTES   = 26,
    BWL_FILE_RECORD_BYTES = BWL_FILE_BYTES - BWL_FILE_HEAD_BYTES,
    BWL_FILE_TEXT_MAX     = 64,
    BWL_FILE_BOOT_MAX     = 40,
};

/* What is the same in all records of a process: from uid= to boot=. */
typedef struct bwl_file_self {
    size_t size; /* 0: nothing known yet                                                        */
    char   text[BWL_FILE_RECORD_BYTES];
} bwl_file_self;

typedef struct bwl_file_record {
    uint64_t fence;
    uid_t    uid;
    pid_t    pid;
    bwl_ms   since; /* CLOCK_BOOTTIME, of the boot with this id                                  */
    char     host[BWL_FILE_TEXT_MAX];
    char     program[BWL_FILE_TEXT_MAX];
    char     boot[BWL_FILE_BOOT_MAX];
} bwl_file_record;

/* Asks the system who we are.  `program`: what we call ourselves; "": what the system does. */
void bwl_file_self_learn(bwl_file_self *self, const char *program);

/* The id of this boot; "" if the system does not say. */
void bwl_file_boot_learn(char ret_boot[BWL_FILE_BOOT_MAX]);

/* What the file begins with. */
typedef struct bwl_file_head {
    uint64_t drawn;   /* the last ticket that was; 0: none yet                                   */
    uint64_t granted; /* likewise                                                                */
} bwl_file_head;

/* 0, or an errno; EBADMSG: it is not a file of ours. */
int bwl_file_read_head(int fd, bwl_file_head *ret_head);

/* The next ticket; 0: there is none, as the file has numbers in it that nobody can have drawn. */
uint64_t bwl_file_next_ticket(const bwl_file_head *head, uint64_t wall_us);

/* Each of these returns 0, or an errno. */
int bwl_file_write_drawn(int fd, uint64_t ticket);
int bwl_file_write_granted(int fd, uint64_t ticket, const bwl_file_self *self, bwl_ms now);
int bwl_file_write_both(int fd, uint64_t ticket, const bwl_file_self *self, bwl_ms now);

/* False: there is no whole record. */
bool bwl_file_read_record(int fd, bwl_file_record *ret_record);

#endif
