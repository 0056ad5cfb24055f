/*
 * test_bowline_hpp.cpp -- clients and holds of bowline.hpp: a hold is released at the end of its
 * scope, on every way out; a moved-from object is empty; a failure throws an exception with its
 * status and its text.
 */
#include <bowline/bowline.hpp>

#include "server.hpp"
#include "tap.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using tap::is_free;
using tap::place;
using tap::wait_until_lost;

static_assert(!std::is_copy_constructible_v<bowline::client>);
static_assert(!std::is_copy_constructible_v<bowline::hold>);
static_assert(!std::is_copy_constructible_v<bowline::operation<bowline::hold>>);
static_assert(std::is_nothrow_move_constructible_v<bowline::client>);
static_assert(std::is_nothrow_move_assignable_v<bowline::hold>);
static_assert(std::is_nothrow_move_assignable_v<bowline::operation<void>>);
static_assert(std::is_nothrow_destructible_v<bowline::hold>);

/* ---- waits, which are the same everywhere ---------------------------------------------------- */

using bowline::wait_time;

static_assert(wait_time().ms() == BOWLINE_DEFAULT);
static_assert(bowline::forever.ms() == BOWLINE_FOREVER);
static_assert(bowline::no_wait.ms() == BOWLINE_NO_WAIT);
static_assert(wait_time(5s).ms() == 5000);
static_assert(wait_time(1ns).ms() == 1, "rounded up, or it would not wait");
static_assert(wait_time(1000001us).ms() == 1001);
static_assert(wait_time(std::chrono::duration<double>(0.0015)).ms() == 2);
static_assert(wait_time(0s).ms() == BOWLINE_NO_WAIT);
static_assert(wait_time(-1h).ms() == BOWLINE_NO_WAIT);
static_assert(wait_time(std::chrono::nanoseconds::min()).ms() == BOWLINE_NO_WAIT);
static_assert(wait_time(std::chrono::hours::min()).ms() == BOWLINE_NO_WAIT);
static_assert(wait_time(2147483647ms).ms() == 2147483647);
static_assert(wait_time(2147483648ms).ms() == BOWLINE_FOREVER);
static_assert(wait_time(2147483646999999ns).ms() == 2147483647);
static_assert(wait_time(2147483647000001ns).ms() == BOWLINE_FOREVER);
static_assert(wait_time(std::chrono::hours::max()).ms() == BOWLINE_FOREVER);
static_assert(wait_time(std::chrono::duration<double>(1e300)).ms() == BOWLINE_FOREVER);

TEST(error_has_the_errno_and_the_status)
{
    bowline::client client("unix:///no/such/socket");

    try {
        client.ping();
        CHECK(false);
    } catch (const bowline::error &e) {
        CHECK(e.status() == BOWLINE_UNREACHABLE);
        CHECK(e.system_errno() == ENOENT);
        CHECK(*e.server_code() == '\0');
    }
}

TEST(floating_waits_that_are_no_number_do_not_wait)
{
    using seconds      = std::chrono::duration<double>;
    using few_hours    = std::chrono::duration<signed char, std::ratio<3600>>;
    const double inf   = std::numeric_limits<double>::infinity();
    const double not_a = std::numeric_limits<double>::quiet_NaN();

    CHECK(wait_time(seconds(not_a)).ms() == BOWLINE_NO_WAIT);
    CHECK(wait_time(seconds(inf)).ms() == BOWLINE_FOREVER);
    CHECK(wait_time(seconds(-inf)).ms() == BOWLINE_NO_WAIT);
    CHECK(wait_time(seconds(1e-300)).ms() == 1);
    CHECK(wait_time(few_hours(100)).ms() == 360000000);
}

/* ---- holds ----------------------------------------------------------------------------------- */

TEST(hold_is_released_at_the_end_of_its_scope)
{
    bowline::client client(at.url);

    {
        const bowline::hold hold = client.acquire(at.name);
        CHECK(!is_free(at));
    }
    CHECK(is_free(at));
}

