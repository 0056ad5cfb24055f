/*
 * election.hpp -- the holder of a lock leads, and others observe that: see bowline/election.h.
 *
 *      hold.announce("http://10.0.0.7:8080");
 *
 *      bowline_leader leader = BOWLINE_LEADER_INIT;
 *      while (client.observe(leader, "scheduler"))
 *          std::cout << (leader.leads ? leader.text : "nobody") << '\n';
 */
#ifndef BOWLINE_CPP_ELECTION_HPP
#define BOWLINE_CPP_ELECTION_HPP

#include <bowline/cpp/client.hpp>
#include <bowline/cpp/operation.hpp>

#include <bowline/election.h>

namespace bowline {

/* Announces that we lead, and a text.  Throws as bowline_announce: LOST, UNKNOWN, UNREACHABLE,
 * REFUSED, UNSUPPORTED, USAGE, NOMEM, SYSTEM, FORKED.  One thread. */
inline void hold::announce(const std::string &text)
{
    detail::call(bowline_announce, filled("an empty hold leads nobody"), detail::c_string(text));
}

/* Withdraws it.  Throws as announce().  One thread. */
inline void hold::withdraw()
{
    detail::call(bowline_announce, filled("an empty hold leads nobody"),
                 static_cast<const char *>(nullptr));
}

inline operation<void> hold::start_announce(const std::string &text)
{
    bowline_operation *op = nullptr;

    detail::call(bowline_announce_start, &op, filled("an empty hold leads nobody"),
                 detail::c_string(text));
    return operation<void>(handle_.get_deleter().client, op);
}

/* Waits until who leads differs from `leader`, and writes it there.  False: as seen, until the end
 * of the wait.  Throws as bowline_observe: UNREACHABLE, UNKNOWN, REFUSED, UNSUPPORTED, USAGE, NOMEM,
 * SYSTEM, FORKED.  Any thread. */
inline bool client::observe(bowline_leader &leader, const std::string &name, wait_time wait)
{
    return detail::call_except(BOWLINE_TIMEOUT, bowline_observe, &leader, opened(),
                               detail::c_string(name), wait.ms()) == BOWLINE_OK;
}

/* Returns at once; its finish throws TIMEOUT, too. */
inline operation<bowline_leader> client::start_observe(const bowline_leader &seen,
                                                       const std::string &name, wait_time wait)
{
    bowline_operation *op = nullptr;

    detail::call(bowline_observe_start, &op, opened(), detail::c_string(name), &seen, wait.ms());
    return operation<bowline_leader>(client_, op);
}

} /* namespace bowline */

#endif
