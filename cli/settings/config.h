/*
 * config.h -- what a run is to use: the options, else what the URL says, else the config file.
 *
 *      url         --url, --url-file, $BOWLINE_URL, `url` in the config file, "file:"
 *      the others  the option, the URL's own (?lease=30s), the key in the config file, the default
 *
 * A source that is there and cannot be used is an error.  It is never passed over: the next one
 * might lock on this machine only, and nobody would notice.
 */
#ifndef BOWLINE_CLI_SETTINGS_CONFIG_H
#define BOWLINE_CLI_SETTINGS_CONFIG_H

#include <stdint.h>

#include "cli/settings/options.h"
#include "cli/text/url.h"

typedef struct settings {
    char     url[URL_MAX + 1];
    words    url_from; /* "--url", "/etc/bowline.conf:3": for error texts       */
    int64_t  wait_ms;  /* for bowline_acquire_options, as the next two          */
    int64_t  max_hold_ms;
    uint32_t lease_ms;
    int64_t  kill_after_ms;
    bool     url_ends_hold;   /* the URL has a max-hold                             */
    bool     wait_is_default; /* nobody has said how long to wait: see own_wait.h   */
} settings;

/* When it fails, *ret_settings may have a part of it, and is to be wiped all the same. */
int settings_find(settings *ret_settings, const run_options *options, failure *reterr);

/* Overwrites the URL, which may hold a password. */
void settings_wipe(settings *s);

#endif
