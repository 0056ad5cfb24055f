/*
 * compare_story.h -- compares two texts line by line and shows where they differ first.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LINES_AROUND = 4 }; /* lines that are shown around a difference */

static inline size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

static inline void show_difference(const char *expected, const char *written, unsigned line)
{
    const char *texts[2] = { expected, written };

    for (unsigned t = 0; t < 2; t++) {
        print_error("%s\n", t == 0 ? "---- expected" : "---- actual");
        const char *at = texts[t];
        for (unsigned i = 0; *at != '\0' && i <= line + LINES_AROUND; i++) {
            if (i + LINES_AROUND >= line)
                print_error("%s %.*s\n", i == line ? ">" : " ", (int)line_length(at), at);
            at += line_length(at);
            at += *at == '\n';
        }
    }
}

static inline void compare(const char *expected, const char *written)
{
    const char *e    = expected;
    const char *w    = written;
    unsigned    line = 0;

    while (*e != '\0' || *w != '\0') {
        if (line_length(e) != line_length(w) || strncmp(e, w, line_length(e)) != 0) {
            show_difference(expected, written, line);
            fail_msg("line %u differs", line + 1);
        }
        e += line_length(e);
        e += *e == '\n';
        w += line_length(w);
        w += *w == '\n';
        line++;
    }
}
