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
#include <optional>
#include <type_traits>
#include <utility>

namespace bowline {

/* An acquire (operation<hold>), a who (operation<bowline_holder>), or an extend, yield or release
 * (operation<void>) under way.  The destructor cancels it, and releases what it may have acquired.
 *
 * done, wait and cancel: Any thread, also at the same time.  None of them may overlap with finish
 * or follow it.  To cancel from another thread: wait() in this one, join the other, then finish. */
template <class Result> class [[nodiscard]] operation {
    static_assert(std::is_same_v<Result, hold> || std::is_same_v<Result, bowline_holder> ||
                  std::is_same_v<Result, void>);

  public:
    operation() noexcept = default;

    operation(operation &&other) noexcept
        : client_(std::move(other.client_)), handle_(std::exchange(other.handle_, nullptr))
    {
    }

    operation &operator=(operation &&other) noexcept
    {
        if (this != &other) {
            drop();
            client_ = std::move(other.client_);
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }

    ~operation()
    {
        drop();
    }

    /* True: not empty, and to be finished.  Any thread. */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /* True: it has ended, and finish does not block.  Any thread. */
    [[nodiscard]] bool done() const noexcept
    {
        return handle_ == nullptr || bowline_operation_done(handle_) != 0;
    }

    /* Waits for the end, running the event loop of the client.  False: not yet.  Throws SYSTEM,
     * FORKED.  Any thread. */
    bool wait(wait_time wait = forever)
    {
        bowline_error e{};

        if (handle_ == nullptr)
            return true;
        const int status = bowline_operation_wait(handle_, wait.ms(), &e);
        if (status != BOWLINE_TIMEOUT)
            detail::check(status, e);
        return status == BOWLINE_OK;
    }

    /* A pointer of the caller, which its events carry, and the hold that it acquires begins with.
     * Empty: no effect, nullptr.  Any thread. */
    void set_data(void *pointer) noexcept
    {
        if (handle_ != nullptr)
            bowline_operation_set_data(handle_, pointer);
    }

    [[nodiscard]] void *data() const noexcept
    {
        return handle_ != nullptr ? bowline_operation_data(handle_) : nullptr;
    }

    /* Ends an acquire, yield, extend or who soon, unless it has ended before: see finish.  Any
     * thread. */
    void cancel() noexcept
    {
        if (handle_ != nullptr)
            bowline_cancel(handle_);
    }

    /* Waits for the end if necessary and returns the result.  Throws what the blocking call throws,
     * CANCELLED, and USAGE (empty).  Empty afterwards, also if it throws.  One thread. */
    Result finish()
    {
        bowline_error e{};

        detail::need(handle_ != nullptr, "there is no operation to finish");
        if constexpr (std::is_same_v<Result, hold>) {
            hold won;
            detail::check(end(won, &e), e);
            return won;
        } else if constexpr (std::is_same_v<Result, bowline_holder>) {
            bowline_holder seen{};
            detail::check(end(seen, &e), e);
            return seen;
        } else {
            detail::check(end(&e), e);
        }
    }

    /* The same for an acquire, but returns nothing for BUSY, TIMEOUT and CANCELLED.  One thread. */
    [[nodiscard]] std::optional<hold> try_finish()
    {
        static_assert(std::is_same_v<Result, hold>, "only an acquire can be tried");
        bowline_error e{};
        hold          won;

        detail::need(handle_ != nullptr, "there is no operation to finish");
        const int status = end(won, &e);
        if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT || status == BOWLINE_CANCELLED)
            return std::nullopt;
        detail::check(status, e);
        return won;
    }

    /* For calls of async.h; the object still owns it.  nullptr: empty.  Any thread. */
    [[nodiscard]] bowline_operation *get() const noexcept
    {
        return handle_;
    }

  private:
    friend class client;
    friend class hold;

    operation(detail::client_ptr client, bowline_operation *handle) noexcept
        : client_(std::move(client)), handle_(handle)
    {
    }

    int end(hold &ret_won, bowline_error *reterr) noexcept
    {
        bowline_hold *won = nullptr;
        const int status  = bowline_acquire_finish(&won, std::exchange(handle_, nullptr), reterr);

        ret_won = hold(std::move(client_), won);
        return status;
    }

    int end(bowline_holder &ret_seen, bowline_error *reterr) noexcept
    {
        ret_seen.size    = sizeof ret_seen;
        const int status = bowline_who_finish(&ret_seen, std::exchange(handle_, nullptr), reterr);

        client_.reset();
        return status;
    }

    int end(bowline_error *reterr) noexcept
    {
        const int status = bowline_finish(std::exchange(handle_, nullptr), reterr);

        client_.reset();
        return status;
    }

    void drop() noexcept
    {
        cancel();
        if (handle_ == nullptr)
            return;
        if constexpr (std::is_same_v<Result, hold>) {
            hold won; /* and given back at once */
            (void)end(won, nullptr);
        } else if constexpr (std::is_same_v<Result, bowline_holder>) {
            bowline_holder seen{};
            (void)end(seen, nullptr); /* likewise */
        } else {
            (void)end(nullptr); /* nobody wants to know */
        }
    }

    detail::client_ptr client_;
    bowline_operation *handle_ = nullptr;
};

inline operation<void> hold::start_extend_by(std::uint32_t lease_ms)
{
    bowline_error      e{};
    bowline_operation *op = nullptr;

    detail::need(handle_ != nullptr, "an empty hold cannot be extended");
    detail::check(bowline_extend_start(&op, handle_, lease_ms, &e), e);
    return operation<void>(client_, op);
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
    bowline_error      e{};
    bowline_operation *op = nullptr;

    detail::need(handle_ != nullptr, "an empty hold cannot be yielded");
    detail::check(bowline_yield_start(&op, handle_, wait.ms(), &e), e);
    return operation<void>(client_, op);
}

inline operation<void> hold::start_release()
{
    bowline_error      e{};
    bowline_operation *op = nullptr;

    detail::need(handle_ != nullptr, "an empty hold cannot be released");
    detail::check(bowline_release_start(&op, handle_, &e), e);
    handle_ = nullptr; /* the operation has it */
    return operation<void>(std::move(client_), op);
}

} /* namespace bowline */

#endif
