/*
 * scripted.h -- a protocol with the outcomes of the story, for stories of the lock machine alone.
 *
 * Each command sends one request, named by the verb.  Items, besides those of transcript.h:
 *
 *      ACQUIRE as A, may wait     ACQUIRE as A again     ACQUIRE as B, yields A
 *      EXTEND as A for 60000      RELEASE as A                DOWNGRADE as A
 *      UPGRADE as A to B          with B as the token if it succeeds
 *      -> KIND                 the outcome (HELD: for 29999 ms from now)
 *      -> HELD until N [because KIND]
 *      outcome KIND            the outcome of the next event
 *      returns KIND            the outcome of the next command, at once and without a request
 *      wakes at N [, M late]   sets an alarm, which may be M late
 */
#pragma once

#include "tests/lib/testing.h"

#include "protocol/format/compat_rules.h"
#include "lock/machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { SCRIPTED_GRANT_MS = 29999 };

static struct {
    bwl_outcome answer;  /* of the next command                                    */
    bwl_outcome outcome; /* by the next event                                      */
    bwl_ms      wake_at;
    bwl_ms      slack_ms;
    bwl_command cmd; /* the latest                                             */
} script;

static inline void scripted_init(void *state, unsigned nodes)
{
    memset(&script, 0, sizeof script);
}

static inline void scripted_alarm(bwl_effects *fx)
{
    if (script.wake_at != 0)
        bwl_wake_about(fx, script.wake_at, script.slack_ms);
    script.wake_at = 0;
}

static inline void scripted_command(void *state, const bwl_lock_request *request,
                                    const bwl_command *cmd, bwl_effects *fx)
{
    script.cmd = *cmd;
    scripted_alarm(fx);
    if (script.answer.kind == BWL_PENDING)
        bwl_send_command(fx, 0, cmd->verb, request->attempt);
    else
        fx->outcome = script.answer;
    script.answer = (bwl_outcome){ 0 };
}

static inline void scripted_event(void *state, const bwl_lock_request *request, const bwl_event *ev,
                                  bwl_effects *fx)
{
    scripted_alarm(fx);
    fx->outcome    = script.outcome;
    script.outcome = (bwl_outcome){ 0 };
}

#define SCRIPTED(...)                                                                            \
    {                                                                                            \
        .name = "scripted", .state_size = 8, .init = scripted_init, .command = scripted_command, \
        .event = scripted_event, __VA_ARGS__                                                     \
    }

static inline bool is_scripted(const bwl_protocol *protocol)
{
    return protocol->command == scripted_command;
}

/* other: the token that is yielded, or that an upgrade changes to. */
static inline void scripted_send_text(char *to, size_t room, char token, char other,
                                      const char *lease)
{
    static const char *const verbs[]  = { "?", "ACQUIRE", "EXTEND", "RELEASE" };
    const bwl_command       *cmd      = &script.cmd;
    char                     more[16] = "";
    const char              *verb;

    assert_in_range(cmd->verb, BWL_ACQUIRE, BWL_RELEASE);
    verb = cmd->downgrades ? "DOWNGRADE" : cmd->upgrades ? "UPGRADE" : verbs[cmd->verb];
    if (cmd->yields || cmd->upgrades)
        (void)snprintf(more, sizeof more, cmd->yields ? ", yields %c" : " to %c", other);
    (void)snprintf(to, room, "%s as %c%s%s%s%s", verb, token, cmd->verb == BWL_RELEASE ? "" : lease,
                   cmd->again ? " again" : "", more, cmd->may_wait ? ", may wait" : "");
}

static const char *const scripted_kinds[] = {
    "PENDING",     "HELD", "QUEUED",   "BUSY",    "FULL",      "NOT_NOW",   "STORE_REFUSED",
    "UNREACHABLE", "LOST", "RELEASED", "UNKNOWN", "TIMED_OUT", "CANCELLED", "RETRY_WITH_NEW_TOKEN",
    "DONE",
};

static inline bwl_outcome_kind read_kind(const char *text)
{
    for (unsigned i = 0; i < sizeof scripted_kinds / sizeof scripted_kinds[0]; i++)
        if (strncmp(text, scripted_kinds[i], strlen(scripted_kinds[i])) == 0)
            return (bwl_outcome_kind)i;
    fail_msg("\"%s\" is no outcome", text);
    return BWL_PENDING;
}

static inline bwl_outcome read_outcome(const char *text, bwl_ms now, bwl_ms zero)
{
    const char *until = strstr(text, "until ");
    const char *why   = strstr(text, "because ");
    bwl_outcome out   = { .kind = read_kind(text), .until = now + SCRIPTED_GRANT_MS };

    if (until != NULL && strncmp(until, "until released", 14) == 0)
        out.until = BWL_NEVER;
    else if (until != NULL)
        out.until = zero + strtoll(until + 6, NULL, 10);
    if (why != NULL)
        out.why = read_kind(why + 8);
    out.fence = out.kind == BWL_HELD ? 7 : 0;
    return out;
}

/* An item of the protocol. */
static inline void scripted_reads(const char *item, bwl_ms now, bwl_ms zero)
{
    char *rest = NULL;

    if (strncmp(item, "outcome ", 8) == 0) {
        script.outcome = read_outcome(item + 8, now, zero);
    } else if (strncmp(item, "returns ", 8) == 0) {
        script.answer = read_outcome(item + 8, now, zero);
    } else if (strncmp(item, "wakes at ", 9) == 0) {
        script.wake_at  = zero + strtoll(item + 9, &rest, 10);
        script.slack_ms = *rest == ',' ? strtoll(rest + 1, NULL, 10) : 0;
    } else {
        fail_msg("\"%s\" is no item", item);
    }
}

/* ---- protocols ------------------------------------------------------------------------------- */

static const bwl_protocol verifying =
    SCRIPTED(.uses_token = true, .extends = true, .can_verify_owner = true);
static const bwl_protocol with_push =
    SCRIPTED(.uses_token = true, .extends = true, .can_verify_owner = true, .uses_push = true);
static const bwl_protocol on_push = SCRIPTED(.uses_token = true, .extends = true,
                                             .can_verify_owner = true, .retries_on_push = true);
static const bwl_protocol yielding =
    SCRIPTED(.uses_token = true, .extends = true, .can_verify_owner = true, .uses_push = true,
             .yields = true);
static const bwl_protocol changing =
    SCRIPTED(.uses_token = true, .extends = true, .can_verify_owner = true, .changes = true);
/* Cannot verify the owner of a value. */
static const bwl_protocol unverified = SCRIPTED(.uses_token = true);
static const bwl_protocol bare       = SCRIPTED(.extends = true, .can_verify_owner = true);
