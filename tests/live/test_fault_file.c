/*
 * test_fault_file.c -- somebody cleans the directory of lock files while they are in use.
 *
 * Who holds the removed file goes on holding that one, and who comes later uses a new one: that is
 * not promised to exclude.  But who waited on the removed file must not take what the holder leaves
 * there: it looks for the file again, and waits with the others.
 */
#include "tests/lib/judged.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char     directory[] = "/tmp/bowline-cleaned-XXXXXX";
static char     url[80];
static witness *judge;

static unsigned remove_everything(void)
{
    unsigned count = 0;
    DIR     *dir   = opendir(directory);

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        count += unlinkat(dirfd(dir), e->d_name, 0) == 0;
    (void)closedir(dir);
    return count;
}

static void test_waiter_does_not_believe_in_a_removed_file(void **state)
{
    for (int i = 0; i < 5; i++) {
        bowline_client    *client = must_open(url);
        bowline_client    *second = must_open(url);
        bowline_client    *third  = must_open(url);
        bowline_hold      *old    = must_acquire(client, "x");
        bowline_hold      *next   = NULL;
        bowline_operation *op     = NULL;
        bowline_error      error  = { 0 };
        /* When this returns it stands in the queue of the old file. */
        int status =
            bowline_acquire_start(&op, second, "x", BOWLINE_ACQUIRE(.wait_ms = 20000), &error);
        assert_status(BOWLINE_OK, status, &error);
        (void)bowline_operation_wait(op, i * 20, NULL);
        assert_true(remove_everything() > 0);
        bowline_hold *hold = must_acquire(third, "x"); /* in a new one */
        believer     *b    = believer_start(judge, hold);
        must_release(old);
        assert_status(BOWLINE_TIMEOUT, bowline_operation_wait(op, 150, &error), &error);
        (void)believer_stop(b);
        must_release(hold);
        assert_status(BOWLINE_OK, bowline_acquire_finish(&next, op, &error), &error);
        assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
        must_release(next);
        bowline_close(client);
        bowline_close(second);
        bowline_close(third);
    }
    assert_one_at_a_time(judge);
}

static int begin(void **state)
{
    judge = witness_new();
    if (mkdtemp(directory) == NULL)
        return -1;
    (void)snprintf(url, sizeof url, "file:%s", directory);
    return 0;
}

static int end(void **state)
{
    judge_dismiss(judge);
    (void)remove_everything();
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiter_does_not_believe_in_a_removed_file),
    };

    return cmocka_run_group_tests_name("fault_file", tests, begin, end);
}
