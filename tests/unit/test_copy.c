/*
 * test_copy.c -- a text of our own, or word that there was no memory for it.
 */
#include "base/copy.h"
#include "tests/lib/suite.h"

#include <stdlib.h>

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

FIXTURE(begin, NULL)

TEST(copy_is_another_text)
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

TEST(copy_of_nothing_is_nothing_and_no_failure)
{
    bool all = true;

    is_full = true;
    assert_null(bwl_copy_of(NULL, &all));
    assert_true(all);
}

TEST(copy_one_that_is_missing_is_not_made_good_by_the_next)
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
