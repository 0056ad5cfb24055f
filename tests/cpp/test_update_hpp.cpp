/*
 * test_update_hpp.cpp -- client::update: the arguments and results of the function, its exceptions,
 * and an engine that has no keys.
 */
#include <bowline/bowline.hpp>

#include "server.hpp"
#include "tap.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using bowline::change;
using tap::place;
using tap::server;
using old_value = std::optional<std::string_view>;

static change count_on(old_value old)
{
    return std::to_string(old ? std::stoll(std::string(*old)) + 1 : 1);
}

static std::optional<std::string> value_of(bowline::client &client, const std::string &key)
{
    std::optional<std::string> value;

    (void)client.update(key, [&](old_value old) {
        if (old)
            value = std::string(*old);
        return change::leave();
    });
    return value;
}

/* ---- cases ----------------------------------------------------------------------------------- */

TEST(engine_without_keys_is_unsupported)
{
    bowline::client client(at.url);
    unsigned        calls = 0;

    (void)THROWN(BOWLINE_UNSUPPORTED, client.update("k", [&](old_value) {
        calls++;
        return change::leave();
    }));
    (void)THROWN(BOWLINE_USAGE, client.update(std::string("a\0b", 3), count_on));
    CHECK(calls == 0);
}

TEST(value_is_read_written_kept_and_deleted)
{
    server redis;

    if (!redis.is_up())
        return;
    bowline::client   client(redis.url());
    const std::string bytes("a\0b", 3);
    CHECK(!value_of(client, "k"));
    CHECK(client.update("k", count_on) == 0);
    CHECK(client.update("k", count_on) == 0);
    CHECK(value_of(client, "k") == "2");
    (void)client.update("k", [&](old_value) { return bytes; }); /* a string is a change */
    CHECK(value_of(client, "k") == bytes);
    (void)client.update("k", [](old_value) { return change("short", 1h); });
    (void)client.update("k", [](old_value) { return change::erase(); });
    CHECK(!value_of(client, "k"));
    (void)client.update("k", [](old_value) { return change("", bowline::milliseconds::max()); });
    CHECK(value_of(client, "k") == "");
    (void)THROWN(BOWLINE_USAGE, client.update("k", [](old_value) { return change("never", 0ms); }));
    (void)THROWN(BOWLINE_USAGE,
                 client.update("k", [](old_value) { return change("never", -1ms); }));
    CHECK(value_of(client, "k") == "");
}

TEST(exception_of_the_function_is_rethrown_and_nothing_is_written)
{
    server redis;

    if (!redis.is_up())
        return;
    bowline::client client(redis.url());
    bool            was_thrown = false;
    (void)client.update("k", count_on);
    try {
        (void)client.update("k", [](old_value) -> change { throw std::out_of_range("mine"); });
    } catch (const std::out_of_range &e) {
        was_thrown = std::string(e.what()) == "mine";
    }
    CHECK(was_thrown);
    CHECK(value_of(client, "k") == "1");
    CHECK(client.update("k", count_on) == 0); /* and it can be called again */
}

TEST(conflicts_are_reported)
{
    server redis;

    if (!redis.is_up())
        return;
    bowline::client client(redis.url());
    bowline::client other(redis.url());
    unsigned        calls  = 0;
    const auto      meddle = [&](old_value old) {
        std::thread([&] { (void)other.update("k", count_on); }).join();
        calls++;
        return count_on(old);
    };
    (void)THROWN(BOWLINE_BUSY, client.update("k", meddle, { bowline::wait_time(), 2 }));
    (void)THROWN(BOWLINE_BUSY, client.update("k", meddle, { bowline::no_wait, 0 }));
    CHECK(calls == 3);
    CHECK(client.update("k", [&](old_value old) {
        if (calls++ == 3)
            std::thread([&] { (void)other.update("k", count_on); }).join();
        return count_on(old);
    }) == 1);
    CHECK(value_of(client, "k") == "5");
}
