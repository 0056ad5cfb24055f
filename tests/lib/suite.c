/*
 * suite.c -- see suite.h.
 */
#include "tests/lib/suite.h"

enum { TESTS_MAX = 400 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t            count;
static CMFixtureFunction before_each, after_each, before_all, after_all;

void suite_add_row(const char *name, CMUnitTestFunction body, const void *state)
{
    assert_true(count < TESTS_MAX);
    tests[count++] =
        (struct CMUnitTest){ name, body, before_each, after_each, (void *)(uintptr_t)state };
}

void suite_add(const char *name, CMUnitTestFunction body)
{
    suite_add_row(name, body, NULL);
}

void suite_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    before_each = set_up;
    after_each  = tear_down;
}

void suite_around(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    before_all = set_up;
    after_all  = tear_down;
}

int main(void)
{
    return _cmocka_run_group_tests("suite", tests, count, before_all, after_all);
}
