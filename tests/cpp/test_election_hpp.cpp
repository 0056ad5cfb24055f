/*
 * test_election_hpp.cpp -- announce, withdraw and observe.
 */
#include <bowline/bowline.hpp>

#include "server.hpp"
#include "tap.hpp"

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using tap::place;
using tap::server;

TEST(engine_without_an_election_is_unsupported)
{
    bowline::client client(at.url);
    bowline::hold   hold   = client.acquire(at.name);
    bowline_leader  leader = BOWLINE_LEADER_INIT;
    bowline::hold   none;

    THROWN(BOWLINE_UNSUPPORTED, bowline::announce(hold, "a"));
    THROWN(BOWLINE_UNSUPPORTED, bowline::observe(leader, client, at.name, 0ms));
    THROWN(BOWLINE_USAGE, bowline::announce(none, "a"));
    THROWN(BOWLINE_USAGE, bowline::announce(hold, std::string("a\0b", 3)));
}

TEST(leader_is_observed_and_withdraws)
{
    server redis;

    if (!redis.is_up())
        return;
    bowline::client client(redis.url());
    bowline_leader  leader = BOWLINE_LEADER_INIT;
    CHECK(bowline::observe(leader, client, "web"));
    CHECK(leader.seen == 1 && leader.leads == 0);
    CHECK(!bowline::observe(leader, client, "web", 0ms));
    bowline::hold hold = client.acquire("web");
    bowline::announce(hold, "web-1:80");
    CHECK(bowline::observe(leader, client, "web"));
    CHECK(leader.leads == 1 && std::string(leader.text) == "web-1:80");
    CHECK(leader.fence == hold.fence());
    bowline::withdraw(hold);
    CHECK(bowline::observe(leader, client, "web"));
    CHECK(leader.leads == 0);
    hold.release();
}
