#include "engine/settings.h"
#include "core/text.h"
#include "base/fault.h"

#include <string.h>

/* Reads the URL's duration option `name`, if there is one and *ret_ms is still 0. */
static int duration_option(bwl_ms *ret_ms, const bwl_url *url, const char *name, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, name);

    if (text == NULL || *ret_ms != 0)
        return BWL_OK;
    if (!bwl_duration_parse(ret_ms, text, strlen(text)))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, %s= is not a duration such as 250ms, 30s, 5m, 2h", name);
    return BWL_OK;
}

static int wait_option(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, "wait");

    if (settings->wait_ms == 0 && text != NULL && strcmp(text, "forever") == 0) {
        settings->wait_ms = BWL_NEVER;
        return BWL_OK;
    }
    if (settings->wait_ms == 0 && text == NULL && settings->options.rules != NULL)
        settings->wait_ms = settings->options.rules->wait_ms;
    int status = duration_option(&settings->wait_ms, url, "wait", fault);
    if (status < 0)
        return status;
    if (settings->wait_ms != BWL_NEVER && settings->wait_ms > BWL_WAIT_MAX_MS)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, wait= is more than 24 days");
    return BWL_OK;
}

/* "off" disables what is on by default. */
static int switch_option(bool *ret_is_on, const bwl_url *url, const char *name, bwl_fault *fault)
{
    const char *text = bwl_url_find(url, name);

    if (text == NULL || strcmp(text, "on") == 0)
        return BWL_OK;
    if (strcmp(text, "off") != 0)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, %s= must be on or off", name);
    *ret_is_on = false;
    return BWL_OK;
}

static bwl_ms lease_default(const bwl_settings *s)
{
    const bwl_compat_rules *rules = s->options.rules;

    return rules != NULL && rules->lease_ms != 0 ? rules->lease_ms : BWL_LEASE_DEFAULT_MS;
}

static int check(const bwl_settings *s, bwl_fault *fault)
{
    if (s->lease_ms < BWL_LEASE_MIN_MS || s->lease_ms > BWL_LEASE_MAX_MS)
        return bwl_fail(fault, BWL_STATUS_USAGE, "a lease is from 100 ms to one day");
    if (s->answer_ms < BWL_ANSWER_MIN_MS || s->answer_ms > s->lease_ms)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "a server may be silent for 10 ms at least and the lease at most: see "
                        "timeout= and reply_ms");
    if (s->max_hold_ms <= 0)
        return bwl_fail(fault, BWL_STATUS_USAGE, "max-hold is a time of at least 1 ms");
    return BWL_OK;
}

int bwl_settings_from(bwl_settings *ret_settings, const bwl_settings *asked, bool renewal_off,
                      const bwl_url *url, bwl_fault *fault)
{
    bwl_settings s = *asked;
    int          status;

    s.renews = true;
    if ((status = duration_option(&s.lease_ms, url, "lease", fault)) < 0 ||
        (status = duration_option(&s.answer_ms, url, "timeout", fault)) < 0 ||
        (status = duration_option(&s.max_hold_ms, url, "max-hold", fault)) < 0 ||
        (status = wait_option(&s, url, fault)) < 0 ||
        (status = switch_option(&s.renews, url, "renew", fault)) < 0 ||
        (status = switch_option(&s.spins, url, "spin", fault)) < 0)
        return status;
    if (s.lease_ms == 0)
        s.lease_ms = bwl_url_find(url, "lease") != NULL ? -1 : lease_default(&s);
    if (s.answer_ms == 0)
        s.answer_ms = bwl_url_find(url, "timeout") != NULL
                          ? -1
                          : bwl_ms_min(BWL_ANSWER_DEFAULT_MS, s.lease_ms / 3);
    if (s.max_hold_ms == 0)
        s.max_hold_ms = bwl_url_find(url, "max-hold") != NULL ? -1 : BWL_NEVER;
    s.renews = s.renews && !renewal_off;
    status   = check(&s, fault);
    if (status < 0)
        return status;
    *ret_settings = s;
    return BWL_OK;
}
