/*
 * test_redis_rights.c -- the rules of `bowline acl` are sufficient and minimal.
 *
 * A Redis user with exactly one rule uses all operations of its feature, and nothing is refused.
 * Then the test removes each item in turn: either a result differs, or the ACL log of the server
 * has a refusal (a lock ignores some refusals, for example that of the wake-up for another
 * program).
 *
 * Optional commands are not in a rule; refusals of those do not count.
 */
#include "rights_story.h"
#include "tests/lib/shared_server.h"

#include <bowline/election.h>
#include <bowline/update.h>

#include <stdio.h>
#include <stdlib.h>

/* ---- story --------------------------------------------------------------------------------- */

/* The URL of the user "few", with the options of the case. */
static const char *url_with(const char *options)
{
    static char url[300];

    (void)snprintf(url, sizeof url, "redis://few:right@127.0.0.1:%d?accept-risk=1%s", redis->port,
                   options);
    return url;
}

static bowline_hold *acquire(const char *step, bowline_client *client)
{
    bowline_hold *hold = NULL;

    note_status(step, acquire_within(&hold, client, "life", BOWLINE_NO_WAIT, NULL));
    return hold;
}

static void release(const char *step, bowline_hold *hold)
{
    if (hold != NULL)
        note_status(step, bowline_release(hold, NULL));
}

static void note_reply(const char *command)
{
    note("%s: %s; ", command, server_ask(redis, "%s", command));
}

/* ---- operations ------------------------------------------------------------------------------ */

static void wait_for_a_waiter(waiter *w)
{
    for (int i = 0; i < 2000 && !atomic_load(&w->ended); i++, sleep_ms(1))
        if (strcmp(server_ask(redis, "ZCARD bowline:{life}:bwl.q"), "1") == 0)
            return;
}

/* The first waiter behind a foreign lock sends a heartbeat every 50 to 250 ms. */
static void wait_behind_a_foreign_lock(bowline_client *client)
{
    static const char heartbeat[] = "HVALS bowline:{life}:bwl.b";
    char              joined[32];
    waiter            w;

    (void)server_ask(redis, "SET bowline:{life} foreign");
    waiter_start(&w, client, "life", 2000);
    wait_for_a_waiter(&w);
    (void)snprintf(joined, sizeof joined, "%s", server_ask(redis, heartbeat));
    while (!atomic_load(&w.ended) && strcmp(server_ask(redis, heartbeat), joined) == 0)
        sleep_ms(1);
    (void)server_ask(redis, "DEL bowline:{life}");
    note_status("behind a foreign lock", waiter_join(&w));
    release("release", w.hold);
}

/* An election needs no more than the lock: the observer subscribes, and is told. */
static void note_election(bowline_hold *hold, bowline_client *observer)
{
    bowline_leader     leader = BOWLINE_LEADER_INIT;
    bowline_operation *op;

    note_status("observe", bowline_observe(&leader, observer, "life", 0, NULL));
    if (bowline_observe_start(&op, observer, "life", &leader, 900, NULL) != BOWLINE_OK)
        return;
    (void)bowline_ping(observer, 0, NULL); /* its look comes before that of the ping */
    note_status("announce", bowline_announce(hold, "here", NULL));
    note_status("told", bowline_observe_finish(&leader, op, NULL));
    note("leads %d by %d: %s; ", leader.leads, leader.pid != 0, leader.text);
}

static void use_queue(const char *options)
{
    bowline_client *first  = must_open(url_with(options));
    bowline_client *second = must_open(url_with(options));
    bowline_client *third  = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", first);
    bowline_hold   *never  = NULL;
    waiter          w;

    if (hold != NULL) {
        note("fence %d; ", bowline_hold_fence(hold) > 0);
        note_status("extend", bowline_extend(hold, 120000, NULL));
        note_election(hold, second);
        note_status("busy", try_once(third, "life"));
        waiter_start(&w, second, "life", 500);
        wait_for_a_waiter(&w);
        note_status("third", acquire_within(&never, third, "life", 30, NULL));
        note_status("busy", try_once(third, "life")); /* its CANCEL was executed by now */
        note_reply("ZCARD bowline:{life}:bwl.q");
        release("release", hold);
        note_status("second", waiter_join(&w));
        release("release again", w.hold);
        wait_behind_a_foreign_lock(second);
    }
    bowline_close(third);
    bowline_close(second);
    bowline_close(first);
    note_reply("EXISTS bowline:{life} bowline:{life}:bwl.q bowline:{life}:bwl.b");
}

/* With other keys. */
static void use_queue_with_other_keys(const char *options)
{
    bowline_client *first  = must_open(url_with(options));
    bowline_client *second = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", first);
    bowline_hold   *never  = NULL;

    note_status("wait", acquire_within(&never, second, "life", 30, NULL));
    note_status("busy", try_once(second, "life"));
    release("release", hold);
    bowline_close(second);
    bowline_close(first);
}

