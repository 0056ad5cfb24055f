/*
 * settings.h -- the settings of an open client, for every engine: from the options of the call,
 * else from those of the URL, else the defaults.
 */
#pragma once

#include "base/log.h"
#include "base/url.h"
#include "protocol/format/compat_rules.h"

enum {
    BWL_LEASE_MIN_MS      = 100,
    BWL_LEASE_MAX_MS      = 86400000,
    BWL_LEASE_DEFAULT_MS  = 30000,
    BWL_ANSWER_DEFAULT_MS = 5000,
    BWL_ANSWER_MIN_MS     = 10,
};
#define BWL_WAIT_MAX_MS ((bwl_ms)INT32_MAX)

typedef struct bwl_settings {
    bwl_ms               lease_ms;
    bwl_ms               lease_max_ms; /* the longest lease a caller may request; 0: no limit */
    bwl_ms               answer_ms;    /* time limit for a server's reply */
    bwl_ms               wait_ms;      /* default wait; BWL_NEVER: no limit */
    bwl_ms               max_hold_ms;  /* BWL_NEVER: no limit */
    const bwl_protocol  *protocol;     /* NULL: the engine's own                         */
    bwl_protocol_options options;
    char     risk[BWL_FAULT_TEXT_MAX]; /* accepted risks of these settings, as text; "": none */
    unsigned handoffs_max; /* between threads that want the same name: lock/local_group.h */
    bwl_ms   handoffs_ms;
    bwl_ms   keep_ms; /* a released lock stays with the client for so long; 0: not */
    bool     renews;
    bool     sticks;       /* a released lock may stay with the client: keep_ms may be above 0 */
    bool     spins;        /* a waiting thread may busy-poll for a reply: net/spin.h */
    struct bwl_log *log;   /* the caller's; NULL: none */
    bool            keeps; /* the client has a renewal thread */
} bwl_settings;

/* The options that every engine takes, for bwl_url_check_options. */
#define BWL_SETTINGS_OPTIONS "lease", "wait", "max-hold", "renew", "spin", "timeout"

/* `asked` holds the options of the call (0 or false: not given) and the protocol with its rules,
 * which may have a default lease and wait.  USAGE. */
int bwl_settings_from(bwl_settings *ret_settings, const bwl_settings *asked, bool renewal_off,
                      const bwl_url *url, bwl_fault *fault);
