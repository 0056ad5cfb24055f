/*
 * attempt.c -- see attempt.h.
 */
#include "tests/lib/attempt.h"

#include <stdio.h>

int attempt(const char *url, bowline_error *reterr)
{
    bowline_client *client = NULL;
    bowline_hold   *hold   = NULL;
    int             status = bowline_open(&client, BOWLINE_OPTIONS(.url = url), reterr);

    if (status == BOWLINE_OK) {
        status = acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, reterr);
        if (status == BOWLINE_REFUSED) /* the same without a wait, even with wait=1d */
            assert_status(BOWLINE_REFUSED, acquire_within(&hold, client, "x", 86400000, reterr),
                          reterr);
    }
    if (status == BOWLINE_OK)
        status = bowline_release(hold, reterr);
    bowline_close(client);
    return status;
}

void expect(int status, const char *part, const char *format, ...)
{
    char          url[600];
    bowline_error error = { 0 };
    va_list       arguments;

    va_start(arguments, format);
    (void)vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    assert_status(status, attempt(url, &error), &error);
    if (status != BOWLINE_OK && strstr(error.text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, error.text);
    assert_null(strstr(error.text, "hunter2"));
}
