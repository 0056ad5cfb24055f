/*
 * sentinel_link.h -- the connection to one sentinel: asks it for the primary of a service, and is
 * subscribed to its messages about a new one.  See sentinel_link.c.
 */
#pragma once

#include "engine/redis/topology/sentinel_service.h"
#include "engine/redis/wire/sentinel.h"

typedef struct bwl_sentinel_link bwl_sentinel_link;

/* The callbacks to the owner.  `number` is that of the sentinel. */
typedef struct bwl_sentinel_link_owner {
    void (*on_answer)(void *owner, unsigned number, const bwl_sentinel_answer *answer);

    /* A message: this is the new primary.  The link asks for its epoch afterwards. */
    void (*on_switch)(void *owner, const bwl_primary *primary);

    /* A connection could not be opened, failed, or ended.  REFUSED: needs correction. */
    void (*on_failed)(void *owner, unsigned number, const bwl_fault *fault);

    void (*on_change)(void *owner); /* the deadline may have changed */
} bwl_sentinel_link_owner;

/* For sentinel `number` of the service, which is borrowed, as are the others.  tls NULL: clear
 * text.  NULL: out of memory. */
bwl_sentinel_link *bwl_sentinel_link_new(bwl_host *client, const bwl_sentinel_service *service,
                                         unsigned number, const bwl_tls_context *tls,
                                         const bwl_sentinel_link_owner *owner, void *owner_data);
void               bwl_sentinel_link_free(bwl_sentinel_link *link); /* also NULL */

/* Asks for the primary; connects if necessary.  An answer or a failure follows within answer_ms of
 * the client's settings, or came before this returns. */
void bwl_sentinel_link_ask(bwl_sentinel_link *link);

/* The deadline for bwl_sentinel_link_woken; BWL_NEVER: none.  Call it also after a lookup. */
bwl_ms bwl_sentinel_link_waits_until(const bwl_sentinel_link *link);
void   bwl_sentinel_link_woken(bwl_sentinel_link *link);
