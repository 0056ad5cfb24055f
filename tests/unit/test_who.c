/*
 * test_who.c -- the holder of a name: asked for, described in the text of BUSY, and broken.
 *
 * The engine is thread:, with a `who`, a `look` and a `break_seen` that say what the row of a table
 * says.  What the store does not know must not be made up.
 */
#include "api/handles.h"
#include "tests/lib/suite.h"

#include <string.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static bowline_client *client;
static bwl_engine      engine;
static bwl_holder      says;
static int             status_of_who;
static int             status_of_break;
static unsigned        broken;
static unsigned        looks;
static char            asked_for[BWL_NAME_MAX + 1];
static bowline_error   error;
static bwl_lock       *looked_at; /* by a look that has not ended */

static int fake_who(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    memcpy(asked_for, lock->base.name, sizeof asked_for);
    if (status_of_who < 0) {
        if (fault != NULL)
            *fault = (bwl_fault){ .status = status_of_who, .text = "no" };
        return status_of_who;
    }
    *ret_holder = says;
    return BWL_OK;
}

static bool look_for_long(bwl_lock *lock)
{
    looks++;
    looked_at = lock;
    bwl_lock_pin(lock);
    return false;
}

static bool fake_break(bwl_lock *lock)
{
    assert_string_equal(lock->base.name, "n");
    broken++;
    return true;
}

static int fake_broken(bwl_lock *lock, bwl_fault *fault)
{
    (void)lock;
    if (status_of_break < 0)
        *fault = (bwl_fault){ .status = status_of_break, .text = "no luck" };
    return status_of_break;
}

/* What an engine does when the answer has come. */
static void see(void)
{
    bwl_shard_lock(client->first);
    bwl_lock_query_done(looked_at);
    bwl_lock_unpin(looked_at);
    bwl_shard_unlock(client->first);
}

static int open_client(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    engine                     = *client->first->host.engine;
    engine.who                 = fake_who;
    engine.break_seen          = fake_break;
    engine.broken              = fake_broken;
    client->first->host.engine = &engine;
    says                       = (bwl_holder){ .held = true };
    status_of_who              = BWL_OK;
    status_of_break            = BWL_OK;
    broken                     = 0;
    looks                      = 0;
    error                      = (bowline_error){ 0 };
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

/* ---- asked for ------------------------------------------------------------------------------- */

FIXTURE(open_client, close_client)

TEST(who_gives_every_field)
{
    bowline_holder h = { .size = sizeof h };

    says = (bwl_holder){ true, true, 5, 6, 7, 8, 9, "u", "h", "p", "n" };
    assert_int_equal(bowline_who(client, "name", &h, &error), BOWLINE_OK);
    assert_string_equal(asked_for, "name");
    bowline_holder wanted = { sizeof h, 1, 1, 5, 6, 7, 8, 9, "u", "h", "p", "n" };
    assert_memory_equal(&h, &wanted, sizeof h);
    says = (bwl_holder){ .foreign = true };
    assert_int_equal(bowline_who(client, "name", &h, &error), BWL_OK);
    wanted = (bowline_holder){ .size = sizeof h, .foreign = 1 };
    assert_memory_equal(&h, &wanted, sizeof h);
}

TEST(who_that_fails_writes_nothing)
{
    bowline_holder h      = { .size = sizeof h, .pid = 4711 };
    bowline_holder before = h;

    status_of_who = BWL_STATUS_REFUSED;
    assert_int_equal(bowline_who(client, "n", &h, &error), BOWLINE_REFUSED);
    assert_string_equal(error.text, "no");
    assert_int_equal(bowline_who(client, "n", &h, NULL), BOWLINE_REFUSED);
    bowline_operation *op;
    assert_int_equal(bowline_who_start(&op, client, "n", &error), BOWLINE_OK);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_REFUSED);
    assert_memory_equal(&h, &before, sizeof h);
}

/* ---- started and finished -------------------------------------------------------------------- */

static bowline_operation *start(const char *name)
{
    bowline_operation *op = NULL;

    assert_int_equal(bowline_who_start(&op, client, name, &error), BOWLINE_OK);
    assert_non_null(op);
    return op;
}

TEST(who_that_is_seen_at_once_has_ended_when_its_start_returns)
{
    bowline_holder     h  = { .size = sizeof h };
    bowline_operation *op = start("name");

    assert_int_equal(bowline_operation_done(op), 1);
    bowline_cancel(op); /* too late */
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_OK);
    assert_string_equal(asked_for, "name");
    assert_int_equal(h.held, 1);
}

TEST(who_that_takes_long_ends_when_it_is_seen)
{
    bowline_holder     h  = { .size = sizeof h };
    bowline_operation *op = NULL;

    engine.look = look_for_long;
    op          = start("n");
    assert_int_equal(bowline_operation_done(op), 0);
    assert_int_equal(bowline_operation_wait(op, 0, &error), BOWLINE_TIMEOUT);
    see();
    assert_int_equal(bowline_operation_done(op), 1);
    assert_int_equal(bowline_operation_wait(op, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_OK);
    assert_int_equal(client->first->locks_count, 0);
}

TEST(who_that_is_cancelled_ends_and_leaves_nothing)
{
    bowline_holder     h      = { .size = sizeof h, .pid = 4711 };
    bowline_holder     before = h;
    bowline_operation *op     = NULL;

    engine.look = look_for_long;
    op          = start("n");
    bowline_cancel(op);
    bowline_cancel(op);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_CANCELLED);
    assert_string_equal(error.text, "n: cancelled");
    assert_memory_equal(&h, &before, sizeof h);
    assert_int_equal(client->first->locks_count, 1); /* until the engine lets go of it */
    see();
    assert_int_equal(client->first->locks_count, 0);
}

