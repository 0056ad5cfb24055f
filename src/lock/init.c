/*
 * init.c -- a hold before its acquire.
 */
#include "lock/machine.h"
#include "protocol/format/token.h"

void bwl_hold_init(bwl_hold *h, const bwl_protocol *protocol, unsigned nodes,
                   const bwl_terms *terms)
{
    static const bwl_protocol_options none    = { 0 };
    const bwl_protocol_options       *options = terms->options != NULL ? terms->options : &none;

    assert(protocol->state_size <= sizeof h->memory);
    assert(terms->lease_ms > bwl_drift_named_ms(terms->lease_ms, options->drift_ppm));
    assert(terms->max_hold_ms > 0);
    assert(terms->rest_ms == 0 || protocol->rests);
    assert(terms->share.weight == 0 || (protocol->shares && terms->rest_ms == 0));
    *h = (bwl_hold){
        .protocol          = protocol,
        .terms             = *terms,
        .request           = { .lease_ms  = terms->lease_ms,
                               .answer_ms = terms->answer_ms,
                               .rest_ms   = terms->rest_ms,
                               .once      = terms->once,
                               .share     = terms->share,
                               .options   = options },
        .state             = BWL_HOLD_IDLE,
        .timer_at          = BWL_NEVER,
        .protocol_wakes_at = BWL_NEVER,
    };
    h->terms.renews = terms->renews && protocol->extends;
    protocol->init(h->memory, nodes);
}
