/*
 * acquire_options.c -- the options of an acquire: what they mean for the machine, and which of them
 * an engine and its protocol do not have.
 */
#include "api/handles.h"
#include "base/fault.h"

static const bwl_protocol *protocol_of(const bwl_shard *shard)
{
    const bwl_protocol *chosen = shard->host.settings.protocol;

    return chosen != NULL ? chosen : shard->host.engine->protocol;
}

/* A store without a queue of bowline cannot keep a lock taken after its release, or not for a
 * holder that dies. */
static int check_rest(const bowline_acquire_options *o, const bwl_shard *shard,
                      bowline_error *reterr)
{
    const bwl_engine   *engine   = shard->host.engine;
    const bwl_protocol *protocol = protocol_of(shard);
    const char         *name     = o->once_ms != 0 ? "once_ms" : "at_least_ms";
    int64_t             rest_ms  = o->once_ms != 0 ? o->once_ms : o->at_least_ms;

    if (rest_ms == 0)
        return BOWLINE_OK;
    if (o->once_ms != 0 && o->at_least_ms != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "once_ms and at_least_ms exclude each other");
    if (rest_ms < 1 || rest_ms > BOWLINE_REST_MAX_MS)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "%s is %lld, not 1 .. %lld (366 days)", name,
                        (long long)rest_ms, (long long)BOWLINE_REST_MAX_MS);
    if (protocol->rests)
        return BOWLINE_OK;
    if (!engine->has_lease)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "a lock of %s: ends with its process, so nothing keeps it taken for a "
                        "period.  Use the URL of a Redis server: redis://HOST",
                        engine->scheme);
    if (engine->kind == BWL_ENGINE_REDLOCK)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "the servers of %s: do not keep a lock taken for a period.  Use "
                        "redis://HOST, redis+sentinel:// or redis+cluster://",
                        engine->scheme);
    return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                    "protocol %s does not keep a lock taken for a period.  Remove protocol=, "
                    "profile= and token= from the URL: protocol queue does",
                    protocol->name);
}

static int check_permits(const bowline_acquire_options *o, bowline_error *reterr)
{
    if (o->mode != BOWLINE_PERMITS) {
        if (o->permits != 0 || o->limit != 0)
            return bwl_fail(reterr, BWL_STATUS_USAGE,
                            "permits and limit are for mode BOWLINE_PERMITS");
        return BOWLINE_OK;
    }
    if (o->limit < 1 || o->limit > BOWLINE_LIMIT_MAX)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "limit is %u, not 1 .. %d", (unsigned)o->limit,
                        BOWLINE_LIMIT_MAX);
    if (o->permits > BOWLINE_PERMITS_MAX || o->permits > o->limit)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "permits is %u, not 1 .. %d and at most the limit, %u",
                        (unsigned)o->permits, BOWLINE_PERMITS_MAX, (unsigned)o->limit);
    return BOWLINE_OK;
}

static int check_mode(const bowline_acquire_options *o, const bwl_shard *shard,
                      bowline_error *reterr)
{
    const bwl_engine   *engine   = shard->host.engine;
    const bwl_protocol *protocol = protocol_of(shard);
    const char         *what     = o->mode == BOWLINE_SHARED ? "shared holds" : "permits";
    int                 status   = check_permits(o, reterr);

    if (status < 0 || o->mode == BOWLINE_EXCLUSIVE)
        return status;
    if (o->mode > BOWLINE_PERMITS)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "there is no mode %u", (unsigned)o->mode);
    if (o->once_ms != 0 || o->at_least_ms != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "once_ms and at_least_ms are for an exclusive hold");
    if (protocol->shares)
        return BOWLINE_OK;
    if (engine->kind != BWL_ENGINE_REDIS)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "the locks of %s: have no %s.  Use the URL of a Redis server: "
                        "redis://HOST, redis+sentinel://HOST/SERVICE or redis+cluster://HOST",
                        engine->scheme, what);
    return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                    "protocol %s has no %s.  Remove protocol=, profile= and token= from the URL: "
                    "protocol queue has them",
                    protocol->name, what);
}

int bwl_take_acquire_options(bowline_acquire_options *ret_options, bwl_ms *ret_wait_ms,
                             const bwl_shard *shard, const bowline_acquire_options *theirs,
                             bowline_error *reterr)
{
    int status =
        bwl_copy_options(ret_options, sizeof *ret_options, theirs, "BOWLINE_ACQUIRE", reterr);

    if (theirs == NULL)
        ret_options->wait_ms = BOWLINE_DEFAULT;
    if (status == BOWLINE_OK)
        status = bwl_check_times(ret_options->lease_ms, ret_options->max_hold_ms, reterr);
    if (status < 0)
        return status;
    status = check_mode(ret_options, shard, reterr);
    if (status == BOWLINE_OK)
        status = check_rest(ret_options, shard, reterr);
    if (status < 0)
        return status;
    return bwl_take_wait(ret_wait_ms, shard, ret_options->wait_ms, reterr);
}

static bwl_share share_of(const bowline_acquire_options *o)
{
    if (o->mode == BOWLINE_EXCLUSIVE)
        return (bwl_share){ .weight = 0 };
    return (bwl_share){ .weight = o->permits != 0 ? o->permits : 1, .limit = o->limit };
}

bwl_terms bwl_acquire_terms(const bwl_shard *shard, const bowline_acquire_options *o)
{
    const bwl_settings *settings = &shard->host.settings;

    return (bwl_terms){
        .lease_ms    = o->lease_ms != 0 ? o->lease_ms : settings->lease_ms,
        .max_hold_ms = o->max_hold_ms != 0 ? o->max_hold_ms : settings->max_hold_ms,
        .answer_ms   = settings->answer_ms,
        .rest_ms     = o->once_ms != 0 ? o->once_ms : o->at_least_ms,
        .once        = o->once_ms != 0,
        .share       = share_of(o),
        .renews      = settings->renews,
    };
}