/* One that shares the lock extends its hold, and makes way for one that waits for two permits. */
static void use_shares(const char *options)
{
    bowline_client         *first  = must_open(url_with(options));
    bowline_client         *second = must_open(url_with(options));
    bowline_acquire_options one    = BOWLINE_ACQUIRE_INIT;
    bowline_acquire_options two    = BOWLINE_ACQUIRE_INIT;
    bowline_hold           *hold   = NULL;
    bowline_hold           *both   = NULL;
    bowline_operation      *op;

    one.mode = two.mode = BOWLINE_PERMITS;
    one.limit = two.limit = 2;
    two.permits           = 2;
    one.wait_ms           = BOWLINE_NO_WAIT;
    two.wait_ms           = 500;
    note_status("share", bowline_acquire(&hold, first, "life", &one, NULL));
    if (hold != NULL) {
        note_status("extend", bowline_extend(hold, 120000, NULL));
        if (bowline_acquire_start(&op, second, "life", &two, NULL) == BOWLINE_OK) {
            for (int i = 0; i < 2000 && !bowline_operation_done(op) &&
                            strcmp(server_ask(redis, "ZCARD bowline:{life}:bwl.q"), "1") != 0;
                 i++)
                (void)bowline_operation_wait(op, 1, NULL);
            release("release", hold);
            note_status("both", bowline_acquire_finish(&both, op, NULL));
            release("release both", both);
        }
    }
    bowline_close(second);
    bowline_close(first);
}

static void use_token(const char *options)
{
    bowline_client *client = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", client);

    if (hold != NULL) {
        note_status("busy", try_once(client, "life"));
        note_status("extend", bowline_extend(hold, 120000, NULL));
        release("release", hold);
    }
    bowline_close(client);
}

static void use_once(const char *options)
{
    bowline_client *client = must_open(url_with(options));

    release("release", acquire("acquire", client));
    bowline_close(client);
}

/* The lock of a dead holder has expired. */
static void use_after_expired_lock(const char *options)
{
    (void)server_ask(redis, "SET bowline:{life} 1000000000");
    use_once(options);
    note_reply("EXISTS bowline:{life}");
}

static void use_after_expired_mutex(const char *options)
{
    (void)server_ask(redis, "SET RedisMutex:life 1000000000.0");
    use_once(options);
    note_reply("EXISTS RedisMutex:life");
}

/* The key is deleted before the release. */
static void use_with_deleted_key(const char *options)
{
    bowline_client *client = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", client);

    (void)server_ask(redis, "DEL bowline:{life}");
    release("release", hold);
    bowline_close(client);
}

static void use_watched(const char *options)
{
    static const char other[] = "00112233-4455-4677-8899-aabbccddeeff";
    bowline_client   *client  = must_open(url_with(options));
    bowline_hold     *hold    = acquire("acquire", client);

    note("ends %d; ", atol(server_ask(redis, "TTL bowline:{life}")) > 0);
    release("release", hold);
    (void)server_ask(redis, "SET bowline:{life} %s", other);
    note_status("busy", try_once(client, "life"));
    note("ends %d; ", atol(server_ask(redis, "TTL bowline:{life}")) > 0);
    (void)server_ask(redis, "DEL bowline:{life}");
    hold = acquire("acquire", client);
    (void)server_ask(redis, "SET bowline:{life} %s", other);
    release("release", hold);
    bowline_close(client);
}

static void use_status(const char *options)
{
    bowline_client *client = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", client);
    bowline_holder  holder = { .size = sizeof holder };

    if (hold != NULL) {
        note_status("who", bowline_who(client, "life", &holder, NULL));
        bowline_list *list = NULL;
        note_status("list", bowline_list_start(&list, client, "life", NULL));
        int listed = bowline_list_next(&holder, list, NULL);
        note_status("next", listed < 0 ? listed : listed == 1 ? BOWLINE_OK : BOWLINE_LOST);
        bowline_list_free(list);
        (void)server_ask(redis, "SET bowline:{share} b1:~5");
        (void)server_ask(redis, "ZADD bowline:{share}:bwl.h 9999999999999 b1:%025d", 1);
        note("holders %d; ", bowline_holders(client, "share", NULL, 0, NULL));
        note("held %d foreign %d left %d pid %d; ", holder.held, holder.foreign, holder.left_ms > 0,
             holder.pid != 0);
    }
    release("release", hold);
    bowline_close(client);
}

static int compute(bowline_change *change, void *context)
{
    int verdict = *(const int *)context;

    if (verdict == BOWLINE_UPDATE_WRITE) {
        change->value      = "1";
        change->value_size = 1;
    }
    return verdict;
}

