/*
 * url.h -- parses the URL of a store.
 *
 *      SCHEME:[//[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]...][PATH][?NAME=VALUE[&NAME=VALUE]...]
 *
 * Everything but the scheme and the port may be percent-encoded, except NUL; the parts are decoded.
 * The parser resolves no names, and does not know which schemes, hosts and options are valid.
 */
#pragma once

#include "core/status.h"

enum {
    BWL_URL_MAX         = 2048, /* bytes in a URL                                              */
    BWL_URL_OPTIONS_MAX = 24,
    BWL_URL_SCHEME_MAX  = 24,
    BWL_URL_HOSTS_MAX   = 16,
};

typedef struct bwl_url_host {
    const char *name; /* without the brackets of an IPv6 address */
    uint16_t    port; /* 0: none given                           */
} bwl_url_host;

typedef struct bwl_url_option {
    const char *name;
    const char *value;
} bwl_url_option;

typedef struct bwl_url {
    char           scheme[BWL_URL_SCHEME_MAX];
    const char    *user; /* NULL: none given; likewise password, host */
    const char    *password;
    const char    *host; /* the first host and its port */
    uint16_t       port;
    unsigned       hosts_count; /* 0: there is no "//"                                     */
    bwl_url_host   hosts[BWL_URL_HOSTS_MAX];
    const char    *path; /* "" if there is none                                            */
    unsigned       options_count;
    bwl_url_option options[BWL_URL_OPTIONS_MAX];
    size_t         used;
    char           text[BWL_URL_MAX + 64]; /* storage of the strings */
} bwl_url;

/* USAGE: the fault has the reason, and never quotes what might be a password.  The struct must not
 * be moved afterwards: it points into itself. */
int bwl_url_parse(bwl_url *ret_url, const char *text, bwl_fault *fault);

/* Overwrites everything, including the password. */
void bwl_url_wipe(bwl_url *url);

const char *bwl_url_find(const bwl_url *url, const char *name);

/* USAGE: an option is not in the list (which ends with NULL), or is given twice. */
int bwl_url_check_options(const bwl_url *url, const char *const *known, bwl_fault *fault);