TEST(hold_is_released_by_an_exception)
{
    bowline::client client(at.url);
    bool            passed = false;

    try {
        const bowline::hold hold = client.acquire(at.name);
        throw std::string("thrown");
    } catch (const std::string &) {
        passed = is_free(at);
    }
    CHECK(passed);
}

TEST(terms_have_a_mode)
{
    bowline::client client("thread:");
    bowline::terms  permits;
    permits.mode    = BOWLINE_PERMITS;
    permits.permits = permits.limit = 2;
    const bowline::hold hold        = client.acquire(at.name, bowline::no_wait, permits);
    CHECK(client.who(at.name).permits == 2 && client.who(at.name).sharers == 1);
    CHECK(!client.try_acquire(at.name, bowline::no_wait, permits));
}

TEST(hold_has_its_properties)
{
    bowline::client     client(at.url);
    const bowline::hold hold  = client.acquire(at.name, 1s);
    const std::uint64_t fence = hold.fence();

    CHECK(hold);
    CHECK(hold.name() == at.name);
    CHECK(hold.name().data()[hold.name().size()] == '\0');
    CHECK(fence != 0);
    CHECK(hold.left() == bowline::milliseconds::max());
    CHECK(!hold.lost());
    CHECK(hold.get() != nullptr);
    CHECK(client.who(at.name).held == 1);
    CHECK(client.who("nobody-" + at.name).held == 0);
    THROWN(BOWLINE_UNSUPPORTED, client.break_hold(at.name, 1)); /* it ends with this process */
    THROWN(BOWLINE_USAGE, client.break_hold(at.name, 0));
    {
        const bowline::hold other = client.acquire("other-" + at.name);
        CHECK(other.get() != hold.get());
    }
}

TEST(release_reports_its_result)
{
    bowline::client client(at.url);
    bowline::hold   hold = client.acquire(at.name);

    hold.release();
    CHECK(!hold);
    CHECK(is_free(at));
    hold.release();
    CHECK(hold.release(std::nothrow) == BOWLINE_OK);
}

TEST(lock_is_released_with_its_last_reference)
{
    bowline::client client(at.url);
    bowline::hold   hold = client.acquire(at.name);

    {
        const bowline::hold nested = hold.ref();
        CHECK(nested.get() == hold.get() && nested.fence() == hold.fence());
        THROWN(BOWLINE_USAGE, (void)hold.yield());
    }
    CHECK(!is_free(at));
    bowline::hold last = hold.ref();
    hold.release();
    CHECK(!is_free(at));
    last.release();
    CHECK(is_free(at));
    THROWN(BOWLINE_USAGE, (void)hold.ref());
}

TEST(background_release_does_not_block)
{
    bowline::client client(at.url);
    bowline::hold   hold = client.acquire(at.name);
    bowline::terms  asked;

    hold.release_nowait();
    CHECK(!hold);
    CHECK(client.flush_releases());
    CHECK(is_free(at));
    hold.release_nowait(); /* NULL */

    asked.max_hold = 50ms;
    hold           = client.acquire(at.name, {}, asked);
    wait_until_lost(hold);
    THROWN(BOWLINE_LOST, hold.release_nowait());
    CHECK(!hold);
    CHECK(client.flush_releases(bowline::no_wait));
}

TEST(lost_hold_is_detected_and_its_release_throws)
{
    bowline::client client(at.with("max-hold=50ms"));
    bowline::hold   hold = client.acquire(at.name);

    CHECK(hold.left() <= 50ms);
    wait_until_lost(hold);
    CHECK(hold.left() == 0ms);
    CHECK(hold);
    const bowline::hold next = client.acquire(at.name, 10s);
    CHECK(next.fence() > hold.fence());
    THROWN(BOWLINE_LOST, hold.extend());
    THROWN(BOWLINE_LOST, hold.release());
    CHECK(!hold);
    CHECK(!hold.lost());

    bowline::terms asked;
    asked.max_hold           = 1ms;
    bowline::hold short_hold = client.acquire("short-" + at.name, {}, asked);
    wait_until_lost(short_hold);
    CHECK(short_hold.release(std::nothrow) == BOWLINE_LOST);
}

