#include "engine/redis/topology/sentinel_text.h"

#include "base/fault.h"
#include "base/secret.h"
#include "engine/redis/wire/words.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_ROOM = 100 };

static int turned_away(const char *text, const char *bytes, size_t size, bwl_fault *fault)
{
    if (bwl_redis_error_is(bytes, size, "NOAUTH"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "it wants a password (NOAUTH): give sentinel-password-file=");
    if (bwl_redis_error_is(bytes, size, "WRONGPASS"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "it does not accept this user and password (WRONGPASS): see sentinel-user= "
                        "and sentinel-password-file=");
    if (bwl_redis_error_is(bytes, size, "ERR unknown command"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "this is no sentinel: it says %s; if it is the server, write redis:// or "
                        "rediss://",
                        text);
    return bwl_fail(fault,
                    bwl_redis_is_not_now(bytes, size) ? BWL_STATUS_UNREACHABLE : BWL_STATUS_REFUSED,
                    "%s", text);
}

int bwl_sentinel_turned_away(const char *password, const char *bytes, size_t size, bwl_fault *fault)
{
    char text[TEXT_ROOM];

    bwl_redis_error_text(text, sizeof text, bytes, size);
    if (bwl_secret_is_in(password, bytes, size) ||
        bwl_secret_part_is_in(password, text, strlen(text)))
        (void)snprintf(text, sizeof text,
                       "an error that is not quoted: it repeats a part of the password");
    int status = turned_away(text, bytes, size, fault);
    bwl_redis_error_code(fault->server_code, text);
    return status;
}

int bwl_sentinel_knows_none(const char *service, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "it knows no service \"%.60s\": the path of the URL is the name behind "
                    "\"sentinel monitor\" in its configuration",
                    service);
}

/* A port for TLS closes the connection when it gets clear text; a port for clear text may read a
 * TLS handshake and wait for more. */
void bwl_sentinel_suspect(const bwl_stream *conn, bool is_silent, bwl_fault *fault)
{
    bwl_fault   bare     = *fault;
    bool        is_clear = conn->context == NULL;
    const char *suspect  = NULL;

    if (!bwl_stream_is_open(conn) || !conn->joined)
        return;
    if (bwl_stream_sounds_like_tls(conn))
        (void)bwl_fail(fault, BWL_STATUS_REFUSED,
                       "this is a port for TLS: write rediss+sentinel://");
    else if (!conn->heard && bare.status == BWL_STATUS_UNREACHABLE && !(is_clear && is_silent))
        suspect = is_clear ? "if it speaks TLS, write rediss+sentinel://"
                           : "if it speaks no TLS, write redis+sentinel://";
    if (suspect != NULL)
        (void)bwl_fail(fault, (bwl_status)bare.status, "%s: %s", bare.text, suspect);
}
