/*
 * key.h -- the Redis key of a name.
 *
 * Without a template it is bowline:{NAME}, with the bytes { } % in NAME percent-encoded, so that no
 * two names have one key and no name can choose its own hash tag.  A template, such as "lock:%s",
 * gives the raw bytes for sharing a lock with other programs: %s is the name as it is, %% a percent
 * sign.
 */
#ifndef BWL_ENGINE_REDIS_WIRE_KEY_H
#define BWL_ENGINE_REDIS_WIRE_KEY_H

#include "core/core.h"

enum {
    BWL_KEY_TEMPLATE_MAX = 200, /* bytes                                                       */
    BWL_KEY_MAX          = 3 * BWL_NAME_MAX + BWL_KEY_TEMPLATE_MAX,
};

/* What is wrong with a template, or NULL. */
const char *bwl_key_template_fault(const char *template);

/* The key, which has no NUL behind it: its size.  `template` may be NULL. */
size_t bwl_key_write(char ret_key[BWL_KEY_MAX], const char *template, const char *name,
                     size_t name_size);

/* What is wrong with locking this key, or NULL: it is one that bowline itself keeps beside its
 * locks (docs/wire.md).  A template can make such a key of a name; without a template no name
 * does. */
const char *bwl_key_fault(const char *key, size_t size);

/* The same for protocol queue and the template that made the key: the keys X and {X} have one
 * queue, {X}:bwl.q, and a waiter for one would be given the other.  So the name must not bring the
 * braces; the template may, for all names. */
const char *bwl_key_queue_fault(const char *template, const char *key, size_t size);

/* What a cluster takes for the place of a key, its hash tag: what is between the first brace and
 * the next closing one behind it, if there is something; else the whole key.  Its size. */
size_t bwl_key_hash_tag(const char **ret_tag, const char *key, size_t size);

#endif
