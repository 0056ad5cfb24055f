/*
 * test_owner_record.c -- reading the lines of an owner record, and adding a command to it.
 * test_file_record.c has the bytes of a whole lock file.
 */
#include "engine/file/owner_record.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = BWL_FILE_BYTES, HEAD = BWL_FILE_HEAD_BYTES };

#define RECORD "fence=5\nuid=0\npid=1\nhost=h\nprogram=p\nboot=b\nsince=1\nend=5\n"

/* A file with one record, these lines. */
static int file_of(const char *lines)
{
    char bytes[BYTES] = "";
    int  fd           = memfd_create("record", MFD_CLOEXEC);

    assert_true(fd >= 0);
    (void)snprintf(bytes + HEAD, sizeof bytes - HEAD, "%s", lines);
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, 0), sizeof bytes);
    return fd;
}

TEST(record_has_a_share_and_a_command_of_its_own_ticket)
{
    static const struct {
        const char *lines;
        unsigned    weight, limit, command;
    } list[] = {
        { RECORD, 0, 0, 0 },
        { RECORD "share=2/3 5\n", 2, 3, 0 },
        { RECORD "share=2/3 5\ncommand=9 5\n", 2, 3, 9 },
        { RECORD "command=9 5\n", 0, 0, 9 },
        { RECORD "share=2/3 4\n", 0, 0, 0 },
        { RECORD "share=2/3 6\n", 0, 0, 0 },
        { RECORD "share=2/3\n", 0, 0, 0 },
        { RECORD "share=2/3 x\n", 0, 0, 0 },
        { RECORD "share=2/3 5", 0, 0, 0 },
        { RECORD "share=23 5\n", 0, 0, 0 },
        { RECORD "share=x/3 5\n", 0, 0, 0 },
        { RECORD "share=2/x 5\n", 0, 0, 0 },
        { RECORD "share=2/3 5\ncommand=x 5\n", 2, 3, 0 },
        { RECORD "share=2/3 5\ncommand=9 4\n", 2, 3, 0 },
        { RECORD "command=9 5\nshare=2/3 5\n", 0, 0, 9 },
    };

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        bwl_file_owner owner;
        int            fd = file_of(list[i].lines);
        assert_true(bwl_file_read_owner(fd, BWL_FILE_OWNER, &owner));
        if (owner.share.weight != list[i].weight || owner.share.limit != list[i].limit ||
            owner.command != list[i].command)
            fail_msg("%s", list[i].lines);
        (void)close(fd);
    }
}

TEST(record_without_one_of_its_lines_is_not_used)
{
    static const char *const lines[] = {
        "fence=5\n",   "uid=0\n",  "pid=1\n",   "host=h\n",
        "program=p\n", "boot=b\n", "since=1\n", "end=5\n",
    };
    bwl_file_owner owner;

    for (size_t without = 0; without < COUNT_OF(lines); without++) {
        char text[BYTES - HEAD] = "";
        for (size_t i = 0; i < COUNT_OF(lines); i++)
            if (i != without)
                (void)strcat(text, lines[i]);
        int fd = file_of(text);
        if (bwl_file_read_owner(fd, BWL_FILE_OWNER, &owner))
            fail_msg("without %s", lines[without]);
        (void)close(fd);
    }
}

TEST(record_gets_the_command_of_its_ticket_if_there_is_room)
{
    char           full[BYTES - HEAD];
    bwl_file_owner owner;
    int            fd = file_of(RECORD "share=2/3 5\n");

    assert_false(bwl_file_write_command(fd, BWL_FILE_OWNER, 6, 9));
    assert_true(bwl_file_write_command(fd, BWL_FILE_OWNER, 5, 9));
    assert_true(bwl_file_read_owner(fd, BWL_FILE_OWNER, &owner));
    assert_int_equal(owner.command, 9);
    assert_int_equal(owner.share.weight, 2);
    (void)close(fd);
    (void)snprintf(full, sizeof full, RECORD "share=%0*d/3 5\n",
                   (int)(sizeof full - sizeof RECORD - sizeof "share=/3 5\n" + 1), 2);
    fd = file_of(full);
    assert_true(bwl_file_read_owner(fd, BWL_FILE_OWNER, &owner));
    assert_false(bwl_file_write_command(fd, BWL_FILE_OWNER, 5, 9));
    (void)close(fd);
    fd = file_of("");
    assert_false(bwl_file_write_command(fd, BWL_FILE_OWNER, 5, 9));
    (void)close(fd);
}