TEST(moved_hold_is_one_hold)
{
    bowline::client client(at.url);
    bowline::hold   first  = client.acquire(at.name);
    bowline::hold   second = std::move(first);

    CHECK(second);
    CHECK(!first); /* NOLINT: the test is that it is empty */
    CHECK(first.left() == 0ms);
    CHECK(!first.lost());
    CHECK(first.fence() == 0);
    CHECK(first.name().empty());
    CHECK(first.get() == nullptr);
    THROWN(BOWLINE_USAGE, first.extend());
    THROWN(BOWLINE_USAGE, first.start_extend());
    THROWN(BOWLINE_USAGE, first.start_release());
    CHECK(first.release(std::nothrow) == BOWLINE_OK);

    bowline::hold other = client.acquire("other-" + at.name);
    second              = std::move(other); /* releases its lock */
    CHECK(is_free(at));
    bowline::hold &itself = second;
    second                = std::move(itself);
    CHECK(second.name() == "other-" + at.name);
    std::thread([moved = std::move(second)] { (void)moved.left(); }).join();
    CHECK(is_free({ at.url, "other-" + at.name }));
}

TEST(extend_takes_any_duration_in_range)
{
    bowline::client client(at.url);
    bowline::hold   hold = client.acquire(at.name);

    hold.extend();
    hold.extend(1min);
    hold.extend(99999999ns); /* rounded up to 100 ms */
    hold.extend(24h);
    THROWN(BOWLINE_USAGE, hold.extend(99ms));
    THROWN(BOWLINE_USAGE, hold.extend(0ms));
    THROWN(BOWLINE_USAGE, hold.extend(-1h));
    THROWN(BOWLINE_USAGE, hold.extend(24h + 1ns));
    THROWN(BOWLINE_USAGE, hold.extend(std::chrono::hours::max()));
    CHECK(!hold.lost());
}

/* ---- acquiring ------------------------------------------------------------------------------- */

TEST(errors_have_a_status_a_name_and_a_text)
{
    bowline::client      client(at.url);
    const bowline::hold  hold = client.acquire(at.name);
    const bowline::error busy = THROWN(BOWLINE_BUSY, client.acquire(at.name));

    CHECK(busy.name() == std::string("BUSY"));
    CHECK(std::string(busy.what()).find(at.name) != std::string::npos);
    const bowline::error timeout = THROWN(BOWLINE_TIMEOUT, client.acquire(at.name, 1ms));
    CHECK(std::string(timeout.what()).find(at.name) != std::string::npos);
    const std::exception &general = timeout;
    CHECK(general.what() == std::string(timeout.what()));
    THROWN(BOWLINE_USAGE, client.acquire(""));
    THROWN(BOWLINE_USAGE, client.acquire(std::string(BOWLINE_NAME_MAX + 1, 'a')));
    THROWN(BOWLINE_USAGE, client.try_acquire("a\nb"));
}

TEST(name_with_a_NUL_is_not_cut)
{
    bowline::client   client(at.url);
    const std::string name = at.name + std::string(1, '\0') + "more";

    THROWN(BOWLINE_USAGE, client.acquire(name));
    THROWN(BOWLINE_USAGE, client.try_acquire(name));
    THROWN(BOWLINE_USAGE, client.start_acquire(name));
    THROWN(BOWLINE_USAGE, client.who(name));
    THROWN(BOWLINE_USAGE, bowline::client(at.url + std::string(1, '\0')));
    CHECK(is_free(at));
}

