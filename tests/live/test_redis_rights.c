/*
 * test_redis_rights.c -- the rules of `bowline acl` are sufficient, and none has an item too many.
 *
 * A user gets a rule and nothing else, and lives the whole life of the feature: nothing is refused
 * to him.  Then each item is taken away in its turn: a step comes out otherwise, or the server has
 * refused it (some refusals are passed over by a lock, such as that of the wake-up of a stranger).
 *
 * What is useful besides is not in a rule, and the server refuses it: that alone does not count.
 */
#include "doctor/rights.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <bowline/update.h>

#include <stdio.h>
#include <stdlib.h>

/* ---- what came of it ------------------------------------------------------------------------- */

static char   story[1024];
static size_t story_size;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    story_size +=
        (size_t)vsnprintf(story + story_size, sizeof story - story_size, format, arguments);
    va_end(arguments);
    assert_true(story_size < sizeof story);
}

static void note_status(const char *step, int status)
{
    note("%s %s; ", step, bowline_status_name(status));
}

/* "few:right@", with the options of the case. */
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

static void note_answer(const char *question)
{
    note("%s: %s; ", question, server_ask(redis, "%s", question));
}

/* ---- lives ----------------------------------------------------------------------------------- */

static void wait_for_a_waiter(waiter *w)
{
    for (int i = 0; i < 2000 && !atomic_load(&w->ended); i++) {
        if (strcmp(server_ask(redis, "ZCARD bowline:{life}:bwl.q"), "1") == 0)
            return;
        sleep_ms(1);
    }
}

static void live_queue(const char *options)
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
        note_status("busy", try_once(third, "life"));
        waiter_start(&w, second, "life", 500);
        wait_for_a_waiter(&w);
        note_status("third", acquire_within(&never, third, "life", 30, NULL));
        note_status("busy", try_once(third, "life")); /* its leaving has arrived by now */
        note_answer("ZCARD bowline:{life}:bwl.q");
        release("release", hold);
        note_status("second", waiter_join(&w));
        release("release again", w.hold);
    }
    bowline_close(third);
    bowline_close(second);
    bowline_close(first);
    note_answer("EXISTS bowline:{life} bowline:{life}:bwl.q bowline:{life}:bwl.b");
}

/* Where the keys are others. */
static void live_queue_elsewhere(const char *options)
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

static void live_token(const char *options)
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

static void live_once(const char *options)
{
    bowline_client *client = must_open(url_with(options));

    release("release", acquire("acquire", client));
    bowline_close(client);
}

/* Somebody has died, whose time is over. */
static void live_after_a_dead_one(const char *options)
{
    bowline_client *client = must_open(url_with(options));

    (void)server_ask(redis, "SET bowline:{life} 1000000000");
    release("release", acquire("acquire", client));
    note_answer("EXISTS bowline:{life}");
    bowline_close(client);
}

static void live_after_a_dead_mutex(const char *options)
{
    bowline_client *client = must_open(url_with(options));

    (void)server_ask(redis, "SET RedisMutex:life 1000000000.0");
    release("release", acquire("acquire", client));
    note_answer("EXISTS RedisMutex:life");
    bowline_close(client);
}

/* What is there when it is released has gone meanwhile. */
static void live_without_its_key(const char *options)
{
    bowline_client *client = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", client);

    (void)server_ask(redis, "DEL bowline:{life}");
    release("release", hold);
    bowline_close(client);
}

static void live_watched(const char *options)
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

