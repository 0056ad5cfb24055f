/*
 * client.hpp -- a way to reach a store.
 */
#ifndef BOWLINE_CPP_CLIENT_HPP
#define BOWLINE_CPP_CLIENT_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/hold.hpp>
#include <bowline/cpp/operation.hpp>
#include <bowline/cpp/time.hpp>
#include <bowline/cpp/update.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace bowline {

/* As bowline_options, field by field; a zero means its default. */
struct options {
    std::string  url = "file:"; /* or else: see bowline(7) */
    milliseconds lease{ 0 };
    milliseconds reply{ 0 };
    milliseconds max_hold{ 0 };
    unsigned     flags = 0; /* BOWLINE_NO_RENEW, BOWLINE_NO_THREAD, BOWLINE_NO_SPIN */
};

/* What one hold has otherwise than its client.  Zero: as the client. */
struct terms {
    milliseconds lease{ 0 };
    milliseconds max_hold{ 0 };
};

/* Every member: Any thread, unless it says otherwise. */
class client {
  public:
    /* Nothing is sent yet.  Throws as bowline_open: USAGE, UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
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

    /* Moved, and not copied: it is clear who has it.  One thread. */
    client(client &&) noexcept            = default;
    client &operator=(client &&) noexcept = default;
    client(const client &)                = delete;
    client &operator=(const client &)     = delete;
    ~client()                             = default;

    /* Takes the lock.  Throws as bowline_acquire: BUSY (tried once, or too many wait), TIMEOUT
     * (waited), UNKNOWN, UNREACHABLE, REFUSED, USAGE, UNSUPPORTED, NOMEM, SYSTEM, FORKED.  Any
     * thread. */
    [[nodiscard]] hold acquire(const std::string &name, wait_time wait = wait_time(),
                               const terms &asked = terms())
    {
        bowline_error e{};
        hold          won;

        detail::check(acquire_to(won, name, wait, asked, e), e);
        return won;
    }

