/*
 * client.hpp -- a client: the connection to a store, from which holds are acquired.
 */
#ifndef BOWLINE_CPP_CLIENT_HPP
#define BOWLINE_CPP_CLIENT_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/hold.hpp>
#include <bowline/cpp/listing.hpp>
#include <bowline/cpp/operation.hpp>
#include <bowline/cpp/options.hpp>
#include <bowline/cpp/time.hpp>
#include <bowline/cpp/update.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>
#include <bowline/stats.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bowline {

/* Every member: "Any thread.", unless its comment says otherwise.  Each throws what the function of
 * the same name in C returns, and USAGE if the client was moved from. */
class client {
  public:
    /* Sends nothing yet.  Throws as bowline_open: USAGE, UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
    explicit client(const options &asked = options())
    {
        open(asked);
    }

    explicit client(const std::string &url)
    {
        options asked;
        asked.url = url;
        open(asked);
    }

    /* Can be moved but not copied.  One thread. */
    client(client &&) noexcept            = default;
    client &operator=(client &&) noexcept = default;
    client(const client &)                = delete;
    client &operator=(const client &)     = delete;
    ~client()                             = default;

    /* Takes the lock, waiting as long as the URL says by default.  Throws as bowline_acquire: BUSY,
     * TIMEOUT, UNKNOWN, UNREACHABLE, REFUSED, USAGE, UNSUPPORTED, NOMEM, SYSTEM, FORKED. */
    [[nodiscard]] hold acquire(const std::string &name, wait_time wait = wait_time(),
                               const terms &asked = terms())
    {
        return std::move(*acquired(name, wait, asked, false));
    }

    /* The same, but returns nothing for BUSY, TIMEOUT and DONE.  By default it does not wait. */
    [[nodiscard]] std::optional<hold> try_acquire(const std::string &name, wait_time wait = no_wait,
                                                  const terms &asked = terms())
    {
        return acquired(name, wait, asked, true);
    }

    /* Returns at once; operation::finish gives the hold.  Throws USAGE, NOMEM, SYSTEM, FORKED. */
    operation<hold> start_acquire(const std::string &name, wait_time wait = wait_time(),
                                  const terms &asked = terms())
    {
        const bowline_acquire_options o  = detail::c_options(wait, asked);
        bowline_operation            *op = nullptr;
        detail::call(bowline_acquire_start, &op, opened(), detail::c_string(name), &o);
        return operation<hold>(client_, op);
    }

    /* Takes over the hold of a ticket.  Throws as bowline_hold_import: LOST if it was used already
     * or the lock has ended; USAGE, also with once, at_least or mode of terms. */
    [[nodiscard]] hold import_ticket(const std::string &ticket, wait_time wait = wait_time(),
                                     const terms &asked = terms())
    {
        const bowline_acquire_options o   = detail::c_options(wait, asked);
        bowline_hold                 *won = nullptr;
        detail::call(bowline_hold_import, &won, opened(), detail::c_string(ticket), &o);
        return hold(client_, won);
    }

    /* The held names that a pattern matches.  Throws USAGE, NOMEM, SYSTEM, FORKED. */
    listing list(const std::string &pattern = "*")
    {
        bowline_list *made = nullptr;
        detail::call(bowline_list_start, &made, opened(), detail::c_string(pattern));
        return listing(client_, made);
    }

    /* Who holds a name, as far as the store knows.  Throws as bowline_who.  holders.hpp: all. */
    [[nodiscard]] std::vector<bowline_holder> holders(const std::string &name);
    [[nodiscard]] bowline_holder              who(const std::string &name)
    {
        bowline_holder holder{};

        holder.size = sizeof holder;
        detail::call(bowline_who, opened(), detail::c_string(name), &holder);
        return holder;
    }

    /* Returns at once.  Throws USAGE, NOMEM, SYSTEM, FORKED. */
    operation<bowline_holder> start_who(const std::string &name)
    {
        bowline_operation *op = nullptr;
        detail::call(bowline_who_start, &op, opened(), detail::c_string(name));
        return operation<bowline_holder>(client_, op);
    }

    /* For administrators: ends the hold with this id, which who or holders returned.  Throws as
     * bowline_break: BUSY if that hold has ended. */
    void break_hold(const std::string &name, std::uint64_t id)
    {
        detail::call(bowline_break, opened(), detail::c_string(name), id);
    }

