/*
 * rights_story.h -- for the tests of `bowline acl`: what the operations of a user gave, as one
 * text, and the user with a rule from which one item is left out.
 */
#pragma once

#include "doctor/rights.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>

static char   story[1024];
static size_t story_size;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    story_size +=
        (size_t)vsnprintf(story + story_size, sizeof story - story_size, format, arguments);
    va_end(arguments);
    assert_true(story_size < sizeof story);
}

static void note_status(const char *step, int status)
{
    note("%s %s; ", step, bowline_status_name(status));
}

static void forget_story(void)
{
    story_size = 0;
    story[0]   = '\0';
}

/* Commands that are in no rule, because a lock works without them. */
static bool is_optional(const char *object)
{
    static const char *const names[] = { "info", "script", "client", "mget", "cluster" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strncmp(object, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Appends the refusals of this server that count to the story. */
static unsigned note_refusals_of(server *s)
{
    const char *log   = server_ask(s, "ACL LOG 128");
    unsigned    count = 0;

    for (const char *at = log; (at = strstr(at, "object ")) != NULL; at++) {
        const char *object = at + strlen("object ");
        if (is_optional(object))
            continue;
        note("refused %.*s; ", (int)strcspn(object, " "), object);
        count++;
    }
    return count;
}

/* The user "few" has the rule without one item. */
static void allow(server *s, const rights *r, unsigned left_out)
{
    char   rule[4096];
    size_t size = (size_t)snprintf(rule, sizeof rule, "reset on >right resetchannels");

    for (unsigned i = 0; i < r->count; i++)
        if (i != left_out)
            size += (size_t)snprintf(rule + size, sizeof rule - size, " %s", r->items[i]);
    assert_true(size < sizeof rule);
    assert_string_equal(server_ask(s, "FLUSHALL"), "OK");
    assert_string_equal(server_ask(s, "ACL SETUSER few %s", rule), "OK");
    assert_string_equal(server_ask(s, "ACL LOG RESET"), "OK");
}

static bool has(const rights *r, const char *item)
{
    for (unsigned i = 0; i < r->count; i++)
        if (strcmp(r->items[i], item) == 0)
            return true;
    return false;
}
