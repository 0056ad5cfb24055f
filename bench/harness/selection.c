/*
 * selection.c -- which measures a run takes: --only, --long.
 */
#include <stdio.h>
#include <string.h>

#include "bench/harness/bench.h"

bool bench_name_begins(const char *whole, const char *name)
{
    size_t size = strlen(name);

    if (size == 0 || strncmp(whole, name, size) != 0)
        return false;
    return whole[size] == '\0' || whole[size] == '-';
}

bool bench_measure_is_named(const bench_measure *measure, const char *name)
{
    return bench_name_begins(measure->name, name);
}

bool bench_measure_is_wanted(const bench_measure *measure, const bench_settings *s)
{
    if (s->only == NULL && measure->is_long)
        return s->wants_long;
    return bench_name_is_wanted(measure->name, s->only);
}

bool bench_name_is_wanted(const char *whole, const char *only)
{
    if (only == NULL)
        return true;
    while (*only != '\0') {
        char   name[32];
        size_t size = strcspn(only, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, only);
        if (bench_name_begins(whole, name))
            return true;
        only += size + (only[size] == ',');
    }
    return false;
}
