/*
 * test_profile.c -- finding a profile, and the names that are made from its keys.
 */
#include "engine/redis/profile.h"
#include "tests/lib/suite.h"

static const bwl_profile *named(const char *name)
{
    const bwl_profile *profile = bwl_profile_named(name);

    assert_non_null(profile);
    return profile;
}

TEST(profile_is_found_by_its_whole_name)
{
    size_t count = 0;

    while (bwl_profile_at(count) != NULL) {
        const bwl_profile *profile = bwl_profile_at(count);
        assert_ptr_equal(bwl_profile_named(profile->name), profile);
        assert_string_equal(bwl_profile_name_at(count), profile->name);
        count++;
    }
    assert_true(count > 10);
    assert_null(bwl_profile_name_at(count));
    assert_null(bwl_profile_at(SIZE_MAX));
    assert_null(bwl_profile_named(""));
    assert_null(bwl_profile_named("redis-p"));
    assert_null(bwl_profile_named("redis-pyy"));
    assert_null(bwl_profile_named("Redis-py"));
}

TEST(profile_refuses_templates_that_its_keys_do_not_have)
{
    static const struct {
        const char *profile;
        const char *template;
        bool is_refused;
    } rows[] = {
        { "redis-py", NULL, false }, /* no rules for keys */
        { "redis-py", "%s", false },
        { "redis-py", "a%sb", false },
        { "python-redis-lock", NULL, false }, /* a signal has the suffix of the key */
        { "python-redis-lock", "lock:%s", false },
        { "python-redis-lock", "shop:lock:%s", false },
        { "python-redis-lock", "%s", true },
        { "python-redis-lock", "lock:%s:x", true },
        { "python-redis-lock", "lock-%s", true },
        { "python-redis-lock", "%%lock:%s", true },
        { "spring", NULL, true }, /* a prefix is required */
        { "spring", ":%s", true },
        { "spring", "registry%s", true },
        { "spring", "registry:%s", false },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((bwl_profile_template_fault(named(rows[i].profile), rows[i].template) != NULL) !=
            rows[i].is_refused)
            fail_msg("%s, %s", rows[i].profile, rows[i].template);
}

/* ---- values ---------------------------------------------------------------------------------- */

#define BYTES(text) text, sizeof(text) - 1

static bool reads(const char *profile, const char *value, size_t size)
{
    const bwl_profile *p         = named(profile);
    int64_t            timestamp = -1;
    bool               is        = bwl_profile_reads(p, p->rules, value, size, &timestamp);

    if (is)
        assert_int_equal(timestamp != 0, p->rules->unit_ns != 0);
    return is;
}

TEST(profile_reads_the_values_of_the_other_program)
{
    assert_true(reads("walrus", BYTES("\x9e\0\n4567890123456789012345678\xff\0zz")));
    assert_true(reads("walrus", BYTES("9e3779b97f4a7c15f39cc0605cedc834")));
    assert_true(reads("rueidislock", BYTES("\x9e\0\n456789012345678901234")));
    assert_true(reads("shedlock", BYTES("ADDED:2026-11-22T00:31:00.123Z@web-1")));
    assert_true(reads("shedlock", BYTES("ADDED:2026-11-22T00:31:00.123Z@web-1:"
                                        "9e3779b9-7f4a-4c15-b39c-c0605cedc834")));
    assert_true(reads("distributedlock", BYTES("WEB_1_4711_e973979bf7a44c759cc372038175b323")));
    assert_true(reads("bsm-redislock", BYTES("njd5uX9KfBXznMBgXO3INA{\"job\":7}")));
    assert_true(reads("jedis-lock-1", BYTES("1795307520124")));
}

TEST(profile_refuses_other_values)
{
    assert_false(reads("walrus", BYTES("9e3779b97f4a7c15f39cc0605cedc83")));
    assert_false(reads("walrus", BYTES("")));
    assert_false(reads("rueidislock", BYTES("e973979bf7a44c759cc3720")));
    assert_false(reads("shedlock", BYTES("ADDED:2026-11-22T00:31:00.123Z@")));
    assert_false(reads("shedlock", BYTES("ADDED:2026-11-22 00:31:00.123Z@web-1")));
    assert_false(reads("shedlock", BYTES("ADDED:2026-1x-22T00:31:00.123Z@web-1")));
    assert_false(reads("distributedlock", BYTES("_4711_e973979bf7a44c759cc372038175b323")));
    assert_false(reads("distributedlock", BYTES("WEB__e973979bf7a44c759cc372038175b323")));
    assert_false(reads("distributedlock", BYTES("WEB_47x_e973979bf7a44c759cc372038175b323")));
    assert_false(reads("distributedlock", BYTES("WEB_4711-e973979bf7a44c759cc372038175b323")));
    assert_false(reads("distributedlock", BYTES("WEB_4711_e973979bf7a43c759cc372038175b323")));
    assert_false(reads("bsm-redislock", BYTES("njd5uX9KfBXznMBgXO3IN")));
    assert_false(reads("bsm-redislock", BYTES("njd5uX9KfBXznMBgXO3IN {}")));
    assert_false(reads("redis-py", BYTES("somebody")));
    assert_false(reads("jedis-lock-1", BYTES("")));
}

/* ---- signals --------------------------------------------------------------------------------- */

/* second NULL: only one name. */
static void assert_signals(const char *profile, const char *template, const char *lock,
                           const char *first, const char *second)
{
    bwl_signal_names names;
    bwl_signal       signal =
        bwl_profile_signal(&names, named(profile), template, (bwl_bytes){ lock, strlen(lock) });
    const char *expected[2] = { first, second != NULL ? second : "" };

    assert_int_equal(signal.kind, named(profile)->signal);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(signal.names[i].size, strlen(expected[i]));
        if (signal.names[i].size != 0)
            assert_memory_equal(signal.names[i].at, expected[i], signal.names[i].size);
    }
}

TEST(profile_signal_has_the_name_of_the_other_program)
{
    assert_signals("python-redis-lock", "lock:%s", "nightly", "lock-signal:nightly", NULL);
    assert_signals("python-redis-lock", "shop:lock:%s", "a%sb", "shop:lock-signal:a%sb", NULL);
    assert_signals("walrus", "lock:%s", "nightly", "lock.event:nightly", NULL);
    assert_signals("spring", "registry:%s", "nightly", "registry-channel:registry:nightly", NULL);
    assert_signals("redis-py", "%s", "nightly", "", NULL);
}

TEST(profile_with_two_channels_names_both)
{
    assert_signals("spring-6", "registry:%s", "nightly", "registry-channel",
                   "registry-channel:registry:nightly");
}

TEST(profile_signal_of_the_longest_names_fits)
{
    char template[BWL_KEY_TEMPLATE_MAX + 1];
    char             lock[BWL_NAME_MAX + 1];
    bwl_signal_names names;

    memset(template, 'r', sizeof template);
    memcpy(template + BWL_KEY_TEMPLATE_MAX - 3, ":%s", 4);
    memset(lock, 'n', BWL_NAME_MAX);
    assert_null(bwl_profile_template_fault(named("spring"), template));
    assert_int_equal(
        bwl_profile_signal(&names, named("spring"), template, (bwl_bytes){ lock, BWL_NAME_MAX })
            .names[0]
            .size,
        2 * (BWL_KEY_TEMPLATE_MAX - 3) + strlen("-channel::") + BWL_NAME_MAX);
}
