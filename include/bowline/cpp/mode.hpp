/*
 * mode.hpp -- the mode of a hold: alone, or shared with others; and its references.
 */
#ifndef BOWLINE_CPP_MODE_HPP
#define BOWLINE_CPP_MODE_HPP

#include <bowline/cpp/operation.hpp>

namespace bowline {

/* Empty: BOWLINE_EXCLUSIVE.  Any thread. */
inline std::uint32_t hold::mode() const noexcept
{
    return handle_ != nullptr ? static_cast<std::uint32_t>(bowline_hold_mode(get()))
                              : static_cast<std::uint32_t>(BOWLINE_EXCLUSIVE);
}

/* Lets others share the lock from now on; nobody has it alone in between.  Throws as
 * bowline_downgrade: LOST, UNKNOWN (it counts as shared), UNREACHABLE, REFUSED, UNSUPPORTED, USAGE,
 * FORKED.  One thread. */
inline void hold::downgrade()
{
    detail::call(bowline_downgrade, filled("an empty hold cannot be downgraded"));
}

/* True: the lock is ours alone.  False (BUSY): others share it, and so do we, as before.  Throws as
 * downgrade().  One thread. */
inline bool hold::upgrade()
{
    return detail::call_except(BOWLINE_BUSY, bowline_upgrade,
                               filled("an empty hold cannot be upgraded")) == BOWLINE_OK;
}

inline operation<void> hold::start_downgrade()
{
    bowline_operation *op = nullptr;

    detail::call(bowline_downgrade_start, &op, filled("an empty hold cannot be downgraded"));
    return operation<void>(handle_.get_deleter().client, op);
}

inline operation<void> hold::start_upgrade()
{
    bowline_operation *op = nullptr;

    detail::call(bowline_upgrade_start, &op, filled("an empty hold cannot be upgraded"));
    return operation<void>(handle_.get_deleter().client, op);
}

/* For a function or a thread that needs the lock while its caller has it: sends nothing.  The lock
 * is released with the last of its holds; a release() of another one is OK or LOST.  While there
 * are several, yield, downgrade, upgrade and export_ticket throw USAGE.  Throws USAGE where
 * bowline_hold_ref returns NULL.  Any thread. */
inline hold hold::ref() const
{
    bowline_hold *again = bowline_hold_ref(filled("an empty hold has no references"));

    detail::need(again != nullptr, "this hold is being yielded, has BOWLINE_REFS_MAX references, "
                                   "or belongs to the parent of this process");
    return { handle_.get_deleter().client, again };
}

} /* namespace bowline */

#endif
