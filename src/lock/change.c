#include "lock/change.h"
#include "protocol/format/token.h"

#include <string.h>

static const bwl_share any_number = { .weight = 1 };

static void draw_other_token(bwl_hold *h, const bwl_random *fresh, bwl_moment at)
{
    char token[BWL_TOKEN_MAX + 1];

    assert(h->request.options->rules == NULL);
    bwl_token_write_as(token, 0, fresh, at.wall_ns);
    assert(strlen(token) <= BWL_OTHER_TOKEN_MAX);
    memcpy(h->other_token, token, strlen(token) + 1);
}

/* An upgrade without a reply is sent again with its token. */
void bwl_change_begin(bwl_hold *h, bwl_change kind, const bwl_random *fresh, bwl_moment at)
{
    bwl_mode_change *c = &h->change;

    assert(h->protocol->changes && h->request.share.limit == 0);
    assert(c->kind == 0 || c->kind == kind);
    bool needs_token = kind == BWL_UPGRADE && h->protocol->uses_token;

    if (needs_token && !c->other_may_own)
        draw_other_token(h, fresh, at);
    c->kind            = kind;
    c->is_awaited      = true;
    c->other_may_own   = needs_token;
    h->request.share   = any_number;
    h->caller_extends  = true;
    h->extend_again    = false;
    h->pauses          = 0;
    h->answer_deadline = bwl_ms_add(at.now, h->terms.answer_ms);
}

bwl_command bwl_change_command(const bwl_hold *h)
{
    return (bwl_command){ .verb       = BWL_EXTEND,
                          .downgrades = h->change.kind == BWL_DOWNGRADE,
                          .upgrades   = h->change.kind == BWL_UPGRADE };
}

bool bwl_change_ended(bwl_hold *h, const bwl_outcome *out)
{
    bwl_mode_change *c       = &h->change;
    bool             is_busy = out->kind == BWL_BUSY;
    bool             is_told = is_busy && c->is_awaited;

    assert(c->kind != 0);
    assert(!is_busy || c->kind == BWL_UPGRADE);
    if (c->other_may_own)
        memcpy(h->request.token, h->other_token, sizeof h->other_token);
    if (c->kind == BWL_UPGRADE && !is_busy)
        h->request.share = (bwl_share){ 0 };
    if (!is_busy)
        h->fence = out->fence;
    *c = (bwl_mode_change){ .kind = 0 };
    return is_told;
}

/* Nothing was carried out. */
static void undo(bwl_hold *h)
{
    if (h->change.kind == BWL_DOWNGRADE)
        h->request.share = (bwl_share){ 0 };
    h->change = (bwl_mode_change){ .kind = 0 };
}

bool bwl_change_failed(bwl_hold *h, bwl_outcome_kind *result, bwl_ms now)
{
    bwl_mode_change *c = &h->change;

    if (c->kind == 0)
        return false;
    c->is_unknown = c->is_unknown || *result == BWL_UNKNOWN;
    if (c->is_awaited && now < h->answer_deadline &&
        (*result != BWL_STORE_REFUSED || c->is_unknown))
        return true;
    c->is_awaited = false;
    if (c->is_unknown)
        *result = BWL_UNKNOWN;
    else
        undo(h);
    return false;
}
