#include "sim/kernel/say.h"

#include "sim/kernel/schedule.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_MAX = 240 };

static bool is_on;

void sim_say_begin(bool is_on_now)
{
    is_on = is_on_now;
}

bool sim_says(void)
{
    return is_on;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list arguments)
{
    (void)printf("%12.6f  ", (double)sim_now() / (double)SIM_S);
    (void)vprintf(format, arguments);
}

void sim_say(const char *format, ...)
{
    va_list arguments;

    if (!is_on)
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
}

void sim_say_bytes(const char *bytes, size_t size, const char *format, ...)
{
    va_list arguments;

    if (!is_on)
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < size && i < SHOWN_MAX; i++) {
        if (bytes[i] == '\n')
            (void)putchar('|');
        else if (bytes[i] != '\r')
            (void)putchar(bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.');
    }
    (void)puts(size > SHOWN_MAX ? "..." : "");
}