TEST(several_names_are_acquired_together)
{
    bowline::client   client(at.url), other(at.url);
    const std::string second = at.name + "2";
    {
        std::vector<bowline::hold> holds = bowline::acquire_all(client, { second, at.name });
        CHECK(holds.size() == 2 && holds[0].name() == second && holds[1].name() == at.name);
        CHECK(!other.try_acquire(at.name) && !other.try_acquire(second));
        THROWN(BOWLINE_BUSY, bowline::acquire_all(other, { "free", second }, bowline::no_wait));
    }
    CHECK(bowline::acquire_all(other, { at.name, second }, bowline::no_wait).size() == 2);
    THROWN(BOWLINE_USAGE, bowline::acquire_all(client, {}));
}

TEST(try_acquire_returns_nothing_when_held)
{
    bowline::client client(at.url);
    bowline::terms  short_one;
    short_one.max_hold                 = 20ms;
    std::optional<bowline::hold> first = client.try_acquire(at.name);

    CHECK(first.has_value());
    CHECK(!client.try_acquire(at.name));
    CHECK(!client.try_acquire(at.name, 2ms));
    first.reset();
    first = client.try_acquire(at.name, bowline::no_wait, short_one);
    CHECK(client.try_acquire(at.name, bowline::forever));
    CHECK(first->lost()); /* it was waited for */
}

TEST(options_reach_the_library)
{
    bowline::options asked;
    asked.url      = at.with("wait=1ms");
    asked.max_hold = 1h;
    bowline::client     client(asked);
    const bowline::hold hold = client.acquire(at.name);

    CHECK(hold.left() <= 1h);
    THROWN(BOWLINE_TIMEOUT, client.acquire(at.name)); /* as the URL says */
    THROWN(BOWLINE_BUSY, client.acquire(at.name, bowline::no_wait));
    THROWN(BOWLINE_USAGE, bowline::client(""));
    THROWN(BOWLINE_UNSUPPORTED, bowline::client("nosuch:"));
    asked.lease = -1s;
    THROWN(BOWLINE_USAGE, bowline::client(asked));
    asked.lease = std::chrono::hours(24 * 365 * 200); /* more than fits in 32 bits */
    THROWN(BOWLINE_USAGE, bowline::client(asked));
    asked.lease = 0ms;
    asked.reply = -1ms;
    THROWN(BOWLINE_USAGE, bowline::client(asked));
    asked.reply    = 0ms;
    asked.max_hold = -1ms;
    THROWN(BOWLINE_USAGE, bowline::client(asked));
}

/* ---- clients --------------------------------------------------------------------------------- */

TEST(hold_outlives_its_client)
{
    bowline::hold                     hold;
    bowline::operation<bowline::hold> waiting;
    {
        bowline::client client(at.url);
        hold    = client.acquire(at.name);
        waiting = client.start_acquire(at.name, bowline::forever);
    }
    CHECK(!hold.lost());
    CHECK(!is_free(at));
    hold.release();
    CHECK(waiting.wait(10s));
    bowline::hold next = waiting.finish();
    CHECK(!is_free(at));
    next.release();
    CHECK(is_free(at));
}

TEST(moved_from_client_is_refused)
{
    bowline::client first(at.url);
    bowline::client second = std::move(first);

    CHECK(second.acquire(at.name));
    THROWN(BOWLINE_USAGE, first.acquire(at.name)); /* NOLINT: the test is that it is empty */
    THROWN(BOWLINE_USAGE, first.try_acquire(at.name));
    THROWN(BOWLINE_USAGE, first.start_acquire(at.name));
    THROWN(BOWLINE_USAGE, first.who(at.name));
    THROWN(BOWLINE_USAGE, first.fd());
    THROWN(BOWLINE_USAGE, first.timeout());
    THROWN(BOWLINE_USAGE, (first.dispatch(), 0));
    THROWN(BOWLINE_USAGE, bowline::named_mutex(first, at.name));
    CHECK(first.get() == nullptr);
    first = std::move(second);
    CHECK(first.acquire(at.name));
}

