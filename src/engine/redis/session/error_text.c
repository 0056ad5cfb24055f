/*
 * error_text.c -- a server's errors as texts for users.  None of them repeats a part of the
 * password.
 */
#include "base/fault.h"
#include "base/secret.h"
#include "engine/redis/session/inside.h"

#include <stdio.h>
#include <string.h>

enum { CODE_ROOM = 24 };

void bwl_session_error_text(const bwl_redis_config *config, char *ret_text, size_t capacity,
                            const char *bytes, size_t size)
{
    char code[CODE_ROOM];

    bwl_redis_error_text(ret_text, capacity, bytes, size);
    if (!bwl_secret_is_in(config->password, bytes, size) &&
        !bwl_secret_part_is_in(config->password, ret_text, strlen(ret_text)))
        return;
    size_t length = strspn(ret_text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (length >= sizeof code || bwl_secret_is_in(config->password, ret_text, length))
        length = 0;
    memcpy(code, ret_text, length);
    code[length] = '\0';
    if (length > 0)
        (void)snprintf(ret_text, capacity, "%s (not quoted: it repeats a part of the password)",
                       code);
    else
        (void)snprintf(ret_text, capacity,
                       "an error that is not quoted: it repeats a part of the password");
}

/* The error of a script that calls a command its user may not run.  Before 7.2 the server does not
 * name the command. */
static bool lacks_a_right(const char *text)
{
    return strstr(text, "The user executing the script can't run this") != NULL;
}

static void name_rights(const char *user, char *ret_text, size_t capacity)
{
    (void)snprintf(ret_text, capacity,
                   "user %.60s may not run a command of this lock's script (NOPERM): "
                   "man 7 bowline, PERMISSIONS",
                   user != NULL ? user : "default");
}

void bwl_session_set_error(bwl_session *session, const bwl_request *request, bwl_answer answer,
                           const char *bytes, size_t size)
{
    char      text[160];
    char      code[BOWLINE_SERVER_CODE_MAX];
    bwl_fault fault;

    if (!request->kind->reports_errors || bytes == NULL || answer == 0)
        return; /* 0: it is sent again, as the script's text */
    if (bwl_request_is_barrier(request) && answer == BWL_NO) {
        bwl_barrier_set_error(session, request, bytes, size);
        return;
    }
    if (answer != BWL_RETRYABLE && answer != BWL_REFUSED) {
        if (session->host->nodes == 1) /* another server may have given the reason */
            bwl_host_set_fault(request->lock, NULL);
        return;
    }
    bwl_session_error_text(session->config, text, sizeof text, bytes, size);
    bwl_redis_error_code(code, text);
    session->owner->explain(session, text, sizeof text, bytes, size);
    if (lacks_a_right(text)) { /* an ERR: a script may not run a command */
        name_rights(session->config->user, text, sizeof text);
        (void)snprintf(code, sizeof code, "NOPERM");
    } else if (bwl_redis_error_is(bytes, size, "NOPERM")) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       ": man 7 bowline, PERMISSIONS");
    }
    (void)bwl_fail(&fault, BWL_STATUS_REFUSED, "%s: %s", session->endpoint.text, text);
    memcpy(fault.server_code, code, sizeof code);
    bwl_host_set_fault(request->lock, &fault);
}
