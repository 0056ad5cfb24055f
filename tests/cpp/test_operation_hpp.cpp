/*
 * test_operation_hpp.cpp -- operations of bowline.hpp: started now, finished later, cancelled from
 * another thread, and destroyed at any point without leaving anything behind.
 */
#include <bowline/bowline.hpp>

#include "tap.hpp"

#include <chrono>
#include <poll.h>
#include <thread>
#include <utility>

using namespace std::chrono_literals;
using tap::is_free;
using tap::place;

TEST(operations_are_started_and_finished)
{
    bowline::client                   client(at.url);
    bowline::operation<bowline::hold> acquiring = client.start_acquire(at.name);

    CHECK(acquiring);
    CHECK(acquiring.get() != nullptr);
    CHECK(acquiring.wait());
    CHECK(acquiring.done());
    bowline::hold hold = acquiring.finish();
    CHECK(!acquiring);
    CHECK(acquiring.done());
    CHECK(acquiring.wait(bowline::no_wait));
    THROWN(BOWLINE_USAGE, acquiring.finish());
    THROWN(BOWLINE_USAGE, acquiring.try_finish());

    hold.start_extend(1s).finish();
    hold.start_extend().finish();
    THROWN(BOWLINE_USAGE, hold.start_extend(1ms));
    bowline::operation<void> releasing = hold.start_release();
    CHECK(!hold);
    releasing.finish();
    THROWN(BOWLINE_USAGE, releasing.finish());
    CHECK(is_free(at));
}

TEST(hold_is_yielded_to_a_waiter)
{
    bowline::client client(at.url);
    bowline::client other(at.url);
    bowline::hold   hold  = client.acquire(at.name);
    const auto      fence = hold.fence();

    CHECK(hold.yield());
    CHECK(hold.fence() > fence || fence == 0);
    CHECK(!hold.lost());
    THROWN(BOWLINE_USAGE, hold.yield(bowline::no_wait));
    bowline::operation<bowline::hold> waiting  = other.start_acquire(at.name, bowline::forever);
    bowline::operation<void>          yielding = hold.start_yield();
    CHECK(waiting.wait(1ms) || !waiting.done());
    yielding.cancel();
    THROWN(BOWLINE_CANCELLED, yielding.finish());
    CHECK(hold.lost());
    bowline::hold other_hold = waiting.finish();
    THROWN(BOWLINE_LOST, (void)hold.yield(10ms));
    THROWN(BOWLINE_LOST, hold.release());
    THROWN(BOWLINE_USAGE, (void)hold.yield());
    THROWN(BOWLINE_USAGE, (void)hold.start_yield());
    other_hold.release();
    CHECK(is_free(at));
}

TEST(mode_of_a_hold_is_changed)
{
    bowline::client client("thread:");
    bowline::terms  shared;
    shared.mode        = BOWLINE_SHARED;
    bowline::hold hold = client.acquire(at.name);
    bowline::hold nobody;

    CHECK(hold.mode() == BOWLINE_EXCLUSIVE);
    hold.downgrade();
    CHECK(hold.mode() == BOWLINE_SHARED);
    bowline::hold reader = client.acquire(at.name, bowline::no_wait, shared);
    CHECK(!hold.upgrade());
    THROWN(BOWLINE_BUSY, hold.start_upgrade().finish());
    reader.release();
    CHECK(hold.upgrade());
    hold.start_downgrade().finish();
    CHECK(hold.mode() == BOWLINE_SHARED);
    THROWN(BOWLINE_USAGE, nobody.downgrade());
    THROWN(BOWLINE_USAGE, (void)nobody.upgrade());
    CHECK(nobody.mode() == BOWLINE_EXCLUSIVE);
}

TEST(yield_that_times_out_returns_false)
{
    bowline::client                   client(at.url);
    bowline::client                   other(at.url);
    bowline::hold                     hold    = client.acquire(at.name);
    bowline::operation<bowline::hold> waiting = other.start_acquire(at.name, bowline::forever);

    CHECK(!waiting.wait(1ms));
    CHECK(!hold.yield(10ms));
    CHECK(hold.lost());
    CHECK(hold.release(std::nothrow) == BOWLINE_LOST);
    waiting.finish().release();
    CHECK(is_free(at));
}

TEST(operation_is_cancelled_from_another_thread)
{
    bowline::client                   client(at.url);
    const bowline::hold               hold    = client.acquire(at.name);
    bowline::operation<bowline::hold> waiting = client.start_acquire(at.name, bowline::forever);

    CHECK(!waiting.wait(1ms));
    CHECK(!waiting.wait(bowline::no_wait));
    CHECK(!waiting.done());
    std::thread other([&waiting] { waiting.cancel(); }); /* before or in the wait */
    const bool  ended = waiting.wait();
    other.join();
    CHECK(ended);
    THROWN(BOWLINE_CANCELLED, waiting.finish());
    waiting.cancel(); /* nothing is left to cancel */

    waiting = client.start_acquire(at.name, bowline::forever);
    waiting.cancel();
    CHECK(!waiting.try_finish());
}

TEST(acquire_that_times_out_throws_or_returns_nothing)
{
    bowline::client     client(at.url);
    const bowline::hold hold = client.acquire(at.name);

    THROWN(BOWLINE_BUSY, client.start_acquire(at.name).finish());
    THROWN(BOWLINE_TIMEOUT, client.start_acquire(at.name, 1ms).finish());
    CHECK(!client.start_acquire(at.name).try_finish());
    CHECK(!client.start_acquire(at.name, 1ms).try_finish());
    CHECK(client.start_acquire("free-" + at.name).try_finish());
}

TEST(unfinished_operation_leaves_nothing)
{
    bowline::client client(at.url);

    {
        const auto won = client.start_acquire(at.name);
        CHECK(won.done());
        CHECK(!is_free(at));
    }
    CHECK(is_free(at));
    bowline::hold hold = client.acquire(at.name);
    {
        auto waiting = client.start_acquire(at.name, bowline::forever);
        auto another = client.start_acquire(at.name, bowline::forever);
        waiting      = std::move(another);
    }
    (void)hold.start_extend();
    (void)hold.start_release();
    CHECK(is_free(at));
}

TEST(extension_may_end_after_its_hold)
{
    bowline::client client(at.url);
    bowline::hold   hold      = client.acquire(at.name);
    auto            extending = hold.start_extend();

    hold.release();
    CHECK(extending.done());
    try {
        extending.finish(); /* it had ended before, or was cancelled */
    } catch (const bowline::error &e) {
        CHECK(e.status() == BOWLINE_CANCELLED);
    }
    CHECK(is_free(at));
}

TEST(client_works_in_an_event_loop)
{
    bowline::options asked;
    asked.url   = at.url;
    asked.flags = BOWLINE_NO_THREAD;
    bowline::client client(asked);
    bowline::hold   hold    = bowline::client(at.url).acquire(at.name);
    auto            waiting = client.start_acquire(at.name, bowline::forever);

    client.dispatch();
    CHECK(!waiting.done());
    hold.release();
    while (!waiting.done()) {
        const auto    left   = client.timeout();
        struct pollfd polled = { client.fd(), POLLIN, 0 };
        (void)poll(&polled, 1, left ? static_cast<int>(left->count()) : -1);
        client.dispatch();
    }
    CHECK(waiting.finish());
    client.dispatch(1ms);
}
