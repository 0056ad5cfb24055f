/*
 * mode.c -- the mode of a hold, and whether it can be changed.
 */
#include "api/handles.h"
#include "base/fault.h"
#include "runtime/local_groups.h"

int bowline_hold_mode(const bowline_hold *hold)
{
    const bwl_lock *lock = bwl_lock_of(hold);

    BWL_QUERY(lock->shard); /* a change writes it while other threads read it */
    bwl_share share = lock->base.hold.request.share;
    if (share.weight == 0)
        return BOWLINE_EXCLUSIVE;
    return share.limit > 0 ? BOWLINE_PERMITS : BOWLINE_SHARED;
}

static int fail_unsupported(const bwl_lock *lock, const char *verb, bowline_error *reterr)
{
    const bwl_host *host = &lock->shard->host;

    if (host->engine->kind != BWL_ENGINE_REDIS)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "cannot %s %.60s: the locks of %s: have one mode for as long as they are "
                        "held.  Use the URL of a Redis server",
                        verb, lock->base.name, host->engine->scheme);
    if (host->settings.options.replicas > 0)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "cannot %s %.60s: with sync= in the URL a hold keeps its mode", verb,
                        lock->base.name);
    return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                    "cannot %s %.60s: protocol %s has exclusive holds only.  Remove protocol=, "
                    "profile= and token= from the URL: protocol queue has shared ones",
                    verb, lock->base.name, lock->base.hold.protocol->name);
}

int bwl_check_change(bwl_lock *lock, bwl_change change, bowline_error *reterr)
{
    const bwl_hold *hold     = &lock->base.hold;
    const bwl_lock *in_store = bwl_lock_in_store(lock); /* NULL: it is lost */
    const char     *verb     = change == BWL_DOWNGRADE ? "downgrade" : "upgrade";

    if (lock->operation != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "something is being done with %s already: finish that first",
                        lock->base.name);
    if (in_store != NULL && !in_store->base.hold.protocol->changes)
        return fail_unsupported(in_store, verb, reterr);
    if (hold->request.share.limit > 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "cannot %s %.60s: it was acquired with permits.  Acquire it as "
                        "BOWLINE_SHARED",
                        verb, lock->base.name);
    if (hold->request.rest_ms != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "cannot %s %.60s: once_ms and at_least_ms are for an exclusive hold", verb,
                        lock->base.name);
    int status = bwl_check_only_reference(lock, verb, reterr);
    if (status < 0)
        return status;
    if (hold->change.kind != 0 && hold->change.kind != change)
        return bwl_fail(
            reterr, BWL_STATUS_UNKNOWN,
            "cannot %s %.60s: the server has not answered to its %s yet, so its mode is "
            "not known.  Call bowline_%s again, or release it",
            verb, lock->base.name, change == BWL_DOWNGRADE ? "upgrade" : "downgrade",
            change == BWL_DOWNGRADE ? "upgrade" : "downgrade");
    return BOWLINE_OK;
}
