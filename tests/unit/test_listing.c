/*
 * test_listing.c -- the leaves of a list of held names: patterns for names and for SCAN, the name
 * of a key, and the replies to SCAN and DBSIZE.
 */
#include "core/glob.h"
#include "engine/redis/wire/scan.h"
#include "tests/lib/suite.h"

/* A pattern, and names with a blank before each: +name matches, -name does not; NULL: a fault. */
TEST(glob_matches_whole_names)
{
    static const char *const rows[][2] = {
        { "", "+ -a" },
        { "*", "+ +a +\xc3\xa4" },
        { "?", "- +a +\xc3\xa4 +\xe2\x82\xac +\xc3 -ab -\xc3\xa4z" },
        { "a*b*c", "+abc +a-b-b-c -ab -abcd -xabc +abcbc" },
        { "***a", "+a +xa -xab -" },
        { "[a-c]", "+a +c -d -- -[ -" },
        { "[!a-c]", "-a +d +\xc3\xa4 - -de" },
        { "[^a-c]x", "-ax +dx" },
        { "[]x]", "+] +x -[" },
        { "[a-]", "+a +- -b" },
        { "[\\]-_]", "+] +^ +_ -\\" },
        { "[\xc3\xa0-\xc3\xa5]", "+\xc3\xa4 -a -\xc3\xa6" },
        { "*[!\xc3\xa4]", "-\xc3\xa4 +a" },
        { "\\*\\?\\[", "+*?[ -a?[ -\\*\\?\\[" },
        { "x\\", NULL },
        { "[a", NULL },
        { "a[!]", NULL },
    };
    char pattern[BWL_GLOB_MAX + 2];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(bwl_glob_fault(rows[i][0]) == NULL, rows[i][1] != NULL);
        for (const char *at = rows[i][1], *end; at != NULL; at = *end == ' ' ? end + 1 : NULL) {
            end = at + strcspn(at, " ");
            if (bwl_glob_matches(rows[i][0], at + 1, (size_t)(end - at - 1)) != (*at == '+'))
                fail_msg("\"%s\", from \"%s\"", rows[i][0], at);
        }
    }
    memset(pattern, 'x', sizeof pattern);
    pattern[BWL_GLOB_MAX + 1] = '\0';
    assert_non_null(bwl_glob_fault(pattern));
    pattern[BWL_GLOB_MAX] = '\0';
    assert_null(bwl_glob_fault(pattern));
}

/* A template, a key, and its name; "": it is the key of no name. */
TEST(key_is_read_as_its_name)
{
    static const char *const rows[][3] = {
        { NULL, "bowline:{nightly}", "nightly" },
        { NULL, "bowline:{%7Ba%7D%25}", "{a}%" },
        { NULL, "bowline:{}", "" },
        { NULL, "bowline:{a", "" },
        { NULL, "bowline:{a}:bwl.q", "" },
        { NULL, "bowline:{{a}}", "" },
        { NULL, "bowline:{%7b}", "" }, /* what bowline does not write */
        { NULL, "bowline:{%41}", "" },
        { NULL, "bowline:{a%2}", "" },
        { NULL, "bowline:{a\nb}", "" },
        { NULL, "Bowline:{a}", "" },
        { "lock:%s", "lock:a}%7B", "a}%7B" },
        { "lock:%s", "lock:", "" },
        { "a-%s-z", "a-job-z", "job" },
        { "a-%s-z", "a-job-y", "" },
        { "a-%s-z", "a-z", "" },
        { "%%%s%%", "%job%", "job" },
    };
    char key[BWL_KEY_MAX];
    char name[BWL_NAME_MAX + 1];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t size = bwl_key_read(name, rows[i][0], rows[i][1], strlen(rows[i][1]));
        if (size != strlen(rows[i][2]) || memcmp(name, rows[i][2], size) != 0)
            fail_msg("%s", rows[i][1]);
    }
    memset(key, 'n', sizeof key);
    memcpy(key, "bowline:{", 9);
    assert_int_equal(bwl_key_read(name, "%s", key, BWL_NAME_MAX), BWL_NAME_MAX);
    assert_int_equal(bwl_key_read(name, "%s", key, BWL_NAME_MAX + 1), 0);
    key[10 + BWL_NAME_MAX] = '}';
    assert_int_equal(bwl_key_read(name, NULL, key, 11 + BWL_NAME_MAX), 0);
    key[9 + BWL_NAME_MAX] = '}';
    assert_int_equal(bwl_key_read(name, NULL, key, 10 + BWL_NAME_MAX), BWL_NAME_MAX);
}