static void live_looking(const char *options)
{
    bowline_client *client = must_open(url_with(options));
    bowline_hold   *hold   = acquire("acquire", client);
    bowline_holder  holder = { .size = sizeof holder };

    if (hold != NULL) {
        note_status("who", bowline_who(client, "life", &holder, NULL));
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

static void live_update(const char *options)
{
    static const int verdicts[] = { BOWLINE_UPDATE_WRITE, BOWLINE_UPDATE_LEAVE,
                                    BOWLINE_UPDATE_DELETE };
    bowline_client  *client     = must_open(url_with(options));

    for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
        int verdict = verdicts[i];
        note_status("update", bowline_update(client, "seats:a", compute, &verdict, NULL, NULL));
        note_answer("EXISTS seats:a");
    }
    bowline_close(client);
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Commands that no rule has, because a lock works without them. */
static bool is_useful_only(const char *object)
{
    static const char *const names[] = { "info", "script", "client", "mget" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strncmp(object, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* What the server has refused, of those that count, behind the story. */
static unsigned note_refusals(void)
{
    const char *log   = server_ask(redis, "ACL LOG 128");
    unsigned    count = 0;

    for (const char *at = log; (at = strstr(at, "object ")) != NULL; at++) {
        const char *object = at + strlen("object ");
        if (is_useful_only(object))
            continue;
        note("refused %.*s; ", (int)strcspn(object, " "), object);
        count++;
    }
    return count;
}

static void allow(const rights *r, unsigned but)
{
    char   rule[4096];
    size_t size = (size_t)snprintf(rule, sizeof rule, "reset on >right resetchannels");

    for (unsigned i = 0; i < r->count; i++)
        if (i != but)
            size += (size_t)snprintf(rule + size, sizeof rule - size, " %s", r->items[i]);
    assert_true(size < sizeof rule);
    assert_string_equal(server_ask(redis, "ACL SETUSER few %s", rule), "OK");
}

typedef struct life {
    const char *name;
    const char *options;
    const char *feature;
    void (*live)(const char *options);
    const char *base;      /* items of this feature are tested elsewhere; NULL: of none */
    bool        keys_only; /* so are the commands */
} life;

static void lead(const life *l, const rights *r, unsigned but)
{
    assert_string_equal(server_ask(redis, "FLUSHALL"), "OK");
    assert_string_equal(server_ask(redis, "SCRIPT FLUSH"), "OK");
    allow(r, but);
    assert_string_equal(server_ask(redis, "ACL LOG RESET"), "OK");
    story_size = 0;
    story[0]   = '\0';
    l->live(l->options);
}

static bool has(const rights *r, const char *item)
{
    for (unsigned i = 0; i < r->count; i++)
        if (strcmp(r->items[i], item) == 0)
            return true;
    return false;
}

static void is_least(const life *l)
{
    static rights r, base;
    char          why[RIGHTS_TEXT_MAX];
    char          whole[sizeof story];
    unsigned      quiet  = 0;
    rights_wanted wanted = {
        .url      = url_with(l->options),
        .features = l->feature,
        .key      = "seats:*",
        .before_7 = !server_is_new(),
    };

    if (rights_find(&r, &wanted, why) < 0)
        fail_msg("%s: %s", l->feature, why);
    if (l->base != NULL) {
        wanted.features = l->base;
        assert_int_equal(rights_find(&base, &wanted, why), 0);
    }
    lead(l, &r, r.count);
    print_message("# %s%s: %s\n", l->feature, l->options, story);
    assert_null(strstr(story, "REFUSED"));
    assert_null(strstr(story, "UNKNOWN"));
    if (note_refusals() != 0)
        fail_msg("%s: it does not do: %s", l->feature, story);
    (void)snprintf(whole, sizeof whole, "%s", story);
    for (unsigned i = 0; i < r.count; i++) {
        if ((l->base != NULL && has(&base, r.items[i])) || (l->keys_only && r.items[i][0] != '~'))
            continue;
        lead(l, &r, i);
        bool     differs = strcmp(story, whole) != 0;
        unsigned refused = note_refusals();
        if (!differs && refused == 0)
            fail_msg("%s: nothing fails without %s: %s", l->feature, r.items[i], story);
        if (!differs) {
            quiet++;
            print_message("# %s: only the server says that %s is missing\n", l->feature,
                          r.items[i]);
        }
    }
    print_message("# %s: %u items, of %u only the server tells\n", l->feature, r.count, quiet);
    assert_true(quiet <= 3);
}

/* ---- one case for each feature --------------------------------------------------------------- */

static const life lives[] = {
    { "queue", "", "queue", .live = live_queue },
    { "queue_elsewhere", "&key=elsewhere:%25s", "queue", .live = live_queue_elsewhere,
      .keys_only = true },
    { "token", "&protocol=token", "token", .live = live_token },
    { "a_database", "&protocol=token&db=2", "token", .live = live_token },
    { "setnx_del", "&protocol=setnx-del", "setnx-del", .live = live_once },
    { "setnx_del_expire", "&protocol=setnx-del-expire", "setnx-del-expire",
      .live = live_without_its_key },
    { "setnx_stamp_del", "&protocol=setnx-stamp-del", "setnx-stamp-del",
      .live = live_after_a_dead_one },
    { "setnx_getset", "&protocol=setnx-getset", "setnx-getset", .live = live_after_a_dead_one },
    { "set_nx_ex", "&protocol=set-nx-ex", "set-nx-ex", .live = live_once },
    { "setnx_expire_watch", "&protocol=setnx-expire-watch", "setnx-expire-watch",
      .live = live_watched },
    { "stamps", "&profile=redis-mutex", "stamp", .live = live_after_a_dead_mutex },
    { "a_signal_by_list", "&profile=python-redis-lock", "token", .live = live_token },
    { "a_signal_by_event", "&profile=walrus", "token", .live = live_token },
    { "a_signal_by_channel", "&profile=spring&key=shop:%25s", "token", .live = live_token },
    { "status_by_queue", "", "status", .live = live_looking, .base = "queue" },
    { "status_by_token", "&protocol=token", "token,status", .live = live_looking, .base = "token" },
    { "update", "", "update", .live = live_update },
};

static void rule_is_least(void **state)
{
    is_least(*state);
}

ROWS(lives, rule_is_least)
AROUND(start_server, stop_server)
