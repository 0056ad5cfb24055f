/*
 * say.h -- what happens, as text, for a person who replays a world.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Off at first. */
void sim_say_begin(bool is_on);
bool sim_says(void);

/* One line with the time, to standard output, if it is on. */
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with bytes; those that are not printable are shown as '.', and CR LF as '|'. */
void sim_say_bytes(const char *bytes, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