    /* What it has done since it was opened, in numbers.  Throws FORKED. */
    [[nodiscard]] bowline_stats stats()
    {
        bowline_stats read = BOWLINE_STATS_INIT;

        detail::call(bowline_client_stats, opened(), &read);
        return read;
    }

    /* Reaches the store now, trying again for at most `wait`.  Throws as bowline_ping. */
    void ping(wait_time wait = no_wait)
    {
        detail::call(bowline_ping, opened(), wait.ms());
    }

    /* Changes the value of a Redis key without a lock: see update.h, also for what the function may
     * do.  Calls change(std::optional<std::string_view> old) once, and again after each conflict;
     * `old` is empty if the key does not exist.  Returns the number of conflicts.  An exception of
     * the function comes out of this call, and nothing is written.  Throws as bowline_update. */
    template <class Compute>
    std::uint32_t update(const std::string &key, Compute &&compute,
                         const update_limits &limits = update_limits())
    {
        return detail::update(opened(), key, compute, limits);
    }

    /* Waits until the releases of hold::release_nowait have ended.  True: all have ended well;
     * false: some are still under way after `wait`.  Throws for one that failed, as hold::release
     * would have: call it again until it returns true. */
    bool flush_releases(wait_time wait = forever)
    {
        return detail::call_except(BOWLINE_TIMEOUT, bowline_flush_releases, opened(), wait.ms()) !=
               BOWLINE_TIMEOUT;
    }

    /* For event loops: the descriptor to poll, also readable when a timer is due.  Do not read or
     * close it.  Throws SYSTEM, FORKED. */
    [[nodiscard]] int fd()
    {
        const int fd = bowline_fd(opened());

        detail::check(fd, bowline_error{});
        return fd;
    }

    /* Until the next timer; nothing: there is none.  For loops that do not poll fd(). */
    [[nodiscard]] std::optional<milliseconds> timeout()
    {
        const std::int64_t ms = bowline_timeout_ms(opened());

        return ms != BOWLINE_FOREVER ? std::optional(milliseconds(ms)) : std::nullopt;
    }

    /* For loops that poll only pipes; replaces fd() and timeout().  The first call starts a thread
     * of the library.  Do not close it.  Throws SYSTEM, NOMEM, FORKED. */
    [[nodiscard]] int wakeup_fd()
    {
        return detail::call(bowline_wakeup_fd, opened());
    }

    /* The next event; nothing: there is no more.  Call it after every dispatch until then.  The
     * event names an operation by operation::get(), a hold by hold::get().  Throws FORKED. */
    [[nodiscard]] std::optional<bowline_event> next_event()
    {
        bowline_event event{};

        event.size = sizeof event;
        if (detail::call(bowline_next_event, opened(), &event) == 0)
            return std::nullopt;
        return event;
    }

    /* Does what is due, waiting for it for at most `wait`.  Throws SYSTEM, FORKED. */
    void dispatch(wait_time wait = no_wait)
    {
        detail::call(bowline_dispatch, opened(), wait.ms());
    }

    /* For calls of bowline.h; the object still owns it.  nullptr: moved from. */
    [[nodiscard]] bowline_client *get() const noexcept
    {
        return client_.get();
    }

  private:
    friend class named_mutex;
    friend class several;

    explicit client(detail::client_ptr opened) noexcept : client_(std::move(opened))
    {
    }

    void open(const options &asked)
    {
        const bowline_options o    = detail::c_options(asked);
        bowline_client       *made = nullptr;

        detail::call(bowline_open, &made, &o);
        client_.reset(made, bowline_close); /* closes it also if there is no memory for this */
    }

    [[nodiscard]] bowline_client *opened() const
    {
        detail::need(client_ != nullptr, "this client was moved from");
        return client_.get();
    }

    /* Nothing for BUSY, TIMEOUT and DONE, if it only tries. */
    std::optional<hold> acquired(const std::string &name, wait_time wait, const terms &asked,
                                 bool tries)
    {
        const bowline_acquire_options o = detail::c_options(wait, asked);
        bowline_error                 e{};
        bowline_hold                 *won = nullptr;

        const int status = bowline_acquire(&won, opened(), detail::c_string(name), &o, &e);
        if (tries &&
            (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT || status == BOWLINE_DONE))
            return std::nullopt;
        detail::check(status, e);
        return hold(client_, won);
    }

    detail::client_ptr client_;
};

} /* namespace bowline */

#endif
