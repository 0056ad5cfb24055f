/*
 * hold.hpp -- a hold: a lock from acquire to release.
 */
#ifndef BOWLINE_CPP_HOLD_HPP
#define BOWLINE_CPP_HOLD_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/time.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bowline {

template <class Result> class operation;

namespace detail {

/* Releases a hold whose status is not needed. */
struct hold_release {
    client_ptr client;

    void operator()(bowline_hold *handle) const noexcept
    {
        (void)bowline_release(handle, nullptr); /* to see the status, call release first */
    }
};

} /* namespace detail */

/* The destructor releases the lock, and so does a move that replaces it.  It cannot be copied, see
 * ref().  The hold is the owner; another thread may have it. */
class [[nodiscard]] hold {
  public:
    hold() noexcept = default;

    /* True: not empty; the lock may be lost.  Any thread. */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /* How long the lock is certainly ours from now on.  0: it is not; milliseconds::max(): only a
     * release ends it (a time point plus that overflows).  Any thread. */
    [[nodiscard]] milliseconds left() const noexcept
    {
        return milliseconds(handle_ != nullptr ? bowline_hold_left_ms(get()) : 0);
    }

    /* True: the lock was ours and is not any more.  Any thread. */
    [[nodiscard]] bool lost() const noexcept
    {
        return handle_ != nullptr && left().count() == 0;
    }

    /* A descriptor that becomes readable, and stays so, when the hold is lost, also if no thread
     * dispatches.  Poll it; do not read or close it.  A release closes it.  Throws USAGE (empty),
     * SYSTEM, NOMEM, FORKED.  One thread. */
    [[nodiscard]] int lost_fd()
    {
        return detail::call(bowline_hold_lost_fd, filled("an empty hold has no descriptor"));
    }

    /* Nothing: no failure.  UNREACHABLE, UNKNOWN, REFUSED: the last renewal failed; the lock is
     * still ours for left().  LOST.  Throws USAGE (empty), FORKED.  Any thread. */
    [[nodiscard]] std::optional<error> check() const
    {
        bowline_error e{};
        const int     status = bowline_hold_check(filled("an empty hold cannot be checked"), &e);

        if (status == BOWLINE_FORKED || status == BOWLINE_USAGE)
            detail::check(status, e);
        if (status < 0)
            return error(status, e);
        return std::nullopt;
    }

    /* A pointer of the caller, which its events carry.  Empty: no effect, nullptr.  Any thread. */
    void set_data(void *pointer) noexcept
    {
        if (handle_ != nullptr)
            bowline_hold_set_data(get(), pointer);
    }

    [[nodiscard]] void *data() const noexcept
    {
        return handle_ != nullptr ? bowline_hold_data(get()) : nullptr;
    }

    /* The fencing token: grows with every holder of the name; 0: there is none.  Any thread. */
    [[nodiscard]] std::uint64_t fence() const noexcept
    {
        return handle_ != nullptr ? bowline_hold_fence(get()) : 0;
    }

    /* The name of the lock, ending in NUL.  Lives as long as the hold.  Any thread. */
    [[nodiscard]] std::string_view name() const noexcept
    {
        return handle_ != nullptr ? bowline_hold_name(get()) : "";
    }

    /* Begins the lease anew.  Throws as bowline_extend: LOST, UNKNOWN (ask left()), UNREACHABLE,
     * REFUSED, UNSUPPORTED, USAGE, FORKED.  One thread. */
    void extend()
    {
        extend_by(0);
    }

    /* The same with a new lease, BOWLINE_LEASE_MIN_MS .. _MAX_MS.  Never shortens what was
     * promised.  One thread. */
    template <class Rep, class Period> void extend(const std::chrono::duration<Rep, Period> &lease)
    {
        extend_by(asked(lease));
    }

    /* Gives the lock to the next waiter and waits until it is ours again.  True: it is, with a new
     * fence.  False (TIMEOUT), or an exception: the hold is lost.  Throws as bowline_yield: LOST,
     * BUSY, UNKNOWN, UNREACHABLE, REFUSED, NOMEM, SYSTEM; USAGE, FORKED, which change nothing.  One
     * thread. */
    [[nodiscard]] bool yield(wait_time wait = forever)
    {
        bowline_hold *handle = filled("an empty hold cannot be yielded");

        return detail::call_except(BOWLINE_TIMEOUT, bowline_yield, handle, wait.ms()) == BOWLINE_OK;
    }

