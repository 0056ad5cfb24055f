/*
 * named_mutex.hpp -- a lock by name with the interface of std::timed_mutex.
 *
 *      bowline::named_mutex mutex(client, "nightly");
 *      {
 *          std::lock_guard guard(mutex);
 *          ... work ...
 *          if (mutex.lost())
 *              throw stale();     the work must not count
 *      }
 *      if (mutex.last_unlock() != BOWLINE_OK)
 *          ... the lock was lost before it was released ...
 *
 * It is Lockable and TimedLockable: std::lock_guard, std::unique_lock and std::scoped_lock accept
 * it (several mutexes at once without a deadlock).  Differences from std::timed_mutex:
 *
 *   - Two objects with the same name are one lock, in this process and in others (as the URL says).
 *   - It is not recursive.  The hold inside is the owner, so any thread may unlock.  A second lock
 *     by the same thread waits forever; so does std::scoped_lock of two objects with the same name.
 *   - On engines with a lease, and with max_hold, the lock can be lost while it is locked.  Nothing
 *     interrupts the work: ask lost() before it counts, or pass fence() to what you write to.
 *   - unlock() of a lost lock is silent, because the destructor of a guard must not throw.
 *     last_unlock() has its status until the next unlock.
 *   - After a loss another process can hold the lock.  Another thread that uses the same object
 *     cannot, until the thread that lost it has unlocked: an unlock never releases what another
 *     thread has locked.
 *   - lock() can fail: it throws what client::acquire throws.
 */
#ifndef BOWLINE_CPP_NAMED_MUTEX_HPP
#define BOWLINE_CPP_NAMED_MUTEX_HPP

#include <bowline/cpp/client.hpp>
#include <bowline/cpp/error.hpp>
#include <bowline/cpp/hold.hpp>
#include <bowline/cpp/time.hpp>

#include <bowline/bowline.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <ratio>
#include <string>
#include <utility>

namespace bowline {

/* Cannot be copied or moved.  The destructor unlocks.  "One thread." for the constructor and the
 * destructor, "Any thread." for the rest. */
class named_mutex {
  public:
    /* Sends nothing; the first lock() checks the name.  Throws USAGE (a client that was moved
     * from). */
    named_mutex(const client &through, std::string name, const terms &asked = terms())
        : client_(through.client_), name_(std::move(name)), terms_(asked)
    {
        detail::need(client_.get() != nullptr, "this client was moved from");
    }

    named_mutex(const named_mutex &)            = delete;
    named_mutex &operator=(const named_mutex &) = delete;
    ~named_mutex()                              = default;

    /* Waits for the lock without a limit.  Throws as client::acquire.  Any thread. */
    void lock()
    {
        (void)enter(forever); /* or throws */
    }

    /* False: another client holds it.  Throws as client::acquire, except BUSY.  Any thread. */
    [[nodiscard]] bool try_lock()
    {
        return enter(no_wait);
    }

    /* False: others held it for all of the time.  Throws as client::acquire, except BUSY and
     * TIMEOUT.  Any thread. */
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return enter(wait_time(time));
    }

    /* The same.  It waits longer if the clock is set back meanwhile.  Any thread. */
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &at)
    {
        /* Floating, so that no difference of two times overflows. */
        using fine = std::chrono::duration<long double, std::milli>;
        const fine end(at.time_since_epoch());

        for (;;) {
            if (enter(wait_time(end - fine(Clock::now().time_since_epoch()))))
                return true;
            if (end <= fine(Clock::now().time_since_epoch()))
                return false;
        }
    }

    /* Releases the lock; last_unlock() has the status.  Never throws.  Any thread. */
    void unlock() noexcept
    {
        hold mine;
        {
            const std::lock_guard<std::mutex> gate(gate_);
            mine = std::move(hold_);
        }
        vacated_.notify_all(); /* the first waiter may have lost it as well */
        last_unlock_ = mine ? mine.release(std::nothrow) : BOWLINE_USAGE;
    }

    /* The status of the last unlock() of this object, by any thread: OK; LOST (another client may
     * have held the lock); UNKNOWN, UNREACHABLE, REFUSED, NOMEM, FORKED as hold::release; USAGE: it
     * was not locked.  Any thread. */
    [[nodiscard]] int last_unlock() const noexcept
    {
        return last_unlock_;
    }

    /* True: it is locked, and the lock is lost.  Any thread. */
    [[nodiscard]] bool lost() const
    {
        const std::lock_guard<std::mutex> gate(gate_);
        return hold_.lost();
    }

    /* As hold::left; 0 if it is not locked.  Any thread. */
    [[nodiscard]] milliseconds left() const
    {
        const std::lock_guard<std::mutex> gate(gate_);
        return hold_.left();
    }

    /* As hold::fence; 0 if it is not locked.  Any thread. */
    [[nodiscard]] std::uint64_t fence() const
    {
        const std::lock_guard<std::mutex> gate(gate_);
        return hold_.fence();
    }

    /* Lives as long as this object.  Any thread. */
    [[nodiscard]] const std::string &name() const noexcept
    {
        return name_;
    }

  private:
    using clock = std::chrono::steady_clock;

    /* What remains of a wait. */
    static wait_time rest(wait_time wait, clock::time_point since)
    {
        if (wait.ms() <= 0)
            return wait;
        return wait_time(milliseconds(wait.ms()) - (clock::now() - since));
    }

    /* Waits until a thread that has lost the lock has unlocked it. */
    bool vacant(std::unique_lock<std::mutex> &gate, wait_time wait)
    {
        const auto is_vacant = [this] { return !hold_; };

        if (wait.ms() == BOWLINE_FOREVER) {
            vacated_.wait(gate, is_vacant);
            return true;
        }
        return vacated_.wait_for(gate, milliseconds(wait.ms()), is_vacant);
    }

    bool enter(wait_time wait)
    {
        const clock::time_point began = clock::now();

        for (;;) {
            std::optional<hold> won = client_.try_acquire(name_, rest(wait, began), terms_);
            if (!won)
                return false;
            std::unique_lock<std::mutex> gate(gate_);
            if (!vacant(gate, rest(wait, began)))
                return false;
            if (!won->lost()) {
                hold_ = std::move(*won);
                return true;
            }
            /* Lost while waiting for another thread to unlock. */
        }
    }

    client                  client_; /* of our own, for the same store */
    const std::string       name_;
    const terms             terms_;
    mutable std::mutex      gate_; /* guards hold_ */
    std::condition_variable vacated_;
    hold                    hold_; /* empty: not locked */
    std::atomic<int>        last_unlock_{ BOWLINE_OK };
};

} /* namespace bowline */

#endif
