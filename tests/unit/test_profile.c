/*
 * test_profile.c -- finding a profile, and the names that are made from its keys.
 */
#include "redis/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const bwl_profile *named(const char *name)
{
    const bwl_profile *profile = bwl_profile_named(name);

    assert_non_null(profile);
    return profile;
}

static void test_profile_is_found_by_its_whole_name(void **state)
{
    size_t count = 0;

    (void)state;
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

static void test_profile_without_ties_takes_any_template(void **state)
{
    const bwl_profile *profile = named("redis-py");

    (void)state;
    assert_null(bwl_profile_template_fault(profile, NULL));
    assert_null(bwl_profile_template_fault(profile, "%s"));
    assert_null(bwl_profile_template_fault(profile, "a%sb"));
}

static void test_profile_with_a_signal_wants_the_end_of_its_keys(void **state)
{
    const bwl_profile *profile = named("python-redis-lock");

    (void)state;
    assert_null(bwl_profile_template_fault(profile, NULL));
    assert_null(bwl_profile_template_fault(profile, "lock:%s"));
    assert_null(bwl_profile_template_fault(profile, "shop:lock:%s"));
    assert_non_null(bwl_profile_template_fault(profile, "%s"));
    assert_non_null(bwl_profile_template_fault(profile, "lock:%s:x"));
    assert_non_null(bwl_profile_template_fault(profile, "lock-%s"));
    assert_non_null(bwl_profile_template_fault(profile, "%%lock:%s"));
}

static void test_profile_with_a_prefix_wants_one(void **state)
{
    const bwl_profile *profile = named("spring");

    (void)state;
    assert_non_null(bwl_profile_template_fault(profile, NULL));
    assert_non_null(bwl_profile_template_fault(profile, ":%s"));
    assert_non_null(bwl_profile_template_fault(profile, "registry%s"));
    assert_null(bwl_profile_template_fault(profile, "registry:%s"));
}

static void assert_signal(const char *profile, const char *template, const char *lock,
                          const char *expected)
{
    char   name[BWL_SIGNAL_MAX];
    size_t size = bwl_profile_signal_write(name, named(profile), template, lock, strlen(lock));

    assert_int_equal(size, strlen(expected));
    assert_memory_equal(name, expected, size);
}

static void test_profile_signal_has_the_name_of_the_other_program(void **state)
{
    (void)state;
    assert_signal("python-redis-lock", "lock:%s", "nightly", "lock-signal:nightly");
    assert_signal("python-redis-lock", "shop:lock:%s", "a%sb", "shop:lock-signal:a%sb");
    assert_signal("walrus", "lock:%s", "nightly", "lock.event:nightly");
    assert_signal("spring", "registry:%s", "nightly", "registry-channel:registry:nightly");
    assert_signal("spring-6", "registry:%s", "nightly", "registry-channel");
}

static void test_profile_with_two_channels_names_both(void **state)
{
    static const char expected[] = "registry-channel:registry:nightly";
    char              name[BWL_SIGNAL_MAX];
    size_t            size;

    (void)state;
    size = bwl_profile_second_signal_write(name, named("spring-6"), "registry:%s", "nightly", 7);
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(name, expected, size);
    size = bwl_profile_second_signal_write(name, named("spring"), "registry:%s", "nightly", 7);
    assert_int_equal(size, 0);
}

static void test_profile_signal_of_the_longest_names_fits(void **state)
{
    char template[BWL_KEY_TEMPLATE_MAX + 1];
    char lock[BWL_NAME_MAX + 1];
    char name[BWL_SIGNAL_MAX];

    (void)state;
    memset(template, 'r', sizeof template);
    memcpy(template + BWL_KEY_TEMPLATE_MAX - 3, ":%s", 4);
    memset(lock, 'n', BWL_NAME_MAX);
    assert_null(bwl_profile_template_fault(named("spring"), template));
    assert_int_equal(bwl_profile_signal_write(name, named("spring"), template, lock, BWL_NAME_MAX),
                     2 * (BWL_KEY_TEMPLATE_MAX - 3) + strlen("-channel::") + BWL_NAME_MAX);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_is_found_by_its_whole_name),
        cmocka_unit_test(test_profile_without_ties_takes_any_template),
        cmocka_unit_test(test_profile_with_a_signal_wants_the_end_of_its_keys),
        cmocka_unit_test(test_profile_with_a_prefix_wants_one),
        cmocka_unit_test(test_profile_signal_has_the_name_of_the_other_program),
        cmocka_unit_test(test_profile_with_two_channels_names_both),
        cmocka_unit_test(test_profile_signal_of_the_longest_names_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