    /* The same, but nothing for BUSY and TIMEOUT.  Any thread. */
    [[nodiscard]] std::optional<hold> try_acquire(const std::string &name, wait_time wait = no_wait,
                                                  const terms &asked = terms())
    {
        bowline_error e{};
        hold          won;

        const int status = acquire_to(won, name, wait, asked, e);
        if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT)
            return std::nullopt;
        detail::check(status, e);
        return won;
    }

    /* The same, returning at once: operation::finish gives the hold.  Throws USAGE, NOMEM, SYSTEM,
     * FORKED.  Any thread. */
    operation<hold> start_acquire(const std::string &name, wait_time wait = wait_time(),
                                  const terms &asked = terms())
    {
        const bowline_acquire_options o = options_of(wait, asked);
        bowline_error                 e{};
        bowline_operation            *op = nullptr;

        detail::check(bowline_acquire_start(&op, opened(), detail::c_string(name), &o, &e), e);
        return operation<hold>(client_, op);
    }

    /* Who holds a name, as far as the store knows.  Throws as bowline_who.  Any thread. */
    [[nodiscard]] bowline_holder who(const std::string &name)
    {
        bowline_error  e{};
        bowline_holder holder{};

        holder.size = sizeof holder;
        detail::check(bowline_who(opened(), detail::c_string(name), &holder, &e), e);
        return holder;
    }

    /* The same, returning at once.  Throws USAGE, NOMEM, SYSTEM, FORKED.  Any thread. */
    operation<bowline_holder> start_who(const std::string &name)
    {
        bowline_error      e{};
        bowline_operation *op = nullptr;

        detail::check(bowline_who_start(&op, opened(), detail::c_string(name), &e), e);
        return operation<bowline_holder>(client_, op);
    }

    /* For administrators: ends somebody else's hold, the one that who has shown by this id.
     * Throws as bowline_break: BUSY if that one has ended.  Any thread. */
    void break_hold(const std::string &name, std::uint64_t id)
    {
        bowline_error e{};

        detail::check(bowline_break(opened(), detail::c_string(name), id, &e), e);
    }

    /* Changes the value of a Redis key without a lock: see update.h, for what the function may do
     * above all.  Calls change(std::optional<std::string_view> old), for no value if there is no
     * key, as often as somebody came between; returns how often that was.  What the function
     * throws, this throws, and nothing is written.  Else it throws as bowline_update: BUSY,
     * TIMEOUT, UNKNOWN, UNREACHABLE, REFUSED, UNSUPPORTED, USAGE, NOMEM, SYSTEM, FORKED.  Any
     * thread. */
    template <class Compute>
    std::uint32_t update(const std::string &key, Compute &&compute,
                         const update_limits &limits = update_limits())
    {
        detail::computing<Compute> context{ compute, {}, {} };
        std::uint32_t              conflicts = 0;
        bowline_update_options     o{};
        bowline_error              e{};

        o.size           = sizeof o;
        o.wait_ms        = limits.wait.ms();
        o.tries_max      = limits.tries_max;
        o.ret_conflicts  = &conflicts;
        const int status = bowline_update(opened(), detail::c_string(key),
                                          &detail::computing<Compute>::call, &context, &o, &e);
        if (context.thrown)
            std::rethrow_exception(context.thrown);
        detail::check(status, e);
        return conflicts;
    }

    /* How the releases of hold::release_nowait came out, waiting for their end for at most `wait`:
     * true, all well; false, some are on their way still.  Throws for one that did not end well,
     * as hold::release would have, with its name in the text: ask again until it is true.  And
     * USAGE, SYSTEM, FORKED.  Any thread. */
    bool flush_releases(wait_time wait = forever)
    {
        bowline_error e{};
        const int     status = bowline_flush_releases(opened(), wait.ms(), &e);

        if (status == BOWLINE_TIMEOUT)
            return false;
        detail::check(status, e);
        return true;
    }

    /* For event loops: the descriptor to poll for reading (not to be read, nor closed).  Throws
     * SYSTEM, FORKED.  Any thread. */
    [[nodiscard]] int fd()
    {
        const int fd = bowline_fd(opened());

        detail::check(fd, bowline_error{});
        return fd;
    }

    /* How long the client may be left alone; nothing: no timer.  To be asked again after every
     * dispatch, start and finish.  Any thread. */
    [[nodiscard]] std::optional<milliseconds> timeout()
    {
        const std::int64_t ms = bowline_timeout_ms(opened());

        if (ms == BOWLINE_FOREVER)
            return std::nullopt;
        return milliseconds(ms);
    }

    /* For loops that take pipes only: readable when a dispatch is due, a timer's too; in place of
     * fd() and timeout().  The first call starts a thread of the library.  Not to be closed.  Throws
     * SYSTEM, NOMEM, FORKED.  Any thread. */
    [[nodiscard]] int wakeup_fd()
    {
        bowline_error e{};
        const int     fd = bowline_wakeup_fd(opened(), &e);

        detail::check(fd, e);
        return fd;
    }

    /* The next of what has happened to operations and holds; nothing: there is no more.  To be asked
     * until then after every dispatch.  Its operation is that of operation::get(), its hold that of
     * hold::get().  Throws FORKED.  Any thread. */
    [[nodiscard]] std::optional<bowline_event> next_event()
    {
        bowline_error e{};
        bowline_event event{};

        event.size       = sizeof event;
        const int status = bowline_next_event(opened(), &event, &e);
        detail::check(status, e);
        if (status == 0)
            return std::nullopt;
        return event;
    }

    /* Does what is due, waiting for something to do for at most `wait`.  Throws SYSTEM, FORKED.
     * Any thread. */
    void dispatch(wait_time wait = no_wait)
    {
        bowline_error e{};

        detail::check(bowline_dispatch(opened(), wait.ms(), &e), e);
    }

    /* For calls of bowline.h; stays ours.  nullptr: moved from.  Any thread. */
    [[nodiscard]] bowline_client *get() const noexcept
    {
        return client_.get();
    }

  private:
    friend class named_mutex;

    explicit client(detail::client_ptr opened) noexcept : client_(std::move(opened))
    {
    }

    void open(const options &asked)
    {
        bowline_options o{};
        bowline_error   e{};
        bowline_client *made = nullptr;

        o.size        = sizeof o;
        o.url         = detail::c_string(asked.url);
        o.lease_ms    = detail::lease_ms(asked.lease);
        o.reply_ms    = detail::lease_ms(asked.reply);
        o.max_hold_ms = asked.max_hold.count();
        o.flags       = asked.flags;
        detail::check(bowline_open(&made, &o, &e), e);
        client_.reset(made, bowline_close); /* closes it also if there is no memory for this */
    }

    [[nodiscard]] bowline_client *opened() const
    {
        detail::need(client_ != nullptr, "this client was moved from");
        return client_.get();
    }

    static bowline_acquire_options options_of(wait_time wait, const terms &asked) noexcept
    {
        bowline_acquire_options o{};

        o.size        = sizeof o;
        o.wait_ms     = wait.ms();
        o.max_hold_ms = asked.max_hold.count();
        o.lease_ms    = detail::lease_ms(asked.lease);
        return o;
    }

    int acquire_to(hold &ret_won, const std::string &name, wait_time wait, const terms &asked,
                   bowline_error &reterr)
    {
        const bowline_acquire_options o      = options_of(wait, asked);
        bowline_hold                 *won    = nullptr;
        const char                   *c_name = detail::c_string(name);

        const int status = bowline_acquire(&won, opened(), c_name, &o, &reterr);
        if (status == BOWLINE_OK)
            ret_won = hold(client_, won);
        return status;
    }

    detail::client_ptr client_;
};

} /* namespace bowline */

#endif
