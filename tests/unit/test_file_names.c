/*
 * test_file_names.c -- the files of lock names and of the URLs of file:, their permissions, and
 * which files and directories are refused.
 */
#include "core/text.h"
#include "engine/file/directory.h"
#include "engine/file/lock_path.h"
#include "file_rows.h"
#include "tests/lib/suite.h"

/* ---- names ----------------------------------------------------------------------------------- */

#define TEN(text) text text text text text text text text text text

TEST(names_have_these_files)
{
    static const row rows[] = {
        { NULL, "nightly", .made = "nightly" },
        { NULL, "a/b", .made = "a%2Fb" },
        { NULL, ".", .made = "%2E" },
        { NULL, "..", .made = "%2E." },
        { NULL, "...", .made = "%2E.." },
        { NULL, ".hidden", .made = "%2Ehidden" },
        { NULL, "..x/y", .made = "%2E.x%2Fy" },
        { NULL, ".../x", .made = "%2E..%2Fx" },
        { NULL, "a.b", .made = "a.b" },
        { NULL, "a+", .made = "a%2B" },
        { NULL, "50%", .made = "50%25" },
        { NULL, "a b", .made = "a%20b" },
        { NULL, "x.bowline", .made = "x.bowline" },
        { NULL, "\xc3\xa4", .made = "%C3%A4" },
        { NULL, "~/a_b-c", .made = "~%2Fa_b-c" },
        /* 200 bytes are one entry; 201 are two, and so is a name that begins with a dot */
        { NULL, TEN("%%%%%%") "%%%%%%nn",
          .made = TEN("%25%25%25%25%25%25") "%25%25%25%25%25%25nn" },
        { NULL, TEN("%%%%%%") "%%%%%%nnn",
          .made = TEN("%25%25%25%25%25%25") "%25%25%25%25%25%25nn+/n" },
        { NULL, TEN("%%%%%%") "%%%%%%nn.",
          .made = TEN("%25%25%25%25%25%25") "%25%25%25%25%25%25nn+/%2E" },
        { NULL, "./x", .made = "x.bowline", .missing = "%2E%2Fx" },
        { NULL, ".//x", .made = "x.bowline" },
        { "d d;c d", "../x", .made = "x.bowline" },
        { NULL, "@/x", .made = "x", .mode = 0644 },
    };

    PLAY(rows);
}

static char encoded[BWL_FILE_ENCODING_MAX];

/* No component is "", ".", hidden or too long, and the name can be read back from the path. */
static void check_encoding(const char *text, size_t size)
{
    char   joined[BWL_FILE_ENCODING_MAX];
    char   decoded[BWL_NAME_MAX + 1];
    size_t length = 0;

    bwl_file_encode(encoded, text, size);
    char *rest = encoded;
    for (char *piece; (piece = strsep(&rest, "/")) != NULL;) {
        size_t piece_size = strlen(piece);
        assert_in_range(piece_size, 1, BWL_FILE_LEAF_MAX);
        assert_int_not_equal(piece[0], '.');
        assert_int_equal(strcspn(piece, "+"), rest != NULL ? piece_size - 1 : piece_size);
        piece_size -= rest != NULL;
        memcpy(joined + length, piece, piece_size);
        length += piece_size;
    }
    assert_true(bwl_percent_decode(decoded, sizeof decoded, joined, length));
    assert_int_equal(strlen(decoded), size);
    assert_memory_equal(decoded, text, size);
}

TEST(every_name_can_be_read_back)
{
    static const char bytes[] = "./+%~a2E0 \xff";
    enum { COUNT = sizeof bytes - 1 };
    char text[BWL_NAME_MAX];

    for (unsigned i = 0; i < COUNT * COUNT * COUNT; i++) {
        const char three[] = { bytes[i % COUNT], bytes[i / COUNT % COUNT],
                               bytes[i / COUNT / COUNT] };
        for (size_t size = 1; size <= sizeof three; size++)
            check_encoding(three, size);
    }
    for (size_t plain = 0; plain <= BWL_NAME_MAX; plain++) {
        memset(text, '/', sizeof text);
        memset(text, '.', plain);
        check_encoding(text, sizeof text);
        memset(text, 'a', plain);
        memset(text + plain, '.', sizeof text - plain);
        check_encoding(text, sizeof text);
    }
}

/* ---- permissions ----------------------------------------------------------------------------- */

#define TWENTY_SPACES "                    "
#define LONG_NAME     TEN(TWENTY_SPACES)
#define FIRST_PIECE   TEN("%20%20%20%20%20%20") "%20%20%20%20%20%20+"

