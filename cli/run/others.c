#include "cli/run/others.h"

#include <string.h>

const char *names_at(const run_options *o, size_t i)
{
    return i == 0 ? o->name : o->others.names[i - 1];
}

size_t names_count(const run_options *o)
{
    return 1 + o->others.count;
}

words names_words(const run_options *o)
{
    if (o->others.count == 0)
        return words_of("%s", o->name);
    if (o->others.count == 1)
        return words_of("%s and %s", o->name, o->others.names[0]);
    return words_of("%s and %zu more", o->name, o->others.count);
}

words names_were(const run_options *o)
{
    return words_of("%s %s", names_words(o).text, o->others.count > 0 ? "were" : "was");
}

const char *names_of_hold(const run_options *o, const bowline_hold *hold)
{
    const char *name = o->name;

    for (size_t i = 0; i < o->others.count; i++)
        if (strcmp(bowline_hold_name(hold), o->others.names[i]) == 0)
            name = o->others.names[i];
    return name;
}

bowline_hold *others_first_to_end(const others *s, const run_options *o, bowline_hold *hold)
{
    bowline_hold *first   = hold;
    int64_t       left_ms = o->others.count > 0 ? bowline_hold_left_ms(hold) : 0;

    for (size_t i = 0; i < o->others.count; i++) {
        int64_t its_ms = bowline_hold_left_ms(s->holds[i]);
        if (its_ms >= left_ms)
            continue;
        first   = s->holds[i];
        left_ms = its_ms;
    }
    return first;
}

words others_fences(const others *s, const run_options *o, const bowline_hold *hold)
{
    words all = words_of("%llu", (unsigned long long)bowline_hold_fence(hold));

    if (bowline_hold_fence(hold) == 0)
        return words_of("%s", "");
    for (size_t i = 0; i < o->others.count; i++)
        all = words_of("%s %llu", all.text, (unsigned long long)bowline_hold_fence(s->holds[i]));
    return all;
}
