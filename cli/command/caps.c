/*
 * caps.c -- `bowline caps`: shows what the locks at a URL guarantee. doctor/caps.c has the answers;
 * it sends nothing to a server.
 */
#include "cli/command/command.h"

#include "cli/settings/commands.h"
#include "cli/settings/config.h"
#include "cli/text/json.h"
#include "doctor/caps.h"

#include <string.h>

static const option_row rows[] = { CAPS_OPTION_MAP(OPTION_ROW) };

const option_table caps_table = {
    OPTION_TABLE("caps", rows, CAPS_OPERANDS, false),
    .before = "bowline caps                               for the locks of bowline run\n"
              "bowline caps redis://db.example            for the locks on that server\n"
              "bowline caps --json 'redis://db.example?protocol=token'\n"
              "\n",
    .after  = "\n"
              "Sends nothing to a server: the URL names the protocol, and bowline never uses\n"
              "another one instead.  docs/explanation/guarantees.md says what the server has to\n"
              "provide; bowline doctor checks it.\n",
};

/* "ticket":false,"ticket_why":"a lock of file: belongs to its process" */
static void write_ability(const char *key, const char *why_not)
{
    json_flag(key, why_not == NULL);
    json_text(words_of("%s_why", key).text, why_not);
}

static void write_json(const caps *c)
{
    const caps_row *row = &c->row;

    json_open(NULL, '{');
    json_text("place", c->place);
    json_text("engine", row->engine);
    json_text("protocol", row->protocol);
    json_text("variant", row->variant);
    json_text("profile", c->profile[0] != '\0' ? c->profile : NULL);
    json_flag("default", c->is_default);
    json_flag("order", row->order_words != NULL);
    json_flag("fence", row->fence_words != NULL);
    json_text("wake", row->wake);
    json_text("loss", row->loss);
    json_text("crash", row->crash);
    write_ability("period", c->why_no_period);
    write_ability("shared", c->why_not_shared);
    write_ability("change", c->why_no_change);
    json_text("several", c->several);
    write_ability("ticket", c->why_no_ticket);
    write_ability("election", c->why_no_election);
    if (c->lease_ms > 0)
        json_number("lease_ms", c->lease_ms);
    json_flag("renews", c->renews);
    if (c->wait_ms != INT64_MAX)
        json_number("wait_ms", c->wait_ms);
    if (c->tries_max > 0)
        json_number("tries_max", c->tries_max);
    json_number("sync", c->replicas);
    json_number("sticky_ms", c->sticky_ms);
    json_text("risk", c->risk[0] != '\0' ? c->risk : NULL);
    json_close('}');
}

static void write_line(const char *name, const char *text)
{
    (void)printf("  %-9s %s\n", name, text);
}

/* `is`: if there is no reason why not.  `refused`: what that refuses; "": nothing is typed. */
static void write_reason(const char *name, const char *why_not, const char *is, const char *refused)
{
    const char *so = refused[0] != '\0' ? ", so bowline refuses " : "";

    write_line(name, why_not == NULL ? is : words_of("none: %s%s%s", why_not, so, refused).text);
}

static const char *several_words(const caps *c, bool is_in_c)
{
    if (strcmp(c->several, "script") == 0)
        return "by --and: up to 32 free names are one script (each by itself with -s and "
               "--permits), others are waited for in the order of their bytes";
    if (strcmp(c->several, "slot") == 0)
        return "by --and: up to 32 free names of one slot are one script (each by itself with -s "
               "and --permits), others are waited for in the order of their bytes";
    return is_in_c ? "by bowline_acquire_all, in C only, which waits for names in the order of "
                     "their bytes"
                   : "by --and: each free name by itself, others are waited for in the order of "
                     "their bytes";
}

static void write_abilities(const caps *c)
{
    bool is_in_c = strcmp(c->row.engine, "thread") == 0;

    write_reason("period", c->why_no_period,
                 "the server keeps a lock taken for --once-per and --at-least",
                 is_in_c ? "" : "--once-per and --at-least");
    write_reason("shared", c->why_not_shared,
                 is_in_c ? "by BOWLINE_SHARED and BOWLINE_PERMITS, in C only: bowline run cannot "
                           "use thread:"
                         : "by -s, and by --permits up to their limit",
                 "-s and --permits");
    write_reason("change", c->why_no_change,
                 "bowline_downgrade and bowline_upgrade, in C, change the mode of a hold without "
                 "permits",
                 "");
    write_line("several", several_words(c, is_in_c));
    write_reason("ticket", c->why_no_ticket,
                 "bowline hold --ticket passes the lock on to another client", "");
    write_reason("election", c->why_no_election,
                 "bowline elect runs on one host, bowline observe shows which", "");
}

static void write_text(const caps *c)
{
    const caps_row *row      = &c->row;
    words           protocol = words_of("%s", "");

    if (row->protocol != NULL)
        protocol =
            words_of(", protocol %s%s", row->protocol, c->is_default ? " (the default)" : "");
    if (c->profile[0] != '\0')
        protocol = words_of(", protocol %s of profile %s", row->protocol, c->profile);
    (void)printf("%s%s\n", words_escaped(c->place, WORDS_MAX).text, protocol.text);
    write_line("excludes", row->excludes_words);
    write_line("order", row->order_words != NULL ? row->order_words
                                                 : "none: the first one to ask after the release");
    write_line("fence", row->fence_words != NULL ? row->fence_words : "none");
    write_line("wake-up", row->wake_words);
    write_line("loss", row->loss_words);
    write_line("crash", row->crash_words);
    write_abilities(c);
    if (c->lease_ms == 0)
        write_line("lease", "none");
    else
        write_line("lease", words_of("%s, %s", words_of_duration(c->lease_ms).text,
                                     c->renews ? "renewed after a third of it" : "never renewed")
                                .text);
    if (c->sticky_ms > 0)
        write_line("sticky",
                   words_of("a program keeps a released lock for %s, until another client "
                            "waits for it",
                            words_of_duration(c->sticky_ms).text)
                       .text);
    if (c->tries_max > 0)
        write_line("tries", words_of("%u (retry=)", c->tries_max).text);
    if (c->wait_ms > 0 && c->wait_ms != INT64_MAX)
        write_line("wait", words_of("%s by default", words_of_duration(c->wait_ms).text).text);
    if (c->replicas > 0)
        write_line("sync",
                   words_of("%u replicas must have the lock before it counts", c->replicas).text);
    if (c->risk[0] != '\0')
        write_line("risk", c->risk);
}

static int answer(const settings *s, const run_options *o, failure *reterr)
{
    char why[CAPS_TEXT_MAX];
    caps found;

    if (caps_find(&found, s->url, s->lease_ms, why) < 0) {
        failure is = { .code = EXIT_FAILED,
                       .what =
                           words_of("there can be no lock at the URL from %s", s->url_from.text) };
        failure_explain(&is, why, words_of("type: bowline help %s", caps_table.command));
        return failed_with(reterr, is);
    }
    if (o->wants_json)
        write_json(&found);
    else
        write_text(&found);
    return 0;
}

int caps_main(int argc, char **argv)
{
    return url_query_main(&caps_table, answer, argc, argv);
}
