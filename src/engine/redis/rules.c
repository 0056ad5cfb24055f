/*
 * rules.c -- the protocol of a URL and its rules: ?protocol=, ?profile=, ?accept-risk= and ?sync=;
 * and the changes to these rules: ?token=, ?retry=, ?pause=, ?buffer= and ?guard=.
 *
 * A protocol with a known fault, or a lock shared with programs that have one, is only used if the
 * URL accepts the risk.
 */
#include "base/fault.h"
#include "base/trusted_file.h"
#include "core/nearest.h"
#include "core/text.h"
#include "engine/redis/redis.h"
#include "protocol/articles.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/lock_file/program.h"
#include "protocol/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_MAX = 128, SYNC_MAX = 100 };

static int unknown(const char *what, const char *typed, const char *(*name_at)(size_t i),
                   bwl_fault *fault)
{
    const char *names[NAMES_MAX];
    size_t      count = 0;

    for (; count < NAMES_MAX && name_at(count) != NULL; count++)
        names[count] = name_at(count);
    const char *nearest = bwl_nearest(typed, names, count);

    if (nearest != NULL)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "there is no %s \"%.40s\": did you mean %s?",
                        what, typed, nearest);
    return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                    "there is no %s \"%.40s\" in this build: man 7 bowline lists them", what,
                    typed);
}

/* ---- protocol= and profile= ------------------------------------------------------------------ */

static int take_profile(bwl_settings *settings, const char *name, const char *protocol,
                        const char **ret_fault, bwl_fault *fault)
{
    const bwl_profile *profile = bwl_profile_named(name);

    if (profile == NULL)
        return unknown("profile", name, bwl_profile_name_at, fault);
    if (protocol != NULL && strcmp(protocol, profile->protocol) != 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, protocol=%.40s contradicts profile=%s, which is %s: leave "
                        "protocol= out",
                        protocol, name, profile->protocol);
    settings->protocol      = bwl_protocol_named(profile->protocol);
    settings->options.rules = profile->rules;
    *ret_fault              = profile->fault;
    if (profile->fault == NULL && settings->protocol != NULL)
        *ret_fault = bwl_protocol_fault(settings->protocol, settings->options.rules);
    assert(settings->protocol != NULL); /* a test checks every row */
    return BWL_OK;
}

static int take_protocol(bwl_settings *settings, const char *name, const char **ret_fault,
                         bwl_fault *fault)
{
    const bwl_protocol *protocol = bwl_protocol_named(name);

    if (protocol == NULL)
        return unknown("protocol", name, bwl_protocol_name_at, fault);
    settings->protocol      = protocol;
    settings->options.rules = bwl_protocol_compat_rules(protocol);
    *ret_fault              = bwl_protocol_fault(protocol, settings->options.rules);
    return BWL_OK;
}

/* ---- protocol-file= -------------------------------------------------------------------------- */

/* -1: errno. */
static ssize_t read_whole(int fd, char *ret_bytes, size_t room)
{
    size_t size = 0;

    while (size < room) {
        ssize_t more = read(fd, ret_bytes + size, room - size);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        size += (size_t)more;
    }
    return (ssize_t)size;
}

static int read_file(const char *path, char *ret_bytes, size_t *ret_size, bwl_fault *fault)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return bwl_fail_errno(fault, "the lock file %.100s cannot be opened", path);
    int     status = bwl_trusted_check(fd, "lock file", path, BWL_TRUST_STEERS, fault);
    ssize_t size   = status == BWL_OK ? read_whole(fd, ret_bytes, BWL_LOCK_FILE_MAX) : 0;
    if (size < 0)
        status = bwl_fail_errno(fault, "the lock file %.100s cannot be read", path);
    (void)close(fd);
    *ret_size = size > 0 ? (size_t)size : 0;
    return status;
}

/* The program becomes part of the settings, and their owner frees it. */
static int take_file(bwl_settings *settings, const char *path, const char **ret_fault,
                     bwl_fault *fault)
{
    bwl_lock_program   *program = malloc(sizeof *program);
    char               *bytes   = malloc(BWL_LOCK_FILE_MAX);
    size_t              size    = 0;
    bwl_lock_file_error error   = { 0 };
    int                 status  = program != NULL && bytes != NULL
                                      ? read_file(path, bytes, &size, fault)
                                      : bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");

    if (status == BWL_OK && !bwl_lock_program_parse(program, "lock-file", bytes, size, &error))
        status = bwl_fail(fault, BWL_STATUS_USAGE, "%.100s:%u:%u: %s", path, error.line,
                          error.column, error.text);
    free(bytes);
    if (status < 0) {
        free(program);
        return status;
    }
    settings->protocol = &program->protocol;
    settings->options  = program->options;
    *ret_fault         = program->protocol.fault;
    return BWL_OK;
}

