/*
 * test_key.c -- the Redis key of a name.
 *
 * Two names never have the same key, and no name can choose its own hash tag.  Shown by examples,
 * and by a property of random names made of the special bytes: the parsed key gives the name.
 */
#include "engine/redis/wire/key.h"
#include "tests/lib/suite.h"

enum { ROUNDS = 20000 };

static void assert_key(const char *template, const char *name, const char *wanted)
{
    char   key[BWL_KEY_MAX];
    size_t size = bwl_key_write(key, template, name, strlen(name));

    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(key, wanted, size);
}

TEST(key_braces_and_percent_signs_of_a_name_are_encoded)
{
    assert_key(NULL, "{a}", "bowline:{%7Ba%7D}");
    assert_key(NULL, "%7B", "bowline:{%257B}");
    assert_key(NULL, "}{", "bowline:{%7D%7B}");
}

TEST(key_longest_name_fits)
{
    char name[BWL_NAME_MAX];
    char key[BWL_KEY_MAX];

    memset(name, '{', sizeof name);
    assert_int_equal(bwl_key_write(key, NULL, name, sizeof name), 10 + 3 * BWL_NAME_MAX);
    assert_memory_equal(key + 9 + 3 * BWL_NAME_MAX - 3, "%7B}", 4);
}

TEST(key_template_gives_the_raw_bytes)
{
    char long_one[BWL_KEY_TEMPLATE_MAX + 1];
    char name[BWL_NAME_MAX];
    char key[BWL_KEY_MAX];

    assert_key("lock:%s", "a{b}%", "lock:a{b}%");
    assert_key("%s", "n", "n");
    assert_key("%%%s%%s", "n", "%n%s");
    assert_key("a%sb", "", "ab");
    memset(long_one, 'x', sizeof long_one - 1);
    memcpy(long_one + 7, "%s", 2);
    long_one[sizeof long_one - 1] = '\0';
    memset(name, 'n', sizeof name);
    assert_null(bwl_key_template_fault(long_one));
    assert_int_equal(bwl_key_write(key, long_one, name, sizeof name), 198 + BWL_NAME_MAX);
}

TEST(key_template_has_one_place_for_the_name)
{
    static const char *const good[] = { "%s", "lock:%s", "%%%s", "%s%%", "{%s}", "%%s%s" };
    static const char *const bad[]  = { "",   "lock",  "%s%s", "%",    "%s%",  "%d",
                                        "%S", "% s%s", "%%s",  "%%%%", "%s%n", "%%%" };

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        print_message("# %s\n", good[i]);
        assert_null(bwl_key_template_fault(good[i]));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        print_message("# %s\n", bad[i]);
        assert_non_null(bwl_key_template_fault(bad[i]));
    }
}

TEST(key_template_has_at_most_200_bytes)
{
    char template[BWL_KEY_TEMPLATE_MAX + 2];

    memset(template, 'x', sizeof template);
    memcpy(template, "%s", 2);
    template[BWL_KEY_TEMPLATE_MAX] = '\0';
    assert_null(bwl_key_template_fault(template));
    template[BWL_KEY_TEMPLATE_MAX]     = 'x';
    template[BWL_KEY_TEMPLATE_MAX + 1] = '\0';
    assert_non_null(strstr(bwl_key_template_fault(template), "200 bytes"));
}

/* ---- keys that are not a lock's -------------------------------------------------------------- */

TEST(key_of_bowlines_own_data_is_refused)
{
    static const char *const bad[] = {
        "bowline:f",         "bowline:f:{7}", "bowline:who:abcdefghi", "{a}:bwl.q",
        "bowline:{a}:bwl.b", "x:bwl.v",       "bowline:who:",          "bowline:who:{1}:abcdefghi"
    };
    static const char *const good[] = { "bowline:{f}", "bowline:fx", "bowline:", "a:bwl.c",
                                        ":bwl.qx",     "bowline:i:", "f",        "bwl.q" };

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_non_null(strstr(bwl_key_fault(bad[i], strlen(bad[i])), "choose another name"));
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_null(bwl_key_fault(good[i], strlen(good[i])));
}

TEST(key_that_would_share_the_queue_of_another_is_refused)
{
    static const char *const bad[]  = { "{a}", "{a{b}", "{{}}", "{a}{b}" };
    static const char *const good[] = {
        "a", "{}", "{a}b", "a{b}", "{{a}}", "}a{", "{}a}", "{a", "{"
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_non_null(
            strstr(bwl_key_queue_fault("%s", bad[i], strlen(bad[i])), "share one queue"));
        assert_null(bwl_key_queue_fault("{%s}", bad[i], strlen(bad[i])));
    }
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_null(bwl_key_queue_fault("%s", good[i], strlen(good[i])));
}

TEST(key_hash_tag_is_in_the_first_braces)
{
    static const struct {
        const char *key;
        const char *tag;
    } rows[] = {
        { "bowline:{a}", "a" },
        { "bowline:{a}:bwl.q", "a" },
        { "a", "a" },
        { "{user1000}.x", "user1000" },
        { "foo{}{bar}", "foo{}{bar}" },
        { "foo{{bar}}zap", "{bar" },
        { "foo{bar}{zap}", "bar" },
        { "foo{bar", "foo{bar" },
        { "foo}bar{", "foo}bar{" },
        { "}{x}", "x" },
        { "", "" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *tag;
        size_t      size = bwl_key_hash_tag(&tag, rows[i].key, strlen(rows[i].key));
        assert_int_equal(size, strlen(rows[i].tag));
        assert_memory_equal(tag, rows[i].tag, size);
    }
}
