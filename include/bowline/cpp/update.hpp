/*
 * update.hpp -- what client::update writes: see update.h.
 */
#ifndef BOWLINE_CPP_UPDATE_HPP
#define BOWLINE_CPP_UPDATE_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/time.hpp>

#include <bowline/update.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bowline {

/* What the function of client::update returns: a value to write, leave() or erase(). */
class change {
  public:
    /* Writes the value; the key keeps its expiry. */
    change(std::string value) : choice_(BOWLINE_UPDATE_WRITE), value_(std::move(value))
    {
    }

    /* Writes the value; the key expires after `lasts` (milliseconds::max(): never). */
    change(std::string value, milliseconds lasts) : change(std::move(value))
    {
        if (lasts == milliseconds::max())
            lasts_ms_ = BOWLINE_FOREVER;
        else
            lasts_ms_ = lasts.count() > 0 ? lasts.count() : no_time;
    }

    /* Leaves the key as it is. */
    static change leave()
    {
        return change(BOWLINE_UPDATE_LEAVE);
    }

    /* Deletes the key. */
    static change erase()
    {
        return change(BOWLINE_UPDATE_DELETE);
    }

    /* For bowline_change. */
    [[nodiscard]] int choice() const noexcept
    {
        return choice_;
    }

    [[nodiscard]] const std::string &value() const noexcept
    {
        return value_;
    }

    [[nodiscard]] std::int64_t lasts_ms() const noexcept
    {
        return lasts_ms_;
    }

  private:
    static constexpr std::int64_t no_time = INT64_MIN; /* which is USAGE */

    explicit change(int choice) : choice_(choice)
    {
    }

    int          choice_;
    std::string  value_;
    std::int64_t lasts_ms_ = 0;
};

/* How often and for how long to try; the defaults are those of bowline_update_options. */
struct update_limits {
    wait_time     wait      = wait_time();
    std::uint32_t tries_max = 0;
};

namespace detail {

/* Calls a C++ function from C.  An exception must not pass through the library, so it is kept for
 * update, and nothing is written. */
template <class Compute> struct computing {
    Compute              &compute;
    std::optional<change> last;
    std::exception_ptr    thrown;

    static int call(bowline_change *asked, void *context)
    {
        auto *self = static_cast<computing *>(context);

        try {
            std::optional<std::string_view> old;
            if (asked->old_value != nullptr)
                old.emplace(asked->old_value, asked->old_size);
            self->last.emplace(self->compute(old));
            asked->value      = self->last->value().data();
            asked->value_size = self->last->value().size();
            asked->lasts_ms   = self->last->lasts_ms();
            return self->last->choice();
        } catch (...) {
            self->thrown = std::current_exception();
            return -1;
        }
    }
};

template <class Compute>
std::uint32_t update(bowline_client *client, const std::string &key, Compute &compute,
                     const update_limits &limits)
{
    computing<Compute>     context{ compute, {}, {} };
    std::uint32_t          conflicts = 0;
    bowline_update_options o         = BOWLINE_UPDATE_INIT;
    bowline_error          e{};

    o.wait_ms       = limits.wait.ms();
    o.tries_max     = limits.tries_max;
    o.ret_conflicts = &conflicts;
    const int status =
        bowline_update(client, c_string(key), &computing<Compute>::call, &context, &o, &e);
    if (context.thrown)
        std::rethrow_exception(context.thrown);
    check(status, e);
    return conflicts;
}

} /* namespace detail */

} /* namespace bowline */

#endif
