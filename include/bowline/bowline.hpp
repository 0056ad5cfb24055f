/*
 * bowline.hpp -- bowline.h for C++17 and newer: the end of a scope releases its locks.
 *
 *      bowline::client client("redis://127.0.0.1");
 *      {
 *          bowline::hold hold = client.acquire("nightly", 5s);
 *          ... work; pass hold.fence() to whatever you write to ...
 *      }
 *      if (auto hold = client.try_acquire("nightly"))
 *          ... acquired without waiting ...
 *
 *      bowline::named_mutex mutex(client, "nightly");
 *      std::lock_guard      guard(mutex);
 *
 *      for (const bowline_holder &holder : client.list("night*"))
 *          ... holder.name, holder.user ...
 *
 *      client.update("visits", [](auto old) {
 *          return std::to_string(old ? std::stoll(std::string(*old)) + 1 : 1);
 *      });
 *
 * Header only, above bowline.h, async.h, stats.h and update.h, which say what the calls promise.
 * The differences:
 *
 *   - A failure throws bowline::error, also out of memory.  Decide on its status(), a
 *     bowline_status.
 *   - Durations are rounded up to whole milliseconds.  A wait of zero or less does not wait; one of
 *     more than BOWLINE_WAIT_MAX_MS (24 days) has no limit.
 *   - Holds, operations and mutexes share ownership of their client, so objects may be destroyed in
 *     any order.  The last one closes the client.
 *   - A moved-from object is empty.  It answers questions (no time left, no fence, no name); a call
 *     that needs its content throws USAGE.
 *   - Destructors and move assignments never throw.  They can block for one reply of the server.
 *   - A name or URL that contains a NUL is USAGE: in C it would be another, shorter one.
 *   - "Any thread." and "One thread." as in bowline.h.  To move, assign or destroy an object: "One
 *     thread.".
 */
#ifndef BOWLINE_HPP
#define BOWLINE_HPP

#include <bowline/cpp/client.hpp>
#include <bowline/cpp/election.hpp>
#include <bowline/cpp/error.hpp>
#include <bowline/cpp/hold.hpp>
#include <bowline/cpp/holders.hpp>
#include <bowline/cpp/listing.hpp>
#include <bowline/cpp/named_mutex.hpp>
#include <bowline/cpp/mode.hpp>
#include <bowline/cpp/operation.hpp>
#include <bowline/cpp/options.hpp>
#include <bowline/cpp/several.hpp>
#include <bowline/cpp/time.hpp>
#include <bowline/cpp/update.hpp>

#include <bowline/async.h>
#include <bowline/bowline.h>
#include <bowline/election.h>
#include <bowline/stats.h>
#include <bowline/update.h>

#endif
