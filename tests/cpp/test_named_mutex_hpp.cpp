/*
 * test_named_mutex_hpp.cpp -- bowline::named_mutex in place of a std::timed_mutex; and its
 * difference: it can be lost while it is locked.
 */
#include <bowline/bowline.hpp>

#include "tap.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using bowline::named_mutex;
using tap::is_free;
using tap::place;
using tap::wait_until_lost;

static_assert(!std::is_copy_constructible_v<named_mutex>);
static_assert(!std::is_move_constructible_v<named_mutex>);
static_assert(noexcept(std::declval<named_mutex &>().unlock()));

/* ---- as a mutex ------------------------------------------------------------------------------ */

TEST(guards_lock_and_unlock)
{
    bowline::client client(at.url);
    named_mutex     mutex(client, at.name);

    CHECK(mutex.name() == at.name);
    CHECK(mutex.left() == 0ms);
    CHECK(mutex.fence() == 0);
    {
        const std::lock_guard<named_mutex> guard(mutex);
        CHECK(!is_free(at));
        CHECK(mutex.left() == bowline::milliseconds::max());
        CHECK(mutex.fence() != 0);
        CHECK(!mutex.lost());
    }
    CHECK(is_free(at));
    CHECK(mutex.last_unlock() == BOWLINE_OK);
    std::unique_lock<named_mutex> lock(mutex, std::defer_lock);
    CHECK(!lock.owns_lock());
    CHECK(lock.try_lock());
    lock.unlock();
    lock.lock();
    CHECK(!is_free(at));
    std::unique_lock<named_mutex> moved(std::move(lock));
    CHECK(moved.owns_lock());
}

TEST(two_objects_of_one_name_are_one_lock)
{
    bowline::client client(at.url);
    bowline::client another(at.url);
    named_mutex     first(client, at.name);
    named_mutex     second(another, at.name);

    const std::unique_lock<named_mutex> guard(first);
    const std::unique_lock<named_mutex> other(second, std::try_to_lock);
    CHECK(!other.owns_lock());
    CHECK(!first.try_lock()); /* not recursive */
    CHECK(!client.try_acquire(at.name));
}

TEST(timed_locks_time_out)
{
    using std::chrono::steady_clock;
    using std::chrono::system_clock;
    bowline::client     client(at.url);
    const bowline::hold hold = client.acquire(at.name);
    named_mutex         mutex(client, at.name);
    const auto          began = steady_clock::now();

    CHECK(!mutex.try_lock_for(30ms));
    CHECK(steady_clock::now() - began >= 29ms); /* the library counts whole milliseconds */
    CHECK(!mutex.try_lock_for(0ms));
    CHECK(!mutex.try_lock_for(-1h));
    const auto soon = steady_clock::now() + 30ms;
    CHECK(!mutex.try_lock_until(soon));
    CHECK(steady_clock::now() >= soon);
    CHECK(!mutex.try_lock_until(system_clock::now() + 5ms));
    CHECK(!mutex.try_lock_until(system_clock::now() - 5ms));
    CHECK(!mutex.try_lock_until(steady_clock::time_point::min()));
    const std::unique_lock<named_mutex> lock(mutex, 2ms);
    CHECK(!lock.owns_lock());
}

TEST(timed_locks_wait)
{
    using std::chrono::steady_clock;
    bowline::client client(at.url);
    named_mutex     mutex(client, at.name);
    bowline::terms  asked;

    asked.max_hold = 10ms;
    for (int way = 0; way < 3; way++) {
        const bowline::hold hold = client.acquire(at.name, bowline::forever, asked);
        bool                came = false;
        if (way == 0)
            came = mutex.try_lock_for(std::chrono::hours::max());
        else if (way == 1)
            came = mutex.try_lock_until(steady_clock::time_point::max());
        else
            came = mutex.try_lock_until(std::chrono::system_clock::now() + 1min);
        CHECK(came);
        CHECK(hold.lost()); /* it was waited for */
        mutex.unlock();
    }
}

/* Each locks both, in the other order. */
TEST(locking_two_at_once_does_not_deadlock)
{
    bowline::client  client(at.url);
    named_mutex      first(client, at.name);
    named_mutex      second(client, "second-" + at.name);
    int              count = 0;
    std::atomic<int> failures{ 0 };

    const auto work = [&](named_mutex &one, named_mutex &two) {
        try {
            for (int i = 0; i < 100; i++) {
                const std::scoped_lock both(one, two);
                count++;
            }
        } catch (const bowline::error &) {
            failures++;
        }
    };
    std::thread there(work, std::ref(first), std::ref(second));
    std::thread back(work, std::ref(second), std::ref(first));
    there.join();
    back.join();
    CHECK(failures == 0);
    CHECK(count == 200);
    CHECK(is_free(at));
}

