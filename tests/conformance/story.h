/*
 * story.h -- what was said to a server and a model, and what they said, for whoever has to find out
 * why they differ.
 */
#ifndef TEST_STORY_H
#define TEST_STORY_H

#include <stdarg.h>
#include <stdio.h>

static char   story[16384];
static size_t story_size;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(story + story_size, sizeof story - story_size, format, list);
    va_end(list);
    if (n > 0 && story_size + (size_t)n < sizeof story)
        story_size += (size_t)n;
}

#endif