/* ---- risks ----------------------------------------------------------------------------------- */

static int take_risk(bwl_settings *settings, const bwl_url *url, const char *what, const char *name,
                     const char *wrong, bwl_fault *fault)
{
    const char *accepted = bwl_url_find(url, "accept-risk");

    if (accepted != NULL && strcmp(accepted, "1") != 0)
        return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, accept-risk= can only be 1");
    if (wrong == NULL)
        return BWL_OK;
    (void)snprintf(settings->risk, sizeof settings->risk, "%s %s is not safe: %s", what, name,
                   wrong);
    if (accepted == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s; to use it all the same, add accept-risk=1",
                        settings->risk);
    return BWL_OK;
}

static int check_renewal(const bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    const char *renew = bwl_url_find(url, "renew");

    if (settings->protocol == NULL || settings->protocol->extends || renew == NULL ||
        strcmp(renew, "on") != 0)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "in the URL, renew=on: protocol %s never renews a lock, it ends with its lease",
                    settings->protocol->name);
}

/* ---- token= ---------------------------------------------------------------------------------- */

static int check_token(const char *text, const char *name, bool has_value, bwl_fault *fault)
{
    size_t size     = strlen(text);
    bool   is_plain = true;

    if (!has_value)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, token=: %s has no value to choose; protocol=token, set-nx-ex "
                        "and the profiles with such a value have",
                        name);
    for (size_t i = 0; i < size; i++)
        is_plain = is_plain && (unsigned char)text[i] >= ' ' && text[i] != 127;
    if (size == 0 || size > BWL_AFFIX_MAX || !is_plain)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, token= is the value of the lock, 1 to %d bytes without "
                        "control characters",
                        BWL_AFFIX_MAX);
    return BWL_OK;
}

/* A value of the caller's choice.  What it risks comes first. */
static int take_token(bwl_settings *settings, const bwl_url *url, const char **ret_fault,
                      bwl_fault *fault)
{
    const char             *text  = bwl_url_find(url, "token");
    const bwl_compat_rules *rules = settings->options.rules;
    bool                    is_token =
        settings->protocol == &bwl_token && (rules == NULL || rules->value == BWL_VALUE_TOKEN);
    bool is_literal = settings->protocol == &bwl_set_nx_ex;

    if (text == NULL)
        return BWL_OK;
    if (check_token(text, settings->protocol != NULL ? settings->protocol->name : bwl_queue.name,
                    is_token || is_literal, fault) < 0)
        return BWL_STATUS_USAGE;
    if (is_token && *ret_fault != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, token=: this profile has a risk of its own, and each is for "
                        "itself: leave token= out");
    if (is_token) {
        settings->protocol = &bwl_token_chosen;
        *ret_fault         = bwl_token_chosen.fault;
    }
    return BWL_OK;
}

/* ---- sync= ----------------------------------------------------------------------------------- */

