/*
 * config.h -- the settings of a run: from the options, else the URL, else the config file.
 *
 *      url         --url, --url-file, $BOWLINE_URL, `url` in the config file, "file:"
 *      the others  the option, the URL (?lease=30s), the key in the config file, the default
 *
 * A source that exists but cannot be used is an error and is never skipped: the next source might
 * lock between the processes of this user only, and no one would notice.
 */
#pragma once

#include <stdint.h>

#include "cli/settings/options.h"
#include "cli/text/url.h"

typedef struct settings {
    char     url[URL_MAX + 1];
    words    url_from; /* "--url", "/etc/bowline.conf:3": for messages */
    int64_t  wait_ms;  /* these three as in bowline_acquire_options */
    int64_t  max_hold_ms;
    uint32_t lease_ms;
    int64_t  kill_after_ms;
    bool     url_ends_hold;    /* the URL sets max-hold */
    bool     wait_is_default;  /* no source sets the wait */
    bool     waits_for_server; /* also without a limit */
} settings;

int settings_find(settings *ret_settings, const run_options *options, failure *reterr);

/* An error of the library about the URL.  `text` is its text. */
int settings_fail(const settings *s, words what, const char *text, failure *reterr);

/* Overwrites the URL, which may contain a password. */
void settings_wipe(settings *s);

/* Writes the answer of caps, doctor or acl about a URL to standard output.  Returns the exit code,
 * or below 0 with *reterr. */
typedef int url_answer(const settings *s, const run_options *o, failure *reterr);

/* Runs such a command: parses, shows the help or answers, reports errors.  Returns the exit code.
 * The URL is the operand, or else the URL that `bowline run` would use.  A URL with a password is
 * refused as an operand, because every user can read the arguments of a process. */
int url_query_main(const option_table *t, url_answer *answer, int argc, char **argv);
