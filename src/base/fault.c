/*
 * fault.c -- see fault.h.
 */
#include "base/fault.h"
#include "core/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int bwl_fail(bwl_fault *fault, bwl_status status, const char *format, ...)
{
    va_list arguments;

    assert(status < 0);
    if (fault == NULL)
        return status;
    fault->status = status;
    va_start(arguments, format);
    int size = vsnprintf(fault->text, sizeof fault->text, format, arguments); /* cutting is meant */
    va_end(arguments);
    bwl_hide_passwords(fault->text, size >= (int)sizeof fault->text);
    if (size >= (int)sizeof fault->text && strlen(fault->text) + 1 == sizeof fault->text)
        bwl_mark_cut(fault->text);
    return status;
}

int bwl_fail_errno(bwl_fault *fault, const char *format, ...)
{
    int        error  = errno;
    bwl_status status = error == ENOMEM ? BWL_STATUS_NOMEM : BWL_STATUS_SYSTEM;
    va_list    arguments;

    if (fault == NULL)
        return status;
    fault->status = status;
    va_start(arguments, format);
    int size = vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    if (size >= 0 && (size_t)size < sizeof fault->text) {
        char        words[80];
        const char *text = strerror_r(error, words, sizeof words);
        (void)snprintf(fault->text + size, sizeof fault->text - (size_t)size, ": %s", text);
    }
    bwl_hide_passwords(fault->text, size >= (int)sizeof fault->text);
    return status;
}
