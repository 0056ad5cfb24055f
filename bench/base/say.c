/*
 * say.c -- see say.h.
 */
#include "bench/base/say.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bench_text bench_text_of(const char *format, ...)
{
    bench_text ret;
    va_list    arguments;

    va_start(arguments, format);
    int size = vsnprintf(ret.text, sizeof ret.text, format, arguments);
    va_end(arguments);
    assert(size >= 0);
    return ret;
}

int bench_fail(bench_failure *reterr, bench_failure happened)
{
    assert(happened.what.text[0] != '\0');
    *reterr = happened;
    return -1;
}

int bench_fail_errno(bench_failure *reterr, bench_text what)
{
    return bench_fail(reterr, (bench_failure){
                                  .what = what,
                                  .why  = bench_text_of("%s", strerror(errno)),
                                  .type = bench_text_of("type: bowline-bench --help"),
                              });
}

void bench_say_failure(const bench_failure *happened)
{
    const char *const lines[] = { happened->what.text, happened->why.text, happened->type.text };

    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
        (void)fprintf(stderr, "bowline-bench: %s\n", lines[i]);
}

/* ---- progress -------------------------------------------------------------------------------- */

static bool line_is_dirty;

void bench_progress(const char *format, ...)
{
    va_list arguments;

    if (!isatty(STDERR_FILENO))
        return;
    line_is_dirty = true;
    (void)fputs("\r\033[K", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fflush(stderr);
}

void bench_progress_end(void)
{
    if (line_is_dirty)
        (void)fputs("\r\033[K", stderr);
    line_is_dirty = false;
}
