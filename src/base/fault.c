#include "base/fault.h"
#include "core/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Removes passwords from the text, and marks where it was cut. */
static void tidy(bwl_fault *fault, int size)
{
    bool is_cut = size >= (int)sizeof fault->text;

    bwl_hide_passwords(fault->text, is_cut);
    if (is_cut && strlen(fault->text) + 1 == sizeof fault->text)
        bwl_mark_cut(fault->text);
}

__attribute__((format(printf, 3, 0))) static int write_error(bwl_fault *fault, bwl_status status,
                                                             const char *format, va_list arguments)
{
    fault->status         = status;
    fault->system_errno   = 0;
    fault->server_code[0] = '\0';
    fault->loss           = BOWLINE_LOSS_UNKNOWN;
    return vsnprintf(fault->text, sizeof fault->text, format, arguments); /* truncates */
}

int bwl_fail(bwl_fault *fault, bwl_status status, const char *format, ...)
{
    va_list arguments;

    assert(status < 0);
    if (fault == NULL)
        return status;
    va_start(arguments, format);
    tidy(fault, write_error(fault, status, format, arguments));
    va_end(arguments);
    return status;
}

int bwl_fail_errno(bwl_fault *fault, const char *format, ...)
{
    int        error  = errno;
    bwl_status status = error == ENOMEM ? BWL_STATUS_NOMEM : BWL_STATUS_SYSTEM;
    va_list    arguments;

    if (fault == NULL)
        return status;
    va_start(arguments, format);
    int size = write_error(fault, status, format, arguments);
    va_end(arguments);
    if (size >= 0 && (size_t)size < sizeof fault->text) {
        /* glibc returns the text; POSIX, and so musl, a number, and the text is in `words`. */
        char words[80];
        const char *text = _Generic(strerror_r(error, words, sizeof words),
            char *: strerror_r(error, words, sizeof words),
            int: ((void)strerror_r(error, words, sizeof words), words));
        (void)snprintf(fault->text + size, sizeof fault->text - (size_t)size, ": %s", text);
    }
    bwl_hide_passwords(fault->text, size >= (int)sizeof fault->text);
    fault->system_errno = error;
    return status;
}

int bwl_fail_because(bwl_fault *fault, bwl_status status, const bwl_fault *cause,
                     const char *format, ...)
{
    va_list arguments;

    assert(status < 0 && fault != cause);
    if (fault == NULL)
        return status;
    va_start(arguments, format);
    tidy(fault, write_error(fault, status, format, arguments));
    va_end(arguments);
    fault->system_errno = cause->system_errno;
    memcpy(fault->server_code, cause->server_code, sizeof fault->server_code);
    fault->loss = status == BWL_STATUS_LOST ? cause->loss : BOWLINE_LOSS_UNKNOWN;
    return status;
}
