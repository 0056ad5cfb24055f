/*
 * doctor.c -- `bowline doctor`: writes the findings of doctor/ in the order in which they were
 * made, because a later one may follow from an earlier one.
 */
#include "cli/command/command.h"

#include "cli/settings/commands.h"
#include "cli/settings/config.h"
#include "cli/text/json.h"
#include "doctor/doctor.h"

enum { EXIT_FAILURE_FOUND = 1 };

static const option_row rows[] = { DOCTOR_OPTION_MAP(OPTION_ROW) };

const option_table doctor_table = {
    OPTION_TABLE("doctor", rows, DOCTOR_OPERANDS, false),
    .before = "bowline doctor                             check the locks of bowline run\n"
              "bowline doctor redis://db.example          check that server\n"
              "bowline doctor --url-file /etc/lock.url    with a password\n"
              "\n",
    .after  = "\n"
              "Changes nothing on the server, and logs in only as the user of the URL.  If a\n"
              "permission is missing for a check, it reports \"unknown\" and what to type.\n"
              "\n"
              "Exit: 0 locks work, perhaps with warnings; 1 they do not work, or with --strict\n"
              "there is a warning; 125 the check itself failed.\n",
};

static void write_line(const char *mark, const char *text)
{
    if (text[0] != '\0')
        (void)printf("%10s%s%s\n", "", mark, words_escaped(text, WORDS_MAX).text);
}

static void write_finding(const doctor_finding *f)
{
    (void)printf("%-8s  %s: %s\n", doctor_grade_name(f->grade), f->check,
                 words_escaped(f->what, WORDS_MAX).text);
    write_line("", f->why);
    write_line("type: ", f->type);
}

static unsigned count_of(const doctor_report *r, doctor_grade grade)
{
    unsigned count = 0;

    for (unsigned i = 0; i < r->findings_count; i++)
        count += r->findings[i].grade == grade;
    return count;
}

static void write_text(const doctor_report *r)
{
    for (unsigned s = 0; s < r->servers_count; s++) {
        (void)printf("%s%s%s\n", words_escaped(r->servers[s], WORDS_MAX).text,
                     r->protocol[0] != '\0' ? ", protocol " : "", r->protocol);
        for (unsigned i = 0; i < r->findings_count; i++)
            if (r->findings[i].server == s)
                write_finding(&r->findings[i]);
    }
    (void)printf("failures: %u, warnings: %u, unknown: %u, notes: %u, ok: %u\n",
                 count_of(r, DOCTOR_FAILURE), count_of(r, DOCTOR_WARNING),
                 count_of(r, DOCTOR_UNKNOWN), count_of(r, DOCTOR_NOTE), count_of(r, DOCTOR_FINE));
}

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void write_json(const doctor_report *r)
{
    json_open(NULL, '{');
    json_text("worst", doctor_grade_name(doctor_worst(r)));
    json_text("protocol", or_null(r->protocol));
    json_open("servers", '[');
    for (unsigned s = 0; s < r->servers_count; s++)
        json_text(NULL, r->servers[s]);
    json_close(']');
    json_open("findings", '[');
    for (unsigned i = 0; i < r->findings_count; i++) {
        const doctor_finding *f = &r->findings[i];
        json_open(NULL, '{');
        json_number("server", f->server);
        json_text("check", f->check);
        json_text("grade", doctor_grade_name(f->grade));
        json_text("what", f->what);
        json_text("why", or_null(f->why));
        json_text("type", or_null(f->type));
        json_close('}');
    }
    json_close(']');
    json_close('}');
}

static int answer(const settings *s, const run_options *o, failure *reterr)
{
    static doctor_report report;

    (void)reterr;
    doctor_examine(&report, s->url, s->lease_ms);
    if (o->wants_json)
        write_json(&report);
    else
        write_text(&report);
    return doctor_worst(&report) >= (o->acl.is_strict ? DOCTOR_WARNING : DOCTOR_FAILURE)
               ? EXIT_FAILURE_FOUND
               : 0;
}

int doctor_main(int argc, char **argv)
{
    return url_query_main(&doctor_table, answer, argc, argv);
}