/* A user who may create files in the directory may lock there. */
TEST(new_files_are_as_shared_as_their_directory)
{
    static const row rows[] = {
        { "m . 755", NULL, .made = "n", .mode = 0644 },
        { "m . 755", NULL, .mask = 077, .made = "n", .mode = 0600 },
        { "m . 755", NULL, .mask = 0777, .made = "n", .mode = 0600 },
        { "m . 2775", NULL, .made = "n", .mode = 0664 },
        { "m . 2775", NULL, .mask = 077, .made = "n", .mode = 0660 },
        { "m . 1777", NULL, .made = "n", .mode = 0666 },
        { "m . 1777", NULL, .mask = 077, .made = "n", .mode = 0666 },
        { "m . 3777", NULL, .mask = 077, .made = "n", .mode = 0666 },
        { "f n 600;m . 1777", NULL, .made = "n", .mode = 0600 }, /* existed before */
        { NULL, LONG_NAME, .mask = 077, .made = FIRST_PIECE, .mode = 0700 },
        { "m . 755", LONG_NAME, .mask = 077, .made = FIRST_PIECE, .mode = 0755 },
        { "m . 2775", LONG_NAME, .mask = 077, .made = FIRST_PIECE, .mode = 02775 },
        { "m . 1777", LONG_NAME, .mask = 077, .made = FIRST_PIECE, .mode = 01777 },
        { "d s 1777", "@/s/x", .made = "s/x.bowline", .mode = 0666 },
        { "d d 1777", NULL, .place = "d", .made = "d", .mode = 01777 },
    };

    PLAY(rows);
}

/* ---- files that are refused ------------------------------------------------------------------ */

TEST(foreign_files_are_refused)
{
    static const row rows[] = {
        { "f t;l n t", NULL, .text = "symbolic link", .shown = true },
        { "l n none", NULL, .text = "symbolic link", .missing = "none" },
        { "f t;h n t", NULL, .text = "hard links", .shown = true },
        { "d n", NULL, .text = "not a regular file" },
        { "p n", NULL, .text = "not a regular file", .shown = true },
        { "s n", NULL, .text = "not a regular file" },
        { "d e;l " FIRST_PIECE " e", LONG_NAME, .text = "is not a" },
        { "f x;h y x", "@/x", .text = "hard links" },
        { "f x;h y x", "@/y", .text = "hard links" },
        { "f t;l x.bowline t", "@/x", .text = "symbolic link" },
        { "f t;h x.bowline t", "@/x", .text = "hard links" },
        { "s x", "@/x", .text = "is a socket" },
        { "m . 755", NULL, .uid = NOBODY, .text = "/n cannot be opened: permission denied" },
        { "m . 755;f n 600", NULL, .uid = NOBODY,
          .text = "/n cannot be opened: permission denied" },
        { "m . 755", "@/x", .uid = NOBODY,
          .text = "/x cannot be made or reached: permission denied" },
        { "m . 755;f x 644", "@/x", .uid = NOBODY,
          .text = "/x.bowline, where its queue is kept, cannot" },
        { "m . 755;f x 600", "@/x", .uid = NOBODY, .text = "/x cannot be read" },
        { "m . 755;d d 700", "@/d/x", .place = "d", .uid = NOBODY, .text = "permission denied",
          .shown = true },
        { "d d 1777;f d/n 666;o d/n 1", NULL, .place = "d", .made = "d/n" }, /* is shared */
    };

    PLAY(rows);
}

/* ---- lock directories ------------------------------------------------------------------------ */

TEST(lock_directories)
{
    static const row rows[] = {
        { NULL, NULL, .place = "none",
          .text = "/none: it does not exist.  Type: install -d -m 700 /tmp", .missing = "none" },
        { NULL, NULL, .place = TEN("0123456789"), .text = "Make it with mode 700, or 1777" },
        { "f f", NULL, .place = "f", .text = "not a directory" },
        { "d d;l l d", NULL, .place = "l",
          .text = "symbolic link: not followed.  Name the directory that it leads to: readlink" },
        { "d d;l l d", NULL, .place = "l//", .text = "symbolic link" },
        { "d d 777", NULL, .place = "d", .text = "chmod +t" },
        { "d d 702", NULL, .place = "d", .text = "chmod +t" },
        { "d d 700", NULL, .place = "d", .made = "d/n" },
        { "d d 775", NULL, .place = "d//", .made = "d/n" },
    };

    PLAY(rows);
    if (access("/run/lock/bowline", F_OK) == 0)
        return;
    assert_int_equal(
        bowline_open(&users[0].client, BOWLINE_OPTIONS(.url = "file:/run/lock/bowline"), &error),
        BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "systemd-tmpfiles --create bowline.conf"));
    assert_non_null(strstr(error.text, "install -d -m 1777 /run/lock/bowline"));
}

/* The directory of `file:` alone, in a parent like /run/lock, which only root can make.  The steps
 * call it "own". */
