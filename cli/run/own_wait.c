/*
 * own_wait.c -- see own_wait.h.  The wait is that of doctor/caps.c, which reads the URL as
 * bowline_open does and connects to nothing.
 */
#include "cli/run/own_wait.h"

#include "cli/text/say.h"
#include "doctor/caps.h"

void own_wait_take(settings *s, bool says)
{
    char why[CAPS_TEXT_MAX];
    caps found;

    if (!s->wait_is_default || (!url_says(s->url, "protocol") && !url_says(s->url, "profile")) ||
        caps_find(&found, s->url, s->lease_ms, why) < 0 || found.wait_ms == 0)
        return;
    s->wait_ms  = found.wait_ms == INT64_MAX ? BOWLINE_FOREVER : found.wait_ms;
    words whose = found.profile[0] != '\0' ? words_of("profile %s", found.profile)
                                           : words_of("protocol %s", found.row->protocol);
    if (says && found.tries_max != 0)
        say_line(
            words_of("tries %u times, as retry= says: -w says how long at most", found.tries_max)
                .text);
    else if (says)
        say_line(words_of("waits %s, as %s does: -w says otherwise",
                          words_of_duration(found.wait_ms).text, whose.text)
                     .text);
}