    /* mode.hpp: BOWLINE_EXCLUSIVE, BOWLINE_SHARED or BOWLINE_PERMITS, and its changes. */
    [[nodiscard]] std::uint32_t mode() const noexcept;
    void                        downgrade();
    [[nodiscard]] bool          upgrade();
    [[nodiscard]] hold          ref() const; /* one more reference to the lock */

    /* From now on a release gives the lock to the next at once, whatever terms::once and at_least
     * say: the work failed.  Throws USAGE (empty), FORKED.  Any thread. */
    void drop_rest() const
    {
        detail::call(bowline_hold_drop_rest, filled("an empty hold has no period"));
    }

    /* Ends the hold without a release and returns a ticket, by which one other client takes it over
     * with client::import_ticket.  The ticket is a secret: it is the lock.  Empty afterwards, but
     * not if it throws.  Throws as bowline_hold_export: UNSUPPORTED, LOST, UNKNOWN, UNREACHABLE,
     * REFUSED; USAGE (also empty), FORKED.  One thread. */
    [[nodiscard]] std::string export_ticket()
    {
        bowline_hold *handle = filled("an empty hold cannot be passed on");
        std::string   ticket(BOWLINE_TICKET_MAX, '\0');

        detail::call(bowline_hold_export, handle, ticket.data());
        hold passed(std::move(*this));
        (void)passed.handle_.release(); /* the export has freed it */
        ticket.resize(ticket.find('\0'));
        return ticket;
    }

    /* Releases the lock.  Empty afterwards, also if it throws: LOST (another client may have held
     * the lock), UNKNOWN, UNREACHABLE, REFUSED, NOMEM, FORKED.  Empty before: no effect.  One
     * thread. */
    void release()
    {
        hold ended(std::move(*this));
        detail::call(bowline_release, ended.handle_.release());
    }

    /* The same, returning the status.  One thread. */
    [[nodiscard]] int release(std::nothrow_t /*no throw*/) noexcept
    {
        hold ended(std::move(*this));
        return bowline_release(ended.handle_.release(), nullptr);
    }

    /* Releases the lock without waiting for the reply: client::flush_releases() returns its result.
     * Empty afterwards, also if it throws, as release(), what is known at once.  One thread. */
    void release_nowait()
    {
        hold ended(std::move(*this));
        detail::call(bowline_release_nowait, ended.handle_.release());
    }

    /* The same, returning at once (operation.hpp).  A release ends an extend with CANCELLED.
     * start_release leaves it empty unless it throws: USAGE (empty), NOMEM, FORKED.  One thread. */
    operation<void> start_extend();
    operation<void> start_downgrade();
    operation<void> start_upgrade(); /* throws BUSY at its finish() */
    operation<void> start_yield(wait_time wait = forever);
    operation<void> start_release();
    template <class Rep, class Period>
    operation<void> start_extend(const std::chrono::duration<Rep, Period> &lease);

    /* For calls of bowline.h; the object still owns it.  nullptr: empty.  Any thread. */
    [[nodiscard]] bowline_hold *get() const noexcept
    {
        return handle_.get();
    }

  private:
    friend class client;
    friend class several;
    template <class Result> friend class operation;

    hold(detail::client_ptr client, bowline_hold *handle) noexcept
        : handle_(handle, { std::move(client) })
    {
    }

    template <class Rep, class Period>
    static std::uint32_t asked(const std::chrono::duration<Rep, Period> &lease)
    {
        const std::int64_t ms = detail::whole_ms(lease, BOWLINE_LEASE_MAX_MS);

        return ms == 0 ? 1 : static_cast<std::uint32_t>(ms); /* refused, as too short */
    }

    void extend_by(std::uint32_t lease_ms)
    {
        detail::call(bowline_extend, filled("an empty hold cannot be extended"), lease_ms);
    }

    operation<void> start_extend_by(std::uint32_t lease_ms);

    [[nodiscard]] bowline_hold *filled(const char *otherwise) const
    {
        detail::need(handle_ != nullptr, otherwise);
        return get();
    }

    std::unique_ptr<bowline_hold, detail::hold_release> handle_;
};

/* The name of the lock of a ticket.  Throws USAGE, UNSUPPORTED.  Any thread. */
[[nodiscard]] inline std::string ticket_name(const std::string &ticket)
{
    char name[BOWLINE_NAME_MAX + 1];

    detail::call(bowline_ticket_name, &name[0], detail::c_string(ticket));
    return name;
}

} /* namespace bowline */

#endif