/* The child's use of inherited objects and their destructors has no effect.  Its status. */
static int child_of_a_holder(bowline::hold hold, bowline::client client, const place &at) noexcept
{
    try {
        const bowline::hold second = client.acquire("second-" + at.name);
        return 2;
    } catch (const bowline::error &e) {
        bowline::hold moved(std::move(hold));
        if (e.status() != BOWLINE_FORKED)
            return 3;
        return moved.release(std::nothrow) == BOWLINE_FORKED ? 0 : 4;
    }
}

TEST(child_of_fork_releases_nothing)
{
    bowline::client client(at.url);
    bowline::hold   hold   = client.acquire(at.name);
    int             status = -1;

    const pid_t pid = fork();
    if (pid == 0)
        _exit(child_of_a_holder(std::move(hold), std::move(client), at));
    CHECK(pid > 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    CHECK(!is_free(at));
    hold.release();
    CHECK(is_free(at));
}

/* ---- lists, tickets and periods -------------------------------------------------------------- */

TEST(list_is_a_range_of_holders)
{
    bowline::client          client(at.url);
    const bowline::hold      one  = client.acquire(at.name + "-1");
    const bowline::hold      two  = client.acquire(at.name + "-2");
    bowline::listing         list = client.list(at.name + "-?");
    std::vector<std::string> names;

    for (const bowline_holder &holder : list)
        names.emplace_back(holder.name);
    std::sort(names.begin(), names.end());
    CHECK(names == (std::vector<std::string>{ at.name + "-1", at.name + "-2" }));
    CHECK(!list.next() && list.looked_at() >= 2);
    const bowline::listing moved(std::move(list));
    (void)THROWN(BOWLINE_USAGE, list.next());
    (void)THROWN(BOWLINE_USAGE, client.list("["));
}

TEST(holders_are_all_who_share_a_lock)
{
    bowline::client            client(at.url);
    std::vector<bowline::hold> holds;
    bowline::terms             shared;
    constexpr std::size_t      many = 20; /* more than it has room for at first */

    CHECK(client.holders(at.name).empty());
    shared.mode = BOWLINE_SHARED;
    while (holds.size() < many)
        holds.push_back(client.acquire(at.name, {}, shared));
    const std::vector<bowline_holder> all = client.holders(at.name);
    CHECK(all.size() == many);
    for (const bowline_holder &holder : all)
        CHECK(holder.held == 1 && holder.permits == 1 && holder.fence == holds[0].fence());
    (void)THROWN(BOWLINE_USAGE, client.holders(""));
}

TEST(ticket_is_refused_and_the_hold_stays)
{
    bowline::client client(at.url);
    bowline::hold   hold = client.acquire(at.name);
    bowline::hold   none;

    (void)THROWN(BOWLINE_UNSUPPORTED, hold.export_ticket());
    (void)THROWN(BOWLINE_USAGE, none.export_ticket());
    (void)THROWN(BOWLINE_USAGE, bowline::ticket_name("no ticket"));
    CHECK(hold && !is_free(at));
}

TEST(hold_is_passed_on_and_a_period_is_kept)
{
    tap::server redis;

    if (!redis.is_up())
        return;
    bowline::client     client(redis.url()), other(redis.url());
    bowline::hold       hold   = client.acquire(at.name);
    const std::uint64_t fence  = hold.fence();
    const std::string   ticket = hold.export_ticket();
    CHECK(!hold && bowline::ticket_name(ticket) == at.name);
    CHECK(!client.try_acquire(at.name));
    CHECK(other.import_ticket(ticket).fence() == fence); /* and released */
    (void)THROWN(BOWLINE_LOST, other.import_ticket(ticket));

    bowline::terms once;
    once.once = 1h;
    client.acquire(at.name, bowline::no_wait, once).release();
    CHECK(!other.try_acquire(at.name, bowline::no_wait, once) && other.who(at.name).done == 1);
}
