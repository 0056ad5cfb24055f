/*
 * options.hpp -- options of a client and of one acquire, with the names and defaults of bowline.h.
 */
#ifndef BOWLINE_CPP_OPTIONS_HPP
#define BOWLINE_CPP_OPTIONS_HPP

#include <bowline/cpp/error.hpp>
#include <bowline/cpp/time.hpp>

#include <bowline/bowline.h>

#include <cstdint>
#include <string>

namespace bowline {

/* bowline_options.  A zero means the default. */
struct options {
    std::string   url   = "file:"; /* bowline(7) lists the others */
    std::uint32_t flags = 0;       /* a sum of BOWLINE_NO_... */
    milliseconds  lease{ 0 };
    milliseconds  reply{ 0 };
    milliseconds  max_hold{ 0 };
    bowline_log   on_log   = nullptr; /* must not throw */
    void         *log_data = nullptr;
};

/* What one hold has in place of the settings of its client.  A zero means: as the client. */
struct terms {
    milliseconds  lease{ 0 };
    milliseconds  max_hold{ 0 };
    milliseconds  once{ 0 }; /* once_ms and at_least_ms of bowline_acquire_options */
    milliseconds  at_least{ 0 };
    std::uint32_t mode    = BOWLINE_EXCLUSIVE; /* BOWLINE_SHARED, BOWLINE_PERMITS */
    std::uint32_t permits = 0;                 /* of BOWLINE_PERMITS; 0: 1 */
    std::uint32_t limit   = 0;                 /* of BOWLINE_PERMITS: at most so many in use */
};

namespace detail {

inline bowline_options c_options(const options &asked)
{
    bowline_options o = BOWLINE_OPTIONS_INIT;

    o.url         = c_string(asked.url);
    o.flags       = asked.flags;
    o.lease_ms    = lease_ms(asked.lease);
    o.reply_ms    = lease_ms(asked.reply);
    o.max_hold_ms = asked.max_hold.count();
    o.on_log      = asked.on_log;
    o.log_data    = asked.log_data;
    return o;
}

inline bowline_acquire_options c_options(wait_time wait, const terms &asked) noexcept
{
    bowline_acquire_options o = BOWLINE_ACQUIRE_INIT;

    o.wait_ms     = wait.ms();
    o.max_hold_ms = asked.max_hold.count();
    o.lease_ms    = lease_ms(asked.lease);
    o.once_ms     = asked.once.count();
    o.at_least_ms = asked.at_least.count();
    o.mode        = asked.mode;
    o.permits     = asked.permits;
    o.limit       = asked.limit;
    return o;
}

} /* namespace detail */

} /* namespace bowline */

#endif
