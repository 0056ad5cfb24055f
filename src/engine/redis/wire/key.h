/*
 * key.h -- the Redis key of a name.
 *
 * Without a template the key is bowline:{NAME}, with the bytes { } % in NAME percent-encoded.  So
 * two names never have the same key, and a name cannot choose its hash tag.  A template such as
 * "lock:%s" makes the key of another program: %s is the unchanged name, %% a percent sign.
 */
#pragma once

#include "core/glob.h"

enum {
    BWL_KEY_TEMPLATE_MAX = 200, /* bytes */
    BWL_KEY_MAX          = 3 * BWL_NAME_MAX + BWL_KEY_TEMPLATE_MAX,
};

/* What is wrong with a template, or NULL. */
const char *bwl_key_template_fault(const char *template);

/* Writes the key, without a NUL; returns its size.  template: NULL for the default. */
size_t bwl_key_write(char ret_key[BWL_KEY_MAX], const char *template, const char *name,
                     size_t name_size);

/* The name whose key this is, with a NUL; returns its size, 0: it is the key of no name. */
size_t bwl_key_read(char ret_name[BWL_NAME_MAX + 1], const char *template, const char *key,
                    size_t size);

/* Writes a pattern for MATCH, with a NUL.  It matches the keys of all names that a glob matches
 * (core/glob.h), and perhaps more: literals are kept, and the rest is `*`. */
enum { BWL_KEY_PATTERN_MAX = 2 * BWL_KEY_TEMPLATE_MAX + 6 * BWL_GLOB_MAX + 1 };
void bwl_key_pattern_write(char        ret_pattern[BWL_KEY_PATTERN_MAX], const char *template,
                           const char *glob);

/* Writes a key beside that of a lock: before, key, after; without has_braces, with {} around the
 * key.  Returns its size. */
enum { BWL_KEY_BESIDE_MAX = BWL_KEY_MAX + 64 };
size_t bwl_key_beside(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t size,
                      bool has_braces, const char *before, const char *after);

/* The key of the queue of a lock: L:bwl.q. */
size_t bwl_key_queue(char ret_key[BWL_KEY_BESIDE_MAX], const char *key, size_t size);

/* What is wrong with this key, or NULL.  A key that bowline itself keeps beside its locks
 * (docs/reference/wire.md) is wrong.  Only a template can make such a key. */
const char *bwl_key_fault(const char *key, size_t size);

/* The same for protocol queue, with the template that made the key.  The keys X and {X} have the
 * same queue, {X}:bwl.q, so a waiter for one could be granted the other.  So the braces may be in
 * the template, for all names, but not in the name. */
const char *bwl_key_queue_fault(const char *template, const char *key, size_t size);

/* The hash tag of a key, by which a cluster computes the slot: the bytes between the first { and
 * the next }, if there are any; otherwise the whole key.  Returns its size. */
size_t bwl_key_hash_tag(const char **ret_tag, const char *key, size_t size);
