/*
 * protocol.h -- the table of the lock protocols that the URL of a Redis server can name.
 *
 * Each kind of lock has one .c file, and none includes another.  They are declared in groups:
 * token_lock.h, queue_lock.h, quorum.h, articles.h, local_lock.h.
 */
#pragma once

#include "protocol/format/compat_rules.h"
#include "protocol/store/redis.h"

/* X(NAME, name): the protocols that the URL of a Redis server can name; the protocol is bwl_name.
 * Tables with an entry for each of them are made from this list, so that a protocol without an
 * entry does not compile. */
#define BWL_PROTOCOL_MAP(X)               \
    X(QUEUE, queue)                       \
    X(TOKEN, token)                       \
    X(REDISSON, redisson)                 \
    X(SYMFONY, symfony)                   \
    X(SETNX_DEL, setnx_del)               \
    X(SETNX_DEL_EXPIRE, setnx_del_expire) \
    X(SETNX_STAMP_DEL, setnx_stamp_del)   \
    X(SETNX_GETSET, setnx_getset)         \
    X(SET_NX_EX, set_nx_ex)               \
    X(SETNX_EXPIRE_WATCH, setnx_expire_watch)

typedef enum bwl_protocol_id {
    BWL_PROTOCOL_NONE = 0, /* not in the list */
#define BWL_PROTOCOL_ID(NAME, name) BWL_PROTOCOL_##NAME,
    BWL_PROTOCOL_MAP(BWL_PROTOCOL_ID)
#undef BWL_PROTOCOL_ID
} bwl_protocol_id;

/* The number of a protocol in the list.  A variant, which waits for replicas or has a chosen token,
 * has the number of the protocol itself. */
bwl_protocol_id bwl_protocol_id_of(const bwl_protocol *protocol);

/* The protocol with this name, or NULL; the name of the i-th in the list, NULL after the last. */
const bwl_protocol *bwl_protocol_named(const char *name);
const char         *bwl_protocol_name_at(size_t i);

/* The variant that waits for replicas.  NULL: there is none. */
const bwl_protocol *bwl_protocol_synced(const bwl_protocol *protocol);

/* The commands of a lock that one command acquires, one extends and one releases, by its token. */
typedef struct bwl_lock_commands {
    bwl_redis_command take;
    bwl_redis_command take_again; /* YES also if an earlier one was carried out */
    bwl_redis_command extend;
    bwl_redis_command release;
    const char       *kind; /* type of the key, as the command TYPE returns it */
} bwl_lock_commands;

/* The commands of redisson and symfony; for any other protocol those of a string.  Constant. */
const bwl_lock_commands *bwl_protocol_commands(const bwl_protocol *protocol);

/* The default rules of a protocol: those of its article.  NULL: it has no parameters. */
const bwl_compat_rules *bwl_protocol_compat_rules(const bwl_protocol *protocol);

/* A warning: what is wrong with the protocol under these rules, or NULL. */
const char *bwl_protocol_fault(const bwl_protocol *protocol, const bwl_compat_rules *rules);

/* The rules of setnx-getset in each article. */
extern const bwl_compat_rules bwl_compat_rules_seconds; /* "Redis的分布式锁", the fourth way */
extern const bwl_compat_rules
    bwl_compat_rules_buffers; /* "Redis实现分布式锁": milliseconds, buffers */
extern const bwl_compat_rules bwl_compat_rules_jedis; /* "利用redis实现分布式锁", its code */
extern const bwl_compat_rules bwl_compat_rules_lock_foo; /* ... and of its summary */
extern const bwl_compat_rules bwl_compat_rules_server;   /* the safe variant of the first */
