/*
 * time.hpp -- durations of std::chrono, as the library counts them.
 */
#ifndef BOWLINE_CPP_TIME_HPP
#define BOWLINE_CPP_TIME_HPP

#include <bowline/bowline.h>

#include <chrono>
#include <cstdint>
#include <ratio>

namespace bowline {

using milliseconds = std::chrono::milliseconds;

namespace detail {

/* Rounded up to whole milliseconds.  0: not above zero, or not a number; max + 1: more than max.
 * Never overflows. */
template <class Rep, class Period>
constexpr std::int64_t whole_ms(const std::chrono::duration<Rep, Period> &time, std::int64_t max)
{
    const long double ms = std::chrono::duration<long double, std::milli>(time).count();

    if (!(ms > 0))
        return 0;
    if (ms > static_cast<long double>(max))
        return max + 1;
    return std::chrono::ceil<milliseconds>(time).count();
}

/* A lease in milliseconds.  0 remains 0, the default; out of range remains out of range. */
constexpr std::uint32_t lease_ms(milliseconds lease)
{
    if (lease.count() < 0 || lease.count() > BOWLINE_LEASE_MAX_MS)
        return UINT32_MAX;
    return static_cast<std::uint32_t>(lease.count());
}

} /* namespace detail */

/* How long to wait: a duration of std::chrono, forever, or no_wait.  By default as the URL says
 * (BOWLINE_DEFAULT). */
class wait_time {
  public:
    constexpr wait_time() noexcept = default;

    template <class Rep, class Period>
    constexpr wait_time(const std::chrono::duration<Rep, Period> &time)
        : ms_(detail::whole_ms(time, BOWLINE_WAIT_MAX_MS))
    {
        if (ms_ > BOWLINE_WAIT_MAX_MS)
            ms_ = BOWLINE_FOREVER;
    }

    [[nodiscard]] static constexpr wait_time without_end() noexcept
    {
        wait_time wait;
        wait.ms_ = BOWLINE_FOREVER;
        return wait;
    }

    /* A wait_ms of bowline.h.  Any thread. */
    [[nodiscard]] constexpr std::int64_t ms() const noexcept
    {
        return ms_;
    }

  private:
    std::int64_t ms_ = BOWLINE_DEFAULT;
};

inline constexpr wait_time forever = wait_time::without_end();
inline constexpr wait_time no_wait = wait_time(milliseconds(0));

} /* namespace bowline */

#endif
