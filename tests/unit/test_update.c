/*
 * test_update.c -- what bowline_update makes of its arguments, of the function's answers and of
 * those of the store.
 *
 * The engine is one whose `step` says what the test has lined up.
 */
#include "api/handles.h"
#include "tests/lib/suite.h"

#include <bowline/update.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCRIPT_MAX = 64 };

typedef struct told {
    bwl_event_kind kind;
    bwl_answer     answer;
    const char    *seen;
} told;

static bowline_client *client;
static bwl_engine      engine;
static bowline_error   error;
static told            script[SCRIPT_MAX]; /* what the store says, one after the other           */
static unsigned        script_size;
static char            asked[2000]; /* "READ k, SET k=new 0, " */
static unsigned        steps;
static bool            says_long;
static bool            has_memory;

static bool fake_step(bwl_lock *lock, bwl_transaction *s)
{
    static const char *const names[] = { "", "READ", "SET", "DELETE", "LEAVE" };
    size_t                   size    = strlen(asked);

    assert_true(steps < script_size);
    const told *t = &script[steps++];
    (void)snprintf(asked + size, sizeof asked - size, "%s %.*s", names[s->args.command],
                   (int)s->args.key_size, s->args.key);
    size = strlen(asked);
    if (s->args.command == TRANSACTION_SET)
        (void)snprintf(asked + size, sizeof asked - size, "=%.*s %lld", (int)s->args.value_size,
                       s->args.value,
                       s->args.lasts_ms == BWL_NEVER ? -1LL : (long long)s->args.lasts_ms);
    strcat(asked, ",");
    s->kind      = t->kind;
    s->answer    = t->answer;
    s->is_there  = t->seen != NULL;
    s->is_long   = says_long;
    s->no_memory = !has_memory;
    if (t->seen != NULL) {
        static char value[32];
        (void)snprintf(value, sizeof value, "%s", t->seen);
        s->seen      = value;
        s->seen_size = strlen(value);
    }
    bwl_lock_set_error(lock, "so says the store");
    return true;
}

static void store_says(bwl_event_kind kind, bwl_answer answer, const char *seen)
{
    assert_true(script_size < SCRIPT_MAX);
    script[script_size++] = (told){ kind, answer, seen };
}

static int open_client(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "redis://127.0.0.1:1"), &error),
                     BOWLINE_OK);
    engine                     = *client->first->host.engine;
    engine.step                = fake_step;
    client->first->host.engine = &engine;
    script_size                = 0;
    steps                      = 0;
    asked[0]                   = '\0';
    says_long                  = false;
    has_memory                 = true;
    error                      = (bowline_error){ 0 };
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BWL_POOL_MAX; i++)
        client->pool.slots[i].transaction.seen = NULL; /* ours */
    bowline_close(client);
    return 0;
}

typedef struct wish {
    int            choice;
    const char    *value;
    size_t         size;
    int64_t        lasts_ms;
    unsigned       calls;
    bowline_change seen;
    char           old_value[32];
} wish;

static int compute(bowline_change *change, void *context)
{
    wish *w = context;

    w->calls++;
    w->seen = *change;
    (void)snprintf(w->old_value, sizeof w->old_value, "%s",
                   change->old_value != NULL ? change->old_value : "-");
    change->value      = w->value;
    change->value_size = w->size;
    change->lasts_ms   = w->lasts_ms;
    return w->choice;
}

static wish writes = { .choice = BOWLINE_UPDATE_WRITE, .value = "new", .size = 3 };

static void comes_out(int status, wish *w, const bowline_update_options *options)
{
    int is = bowline_update(client, "k", compute, w, options, &error);

    if (is != status)
        fail_msg("%s: %s, not %s", error.text, bowline_status_name(is),
                 bowline_status_name(status));
    if (status != BOWLINE_OK)
        assert_int_equal(error.status, status);
    assert_int_equal(steps, script_size);
}

/* ---- the way of it --------------------------------------------------------------------------- */

FIXTURE(open_client, close_client)

TEST(reads_computes_and_writes)
{
    wish w = writes;

    store_says(BWL_REPLY, BWL_YES, "old");
    store_says(BWL_REPLY, BWL_YES, NULL);
    comes_out(BOWLINE_OK, &w, NULL);
    assert_string_equal(asked, "READ k,SET k=new 0,");
    assert_string_equal(w.old_value, "old");
    assert_int_equal(w.seen.size, sizeof(bowline_change));
    assert_int_equal(w.seen.old_size, 3);
    assert_int_equal(w.seen.tries, 1);
    assert_null(w.seen.value);
    assert_int_equal(w.seen.lasts_ms, 0);
}

