/*
 * test_fault_refusal.c -- a server that refuses for a reason of its own while a lock is held: its
 * master is down, our script was killed, the key has moved elsewhere, our rights are gone.
 *
 * What is refused was not carried out.  The hold goes on to the end of its lease, no further, and
 * is kept if the reason goes in time.
 */
#include "tests/lib/fake_server.h"
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEASE_MS = 900 };

#define RIGHTS                                                                                 \
    "~bowline:* resetchannels &bowline:i:* -@all +hello +eval +evalsha +ssubscribe +spublish " \
    "+subscribe +publish +get +set +del +exists +type +incr +time +persist +pexpire +pttl "    \
    "+zadd +zrem +zpopmin +zscore +zrank +zcard +hget +hset +hdel"

static witness *judge;
static char     rival_url[200];

static bowline_client *client_as(const char *user, const char *options)
{
    char url[300];

    (void)snprintf(url, sizeof url, "redis://%s127.0.0.1:%d?%s", user, redis->port, options);
    return must_open(url);
}

/* ---- a fault that is made while the lock is held --------------------------------------------- */

typedef struct refusal {
    const char *user; /* of the URL */
    const char *makes;
    const char *mends;
    const char *text; /* what extend says of it; NULL: it says something                         */
    bool        new_connections_only;
} refusal;

/* It lasts: the hold ends with its lease, the loss is known before anybody gets in.  False: nobody
 * was told why, as the answer came too late, or the lease had ended. */