TEST(who_that_is_never_finished_is_freed_by_close)
{
    engine.look = look_for_long;
    (void)start("n");
    looked_at->pins--; /* an engine that closes has no request in flight */
}

/* ---- described ------------------------------------------------------------------------------- */

TEST(who_text_of_busy_has_what_the_store_knows_and_no_more)
{
    static const struct {
        bwl_holder  says;
        const char *text;
    } list[] = {
        { { .held = true }, "" },
        { { .held = false, .user = "ann", .host = "h" }, "" },
        { { .held = true, .user = "ann", .host = "h" }, ": by ann@h" },
        { { .held = true, .user = "ann", .host = "h", .pid = 17 }, ": by ann@h pid 17" },
        { { .held = true, .user = "ann", .pid = 17, .program = "cp", .note = "odd" },
          ": by ann pid 17 (cp); odd" },
        { { .held = true, .pid = 17, .program = "cp" }, " pid 17 (cp)" },
        { { .held = true, .note = "the key is a list" }, "; the key is a list" },
    };
    static const char begin[] = "n is held by someone else";
    bowline_hold     *hold, *none = NULL;

    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        says = list[i].says;
        assert_int_equal(bowline_acquire(&none, client, "n", NULL, &error), BOWLINE_BUSY);
        assert_int_equal(strncmp(error.text, begin, sizeof begin - 1), 0);
        assert_string_equal(error.text + sizeof begin - 1, list[i].text);
    }
    says = (bwl_holder){ .held = true, .user = "ann" };
    assert_int_equal(bowline_acquire(&none, client, "n", BOWLINE_ACQUIRE(.wait_ms = 5), &error),
                     BOWLINE_TIMEOUT);
    assert_string_equal(error.text, "n was held by other clients during the whole wait: by ann");
    status_of_who = BWL_STATUS_UNREACHABLE;
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, &error), BOWLINE_BUSY);
    assert_string_equal(error.text, begin);
    asked_for[0] = '\0';
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, NULL), BOWLINE_BUSY);
    assert_string_equal(asked_for, ""); /* nobody would read it */
}

TEST(who_longest_text_of_busy_is_cut)
{
    char          name[BOWLINE_NAME_MAX + 1] = "";
    bowline_hold *hold, *none = NULL;

    says = (bwl_holder){ .held = true, .pid = INT64_MAX };
    memset(says.user, 'u', BWL_HOLDER_TEXT_MAX - 1);
    memset(says.note, 'n', BWL_HOLDER_TEXT_MAX - 1);
    memset(name, 'x', sizeof name - 1);
    assert_int_equal(bowline_acquire(&hold, client, name, NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&none, client, name, NULL, &error), BOWLINE_BUSY);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

/* The holder is asked for within the time of one reply.  A server that falls silent then delays
 * BUSY by no more, and does not change it. */
TEST(who_of_busy_ends_with_the_time_for_the_reply)
{
    bowline_hold *hold, *none = NULL;

    assert_int_equal(bowline_acquire(&hold, client, "n", NULL, &error), BOWLINE_OK);
    engine.look                            = look_for_long;
    client->first->host.settings.answer_ms = 20;
    assert_int_equal(bowline_acquire(&none, client, "n", NULL, &error), BOWLINE_BUSY);
    assert_string_equal(error.text, "n is held by someone else");
    assert_int_equal(looks, 1);
    see();
    assert_int_equal(client->first->locks_count, 1);
}

/* ---- broken ---------------------------------------------------------------------------------- */

TEST(who_break_ends_the_hold_that_was_shown_and_no_other)
{
    static const struct {
        bwl_holder  says;
        int         status_of_who;
        int         status_of_break;
        int         status;
        const char *text;
        unsigned    broken;
    } list[] = {
        { { .held = true, .id = 7 }, 0, 0, BOWLINE_OK, "", 1 },
        { { .held = true, .id = 8 }, 0, 0, BOWLINE_BUSY, "another client has the lock", 0 },
        { { .held = true, .id = 0 }, 0, 0, BOWLINE_BUSY, "another client has the lock", 0 },
        { { .held = false, .id = 7 }, 0, 0, BOWLINE_BUSY, "the lock is free", 0 },
        { { .held = true, .id = 7 }, 0, BOWLINE_UNKNOWN, BOWLINE_UNKNOWN, "no luck", 1 },
        { { .held = true, .id = 7 }, BOWLINE_UNREACHABLE, 0, BOWLINE_UNREACHABLE, "no", 0 },
    };

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        says            = list[i].says;
        status_of_who   = list[i].status_of_who;
        status_of_break = list[i].status_of_break;
        broken          = 0;
        assert_int_equal(bowline_break(client, "n", 7, &error), list[i].status);
        if (list[i].status < 0)
            assert_non_null(strstr(error.text, list[i].text));
        assert_int_equal(broken, list[i].broken);
        assert_int_equal(client->first->locks_count, 0);
    }
}
