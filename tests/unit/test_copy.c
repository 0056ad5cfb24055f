/*
 * test_copy.c -- a text of our own, or word that there was no memory for it.
 */
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In the library's place, which is linked in behind this. */
static bool is_full;

char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char  *copy = is_full ? NULL : malloc(size);

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static int begin(void **state)
{
    is_full = false;
    return 0;
}

static void test_copy_is_another_text(void **state)
{
    char  text[] = "abc";
    char *copy   = NULL;

    assert_int_equal(bwl_copy(&copy, text, NULL), BWL_OK);
    text[0] = 'x';
    assert_string_equal(copy, "abc");
    free(copy);
}

static void test_copy_without_memory_writes_nothing(void **state)
{
    char     *copy  = NULL;
    bwl_fault fault = { 0 };

    is_full = true;
    assert_int_equal(bwl_copy(&copy, "abc", &fault), BWL_STATUS_NOMEM);
    assert_null(copy);
    assert_string_equal(fault.text, "out of memory");
}

static void test_copy_of_nothing_is_nothing_and_no_failure(void **state)
{
    bool all = true;

    is_full = true;
    assert_null(bwl_copy_of(NULL, &all));
    assert_true(all);
}

static void test_copy_one_that_is_missing_is_not_made_good_by_the_next(void **state)
{
    bool all = true;

    is_full = true;
    assert_null(bwl_copy_of("abc", &all));
    assert_false(all);
    is_full    = false;
    char *copy = bwl_copy_of("abc", &all);
    assert_string_equal(copy, "abc");
    assert_false(all);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_copy_is_another_text, begin),
        cmocka_unit_test_setup(test_copy_without_memory_writes_nothing, begin),
        cmocka_unit_test_setup(test_copy_of_nothing_is_nothing_and_no_failure, begin),
        cmocka_unit_test_setup(test_copy_one_that_is_missing_is_not_made_good_by_the_next, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