/* A template, a glob, its pattern for MATCH, and a name that the glob matches. */
TEST(pattern_has_the_keys_of_a_glob)
{
    static const char *const rows[][4] = {
        { NULL, "*", "bowline:{*}", "a" },
        { NULL, "rep*", "bowline:{rep*}", "report" },
        { NULL, "a?[bc]*d", "bowline:{a*d}", "axbd" },
        { NULL, "{x}%", "bowline:{%7Bx%7D%25}", "{x}%" },
        { NULL, "\\**", "bowline:{\\**}", "*a" },
        { NULL, "^a\\\\", "bowline:{\\^a\\\\}", "^a\\" },
        { "[%s]*%%", "a", "\\[a\\]\\*%", "a" },
    };
    char pattern[BWL_KEY_PATTERN_MAX];
    char key[BWL_KEY_MAX];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *name = rows[i][3];
        bwl_key_pattern_write(pattern, rows[i][0], rows[i][1]);
        assert_string_equal(pattern, rows[i][2]);
        assert_true(bwl_glob_matches(rows[i][1], name, strlen(name)));
        /* Redis reads `*` and `\` in the same way. */
        size_t size = bwl_key_write(key, rows[i][0], name, strlen(name));
        assert_true(bwl_glob_matches(pattern, key, size));
    }
}

/* A reply to SCAN: its cursor, and its keys up to one that is no text; or STRANGE.  And the number
 * that it would be for DBSIZE. */
TEST(reply_of_a_scan_is_read)
{
    static const struct {
        const char *reply, *keys; /* NULL: STRANGE */
        uint64_t    number;       /* the cursor, or that of DBSIZE */
    } rows[] = {
        { "*2\r\n$1\r\n0\r\n*0\r\n", "", 0 },
        { "*2\r\n$2\r\n17\r\n*2\r\n$1\r\na\r\n$3\r\nb c\r\n", "ab c", 17 },
        { "*2\r\n$20\r\n18446744073709551615\r\n*0\r\n", "", UINT64_MAX },
        { "*2\r\n$20\r\n18446744073709551616\r\n*0\r\n", NULL, 0 },
        { "*2\r\n$1\r\n7\r\n*2\r\n:3\r\n$1\r\na\r\n", "", 7 },
        { "*2\r\n:7\r\n*0\r\n", NULL, 0 },
        { "*2\r\n$1\r\nx\r\n*0\r\n", NULL, 0 },
        { "*2\r\n$1\r\n7\r\n$1\r\na\r\n", NULL, 0 },
        { "*1\r\n$1\r\n7\r\n", NULL, 0 },
        { "*3\r\n$1\r\n7\r\n*0\r\n*0\r\n", NULL, 0 },
        { ":100000\r\n", NULL, 100000 },
        { ":-1\r\n", NULL, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char       *at   = rows[i].keys != NULL ? rows[i].keys : "";
        size_t            size = strlen(rows[i].reply);
        bwl_resp_cursor   frame;
        uint64_t          cursor;
        uint32_t          count;
        bwl_answer        answer;
        bwl_bytes         key;
        bwl_redis_verdict verdict =
            bwl_scan_read(rows[i].reply, size, &answer, &frame, &cursor, &count);
        assert_int_equal(verdict, rows[i].keys != NULL ? BWL_REDIS_ANSWER : BWL_REDIS_STRANGE);
        if (verdict == BWL_REDIS_STRANGE)
            cursor = bwl_scan_read_size(rows[i].reply, size);
        assert_true(cursor == rows[i].number);
        for (; verdict == BWL_REDIS_ANSWER && count > 0 && bwl_scan_next(&frame, &key); count--) {
            assert_memory_equal(key.at, at, key.size);
            at += key.size;
        }
        assert_string_equal(at, "");
    }
}
