/*
 * suite.h -- the tests of one program.
 *
 *      TEST(condition_and_result)
 *      {
 *          assert_true(...);
 *      }
 *
 * A TEST adds itself to the list of its program, in the order of the file.  FIXTURE(set_up,
 * tear_down) runs before and after each test below it; AROUND(set_up, tear_down), before and after
 * all.  ROWS(rows, body) adds a test for each row of a table; the row has a name, and is the state.
 * suite.c has main.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(list)                          (sizeof(list) / sizeof((list)[0]))

#define FIXTURE(set_up, tear_down)              SUITE_FIXTURE_(set_up, tear_down, __LINE__)
#define SUITE_FIXTURE_(set_up, tear_down, line) SUITE_FIXTURE__(set_up, tear_down, line)
#define SUITE_FIXTURE__(set_up, tear_down, line)                            \
    __attribute__((constructor)) static void suite_has_fixture_##line(void) \
    {                                                                       \
        suite_fixture((set_up), (tear_down));                               \
    }

#define AROUND(set_up, tear_down)                                    \
    __attribute__((constructor)) static void suite_has_around_(void) \
    {                                                                \
        suite_around((set_up), (tear_down));                         \
    }

#define ROWS(rows, body)                                            \
    __attribute__((constructor)) static void suite_has_##rows(void) \
    {                                                               \
        for (size_t i = 0; i < COUNT_OF(rows); i++)                 \
            suite_add_row((rows)[i].name, (body), &(rows)[i]);      \
    }

#define TEST(name) TEST_ADDED_BY(name, suite_add("test_" #name, test_##name))

/* TEST, added to the list by a call of its own. */
#define TEST_ADDED_BY(name, call)                                       \
    static void                              test_##name(void **state); \
    __attribute__((constructor)) static void add_##name##_(void)        \
    {                                                                   \
        call;                                                           \
    }                                                                   \
    static void test_##name(void **state)

/* Names and states must live as long as the program. */
void suite_add(const char *name, CMUnitTestFunction body);
void suite_add_row(const char *name, CMUnitTestFunction body, const void *state);
void suite_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down);
void suite_around(CMFixtureFunction set_up, CMFixtureFunction tear_down);
