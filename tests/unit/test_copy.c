/*
 * test_copy.c -- bwl_copy: a copy of a text, or a failure when there is no memory.
 */
#include "base/secret.h"
#include "tests/lib/suite.h"

#include <stdlib.h>

/* Replaces strdup, because it is linked before the C library. */
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

FIXTURE(begin, NULL)

TEST(copy_is_equal_at_another_address)
{
    char  text[] = "abc";
    char *copy   = NULL;

    assert_int_equal(bwl_copy(&copy, text, NULL), BWL_OK);
    text[0] = 'x';
    assert_string_equal(copy, "abc");
    free(copy);
}

TEST(copy_without_memory_writes_nothing)
{
    char     *copy  = NULL;
    bwl_fault fault = { 0 };

    is_full = true;
    assert_int_equal(bwl_copy(&copy, "abc", &fault), BWL_STATUS_NOMEM);
    assert_null(copy);
    assert_string_equal(fault.text, "out of memory");
}

TEST(copy_of_NULL_is_NULL)
{
    bool all = true;

    is_full = true;
    assert_null(bwl_copy_of(NULL, &all));
    assert_true(all);
}

TEST(copy_failure_is_kept_after_a_later_success)
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
