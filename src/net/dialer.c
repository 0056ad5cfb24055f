#include "net/dialer.h"
#include "base/fault.h"

void bwl_dialer_init(bwl_dialer *dialer, bwl_stream *stream)
{
    *dialer = (bwl_dialer){ .stream = stream };
}

void bwl_dialer_set_address(bwl_dialer *dialer, const bwl_address *address)
{
    dialer->addresses[0]    = *address;
    dialer->addresses_count = 1;
}

void bwl_dialer_forget(bwl_dialer *dialer)
{
    bwl_resolve_forget(dialer->resolve);
    dialer->resolve = NULL;
}

static void begin_step(bwl_dialer *dialer, bool resolving, bwl_ms now, bwl_ms ends_at)
{
    dialer->resolving = resolving;
    dialer->began_at  = now;
    dialer->ends_at   = ends_at;
}

static int attempt_failed(const bwl_dialer *dialer, bwl_fault *fault)
{
    if (dialer->refusal.status != 0)
        *fault = dialer->refusal;
    assert(fault->status < 0);
    return fault->status;
}

/* Opens the stream to the first address, from the current one on, that does not fail at once. */
static int connect_on(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault)
{
    for (; dialer->address < dialer->addresses_count; dialer->address++) {
        bwl_ms left = dialer->until > now ? dialer->until - now : 0;
        if (bwl_stream_open(dialer->stream, &dialer->addresses[dialer->address], fault) < 0)
            continue;
        begin_step(dialer, false, now,
                   now + left / (bwl_ms)(dialer->addresses_count - dialer->address));
        return BWL_DIAL_CONNECTING;
    }
    return attempt_failed(dialer, fault);
}

int bwl_dialer_woken(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault)
{
    if (!dialer->resolving)
        return BWL_DIAL_CONNECTING;
    int result = bwl_resolve_take(dialer->resolve, dialer->addresses, fault);
    if (result == 0)
        return BWL_DIAL_RESOLVING;
    bwl_dialer_forget(dialer);
    dialer->resolving = false;
    if (result < 0)
        return attempt_failed(dialer, fault);
    dialer->addresses_count = (unsigned)result;
    return connect_on(dialer, now, fault);
}

/* Drops a lookup whose result is too old. */
static void forget_old_lookup(bwl_dialer *dialer, bwl_ms now, bwl_ms lookup_age_ms)
{
    if (dialer->resolve != NULL && now >= bwl_ms_add(dialer->resolve_began_at, lookup_age_ms) &&
        bwl_resolve_take(dialer->resolve, dialer->addresses, NULL) != 0)
        bwl_dialer_forget(dialer);
}

int bwl_dialer_start(bwl_dialer *dialer, const bwl_dial *to, bwl_ms now, bwl_ms until,
                     bwl_ms lookup_age_ms, bwl_fault *fault)
{
    assert(!bwl_stream_is_open(dialer->stream));
    dialer->refusal    = (bwl_fault){ 0 };
    dialer->address    = 0;
    dialer->started_at = now;
    dialer->until      = until;
    if (to->host == NULL)
        return connect_on(dialer, now, fault);
    begin_step(dialer, true, now, until);
    forget_old_lookup(dialer, now, lookup_age_ms);
    if (dialer->resolve == NULL) {
        if (bwl_resolve_start(&dialer->resolve, to, fault) < 0)
            return attempt_failed(dialer, fault);
        dialer->resolve_began_at = now;
    }
    return bwl_dialer_woken(dialer, now, fault);
}

bool bwl_dialer_is_late(const bwl_dialer *dialer, bwl_ms now, bwl_fault *ret_fault)
{
    bool      is_whole = dialer->resolving || dialer->addresses_count == 1;
    long long ms       = is_whole ? (long long)(dialer->until - dialer->started_at)
                                  : (long long)(dialer->ends_at - dialer->began_at);

    if (now < dialer->ends_at)
        return false;
    (void)bwl_fail(ret_fault, BWL_STATUS_UNREACHABLE,
                   dialer->resolving ? "the host was not found within %lld ms"
                                     : "no answer within %lld ms",
                   ms);
    return true;
}

int bwl_dialer_next(bwl_dialer *dialer, bwl_ms now, bwl_fault *fault)
{
    bwl_stream_close(dialer->stream);
    if (fault->status == BWL_STATUS_REFUSED)
        dialer->refusal = *fault;
    if (dialer->resolving)
        return attempt_failed(dialer, fault);
    dialer->address++;
    return connect_on(dialer, now, fault);
}
