/*
 * election.hpp -- the holder of a lock leads, and others observe that: see bowline/election.h.
 *
 *      bowline::announce(hold, "http://10.0.0.7:8080");
 *
 *      bowline_leader leader = BOWLINE_LEADER_INIT;
 *      while (bowline::observe(leader, client, "scheduler"))
 *          std::cout << (leader.leads ? leader.text : "nobody") << '\n';
 */
#ifndef BOWLINE_CPP_ELECTION_HPP
#define BOWLINE_CPP_ELECTION_HPP

#include <bowline/cpp/client.hpp>

#include <bowline/election.h>

#include <string>

namespace bowline {

/* Announces that we lead, and a text.  Throws as bowline_announce: LOST, UNKNOWN, UNREACHABLE,
 * REFUSED, UNSUPPORTED, USAGE (also an empty hold), NOMEM, SYSTEM, FORKED.  One thread. */
inline void announce(hold &leader, const std::string &text)
{
    detail::call(bowline_announce, leader.get(), detail::c_string(text));
}

/* Withdraws it.  Throws as announce.  One thread. */
inline void withdraw(hold &leader)
{
    detail::call(bowline_announce, leader.get(), static_cast<const char *>(nullptr));
}

/* Waits until who leads differs from `leader`, and writes it there.  False: as seen, until the end
 * of the wait.  Throws as bowline_observe: UNREACHABLE, UNKNOWN, REFUSED, UNSUPPORTED, USAGE, NOMEM,
 * SYSTEM, FORKED.  Any thread. */
inline bool observe(bowline_leader &leader, client &from, const std::string &name,
                    wait_time wait = forever)
{
    return detail::call_except(BOWLINE_TIMEOUT, bowline_observe, &leader, from.get(),
                               detail::c_string(name), wait.ms()) == BOWLINE_OK;
}

} /* namespace bowline */

#endif