static int take_sync(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    const char         *text   = bwl_url_find(url, "sync");
    const bwl_protocol *chosen = settings->protocol != NULL ? settings->protocol : &bwl_queue;
    const bwl_protocol *synced = bwl_protocol_synced(chosen);
    uint64_t            count  = 0;

    settings->options.replicas = 0;
    if (text == NULL)
        return BWL_OK;
    if (!bwl_number_parse(&count, text, strlen(text), SYNC_MAX) || count == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sync= is how many replicas must have a lock, from 1 to %d",
                        SYNC_MAX);
    if (bwl_url_find(url, "token") != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sync= and token= exclude each other: leave one out");
    if (synced == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, sync=: protocol %s does not wait for replicas, only queue and "
                        "token do",
                        chosen->name);
    settings->protocol         = synced;
    settings->options.replicas = (uint16_t)count;
    return BWL_OK;
}

/* ---- retry=, pause=, buffer= and guard= ------------------------------------------------------ */

enum { RETRIES_MAX = 1000000, PAUSE_MIN_MS = 1, TUNE_MAX_MS = 3600000, NS_IN_MS = 1000000 };

typedef enum tuning { RETRY, PAUSE, BUFFER, GUARD, TUNINGS } tuning;

#define WHOSE_TRIES \
    "only the locks of articles and profiles have it; elsewhere wait= says how long to try"

/* The option, and why other locks do not have it. */
static const char *const tunings[TUNINGS][2] = {
    [RETRY]  = { "retry", WHOSE_TRIES },
    [PAUSE]  = { "pause", WHOSE_TRIES },
    [BUFFER] = { "buffer", "only a lock whose value is the time of its end has one to add it to" },
    [GUARD]  = { "guard", "only profile=php-pidlock looks at the time before it releases" },
};

/* rules NULL: the protocol is one of bowline's own. */
static bool has_tuning(const bwl_compat_rules *rules, tuning what)
{
    if (rules == NULL || what == RETRY || what == PAUSE)
        return rules != NULL;
    return rules->unit_ns != 0 && rules->expired != 0 && !rules->timestamp_is_start &&
           (what == BUFFER || rules->release == BWL_RELEASE_IF_AHEAD);
}

static int tune_one(bwl_compat_rules *rules, tuning what, const char *text, bwl_fault *fault)
{
    uint64_t retries = 0;
    bwl_ms   ms      = 0;

    if (what == RETRY && !bwl_number_parse(&retries, text, strlen(text), RETRIES_MAX))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, retry= is a number up to %d; 0: one try", RETRIES_MAX);
    if (what != RETRY && (!bwl_duration_parse(&ms, text, strlen(text)) || ms > TUNE_MAX_MS))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, %s= is a duration of at most an hour, such as 3ms, 1s",
                        tunings[what][0]);
    if (what == RETRY) {
        rules->tries_max = (unsigned)retries + 1;
        rules->wait_ms   = retries > 0 ? BWL_NEVER : 0;
    } else if (what == PAUSE) {
        rules->pause_ms = ms < PAUSE_MIN_MS ? PAUSE_MIN_MS : ms;
    } else if (what == BUFFER) {
        rules->extra_ns = ms * NS_IN_MS;
    } else {
        rules->guard_ms = ms;
    }
    return BWL_OK;
}

/* The rules with the URL's changes.  Returns how many there are, or USAGE. */
static int tune(bwl_compat_rules *ret_rules, const bwl_compat_rules *rules, const bwl_url *url,
                bwl_fault *fault)
{
    bwl_compat_rules tuned   = rules != NULL ? *rules : (bwl_compat_rules){ 0 };
    int              changes = 0;

    for (tuning what = RETRY; what < TUNINGS; what++) {
        const char *text = bwl_url_find(url, tunings[what][0]);
        if (text == NULL)
            continue;
        if (!has_tuning(rules, what))
            return bwl_fail(fault, BWL_STATUS_USAGE, "in the URL, %s=: %s", tunings[what][0],
                            tunings[what][1]);
        if (tune_one(&tuned, what, text, fault) < 0)
            return BWL_STATUS_USAGE;
        changes++;
    }
    *ret_rules = tuned;
    return changes;
}

/* The default wait with retry=: long enough for all tries. */
static int check_tuning(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    bwl_compat_rules tuned;
    int              status = tune(&tuned, settings->options.rules, url, fault);

    if (status < 0)
        return status;
    if (tuned.tries_max > 1 && settings->wait_ms == 0 && bwl_url_find(url, "wait") == NULL)
        settings->wait_ms = tuned.wait_ms;
    return BWL_OK;
}