static void use_update(const char *options)
{
    static const int verdicts[] = { BOWLINE_UPDATE_WRITE, BOWLINE_UPDATE_LEAVE,
                                    BOWLINE_UPDATE_DELETE };
    bowline_client  *client     = must_open(url_with(options));

    for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
        int verdict = verdicts[i];
        note_status("update", bowline_update(client, "seats:a", compute, &verdict, NULL, NULL));
        note_reply("EXISTS seats:a");
    }
    bowline_close(client);
}

/* ---- the rules ------------------------------------------------------------------------------- */

typedef struct permission_case {
    const char *name;
    const char *options;
    const char *feature;
    void (*use)(const char *options);
    const char *base;      /* items of this feature are tested in its own case; NULL: none */
    bool        keys_only; /* only keys are tested here */
} permission_case;

static void run_without(const permission_case *permission_test, const rights *r, unsigned left_out)
{
    assert_string_equal(server_ask(redis, "SCRIPT FLUSH"), "OK");
    allow(redis, r, left_out);
    forget_story();
    permission_test->use(permission_test->options);
}

static void check_is_minimal(const permission_case *permission_test)
{
    static rights r, base;
    char          error_text[RIGHTS_TEXT_MAX];
    char          complete[sizeof story];
    unsigned      only_logged = 0;
    rights_wanted wanted      = {
             .url      = url_with(permission_test->options),
             .features = permission_test->feature,
             .key      = "seats:*",
             .before_7 = !server_is_new(),
    };

    if (rights_find(&r, &wanted, error_text) < 0)
        fail_msg("%s: %s", permission_test->feature, error_text);
    if (permission_test->base != NULL) {
        wanted.features = permission_test->base;
        assert_int_equal(rights_find(&base, &wanted, error_text), 0);
    }
    run_without(permission_test, &r, r.count);
    print_message("# %s%s: %s\n", permission_test->feature, permission_test->options, story);
    assert_null(strstr(story, "REFUSED"));
    assert_null(strstr(story, "UNKNOWN"));
    if (note_refusals_of(redis) != 0)
        fail_msg("%s: not sufficient: %s", permission_test->feature, story);
    (void)snprintf(complete, sizeof complete, "%s", story);
    for (unsigned i = 0; i < r.count; i++) {
        if ((permission_test->base != NULL && has(&base, r.items[i])) ||
            (permission_test->keys_only && r.items[i][0] != '~'))
            continue;
        run_without(permission_test, &r, i);
        bool     differs = strcmp(story, complete) != 0;
        unsigned refused = note_refusals_of(redis);
        if (!differs && refused == 0)
            fail_msg("%s: all works without %s: %s", permission_test->feature, r.items[i], story);
        if (!differs) {
            only_logged++;
            print_message("# %s: only the ACL log shows that %s is missing\n",
                          permission_test->feature, r.items[i]);
        }
    }
    print_message("# %s: %u items, %u of them only in the ACL log\n", permission_test->feature,
                  r.count, only_logged);
    assert_true(only_logged <= 3);
}

/* ---- one case for each feature --------------------------------------------------------------- */

static const permission_case cases[] = {
    { "queue", "", "queue", .use = use_queue },
    { "queue_with_other_keys", "&key=elsewhere:%25s", "queue", .use = use_queue_with_other_keys,
      .keys_only = true },
    { "sharing", "", "queue,sharing", .use = use_shares, .base = "queue" },
    { "token", "&protocol=token", "token", .use = use_token },
    { "token_in_a_database", "&protocol=token&db=2", "token", .use = use_token },
    { "setnx_del", "&protocol=setnx-del", "setnx-del", .use = use_once },
    { "setnx_del_expire", "&protocol=setnx-del-expire", "setnx-del-expire",
      .use = use_with_deleted_key },
    { "setnx_stamp_del", "&protocol=setnx-stamp-del", "setnx-stamp-del",
      .use = use_after_expired_lock },
    { "setnx_getset", "&protocol=setnx-getset", "setnx-getset", .use = use_after_expired_lock },
    { "set_nx_ex", "&protocol=set-nx-ex", "set-nx-ex", .use = use_once },
    { "setnx_expire_watch", "&protocol=setnx-expire-watch", "setnx-expire-watch",
      .use = use_watched },
    { "timestamps", "&profile=redis-mutex", "stamp", .use = use_after_expired_mutex },
    { "token_with_a_wake_up_list", "&profile=python-redis-lock", "token", .use = use_token },
    { "token_with_a_wake_up_event", "&profile=walrus", "token", .use = use_token },
    { "token_with_a_wake_up_channel", "&profile=spring&key=shop:%25s", "token", .use = use_token },
    { "status_of_queue", "", "status", .use = use_status, .base = "queue" },
    { "status_of_token", "&protocol=token", "token,status", .use = use_status, .base = "token" },
    { "update", "", "update", .use = use_update },
};

static void rule_is_minimal(void **state)
{
    check_is_minimal(*state);
}

ROWS(cases, rule_is_minimal)
AROUND(start_server, stop_server)
