/*
 * test_named.c -- the locks of a client by their names.
 */
#include "runtime/lock.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { MANY = 1000 };

static bwl_named named;

static bwl_lock *lock_of(const char *name)
{
    bwl_lock *lock = calloc(1, sizeof *lock);

    assert_non_null(lock);
    lock->base.name_size = (uint16_t)strlen(name);
    memcpy(lock->base.name, name, strlen(name) + 1);
    return lock;
}

static bwl_lock *find(const char *name)
{
    return bwl_named_find(&named, name, strlen(name));
}

static int close_named(void **state)
{
    bwl_named_free(&named);
    assert_null(named.chains);
    return 0;
}

FIXTURE(NULL, close_named)

TEST(named_empty_table_finds_nothing)
{
    bwl_lock *lock = lock_of("x");

    assert_null(find("x"));
    bwl_named_remove(&named, lock); /* was never added */
    free(lock);
}

TEST(named_the_latest_of_a_name_is_found)
{
    bwl_lock *first  = lock_of("x");
    bwl_lock *second = lock_of("x");
    bwl_lock *other  = lock_of("xy");

    assert_true(bwl_named_add(&named, first));
    assert_true(bwl_named_add(&named, other));
    assert_true(bwl_named_add(&named, second));
    assert_ptr_equal(find("x"), second);
    assert_ptr_equal(find("xy"), other);
    assert_null(find(""));
    bwl_named_remove(&named, second);
    assert_ptr_equal(find("x"), first);
    bwl_named_remove(&named, first);
    bwl_named_remove(&named, first);
    assert_null(find("x"));
    bwl_named_remove(&named, other);
    assert_int_equal(named.count, 0);
    free(first);
    free(second);
    free(other);
}

TEST(named_table_that_grows_finds_all_in_order)
{
    static bwl_lock *locks[MANY];
    char             name[16];
    bwl_lock        *older = lock_of("5");

    assert_true(bwl_named_add(&named, older));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        locks[i] = lock_of(name);
        assert_true(bwl_named_add(&named, locks[i]));
    }
    assert_true(named.chains_count >= MANY);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(find(locks[i]->base.name), locks[i]);
    for (int i = 0; i < MANY; i++)
        bwl_named_remove(&named, locks[i]);
    assert_ptr_equal(find("5"), older);
    bwl_named_remove(&named, older);
    for (int i = 0; i < MANY; i++)
        free(locks[i]);
    free(older);
}
