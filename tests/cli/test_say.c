/*
 * test_say.c -- messages that are too long end in "..." and are still valid UTF-8 and JSON; and the
 * hint in an error of the library gets its own line.
 */
#include "tests/lib/suite.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/text/json.h"
#include "cli/text/holder.h"
#include "cli/text/say.h"
#include "cli/text/utf8.h"
#include "doctor/visit.h"

/* Replaces write of libc: this many calls are interrupted first. */
static int interruptions;

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (interruptions > 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, size);
}

static bool ends_in(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* ---- cut off --------------------------------------------------------------------------------- */

TEST(message_that_fits_is_complete)
{
    words whole = words_of("%0*d", WORDS_MAX - 1, 0);

    assert_int_equal(strlen(whole.text), WORDS_MAX - 1);
    assert_true(ends_in(whole.text, "000"));
    assert_string_equal(words_escaped(whole.text, WORDS_MAX).text, whole.text);
}

TEST(message_that_is_cut_ends_in_dots)
{
    words cut = words_of("%0*d", WORDS_MAX, 0);

    assert_int_equal(strlen(cut.text), WORDS_MAX - 1);
    assert_true(ends_in(cut.text, "0..."));
}

TEST(message_is_not_cut_within_a_character)
{
    for (int before = 0; before < 4; before++) {
        words cut = words_of("%0*d\xf0\x9f\x94\x92\xf0\x9f\x94\x92\xf0\x9f\x94\x92",
                             WORDS_MAX - 9 + before, 0);
        assert_true(ends_in(cut.text, "\x92...") || ends_in(cut.text, "0..."));
    }
}

TEST(escaped_message_uses_the_whole_width)
{
    assert_string_equal(words_escaped("nightly", 7).text, "nightly");
    assert_string_equal(words_escaped("nightly", 6).text, "nig...");
    assert_string_equal(words_escaped("nightly", 2).text, "..");
    assert_string_equal(words_escaped("nightly", 0).text, "");
    assert_string_equal(words_escaped("n\xc3\xa4htly", 5).text, "n\xc3\xa4...");
    assert_string_equal(words_escaped("ni\x1b[2J", 8).text, "ni...");
    /* Two columns each; and one that combines with the character before it. */
    assert_string_equal(words_escaped("\u65e5\u672c\u8a9e", 6).text, "\u65e5\u672c\u8a9e");
    assert_string_equal(words_escaped("\u65e5\u672c\u8a9e", 5).text, "\u65e5...");
    assert_string_equal(words_escaped("e\u0301e\u0301", 2).text, "e\u0301e\u0301");
    assert_int_equal(utf8_columns_of("n\u00e4\u65e5e\u0301\U0001f512"), 7);
}

TEST(holder_is_shown_with_its_command)
{
    static const bowline_holder held = {
        .held        = 1,
        .user        = "ann",
        .host        = "web-2",
        .program     = "bowline run pg_dump",
        .pid         = 4120,
        .command_pid = 4121,
        .since_ms    = 192000,
        .left_ms     = 21000,
        .fence       = 1838462,
        .waiting     = 2,
        .name        = "nightly",
    };
    char         row[HOLDER_ROW_MAX];
    holder_table t = { .has_short_fences = true, .has_titles = true };

    assert_string_equal(
        holder_words(&held).text,
        "held by ann@web-2 pid 4120 (bowline run pg_dump) for 3m12s, command pid 4121");
    holder_table_fit(&t, &held);
    holder_table_row(row, &t, &held);
    assert_string_equal(row,
                        "nightly  ann@web-2  pg_dump (pid 4121)  3m12s  21s    18384\u2026  2");
    holder_table_row(row, &t, NULL);
    assert_string_equal(row,
                        "NAME     HOLDER     PROGRAM             HELD   LEASE  FENCE   WAITING");
    assert_int_equal(holder_table_width(&t), strlen(row));
    t = (holder_table){ .has_titles = false };
    holder_table_fit(&t, &held);
    holder_table_row(row, &t, &held);
    assert_string_equal(row, "nightly  ann@web-2  pg_dump (pid 4121)  held 3m12s  lease 21s left  "
                             "fence 1838462  2 waiting");
}

/* Each is shown as four bytes: a text that fits into the columns may not fit into the buffer. */
TEST(escaped_message_fits_into_the_buffer)
{
    char  broken[WORDS_MAX + 1];
    words shown;

    memset(broken, 0xff, WORDS_MAX);
    broken[WORDS_MAX] = '\0';
    shown             = words_escaped(broken, 4 * WORDS_MAX);
    assert_true(strlen(shown.text) < WORDS_MAX);
    assert_true(ends_in(shown.text, "\\xff..."));
}

/* The status line with this text. */
static const char *status_of(const char *text)
{
    static char bytes[JSON_EVENT_MAX];
    int         ends[2];

    assert_int_equal(pipe(ends), 0);
    json_event(ends[1], "failed", "job");
    json_text("why", text);
    json_send();
    ssize_t size = read(ends[0], bytes, sizeof bytes - 1);
    assert_true(size > 0);
    bytes[size] = '\0';
    (void)close(ends[0]);
    (void)close(ends[1]);
    return bytes;
}

TEST(long_text_of_a_status_line_ends_in_dots)
{
    char text[1001];

    memset(text, '"', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_true(ends_in(status_of(text), "\\\"\\\"...\"}\n"));
}

TEST(status_line_is_json_for_any_text)
{
    assert_true(ends_in(status_of("a\n\x1b[2J\"\\\xff"),
                        "\"why\":\"a\\u000a\\u001b[2J\\\"\\\\\xef\xbf\xbd\"}\n"));
}

TEST(status_line_has_no_part_of_a_password)
{
    assert_true(ends_in(status_of("at redis://u:secret@h and redis://u:other@h too"),
                        "\"why\":\"at redis://u:***@h and redis://u:***@h too\"}\n"));
}

TEST(status_line_is_written_despite_signals)
{
    interruptions = 3;
    assert_true(ends_in(status_of("is"), "\"why\":\"is\"}\n"));
    assert_int_equal(interruptions, 0);
}

TEST(long_finding_of_doctor_ends_in_dots)
{
    doctor_finding f = { .check = "url" };

    visit_what(&f, "%0*d", DOCTOR_TEXT_MAX - 1, 0);
    assert_true(ends_in(f.what, "000"));
    visit_what(&f, "%0*d", DOCTOR_TEXT_MAX, 0);
    assert_true(ends_in(f.what, "0..."));
    visit_why(&f, "%0*d", DOCTOR_TEXT_MAX, 0);
    assert_true(ends_in(f.why, "0..."));
    visit_type(&f, "%0*d", DOCTOR_TEXT_MAX, 0);
    assert_true(ends_in(f.type, "0..."));
}

/* ---- hints ----------------------------------------------------------------------------------- */

TEST(hint_of_the_library_has_its_own_line)
{
    failure is = { .code = EXIT_FAILED };

    failure_explain(&is, "it is a link.  Name the file.  Or not", words_of("look elsewhere"));
    assert_string_equal(is.why.text, "it is a link");
    assert_string_equal(is.hint.text, "name the file.  Or not");
    failure_explain(&is, "it is not there", words_of("look elsewhere"));
    assert_string_equal(is.why.text, "it is not there");
    assert_string_equal(is.hint.text, "look elsewhere");
}
