#include "sim/kernel/say.h"

#include "sim/kernel/schedule.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_MAX = 240, LINE_MAX = 600 };

static struct {
    bool is_on;
    void (*take)(const sim_said *said);
} out;

void sim_say_begin(bool is_on)
{
    out.is_on = is_on;
}

void sim_say_pass_to(void (*take)(const sim_said *said))
{
    out.take = take;
}

bool sim_says(void)
{
    return out.is_on || out.take != NULL;
}

static void pass_on(const sim_said *said, const char *line)
{
    if (out.is_on)
        (void)printf("%12.6f  %s\n", (double)sim_now() / (double)SIM_S, line);
    if (out.take != NULL)
        out.take(said);
}

__attribute__((format(printf, 3, 0))) static void say(sim_said_kind kind, unsigned client,
                                                      const char *format, va_list arguments)
{
    char line[LINE_MAX];

    (void)vsnprintf(line, sizeof line, format, arguments);
    pass_on(&(sim_said){ .kind = kind, .client = client, .text = line }, line);
}

void sim_say(const char *format, ...)
{
    va_list arguments;

    if (!sim_says())
        return;
    va_start(arguments, format);
    say(SIM_SAID_SERVERS, 0, format, arguments);
    va_end(arguments);
}

void sim_say_of(sim_said_kind kind, unsigned client, const char *format, ...)
{
    va_list arguments;

    if (!sim_says())
        return;
    va_start(arguments, format);
    say(kind, client, format, arguments);
    va_end(arguments);
}

void sim_say_bytes(sim_said_kind kind, unsigned number, unsigned client, unsigned server,
                   const char *bytes, size_t size)
{
    char   text[SHOWN_MAX + 4];
    char   line[LINE_MAX];
    size_t length = 0;

    if (!sim_says())
        return;
    for (size_t i = 0; i < size && i < SHOWN_MAX; i++) {
        if (bytes[i] == '\n')
            text[length++] = '|';
        else if (bytes[i] != '\r')
            text[length++] = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.';
    }
    (void)snprintf(text + length, sizeof text - length, "%s", size > SHOWN_MAX ? "..." : "");
    (void)snprintf(line, sizeof line, "#%u host %u %s %u  %s", number, client,
                   kind == SIM_SAID_ASK ? "->" : "<-", server, text);
    pass_on(&(sim_said){ kind, client, server, text }, line);
}
