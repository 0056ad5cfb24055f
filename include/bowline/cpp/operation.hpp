/*
 * operation.hpp -- started now, finished later.
 */
#ifndef BOWLINE_CPP_OPERATION_HPP
#define BOWLINE_CPP_OPERATION_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/hold.hpp>
#include <bowline/cpp/time.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace bowline {

namespace detail {

/* Cancels an operation, and releases what it may have acquired. */
template <class Result> struct operation_end {
    client_ptr client;

    void operator()(bowline_operation *handle) const noexcept
    {
        bowline_cancel(handle);
        if constexpr (std::is_same_v<Result, hold>) {
            bowline_hold *won = nullptr;
            if (bowline_acquire_finish(&won, handle, nullptr) == BOWLINE_OK)
                (void)bowline_release(won, nullptr); /* the status is not needed */
        } else if constexpr (std::is_same_v<Result, bowline_holder>) {
            bowline_holder seen{};
            seen.size = sizeof seen;
            (void)bowline_who_finish(&seen, handle, nullptr); /* likewise */
        } else {
            (void)bowline_finish(handle, nullptr); /* likewise */
        }
    }
};

} /* namespace detail */

/* An acquire (operation<hold>), a who (operation<bowline_holder>), or an extend, yield or release
 * (operation<void>) under way.  The destructor cancels it, and releases what it may have acquired.
 * It can be moved, not copied.
 *
 * done, wait and cancel: Any thread, also at the same time.  None of them may overlap with finish
 * or follow it.  To cancel from another thread: wait() in this one, join the other, then finish. */
template <class Result> class [[nodiscard]] operation {
    static_assert(std::is_same_v<Result, hold> || std::is_same_v<Result, bowline_holder> ||
                  std::is_same_v<Result, void>);

  public:
    operation() noexcept = default;

    /* True: not empty, and to be finished.  Any thread. */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /* True: it has ended, and finish does not block.  Any thread. */
    [[nodiscard]] bool done() const noexcept
    {
        return handle_ == nullptr || bowline_operation_done(get()) != 0;
    }

    /* Waits for the end, running the event loop of the client.  False: not yet.  Throws SYSTEM,
     * FORKED.  Any thread. */
    bool wait(wait_time wait = forever)
    {
        return handle_ == nullptr || detail::call_except(BOWLINE_TIMEOUT, bowline_operation_wait,
                                                         get(), wait.ms()) == BOWLINE_OK;
    }

    /* Nothing, unless each attempt so far to reach the store has failed: UNREACHABLE, and why.
     * Throws FORKED.  Any thread. */
    [[nodiscard]] std::optional<error> check() const
    {
        bowline_error e{};
        const int     status =
            handle_ != nullptr ? bowline_operation_check(get(), &e) : int(BOWLINE_OK);

        if (status == BOWLINE_FORKED)
            detail::check(status, e);
        if (status < 0)
            return error(status, e);
        return std::nullopt;
    }

    /* A pointer of the caller, which its events carry, and the hold that it acquires begins with.
     * Empty: no effect, nullptr.  Any thread. */
    void set_data(void *pointer) noexcept
    {
        if (handle_ != nullptr)
            bowline_operation_set_data(get(), pointer);
    }

    [[nodiscard]] void *data() const noexcept
    {
        return handle_ != nullptr ? bowline_operation_data(get()) : nullptr;
    }

    /* Ends an acquire, yield, extend or who soon, unless it has ended before: see finish.  Any
     * thread. */
    void cancel() noexcept
    {
        if (handle_ != nullptr)
            bowline_cancel(get());
    }

    /* Waits for the end if necessary and returns the result.  Throws what the blocking call throws,
     * CANCELLED, and USAGE (empty).  Empty afterwards, also if it throws.  One thread. */
    Result finish()
    {
        detail::need(handle_ != nullptr, "there is no operation to finish");
        operation ended(std::move(*this));
        if constexpr (std::is_same_v<Result, hold>) {
            return std::move(*ended.acquired(false));
        } else if constexpr (std::is_same_v<Result, bowline_holder>) {
            bowline_holder seen{};
            seen.size = sizeof seen;
            detail::call(bowline_who_finish, &seen, ended.handle_.release());
            return seen;
        } else {
            detail::call(bowline_finish, ended.handle_.release());
        }
    }

    /* The same for an acquire, but returns nothing for BUSY, TIMEOUT and CANCELLED.  One thread. */
    [[nodiscard]] std::optional<hold> try_finish()
    {
        static_assert(std::is_same_v<Result, hold>, "only an acquire can be tried");
        detail::need(handle_ != nullptr, "there is no operation to finish");
        operation ended(std::move(*this));
        return ended.acquired(true);
    }

    /* For calls of async.h; the object still owns it.  nullptr: empty.  Any thread. */
    [[nodiscard]] bowline_operation *get() const noexcept
    {
        return handle_.get();
    }

  private:
    friend class client;
    friend class hold;

    operation(detail::client_ptr client, bowline_operation *handle) noexcept
        : handle_(handle, { std::move(client) })
    {
    }

    /* Nothing for BUSY, TIMEOUT and CANCELLED, if it only tries. */
    std::optional<hold> acquired(bool tries)
    {
        bowline_error e{};
        bowline_hold *won    = nullptr;
        const int     status = bowline_acquire_finish(&won, handle_.release(), &e);

        if (tries &&
            (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT || status == BOWLINE_CANCELLED))
            return std::nullopt;
        detail::check(status, e);
        return hold(std::move(handle_.get_deleter().client), won);
    }

    std::unique_ptr<bowline_operation, detail::operation_end<Result>> handle_;
};

inline operation<void> hold::start_extend_by(std::uint32_t lease_ms)
{
    bowline_operation *op = nullptr;

    detail::call(bowline_extend_start, &op, filled("an empty hold cannot be extended"), lease_ms);
    return operation<void>(handle_.get_deleter().client, op);
}

inline operation<void> hold::start_extend()
{
    return start_extend_by(0);
}

template <class Rep, class Period>
operation<void> hold::start_extend(const std::chrono::duration<Rep, Period> &lease)
{
    return start_extend_by(asked(lease));
}

inline operation<void> hold::start_yield(wait_time wait)
{
    bowline_operation *op = nullptr;

    detail::call(bowline_yield_start, &op, filled("an empty hold cannot be yielded"), wait.ms());
    return operation<void>(handle_.get_deleter().client, op);
}

inline operation<void> hold::start_release()
{
    bowline_operation *op = nullptr;

    detail::call(bowline_release_start, &op, filled("an empty hold cannot be released"));
    (void)handle_.release(); /* the operation has it */
    return operation<void>(std::move(handle_.get_deleter().client), op);
}

} /* namespace bowline */

#endif
