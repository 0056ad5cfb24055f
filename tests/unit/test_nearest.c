/*
 * test_nearest.c -- the suggested option: one or two typing errors, or a prefix.
 */
#include "core/nearest.h"
#include "tests/lib/suite.h"

static const char *const *words;

static void nearest(const char *typed, const char *meant)
{
    size_t count = 0;

    while (words[count] != NULL)
        count++;
    const char *found = bwl_nearest(typed, words, count);

    print_message("# %s\n", typed);
    if (meant == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, meant);
    }
}

TEST(nearest_corrects_typing_errors)
{
    static const char *const known[] = { "token",     "setnx-del", "setnx-del-expire",
                                         "set-nx-ex", "fair",      NULL };

    words = known;
    nearest("token", "token");
    nearest("tokan", "token");          /* changed  */
    nearest("tooken", "token");         /* added    */
    nearest("tken", "token");           /* dropped; short: one error */
    nearest("otken", "token");          /* swapped  */
    nearest("setnx-dle", "setnx-del");  /* swapped at the end */
    nearest("setnxdel", "setnx-del");   /* dropped  */
    nearest("set_nx_ex", "set-nx-ex");  /* two errors in a long word */
    nearest("fiar", "fair");            /* swapped in a short word: one error, not two */
    nearest("tok", "token");            /* a prefix */
    nearest("setnx-del-", "setnx-del"); /* one error in a prefix that lacks seven letters */
    nearest("setnx-del-e", "setnx-del-expire");
}

TEST(nearest_suggests_nothing_too_different)
{
    static const char *const known[] = { "token", "set-nx-ex", NULL };
    static const char *const none[]  = { NULL };
    char                     endless[200];

    words = known;
    nearest("", NULL);
    nearest("to", NULL);   /* three letters are missing, and the prefix is too short */
    nearest("tkne", NULL); /* two errors in four letters */
    nearest("redlock", NULL);
    nearest("TOKEN", NULL);
    memset(endless, 't', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    nearest(endless, NULL);
    words = none;
    nearest("token", NULL);
}
