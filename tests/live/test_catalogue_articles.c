/*
 * test_catalogue_articles.c -- the protocols of the articles on a real server: exclusion, foreign
 * values, a lost connection.
 *
 * The commands of each protocol are in tests/transcript/test_article_dialogues.c.
 */
#include "tests/lib/catalogue.h"
#include "tests/lib/suite.h"

static const char *const names[] = {
    "setnx-del",    "setnx-del-expire", "setnx-stamp-del",
    "setnx-getset", "set-nx-ex",        "setnx-expire-watch",
};
enum { NAMES = COUNT_OF(names) };

static bowline_client *open_protocol(const char *name, const char *more)
{
    return must_open_url("%s?accept-risk=1&key=%%25s&protocol=%s%s", redis->tcp_url, name, more);
}

FIXTURE(empty_server, NULL)

TEST(article_lock_excludes_others_and_release_deletes_the_key)
{
    for (int i = 0; i < NAMES; i++) {
        bowline_client *a    = open_protocol(names[i], "");
        bowline_client *b    = open_protocol(names[i], "&wait=0ms");
        bowline_hold   *hold = must_acquire(a, "lock");
        print_message("# %s\n", names[i]);
        assert_int_equal(try_once(b, "lock"), BOWLINE_BUSY);
        assert_true(is_there("lock"));
        must_release(hold);
        assert_false(is_there("lock"));
        assert_int_equal(try_once(b, "lock"), BOWLINE_OK);
        assert_string_equal(server_ask(redis, "DBSIZE"), "0");
        bowline_close(a);
        bowline_close(b);
    }
}

/* The acquire is BUSY and the value stays; a protocol that reads values reports a foreign lock. */
TEST(article_acquire_leaves_a_foreign_value_unchanged)
{
    static const char *const sets[] = { "SET lock foreign", "RPUSH lock a", "SETRANGE lock 99999 x",
                                        "SETRANGE lock 9999999 x" };

    for (int i = 0; i < NAMES; i++) {
        for (int j = 0; j < 4; j++) {
            bowline_client *client       = open_protocol(names[i], "");
            bowline_hold   *hold         = NULL;
            bowline_error   error        = { 0 };
            bool            reads_values = strstr(names[i], "stamp") != NULL ||
                                strstr(names[i], "getset") != NULL ||
                                strstr(names[i], "watch") != NULL;

            (void)server_ask(redis, "FLUSHALL");
            (void)server_ask(redis, "%s", sets[j]);
            print_message("# %s: %s\n", names[i], sets[j]);
            assert_status(BOWLINE_BUSY,
                          acquire_within(&hold, client, "lock", BOWLINE_NO_WAIT, &error), &error);
            assert_int_equal(ttl_ms("lock"), -1);
            assert_int_equal(strstr(error.text, "foreign") != NULL, reads_values);
            assert_int_equal(try_once(client, "another"),
                             BOWLINE_OK); /* the connection is still usable */
            bowline_close(client);
        }
    }
}

/* A new connection sends no command for `other`: these protocols have no read-only command that
 * verifies the owner. */
TEST(article_hold_survives_a_lost_connection)
{
    for (int i = 0; i < NAMES; i++) {
        bowline_client *client = open_protocol(names[i], "");
        bowline_hold   *hold   = must_acquire(client, "lock");
        bowline_hold   *other  = must_acquire(client, "other");
        print_message("# %s\n", names[i]);
        server_hang_up(redis);
        sleep_ms(IDLE_MS);
        must_release(hold);
        must_release(must_acquire(client, "third")); /* a reply about `other` has arrived by now */
        must_release(other);
        assert_string_equal(server_ask(redis, "DBSIZE"), "0");
        bowline_close(client);
    }
}

AROUND(start_server, stop_server)
