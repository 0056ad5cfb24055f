/*
 * settings.h -- what a client was opened with, whatever its engine: from the options of the call,
 * else from those of the URL, else the defaults.
 */
#pragma once

#include "base/log.h"
#include "base/url.h"
#include "core/compat_rules.h"

enum {
    BWL_LEASE_MIN_MS      = 100,
    BWL_LEASE_MAX_MS      = 86400000,
    BWL_LEASE_DEFAULT_MS  = 30000,
    BWL_ANSWER_DEFAULT_MS = 5000,
    BWL_ANSWER_MIN_MS     = 10,
};
#define BWL_WAIT_MAX_MS ((bwl_ms)INT32_MAX)

typedef struct bwl_settings {
    bwl_ms lease_ms;
    bwl_ms lease_max_ms; /* that a caller may ask for; 0: any                                   */
    bwl_ms answer_ms;    /* how long a server may be silent                                     */
    bwl_ms wait_ms;      /* when the caller does not say; BWL_NEVER: for ever                   */
    bwl_ms max_hold_ms;  /* BWL_NEVER: no end                                                   */
    const bwl_protocol *protocol;  /* NULL: the engine's own                                    */
    const bwl_compat_rules *rules; /* constant; NULL: the protocol has no parameters */
    char risk[BWL_FAULT_TEXT_MAX]; /* what is wrong with these, and accepted; "": nothing      */
    uint32_t drift_ppm; /* see bwl_drift_named_ms; 0: the usual allowance                       */
    uint16_t replicas;  /* that must have a lock before it counts; 0: none                       */
    unsigned handoffs_max; /* of threads that want the same name, see lock/local_group.h */
    bwl_ms   handoffs_ms;
    bool     renews;
    bool     spins;      /* who waits for an answer may look for it without sleeping: net/spin.h */
    struct bwl_log *log; /* of the caller; NULL: none */
    bool            keeps; /* a thread of ours renews while nobody is inside a call               */
} bwl_settings;

/* The options that every engine takes, for bwl_url_check_options. */
#define BWL_SETTINGS_OPTIONS "lease", "wait", "max-hold", "renew", "spin", "timeout"

/* `asked` holds what the caller of open gave, 0 (and false) for what he did not, and the protocol
 * with its rules, which may have a lease and a wait of their own.  USAGE. */
int bwl_settings_from(bwl_settings *ret_settings, const bwl_settings *asked, bool renewal_off,
                      const bwl_url *url, bwl_fault *fault);
