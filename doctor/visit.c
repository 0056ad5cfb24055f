#include "doctor/visit.h"
#include "core/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compares the clocks of several servers. */

enum { SKEW_MAX_US = 2000000, US_PER_SECOND = 1000000, US_PER_MS = 1000 };

void visit_clocks(visit *v, const visit_facts *of, unsigned count, const char *why)
{
    int      first = -1, last = -1;
    unsigned telling = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!of[i].tells_time)
            continue;
        telling++;
        if (first < 0 || of[i].ahead_us < of[first].ahead_us)
            first = (int)i;
        if (last < 0 || of[i].ahead_us > of[last].ahead_us)
            last = (int)i;
    }
    if (telling < 2)
        return;
    int64_t         apart = of[last].ahead_us - of[first].ahead_us;
    doctor_finding *f     = visit_find(v, "clocks", DOCTOR_FINE);
    if (apart < SKEW_MAX_US) {
        visit_what(f, "the clocks of the servers are %" PRId64 "ms apart", apart / US_PER_MS);
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "the clock of %.120s is %" PRId64 "s ahead of the clock of %.120s",
               of[last].where, apart / US_PER_SECOND, of[first].where);
    visit_why(f, "%s", why);
    visit_type(f, "on each machine: timedatectl, chronyc tracking; slew the clocks, do not step "
                  "them");
}

bool info_text(char ret_value[INFO_VALUE_MAX], const char *info, const char *name)
{
    size_t size = strlen(name);

    for (const char *line = info; line != NULL; line = strchr(line, '\n')) {
        line += line[0] == '\n';
        if (strncmp(line, name, size) != 0 || line[size] != ':')
            continue;
        const char *value = line + size + 1;
        size_t      end   = strcspn(value, "\r\n");
        (void)snprintf(ret_value, INFO_VALUE_MAX, "%.*s",
                       end < INFO_VALUE_MAX ? (int)end : INFO_VALUE_MAX, value);
        return true;
    }
    ret_value[0] = '\0';
    return false;
}

int64_t info_number(const char *info, const char *name, int64_t otherwise)
{
    char  value[INFO_VALUE_MAX];
    char *end;

    if (!info_text(value, info, name))
        return otherwise;
    long long number = strtoll(value, &end, 10);
    return end != value ? number : otherwise;
}

doctor_finding *visit_find(visit *v, const char *check, doctor_grade grade)
{
    doctor_report *r = v->report;

    assert(r->findings_count < DOCTOR_FINDINGS_MAX);
    doctor_finding *f = &r->findings[r->findings_count++];
    *f                = (doctor_finding){ .check = check, .grade = grade, .server = v->server };
    return f;
}

void visit_downgrade(visit *v, int server)
{
    for (unsigned i = 0; i < v->report->findings_count; i++) {
        doctor_finding *f = &v->report->findings[i];
        if (f->grade == DOCTOR_FAILURE && (server < 0 || f->server == (unsigned)server))
            f->grade = DOCTOR_WARNING;
    }
}

/* A longer text is cut off and marked. */
#define WRITE(to)                                              \
    va_list arguments;                                         \
    va_start(arguments, format);                               \
    int size = vsnprintf((to), sizeof(to), format, arguments); \
    va_end(arguments);                                         \
    if (size >= (int)sizeof(to))                               \
    bwl_mark_cut(to)

void visit_what(doctor_finding *f, const char *format, ...)
{
    WRITE(f->what);
}

void visit_why(doctor_finding *f, const char *format, ...)
{
    WRITE(f->why);
}

void visit_type(doctor_finding *f, const char *format, ...)
{
    WRITE(f->type);
}

void visit_begin(visit *v, doctor_server store)
{
    doctor_report *r    = v->report;
    const char    *form = v->asks_sentinel            ? "sentinel "
                          : store.config->tls != NULL ? "rediss://"
                                                      : "redis://";

    v->store      = store;
    v->server     = r->servers_count++;
    v->major      = 0;
    v->version[0] = '\0';
    v->is_dead    = false;
    v->is_resp2   = false;
    v->facts      = (visit_facts){ .uptime_s = -1, .wants_all_slots = -1 };
    memcpy(v->facts.where, store.where, sizeof v->facts.where);
    assert(r->servers_count <= DOCTOR_SERVERS_MAX);
    (void)snprintf(r->servers[v->server], DOCTOR_NAME_MAX, "%s%s", form, store.where);
}

const char *visit_user(const visit *v)
{
    return v->store.config->user != NULL ? v->store.config->user : "default";
}

const char *visit_ask(visit *v, const char *command)
{
    char        text[4096];
    const char *words[LINK_WORDS_MAX];
    unsigned    count = 0;
    char       *rest;

    assert(strlen(command) < sizeof text);
    (void)snprintf(text, sizeof text, "%s", command);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        assert(count < LINK_WORDS_MAX);
        words[count++] = word;
    }
    int type = link_ask(&v->link, words, count);
    if (type < 0 && !v->is_dead) {
        v->is_dead        = true;
        doctor_finding *f = visit_find(v, "connection", DOCTOR_FAILURE);
        visit_what(f, "the connection broke at %s: %s", words[0], v->link.fault.text);
        visit_why(f, "the state of a lock would be unknown now");
    }
    return type < 0 || type == '-' ? NULL : v->link.text;
}

bool visit_is_denied(const visit *v)
{
    return strncmp(v->link.text, "NOPERM", 6) == 0;
}

void visit_cannot(visit *v, const char *check, const char *what, const char *right)
{
    char words[120];

    if (v->is_dead)
        return;
    doctor_finding *f = visit_find(v, check, DOCTOR_UNKNOWN);
    if (visit_is_denied(v)) {
        visit_what(f, "%s: not checked, user %.60s lacks the permission (NOPERM)", what,
                   visit_user(v));
        visit_type(f, "ACL SETUSER %.60s %s", visit_user(v), right);
        return;
    }
    bwl_session_error_text(v->store.config, words, sizeof words, v->link.frame, v->link.frame_size);
    visit_what(f, "%s: not checked, the server does not answer%s%s", what,
               words[0] != '\0' ? ": " : "", words);
}

bool visit_part(const visit *v, unsigned index, char ret_value[INFO_VALUE_MAX])
{
    bwl_resp_cursor cursor = bwl_resp_begin(v->link.frame, v->link.frame_size);
    bwl_resp_value  value;

    if (!bwl_resp_next_bare(&cursor, &value) || value.count <= index)
        return false;
    for (unsigned i = 0; i <= index; i++)
        if (!bwl_resp_next_bare(&cursor, &value))
            return false;
    if (value.text == NULL)
        return false;
    (void)snprintf(ret_value, INFO_VALUE_MAX, "%.*s",
                   value.size < INFO_VALUE_MAX ? (int)value.size : INFO_VALUE_MAX - 1, value.text);
    return true;
}

bool visit_setting(visit *v, const char *name, char ret_value[INFO_VALUE_MAX])
{
    char command[64];

    (void)snprintf(command, sizeof command, "CONFIG GET %s", name);
    return visit_ask(v, command) != NULL && visit_part(v, 1, ret_value);
}