/* Threads that share an object, threads that have their own, and clients of their own.  The count
 * is read and written separately, so that it detects an overlap.  It is atomic for the thread
 * sanitizer, which does not know that the kernel orders two clients that lock a file. */
TEST(one_thread_at_a_time)
{
    bowline::client          client(at.url);
    named_mutex              shared(client, at.name);
    std::atomic<int>         count{ 0 };
    std::atomic<int>         failures{ 0 };
    std::vector<std::thread> threads;

    const auto count_with = [&](named_mutex &mutex) {
        for (int i = 0; i < 100; i++) {
            const std::lock_guard<named_mutex> guard(mutex);
            const int                          before = count.load(std::memory_order_relaxed);
            count.store(before + 1, std::memory_order_relaxed);
        }
    };
    for (int i = 0; i < 6; i++)
        threads.emplace_back([&, i] {
            try {
                bowline::client own_client(at.url);
                named_mutex     own(i % 3 == 1 ? client : own_client, at.name);
                count_with(i % 3 == 0 ? shared : own);
            } catch (const bowline::error &) {
                failures++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(failures == 0);
    CHECK(count == 600);
}

TEST(any_thread_may_unlock)
{
    bowline::client client(at.url);
    named_mutex     mutex(client, at.name);

    std::thread([&mutex] { mutex.lock(); }).join();
    CHECK(!is_free(at));
    mutex.unlock();
    CHECK(is_free(at));
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

TEST(lock_throws_what_acquire_throws)
{
    bowline::client client(at.url);
    named_mutex     unnamed(client, "");

    THROWN(BOWLINE_USAGE, (unnamed.lock(), 0));
    THROWN(BOWLINE_USAGE, unnamed.try_lock());
    THROWN(BOWLINE_USAGE, unnamed.try_lock_for(1ms));
    unnamed.unlock(); /* was not locked */
    CHECK(unnamed.last_unlock() == BOWLINE_USAGE);
}

TEST(mutex_outlives_its_client_and_unlocks_in_its_destructor)
{
    auto                       client = std::make_unique<bowline::client>(at.url);
    std::optional<named_mutex> mutex(std::in_place, *client, at.name);

    client.reset();
    mutex->lock();
    CHECK(!is_free(at));
    mutex.reset();
    CHECK(is_free(at));
}

TEST(lost_lock_is_detected_and_its_guard_does_not_throw)
{
    bowline::client client(at.url);
    bowline::terms  asked;
    asked.max_hold = 50ms;
    named_mutex mutex(client, at.name, asked);
    {
        const std::lock_guard<named_mutex> guard(mutex);
        wait_until_lost(mutex);
        CHECK(mutex.left() == 0ms);
        const std::uint64_t fence = mutex.fence();
        CHECK(client.acquire(at.name, 10s).fence() > fence); /* another thread is inside */
    }
    CHECK(mutex.last_unlock() == BOWLINE_LOST);
    CHECK(!mutex.lost());
    do {
        mutex.lock();
        mutex.unlock();
    } while (mutex.last_unlock() == BOWLINE_LOST); /* on a machine that stopped */
    CHECK(mutex.last_unlock() == BOWLINE_OK);
}

/* How many of the three waiters entered and had the lock. */
static int who_come_in_after_a_loss(const place &at)
{
    bowline::client client(at.url);
    bowline::terms  asked;
    asked.max_hold = 500ms;
    named_mutex       mutex(client, at.name, asked);
    std::atomic<bool> came{ false };
    std::atomic<int>  later{ 0 };
    std::atomic<int>  had{ 0 };

    mutex.lock();
    const std::uint64_t fence = mutex.fence();
    wait_until_lost(mutex);
    CHECK(!mutex.try_lock());
    CHECK(!mutex.try_lock_for(5ms));
    std::vector<std::thread> next;
    for (int i = 0; i < 3; i++)
        next.emplace_back([&] {
            mutex.lock();
            came = true;
            later += mutex.fence() > fence ? 1 : 0;
            had += !mutex.lost() ? 1 : 0;
            mutex.unlock();
        });
    while (client.who(at.name).fence < fence + 2) /* one lost it while it waited to enter */
        std::this_thread::sleep_for(1ms);
    const bool too_early = came;
    mutex.unlock();
    for (std::thread &thread : next)
        thread.join();
    CHECK(!too_early);
    CHECK(came);
    CHECK(later == 3);
    CHECK(is_free(at));
    return had;
}

/* Otherwise the unlock of the thread that lost the lock would release the lock of the next one. */
TEST(thread_that_lost_the_lock_leaves_before_the_next_enters)
{
    int tries = 20; /* on a machine that stopped */
    int had   = 0;

    while (had < 3 && tries-- > 0)
        had = who_come_in_after_a_loss(at);
    CHECK(had == 3);
}
