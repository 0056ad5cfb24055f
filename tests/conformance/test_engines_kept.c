/*
 * test_engines_kept.c -- what outlives its client: a hold that is passed on, and the period of
 * once_ms and at_least_ms.  Or the refusal, with its reason.
 */
#include "tests/lib/engines.h"

enum { HOUR_MS = 3600000 };

static bool is_one_of(const engine *e, const char *names)
{
    return strstr(names, e->name) != NULL;
}

/* Why a lock of this engine cannot be passed on; NULL: it can. */
static const char *why_not_passed(const engine *e)
{
    if (is_one_of(e, "file thread"))
        return "belongs to its process";
    return is_one_of(e, "redlock") ? "its servers are asked one by one" : NULL;
}

ENGINE_TEST(exported_hold_is_imported_once_or_refused)
{
    char            ticket[BOWLINE_TICKET_MAX] = "";
    char            name[BOWLINE_NAME_MAX + 1] = "";
    bowline_client *client                     = engine_client(THE_ENGINE, NULL);
    bowline_client *other                      = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold                       = must_acquire(client, engine_lock());
    uint64_t        fence                      = bowline_hold_fence(hold);
    const char     *why                        = why_not_passed(THE_ENGINE);
    bowline_error   error                      = { 0 };

    if (why != NULL) {
        assert_status(BOWLINE_UNSUPPORTED, bowline_hold_export(hold, ticket, &error), &error);
        assert_non_null(strstr(error.text, why));
        assert_string_equal(ticket, "");
        must_release(hold); /* it is as before */
        return;
    }
    assert_status(BOWLINE_OK, bowline_hold_export(hold, ticket, &error), &error);
    assert_status(BOWLINE_OK, bowline_ticket_name(name, ticket, &error), &error);
    assert_string_equal(name, engine_lock());
    engine_close(client); /* releases no hold that it has passed on */
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    assert_status(BOWLINE_OK, bowline_hold_import(&hold, other, ticket, NULL, &error), &error);
    assert_int_equal(bowline_hold_fence(hold), fence);
    assert_string_equal(bowline_hold_name(hold), engine_lock());
    bowline_hold *second = NULL;
    assert_status(BOWLINE_LOST, bowline_hold_import(&second, other, ticket, NULL, NULL), NULL);
    assert_null(second);
    must_release(hold);
    assert_status(BOWLINE_LOST, bowline_hold_import(&second, other, ticket, NULL, NULL), NULL);
}

/* Ends the hold in the nth way. */
static void end_hold(bowline_client *client, bowline_hold *hold, unsigned nth)
{
    if (nth == 0)
        must_release(hold);
    else if (nth == 1)
        assert_status(BOWLINE_OK, bowline_release_nowait(hold, NULL), NULL);
    if (nth == 1)
        assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    engine_close(client);
}

ENGINE_TEST(period_outlives_every_end_of_a_hold_or_is_refused)
{
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error  = { 0 };
    bool            can    = is_one_of(THE_ENGINE, "redis rediss unix cluster");

    for (unsigned i = 0; i < 12; i++) {
        bool                    is_once                    = i % 2 == 0;
        bool                    is_given                   = i >= 6; /* back, by drop_rest */
        bowline_acquire_options period                     = BOWLINE_ACQUIRE_INIT;
        *(is_once ? &period.once_ms : &period.at_least_ms) = HOUR_MS;
        bowline_client *client                             = engine_client(THE_ENGINE, NULL);
        bowline_hold   *hold                               = NULL;
        int             status = bowline_acquire(&hold, client, engine_lock(), &period, &error);
        assert_status(can ? BOWLINE_OK : BOWLINE_UNSUPPORTED, status, &error);
        if (!can)
            return;
        if (is_given)
            assert_status(BOWLINE_OK, bowline_hold_drop_rest(hold, NULL), NULL);
        end_hold(client, hold, i / 2 % 3);
        assert_status(BOWLINE_OK, bowline_who(other, engine_lock(), &holder, NULL), NULL);
        assert_int_equal(holder.held, 0);
        assert_int_equal(holder.done, !is_given);
        if (is_given)
            continue;
        assert_in_range(holder.left_ms, HOUR_MS / 2, HOUR_MS);
        assert_string_not_equal(holder.user, "");
        status =
            bowline_acquire(&hold, other, engine_lock(), BOWLINE_ACQUIRE(.once_ms = 1), &error);
        assert_status(BOWLINE_DONE, status, &error);
        assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
        assert_status(BOWLINE_OK, bowline_break(other, engine_lock(), holder.id, &error), &error);
    }
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
}
