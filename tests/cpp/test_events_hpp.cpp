/*
 * test_events_hpp.cpp -- changes of holds and operations, in C++: by events, by the descriptor of a
 * hold, by the pipe; and holder queries, started and finished.
 */
#include <bowline/bowline.hpp>

#include "tap.hpp"

#include <chrono>
#include <poll.h>
#include <utility>

using namespace std::chrono_literals;
using tap::is_free;
using tap::place;

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd polled = { fd, POLLIN, 0 };

    return poll(&polled, 1, wait_ms) == 1;
}

/* A loop that has only the pipe. */
static bowline_event await_event(bowline::client &client)
{
    for (;;) {
        if (const auto event = client.next_event())
            return *event;
        CHECK(is_readable(client.wakeup_fd(), 20000));
        client.dispatch();
    }
}

static bowline::client open_without_renewal_thread(const place &at)
{
    bowline::options asked;

    asked.url   = at.url;
    asked.flags = BOWLINE_NO_THREAD;
    return bowline::client(asked);
}

TEST(end_of_an_operation_is_an_event)
{
    bowline::client client = open_without_renewal_thread(at);
    int             mine   = 0;
    auto            op     = client.start_acquire(at.name);

    CHECK(op.data() == nullptr);
    op.set_data(&mine);
    const bowline_event event = await_event(client);
    CHECK(event.kind == BOWLINE_EVENT_ENDED);
    CHECK(event.operation == op.get());
    CHECK(event.data == &mine);
    CHECK(!client.next_event());
    bowline::hold hold = op.finish();
    CHECK(hold.data() == &mine);
    hold.set_data(nullptr);
    CHECK(hold.data() == nullptr);
    op.set_data(&mine); /* it is empty now */
    CHECK(op.data() == nullptr);
}

TEST(loss_is_reported_in_three_ways)
{
    bowline::client client = open_without_renewal_thread(at);
    bowline::terms  asked;

    CHECK(!client.next_event());
    asked.max_hold     = 60ms;
    bowline::hold hold = client.acquire(at.name, bowline::no_wait, asked);
    const int     fd   = hold.lost_fd();
    CHECK(hold.lost_fd() == fd);
    CHECK(!hold.check() || hold.lost());
    const bowline_event event = await_event(client);
    CHECK(event.kind == BOWLINE_EVENT_LOST);
    CHECK(event.hold == hold.get());
    CHECK(is_readable(fd, 0));
    CHECK(hold.lost());
    CHECK(hold.check()->status() == BOWLINE_LOST);
    THROWN(BOWLINE_LOST, hold.release());
    CHECK(!client.next_event());
    THROWN(BOWLINE_USAGE, hold.lost_fd());
    THROWN(BOWLINE_USAGE, hold.check());
    hold.set_data(&client);
    CHECK(hold.data() == nullptr);
}

TEST(holder_query_is_started_and_finished)
{
    bowline::client client(at.url);
    auto            first = client.start_who(at.name);

    CHECK(first.wait());
    CHECK(first.finish().held == 0);
    CHECK(!first);
    THROWN(BOWLINE_USAGE, first.finish());
    bowline::hold hold   = client.acquire(at.name);
    auto          second = client.start_who(at.name);
    auto          moved  = std::move(second);
    CHECK(!second);
    CHECK(moved.finish().held == 1);
    (void)client.start_who(at.name); /* the result is not used */
    THROWN(BOWLINE_USAGE, client.start_who(""));
    hold.release();
    CHECK(is_free(at));
}