TEST(each_try_is_computed_from_what_is_there_then)
{
    wish     w         = writes;
    uint32_t conflicts = 0;

    store_says(BWL_REPLY, BWL_YES, "one");
    store_says(BWL_REPLY, BWL_NO, NULL);
    store_says(BWL_REPLY, BWL_YES, NULL);
    store_says(BWL_REPLY, BWL_YES, NULL);
    comes_out(BOWLINE_OK, &w, BOWLINE_UPDATE(.ret_conflicts = &conflicts));
    assert_string_equal(asked, "READ k,SET k=new 0,READ k,SET k=new 0,");
    assert_string_equal(w.old_value, "-");
    assert_int_equal(w.seen.tries, 2);
    assert_int_equal(conflicts, 1);
}

TEST(what_the_function_may_not_want_is_usage_and_not_written)
{
    static char long_value[BOWLINE_VALUE_MAX + 1];
    wish        bad[] = {
               { .choice = 3 },
               { .choice = BOWLINE_UPDATE_WRITE, .size = 1 },
               { .choice = BOWLINE_UPDATE_WRITE, .value = long_value, .size = sizeof long_value },
               { .choice = BOWLINE_UPDATE_WRITE, .value = "v", .size = 1, .lasts_ms = -2 },
               { .choice = BOWLINE_UPDATE_WRITE, .value = "v", .size = 1, .lasts_ms = 1LL << 31 },
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        asked[0] = '\0';
        store_says(BWL_REPLY, BWL_YES, "old");
        store_says(BWL_REPLY, BWL_YES, NULL);
        comes_out(BOWLINE_USAGE, &bad[i], NULL);
        assert_string_equal(asked, "READ k,LEAVE k,");
        assert_non_null(strstr(error.text, "k: the function has "));
    }
}

/* ---- how it comes out ------------------------------------------------------------------------ */

TEST(what_the_store_says)
{
    wish w = writes;

    store_says(BWL_REPLY, BWL_REFUSED, NULL);
    comes_out(BOWLINE_REFUSED, &w, NULL);
    assert_string_equal(error.text, "k: nothing was written: so says the store");
    store_says(BWL_REPLY, BWL_NOT_SENT, NULL);
    store_says(BWL_REPLY, BWL_NOT_SENT, NULL);
    comes_out(BOWLINE_UNREACHABLE, &w, NULL);
    store_says(BWL_REPLY, BWL_RETRYABLE, NULL);
    comes_out(BOWLINE_REFUSED, &w, BOWLINE_UPDATE(.tries_max = 1));
    store_says(BWL_REPLY, BWL_FOREIGN_VALUE, NULL);
    store_says(BWL_REPLY, BWL_YES, NULL);
    comes_out(BOWLINE_REFUSED, &w, NULL);
    assert_non_null(strstr(error.text, "is no string"));
    says_long = true;
    store_says(BWL_REPLY, BWL_FOREIGN_VALUE, NULL);
    store_says(BWL_REPLY, BWL_YES, NULL);
    comes_out(BOWLINE_UNSUPPORTED, &w, NULL);
    has_memory = false;
    store_says(BWL_REPLY, BWL_RETRYABLE, NULL);
    comes_out(BOWLINE_NOMEM, &w, BOWLINE_UPDATE(.tries_max = 1));
    assert_int_equal(w.calls, 0);
}

TEST(key_is_shown_as_far_as_it_can_be)
{
    char key[BOWLINE_KEY_MAX + 1] = "a\nb\x7f";
    wish w                        = writes;

    memset(key + 4, 'x', sizeof key - 5);
    store_says(BWL_REPLY, BWL_REFUSED, NULL);
    assert_int_equal(bowline_update(client, key, compute, &w, NULL, &error), BOWLINE_REFUSED);
    assert_int_equal(strncmp(error.text, "a?b?xxxx", 8), 0);
    assert_ptr_equal(strstr(error.text, "x...: nothing"), error.text + 59);
}

/* ---- bad calls ------------------------------------------------------------------------------- */

static int update_again(bowline_change *change, void *context)
{
    (void)change;
    (void)context;
    assert_int_equal(bowline_update(client, "inner", compute, &writes, NULL, &error),
                     BOWLINE_USAGE);
    return BOWLINE_UPDATE_LEAVE;
}

TEST(update_inside_an_update_is_usage)
{
    wish w = writes;

    store_says(BWL_REPLY, BWL_YES, "old");
    store_says(BWL_REPLY, BWL_YES, NULL);
    assert_int_equal(bowline_update(client, "outer", update_again, NULL, NULL, NULL), BOWLINE_OK);
    assert_non_null(strstr(error.text, "may not call bowline_update"));
    store_says(BWL_REPLY, BWL_YES, "old"); /* and afterwards it may be called again */
    store_says(BWL_REPLY, BWL_YES, NULL);
    comes_out(BOWLINE_OK, &w, NULL);
}
