/*
 * bowline.hpp -- the same for C++17 and newer: what is taken is given back at the end of its scope.
 *
 *      bowline::client client("redis://127.0.0.1");
 *      {
 *          bowline::hold hold = client.acquire("nightly", 5s);
 *          ... work; pass hold.fence() to whatever you write to ...
 *      }
 *      if (auto hold = client.try_acquire("nightly"))
 *          ... ours without waiting ...
 *
 *      bowline::named_mutex mutex(client, "nightly");
 *      std::lock_guard      guard(mutex);
 *
 *      client.update("visits", [](auto old) {
 *          return std::to_string(old ? std::stoll(std::string(*old)) + 1 : 1);
 *      });
 *
 * Header only, over bowline.h, async.h and update.h, which say what the calls promise.  What differs:
 *
 *   - What fails throws bowline::error, out of memory too.  Decide on its status(), a number of
 *     bowline.h.
 *   - Durations are rounded up to whole milliseconds.  A wait of zero or less tries once; one that
 *     is longer than BOWLINE_WAIT_MAX_MS (24 days) is for ever.
 *   - Holds, operations and mutexes keep what they need of their client: the order in which the
 *     objects end does not matter.  It is closed when the last of them has ended.
 *   - What was moved from is empty.  It answers questions (no time left, no fence, no name), and
 *     what can only be done with something inside throws USAGE.
 *   - Destructors and move assignments never throw.  They can wait for one answer of the server.
 *   - A name or URL with a NUL inside is USAGE: in C it would be another, shorter one.
 *   - "Any thread." and "One thread." as in bowline.h.  To move, assign or end an object: One
 *     thread.
 */
#ifndef BOWLINE_HPP
#define BOWLINE_HPP

#include <bowline/cpp/client.hpp>
#include <bowline/cpp/error.hpp>
#include <bowline/cpp/hold.hpp>
#include <bowline/cpp/named_mutex.hpp>
#include <bowline/cpp/operation.hpp>
#include <bowline/cpp/options.hpp>
#include <bowline/cpp/time.hpp>
#include <bowline/cpp/update.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>
#include <bowline/update.h>

#endif
