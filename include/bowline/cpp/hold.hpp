/*
 * hold.hpp -- a lock while it is ours.
 */
#ifndef BOWLINE_CPP_HOLD_HPP
#define BOWLINE_CPP_HOLD_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/time.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace bowline {

template <class Result> class operation;

/* Gives the lock back when it ends.  The hold is the owner: it may be moved to another thread. */
class [[nodiscard]] hold {
  public:
    hold() noexcept = default;

    hold(hold &&other) noexcept
        : client_(std::move(other.client_)), handle_(std::exchange(other.handle_, nullptr))
    {
    }

    /* What was held before is given back first. */
    hold &operator=(hold &&other) noexcept
    {
        if (this != &other) {
            (void)release(std::nothrow); /* whoever wants to know releases by himself */
            client_ = std::move(other.client_);
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }

    ~hold()
    {
        (void)release(std::nothrow); /* likewise */
    }

    /* There is something to give back, lost or not.  Any thread. */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /* How long it is surely ours from now on: 0 when it is not, milliseconds::max() where nothing
     * but release ends it (compare with it; a time point plus it overflows).  Any thread. */
    [[nodiscard]] milliseconds left() const noexcept
    {
        return milliseconds(handle_ != nullptr ? bowline_hold_left_ms(handle_) : 0);
    }

    /* It was ours and is not any more.  False means so far: time goes on.  Any thread. */
    [[nodiscard]] bool lost() const noexcept
    {
        return handle_ != nullptr && left().count() == 0;
    }

    /* Becomes readable, and stays so, when it is lost; whether or not anybody dispatches.  To be
     * polled, not read nor closed: it is closed when the hold is released.  Throws USAGE of an empty
     * one, SYSTEM, NOMEM, FORKED.  One thread. */
    [[nodiscard]] int lost_fd();

    /* Nothing: all is well.  UNREACHABLE, UNKNOWN, REFUSED: it is ours still, for as long as left()
     * says, but the last attempt at renewing it has failed.  LOST.  Throws USAGE, FORKED.  Any
     * thread. */
    [[nodiscard]] std::optional<error> check() const;

    /* A pointer of yours, which its events bring back.  Of nothing: nothing.  Any thread. */
    void                set_data(void *pointer) noexcept;
    [[nodiscard]] void *data() const noexcept;

    /* Grows with every holder of the name; 0 where the engine has none.  Any thread. */
    [[nodiscard]] std::uint64_t fence() const noexcept
    {
        return handle_ != nullptr ? bowline_hold_fence(handle_) : 0;
    }

    /* Lives as long as the hold, and ends in NUL.  Any thread. */
    [[nodiscard]] std::string_view name() const noexcept
    {
        return handle_ != nullptr ? bowline_hold_name(handle_) : "";
    }

    /* From now on the lease is as it was.  As bowline_extend: LOST, UNKNOWN (ask left()),
     * UNSUPPORTED, USAGE, FORKED.  One thread. */
    void extend()
    {
        extend_by(0);
    }

    /* From now on the lease is this long.  Never shortens what is promised.  As extend(), and
     * USAGE outside of BOWLINE_LEASE_MIN_MS .. _MAX_MS.  One thread. */
    template <class Rep, class Period> void extend(const std::chrono::duration<Rep, Period> &lease)
    {
        extend_by(asked(lease));
    }

    /* Gives the lock to who waits, and waits until it is ours again: true, with a new fence.  As
     * bowline_yield.  False: not in this time.  When it is false or throws, the hold is lost (there
     * is something to give back still, which is nothing).  TIMEOUT is false; all else
     * throws: LOST, BUSY, UNKNOWN, UNREACHABLE, REFUSED, NOMEM, SYSTEM, USAGE, FORKED.  One thread. */
    [[nodiscard]] bool yield(wait_time wait = forever);

    /* Gives the lock back.  Empty afterwards, also when it throws: LOST (somebody else may have
     * held it meanwhile), UNKNOWN, REFUSED, FORKED.  Of nothing: nothing.  One thread. */
    void release()
    {
        bowline_error e{};
        detail::check(release_to(&e), e);
    }

    /* The same, returning the status.  One thread. */
    [[nodiscard]] int release(std::nothrow_t /*no throw*/) noexcept
    {
        return release_to(nullptr);
    }

    /* Gives the lock back without waiting for the answer; client::flush_releases() tells of it.  Empty
     * afterwards, also when it throws: as release(), if that is known at once.  Of nothing:
     * nothing.  One thread. */
    void release_nowait()
    {
        bowline_error e{};
        const int     status = bowline_release_nowait(std::exchange(handle_, nullptr), &e);

        client_.reset();
        detail::check(status, e);
    }

    /* The same verbs, started now and finished later (operation.hpp).  An extension whose hold is
     * released meanwhile ends CANCELLED.  After start_release the hold is empty, unless it throws:
     * NOMEM, FORKED, and USAGE of an empty one.  One thread. */
    operation<void> start_extend();
    operation<void> start_yield(wait_time wait = forever);
    operation<void> start_release();
    template <class Rep, class Period>
    operation<void> start_extend(const std::chrono::duration<Rep, Period> &lease);

    /* For calls of bowline.h; stays ours.  nullptr: empty.  Any thread. */
    [[nodiscard]] bowline_hold *get() const noexcept
    {
        return handle_;
    }

  private:
    friend class client;
    template <class Result> friend class operation;

    hold(detail::client_ptr client, bowline_hold *handle) noexcept
        : client_(std::move(client)), handle_(handle)
    {
    }

    template <class Rep, class Period>
    static std::uint32_t asked(const std::chrono::duration<Rep, Period> &lease)
    {
        const std::int64_t ms = detail::whole_ms(lease, BOWLINE_LEASE_MAX_MS);

        return ms == 0 ? 1 : static_cast<std::uint32_t>(ms); /* refused, as too short */
    }

    void            extend_by(std::uint32_t lease_ms);
    operation<void> start_extend_by(std::uint32_t lease_ms);

    int release_to(bowline_error *reterr) noexcept
    {
        const int status = bowline_release(std::exchange(handle_, nullptr), reterr);

        client_.reset();
        return status;
    }

    detail::client_ptr client_;
    bowline_hold      *handle_ = nullptr;
};

inline int hold::lost_fd()
{
    bowline_error e{};

    detail::need(handle_ != nullptr, "an empty hold has no descriptor");
    const int fd = bowline_hold_lost_fd(handle_, &e);
    detail::check(fd, e);
    return fd;
}

inline std::optional<error> hold::check() const
{
    bowline_error e{};

    detail::need(handle_ != nullptr, "an empty hold cannot be checked");
    const int status = bowline_hold_check(handle_, &e);
    if (status == BOWLINE_FORKED || status == BOWLINE_USAGE)
        detail::check(status, e);
    if (status < 0)
        return error(status, e.text);
    return std::nullopt;
}

inline void hold::set_data(void *pointer) noexcept
{
    if (handle_ != nullptr)
        bowline_hold_set_data(handle_, pointer);
}

inline void *hold::data() const noexcept
{
    return handle_ != nullptr ? bowline_hold_data(handle_) : nullptr;
}

inline void hold::extend_by(std::uint32_t lease_ms)
{
    bowline_error e{};

    detail::need(handle_ != nullptr, "an empty hold cannot be extended");
    detail::check(bowline_extend(handle_, lease_ms, &e), e);
}

inline bool hold::yield(wait_time wait)
{
    bowline_error e{};

    detail::need(handle_ != nullptr, "an empty hold cannot be yielded");
    const int status = bowline_yield(handle_, wait.ms(), &e);
    if (status != BOWLINE_TIMEOUT)
        detail::check(status, e);
    return status == BOWLINE_OK;
}

} /* namespace bowline */

#endif
