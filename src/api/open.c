/*
 * open.c -- opening and closing a client, and the options of every call.
 */
#include "api/handles.h"
#include "api/engines.h"
#include "base/fault.h"

#include <string.h>

/* The error text for an unknown scheme lists them in this order. */
const bwl_engine *const bwl_engines[] = {
    &bwl_thread_engine,      &bwl_file_engine,     &bwl_redis_engine,        &bwl_tls_engine,
    &bwl_unix_engine,        &bwl_sentinel_engine, &bwl_sentinel_tls_engine, &bwl_cluster_engine,
    &bwl_cluster_tls_engine, &bwl_redlock_engine,  &bwl_redlock_tls_engine,  NULL,
};

int bwl_copy_options(void *ret_ours, size_t our_size, const void *theirs, const char *macro,
                     bowline_error *reterr)
{
    size_t size;

    memset(ret_ours, 0, our_size);
    if (theirs == NULL)
        return BOWLINE_OK;
    memcpy(&size, theirs, sizeof size); /* the first field of each options struct */
    if (size < sizeof size || size > 4096)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "the size field of the options is not set: use %s(...)", macro);
    for (size_t i = our_size; i < size; i++)
        if (((const unsigned char *)theirs)[i] != 0)
            return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                            "an option is set that this version of the library does not have");
    memcpy(ret_ours, theirs, size < our_size ? size : our_size);
    return BOWLINE_OK;
}

int bwl_take_wait(bwl_ms *ret_wait_ms, const bwl_shard *shard, int64_t wait_ms,
                  bowline_error *reterr)
{
    if (wait_ms < BOWLINE_DEFAULT || wait_ms > BOWLINE_WAIT_MAX_MS)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "wait_ms is BOWLINE_FOREVER, BOWLINE_DEFAULT, or from 0 to 2147483647");
    if (wait_ms == BOWLINE_DEFAULT)
        *ret_wait_ms = shard->host.settings.wait_ms;
    else
        *ret_wait_ms = wait_ms == BOWLINE_FOREVER ? BWL_NEVER : wait_ms;
    return BOWLINE_OK;
}

int bwl_check_times(uint32_t lease_ms, int64_t max_hold_ms, bowline_error *reterr)
{
    if (lease_ms != 0 && (lease_ms < BWL_LEASE_MIN_MS || lease_ms > BWL_LEASE_MAX_MS))
        return bwl_fail(reterr, BWL_STATUS_USAGE, "lease_ms is from 100 to 86400000 (one day)");
    if (max_hold_ms < 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "max_hold_ms is below 0");
    return BOWLINE_OK;
}

int bwl_check_extend(const bwl_lock *lock, uint32_t lease_ms, bowline_error *reterr)
{
    int status = bwl_check_times(lease_ms, 0, reterr);

    if (status < 0)
        return status;
    if (!lock->base.hold.protocol->extends)
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "%.60s cannot be extended: a lock of protocol %s ends with its lease; ask "
                        "for a longer one when you acquire it",
                        lock->base.name, lock->base.hold.protocol->name);
    return bwl_check_lease(lock->shard, lease_ms, reterr);
}

enum { FLAGS = BOWLINE_NO_RENEW | BOWLINE_NO_THREAD | BOWLINE_NO_SPIN | BOWLINE_NO_STICKY };

int bowline_open(bowline_client **ret_client, const bowline_options *options, bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bowline_options o;

    if (ret_client == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "bowline_open needs a place for the client");
    int status = bwl_copy_options(&o, sizeof o, options, "BOWLINE_OPTIONS", reterr);
    if (status == BOWLINE_OK)
        status = bwl_check_times(o.lease_ms, o.max_hold_ms, reterr);
    if (status < 0)
        return status;
    if ((o.flags & ~(uint32_t)FLAGS) != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "flags are BOWLINE_NO_RENEW, BOWLINE_NO_THREAD, BOWLINE_NO_SPIN and "
                        "BOWLINE_NO_STICKY");
    bwl_settings asked = {
        .lease_ms    = o.lease_ms,
        .answer_ms   = o.reply_ms,
        .max_hold_ms = o.max_hold_ms,
        .keeps       = (o.flags & BOWLINE_NO_THREAD) == 0,
        .spins       = (o.flags & BOWLINE_NO_SPIN) == 0,
        .sticks      = (o.flags & BOWLINE_NO_STICKY) == 0,
    };
    if (o.on_log != NULL && (asked.log = bwl_log_new(o.on_log, o.log_data)) == NULL)
        return bwl_fail(reterr, BWL_STATUS_NOMEM, "out of memory");
    status = bwl_client_open(ret_client, bwl_engines, &asked, (o.flags & BOWLINE_NO_RENEW) != 0,
                             o.url != NULL ? o.url : "file:", o.program, reterr);
    if (status < 0) {
        bwl_log_free(asked.log);
        return status;
    }
    if ((*ret_client)->first->host.settings.risk[0] != '\0')
        bwl_log_add(asked.log, BWL_LOG_WARNING, "%s", (*ret_client)->first->host.settings.risk);
    bwl_log_drain(asked.log);
    return BOWLINE_OK;
}

const char *bowline_client_warning(const bowline_client *client)
{
    const char *risk = client != NULL ? client->first->host.settings.risk : "";

    return risk[0] != '\0' ? risk : NULL;
}

void bowline_close(bowline_client *client)
{
    BWL_UNCANCELLED;
    if (client == NULL)
        return;
    bool     is_ours = !bwl_forked(&client->first->host.guard);
    bwl_log *log     = client->first->host.settings.log;
    bwl_client_close(client);
    if (is_ours)
        bwl_log_drain(log);
    bwl_log_free(log);
}