static bool ends_with_its_lease(const refusal *f)
{
    bowline_client *client = client_as(f->user, "lease=900ms&timeout=250ms");
    bowline_hold   *hold   = must_acquire(client, "x");
    believer       *b      = believer_start(judge, hold);
    bowline_error   error  = { 0 };

    sleep_ms(5); /* or there would be nothing to extend */
    (void)server_ask(redis, "%s", f->makes);
    if (f->new_connections_only)
        server_hang_up(redis);
    int64_t fault_us = witness_now_us();
    int     status   = bowline_extend(hold, 0, &error);
    bool    is_late  = status == BOWLINE_LOST || strstr(error.text, "no answer within") != NULL;
    if (!is_late) {
        assert_status(BOWLINE_REFUSED, status, &error);
        if (f->text != NULL && strstr(error.text, f->text) == NULL)
            fail_msg("\"%s\" does not tell %s", error.text, f->text);
    }
    rival *r = rival_start(judge, rival_url, "x");
    assert_true(believer_learns(b));
    int64_t sure_us = believer_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_string_equal(server_ask(redis, "%s", f->mends), "OK");
    assert_true(rival_gets_a_turn(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
    return !is_late;
}

/* A release is refused too; the key ends with its lease. */
static void release_is_refused(const refusal *f)
{
    bowline_error error = { 0 };

    for (int rounds = 1;; rounds++) {
        bowline_client *client = client_as(f->user, "lease=900ms&timeout=250ms&renew=off");
        bowline_hold   *hold   = must_acquire(client, "x");
        (void)server_ask(redis, "%s", f->makes);
        if (f->new_connections_only)
            server_hang_up(redis);
        int status = bowline_release(hold, &error);
        assert_string_equal(server_ask(redis, "%s", f->mends), "OK");
        rival *r = rival_start(judge, rival_url, "x");
        assert_true(rival_gets_a_turn(r));
        rival_stop(r);
        bowline_close(client);
        if (status == BOWLINE_REFUSED)
            break;
        (void)keeps_in_round(false, status, rounds);
    }
    assert_true(server_becomes_empty(redis));
}

/* It goes before the lease ends: the hold is kept. */
static void outlasts(const refusal *f)
{
    for (int rounds = 1;; rounds++) {
        bowline_client *client = client_as(f->user, "lease=900ms&timeout=250ms");
        bowline_hold   *hold   = must_acquire(client, "x");
        believer       *b      = believer_start(judge, hold);
        rival          *r      = rival_start(judge, rival_url, "x");
        (void)server_ask(redis, "%s", f->makes);
        sleep_ms(LEASE_MS / 2); /* over a renewal, which is refused */
        assert_string_equal(server_ask(redis, "%s", f->mends), "OK");
        sleep_ms(LEASE_MS);
        bool kept = bowline_hold_left_ms(hold) > 0;
        (void)believer_stop(b);
        int status = bowline_release(hold, NULL);
        assert_true(rival_gets_a_turn(r));
        rival_stop(r);
        bowline_close(client);
        if (keeps_in_round(kept, status, rounds))
            break;
    }
    assert_one_at_a_time(judge);
    assert_true(server_becomes_empty(redis));
}

static void see_it_through(const refusal *f)
{
    for (int rounds = 1; !ends_with_its_lease(f); rounds++)
        assert_true(rounds < 50);
    release_is_refused(f);
    outlasts(f);
}

/* ---- no master ------------------------------------------------------------------------------- */

static void test_master_down(void **state)
{
    static const refusal down = { .user  = "",
                                  .makes = "REPLICAOF 127.0.0.1 1",
                                  .mends = "REPLICAOF NO ONE",
                                  .text  = "MASTERDOWN" };

    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data no");
    see_it_through(&down);
    (void)server_ask(redis, "CONFIG SET replica-serve-stale-data yes");
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void test_commands_withdrawn_and_given_back(void **state)
{
    static const refusal withdrawn[] = {
        { .user  = "locker:right@",
          .makes = "ACL SETUSER locker -eval -evalsha",
          .mends = "ACL SETUSER locker +eval +evalsha",
          .text  = "NOPERM" },
        { .user  = "locker:right@",
          .makes = "ACL SETUSER locker -get",
          .mends = "ACL SETUSER locker +get" },
        { .user  = "locker:right@",
          .makes = "ACL SETUSER locker -pexpire -del",
          .mends = "ACL SETUSER locker +pexpire +del" },
        { .user  = "locker:right@",
          .makes = "ACL SETUSER locker nocommands",
          .mends = "ACL SETUSER locker " RIGHTS,
          .text  = "NOPERM" },
    };

    for (size_t i = 0; i < sizeof withdrawn / sizeof withdrawn[0]; i++)
        see_it_through(&withdrawn[i]);
}

static void test_keys_withdrawn_while_held(void **state)
{
    static const refusal withdrawn = { .user  = "locker:right@",
                                       .makes = "ACL SETUSER locker resetkeys ~other:*",
                                       .mends = "ACL SETUSER locker resetkeys ~bowline:*",
                                       .text  = "NOPERM" };

    see_it_through(&withdrawn);
}

/* The connection that is there was let in with the old one; the next is not. */
static void test_password_changed_while_held(void **state)
{
    static const refusal changed = { .user  = "locker:right@",
                                     .makes = "ACL SETUSER locker resetpass >another",
                                     .mends = "ACL SETUSER locker resetpass >right",
                                     .text  = "WRONGPASS",
                                     .new_connections_only = true };
    static const refusal off     = { .user                 = "locker:right@",
                                     .makes                = "ACL SETUSER locker off",
                                     .mends                = "ACL SETUSER locker on",
                                     .text                 = "WRONGPASS",
                                     .new_connections_only = true };

    see_it_through(&changed);
    see_it_through(&off);
}

/* ---- what only a server of our own says ------------------------------------------------------ */

typedef struct mouth {
    const char *to_script; /* the answer to an extension or a release                            */
    const char *to_set;    /* NULL: OK */
} mouth;

/* ---- the cases ------------------------------------------------------------------------------- */

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    judge_dismiss(judge);
    return server_becomes_empty(redis) ? 0 : -1;
}

static void test_own_server_starts(void **state)
{
    redis = server_start(NULL);
    (void)server_ask(redis, "ACL SETUSER locker on >right " RIGHTS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms&timeout=300ms", redis->unix_url,
                   LEASE_MS);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),     CASE(test_master_down),
        CASE(test_commands_withdrawn_and_given_back), CASE(test_keys_withdrawn_while_held),
        CASE(test_password_changed_while_held),
    };

    return cmocka_run_group_tests_name("fault_refusal", tests, NULL, stop_server);
}