TEST(private_lock_directory)
{
    static const struct {
        const char *steps;
        mode_t      mask;
        bool        to_look;
        const char *text; /* text of the error; NULL: it exists afterwards, with mode 700 */
    } rows[] = {
        { "m . 1777", 0, false, NULL },
        { "m . 1777", 077, false, NULL },
        { "m . 1777", 0777, false, NULL },
        { "m . 755;d own", 022, false, NULL },
        { "d own 755", 022, false, "chmod 700" },
        { "d own 710", 022, false, "chmod 700" },
        { "d own 701", 022, false, "chmod 700" },
        { "d own 1777", 022, false, "chmod 700" },
        { "d own;o own 65534", 022, false, "belongs to user 65534" },
        { "d d;l own d", 022, false, "not a directory" },
        { "f own", 022, false, "not a directory" },
        { "m . 777", 022, false, "mode 0777" },
        { "m . 775", 022, false, "mode 0775" },
        { "o . 65534;m . 1777", 022, false, "owner 65534" },
        { "m . 777", 022, true, "" },
        { "d own;m . 777", 022, true, "mode 0777" },
    };
    char from[64];

    needs_root();
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        bwl_file_directory opened = { .fd = -1 };
        bwl_fault          fault  = { 0 };
        (void)make_directory(state);
        do_steps(rows[i].steps);
        (void)snprintf(from, sizeof from, "%s", in("own"));
        (void)rename(from, in("bowline-0"));
        (void)umask(rows[i].mask);
        int status = bwl_file_directory_open_own(&opened, directory, !rows[i].to_look, &fault);
        if (rows[i].text == NULL) {
            assert_int_equal(status, BWL_OK);
            assert_int_equal(mode_of("bowline-0"), 0700);
            assert_true(opened.is_private);
        } else if (rows[i].text[0] == '\0') { /* nothing is made */
            assert_int_equal(status, BWL_OK);
            assert_int_equal(opened.fd, -1);
            assert_false(exists("bowline-0"));
        } else {
            assert_int_equal(status, BWL_STATUS_REFUSED);
            if (strstr(fault.text, rows[i].text) == NULL)
                fail_msg("%s: %s", rows[i].steps, fault.text);
        }
        bwl_file_directory_close(&opened);
        (void)remove_directory(state);
    }
}

static int open_own_as_nobody(void *arg)
{
    bwl_file_directory opened = { .fd = -1 };
    bwl_fault          fault;

    if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
        return 1;
    return bwl_file_directory_open_own(&opened, arg, true, &fault) == BWL_STATUS_REFUSED &&
                   strstr(fault.text, "install -d -m 700 -o 65534") != NULL
               ? 0
               : 2;
}

/* ---- with users ------------------------------------------------------------------------------ */

FIXTURE(begin, end)

/* A file that root creates in the directory of another user belongs to that user, and to its group
 * if the group may write. */
TEST_OF(files_of_root_belong_to_the_owner_of_the_directory, &name)
{
    struct stat st;

    needs_root();
    for (unsigned group_writes = 0; group_writes < 2; group_writes++) {
        do_steps(group_writes ? "o . 65534;m . 770" : "o . 65534;m . 755");
        for (unsigned i = 0; i < USERS; i++) {
            bowline_close(users[i].client);
            users[i].client = must_open(url);
        }
        assert_int_equal(once(0), BOWLINE_OK);
        assert_int_equal(stat(in("n"), &st), 0);
        assert_int_equal(st.st_uid, NOBODY);
        assert_int_equal(st.st_gid, group_writes ? NOBODY : (int)getegid());
        assert_int_equal(st.st_mode & 0777, group_writes ? 0664 : 0644);
        assert_int_equal(unlink(in("n")), 0);
    }
}

static bool named_too_early;

/* Replaces the call of the C library. */
int fchmod(int fd, mode_t mode)
{
    named_too_early = named_too_early || exists("n");
    return (int)syscall(SYS_fchmod, fd, mode);
}

/* Another user may open the file as soon as it has a name. */
TEST_OF(new_file_is_shared_before_it_has_a_name, &shared)
{
    (void)umask(077);
    assert_int_equal(once(0), BOWLINE_OK);
    assert_int_equal(mode_of("n"), 0666);
    assert_false(named_too_early);
}

static void make_n(void)
{
    (void)close(open_in("n"));
}

TEST_OF(file_that_another_process_makes_meanwhile_is_used, &name)
{
    disturbance = (struct disturbance){ .of = OPEN, .after = 1, .before = make_n };
    assert_int_equal(once(0), BOWLINE_OK);
    assert_null(disturbance.before);
}

/* A file of another user in the private directory, which only root can enter. */
TEST_OF(private_directory_with_a_fault_is_refused_with_its_reason, &name)
{
    static bwl_file_directory d = { .is_private = true };
    bwl_fault                 fault;
    bwl_file_path             files;

    needs_root();
    do_steps("m . 755");
    assert_int_equal(in_child(open_own_as_nobody, directory), 0);
    assert_int_equal(in_child(open_own_as_nobody, "/nonexistent"), 2);
    do_steps("f n 600;o n 65534");
    d.fd = open(directory, O_PATH | O_CLOEXEC);
    assert_int_equal(bwl_file_path_init(&files, &d, "n", 1, &fault), BWL_OK);
    assert_int_equal(bwl_file_path_open(&files, true, &fault), BWL_STATUS_REFUSED);
    assert_non_null(strstr(fault.text, "belongs to another user"));
    assert_int_equal(unlink(in("n")), 0);
    (void)umask(0);
    d.sharing.mode = 01777;
    assert_int_equal(bwl_file_path_open(&files, true, &fault), BWL_OK);
    assert_int_equal(mode_of("n"), 0600);
    bwl_file_path_free(&files);
    bwl_file_directory_close(&d);
}