int bwl_redis_choose(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    const char *protocol = bwl_url_find(url, "protocol");
    const char *profile  = bwl_url_find(url, "profile");
    const char *file     = bwl_url_find(url, "protocol-file");
    const char *wrong    = NULL;
    int         status   = BWL_OK;

    settings->risk[0] = '\0';
    if (file != NULL && (profile != NULL || protocol != NULL))
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "in the URL, protocol-file= is the protocol: leave %s= out",
                        profile != NULL ? "profile" : "protocol");
    if (file != NULL)
        status = take_file(settings, file, &wrong, fault);
    else if (profile != NULL)
        status = take_profile(settings, profile, protocol, &wrong, fault);
    else if (protocol != NULL)
        status = take_protocol(settings, protocol, &wrong, fault);
    if (status == BWL_OK)
        status = take_token(settings, url, &wrong, fault);
    if (status == BWL_OK && file != NULL)
        status = take_risk(settings, url, "lock file", file, wrong, fault);
    else if (status == BWL_OK && profile != NULL)
        status = take_risk(settings, url, "profile", profile, wrong, fault);
    else if (status == BWL_OK)
        status = take_risk(settings, url, "protocol", protocol, wrong, fault);
    if (status == BWL_OK)
        status = check_renewal(settings, url, fault);
    if (status == BWL_OK)
        status = check_tuning(settings, url, fault);
    if (status == BWL_OK)
        status = take_sync(settings, url, fault);
    return status;
}

int bwl_redis_choose_cluster(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    int status = bwl_redis_choose(settings, url, fault);

    if (status == BWL_OK && bwl_url_find(url, "token") != NULL)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "%s: has no token=: that is for one server",
                        url->scheme);
    if (status == BWL_OK && settings->options.replicas > 0)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                        "%s: has no sync=: replicas are waited for at one primary, by redis://, "
                        "unix:// and redis+sentinel://",
                        url->scheme);
    if (status < 0 || settings->protocol == NULL || settings->protocol == &bwl_redisson ||
        settings->protocol == &bwl_symfony ||
        ((settings->protocol == &bwl_token || settings->protocol == &bwl_queue) &&
         bwl_url_find(url, "profile") == NULL))
        return status;
    return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                    "%s: has only the protocols queue, token, redisson and symfony, and the "
                    "profiles redisson, redisson-fenced and symfony",
                    url->scheme);
}

int bwl_redis_choose_quorum(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    const char        *name    = bwl_url_find(url, "profile");
    const bwl_profile *profile = name != NULL ? bwl_profile_named(name) : NULL;

    settings->protocol = NULL; /* there is only one */
    settings->risk[0]  = '\0';
    if (name != NULL && profile == NULL)
        return unknown("profile", name, bwl_profile_name_at, fault);
    if (profile != NULL && !profile->is_of_many)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                        "%s: has no profile=%s: locks of that program are on one server: "
                        "redis://HOST/?profile=%s",
                        url->scheme, name, name);
    settings->options.rules = profile != NULL ? profile->rules : NULL;
    return take_risk(settings, url, "profile", name, profile != NULL ? profile->fault : NULL,
                     fault);
}

/* ---- the keys and values of a profile -------------------------------------------------------- */

static void choose_token(bwl_redis_config *config, bwl_settings *settings, const char *token)
{
    (void)snprintf(config->token, sizeof config->token, "%s", token);
    if (settings->options.rules != NULL)
        config->rules = *settings->options.rules;
    config->rules.value     = BWL_VALUE_LITERAL;
    config->rules.literal   = config->token;
    config->rules.prefix    = NULL;
    config->rules.suffix    = NULL;
    settings->options.rules = &config->rules;
}

int bwl_redis_take_profile(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                           bwl_fault *fault)
{
    const char *name     = bwl_url_find(url, "profile");
    const char *template = bwl_url_find(url, "key");
    const char *token    = bwl_url_find(url, "token");

    /* These options were checked when the protocol was chosen. */
    if (settings->options.rules != NULL &&
        tune(&config->rules, settings->options.rules, url, fault) > 0)
        settings->options.rules = &config->rules;
    if (token != NULL)
        choose_token(config, settings, token);
    if (name == NULL)
        return BWL_OK;
    config->profile   = bwl_profile_named(name);
    const char *wrong = bwl_profile_template_fault(config->profile, template);
    if (wrong != NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE, "profile %s: %s: key=%s%s", name, wrong,
                        config->profile->takes_prefix ? "WORD" : "", config->profile->key);
    if (config->profile->names_host && token == NULL) {
        char host[BWL_AFFIX_MAX / 2 + 1];
        if (gethostname(host, sizeof host) != 0 && errno != ENAMETOOLONG)
            host[0] = '\0';
        host[sizeof host - 1] = '\0';
        (void)snprintf(config->prefix, sizeof config->prefix, "%s_%ld_", host, (long)getpid());
        config->rules           = *settings->options.rules;
        config->rules.prefix    = config->prefix;
        settings->options.rules = &config->rules;
    }
    return BWL_OK;
}
