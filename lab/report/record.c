/*
 * record.c -- writes a schedule as JSON.  See record.h.
 */
#include "lab/report/record.h"
#include "lab/report/names.h"
#include "lab/report/record_inside.h"
#include <inttypes.h>
#include <stdlib.h>

#define AT(member) offsetof(bwl_scenario, member)

const bwl_field bwl_fields[BWL_FIELDS_COUNT] = {
    { "clients", BWL_FIELD_COUNT, AT(clients), 2, BWL_CLIENTS_MAX },
    { "rounds", BWL_FIELD_COUNT, AT(rounds), 1, BWL_ANY },
    { "lease_ms", BWL_FIELD_MS, AT(terms.lease_ms), BWL_FIELD_LEASE_MIN, BWL_FIELD_MS_MAX },
    { "answer_ms", BWL_FIELD_MS, AT(terms.answer_ms), 1, BWL_FIELD_MS_MAX },
    { "max_hold_ms", BWL_FIELD_MS_OR_NEVER, AT(terms.max_hold_ms), 1, BWL_FIELD_MS_MAX },
    { "wait_ms", BWL_FIELD_MS_OR_NEVER, AT(wait_ms), 0, BWL_FIELD_MS_MAX },
    { "extend_ms", BWL_FIELD_MS, AT(extend_ms), BWL_FIELD_LEASE_MIN, BWL_FIELD_MS_MAX },
    { "jump_ms", BWL_FIELD_MS, AT(clocks.jump_ms), -BWL_FIELD_MS_MAX, BWL_FIELD_MS_MAX },
    { "wall_ms", BWL_FIELD_MS, AT(clocks.wall_ms), -BWL_FIELD_MS_MAX, BWL_FIELD_MS_MAX },
    { "skew_a_ms", BWL_FIELD_MS, AT(clocks.skew_ms[0]), -BWL_FIELD_MS_MAX, BWL_FIELD_MS_MAX },
    { "skew_b_ms", BWL_FIELD_MS, AT(clocks.skew_ms[1]), -BWL_FIELD_MS_MAX, BWL_FIELD_MS_MAX },
    { "skew_c_ms", BWL_FIELD_MS, AT(clocks.skew_ms[2]), -BWL_FIELD_MS_MAX, BWL_FIELD_MS_MAX },
    { "lease_a_ms", BWL_FIELD_MS, AT(lease_of_ms[0]), BWL_FIELD_LEASE_MIN, BWL_FIELD_MS_MAX },
    { "lease_b_ms", BWL_FIELD_MS, AT(lease_of_ms[1]), BWL_FIELD_LEASE_MIN, BWL_FIELD_MS_MAX },
    { "lease_c_ms", BWL_FIELD_MS, AT(lease_of_ms[2]), BWL_FIELD_LEASE_MIN, BWL_FIELD_MS_MAX },
    { "pace_a", BWL_FIELD_COUNT, AT(clocks.pace_of[0]), 1, 1000 },
    { "pace_b", BWL_FIELD_COUNT, AT(clocks.pace_of[1]), 1, 1000 },
    { "pace_c", BWL_FIELD_COUNT, AT(clocks.pace_of[2]), 1, 1000 },
    { "rate_pace", BWL_FIELD_COUNT, AT(clocks.rate_pace), 1, 1000 },
    { "server_pace", BWL_FIELD_COUNT, AT(clocks.server_pace), 1, 1000 },
    { "has_run_id", BWL_FIELD_BOOL, AT(server.has_run_id), 0, 1 },
    { "renews", BWL_FIELD_BOOL, AT(terms.renews), 0, 1 },
    { "tries_once", BWL_FIELD_BOOL, AT(tries_once), 0, 1 },
    { "stale", BWL_FIELD_BOOL, AT(server.stale), 0, 1 },
    { "fences", BWL_FIELD_BOOL, AT(server.fences), 0, 1 },
    { "chances", BWL_FIELD_BOOL, AT(chances), 0, 1 },
};

#undef AT

static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            (void)fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 32)
            (void)fprintf(out, "\\u%04x", (unsigned)*text);
        else
            (void)fputc(*text, out);
    (void)fputc('"', out);
}

static void put_field(FILE *out, const bwl_scenario *s, const bwl_field *field)
{
    const char *at     = (const char *)s + field->offset;
    int64_t     number = 0;

    if (field->kind == BWL_FIELD_BOOL) {
        (void)fprintf(out, "%s", *(const bool *)at ? "true" : "false");
        return;
    }
    number = field->kind == BWL_FIELD_COUNT ? *(const unsigned *)at : *(const bwl_ms *)at;
    if (number == BWL_NEVER)
        (void)fputs("null", out);
    else
        (void)fprintf(out, "%" PRId64, number);
}

static void put_world(FILE *out, const bwl_scenario *s)
{
    (void)fputs("  \"world\": {", out);
    for (size_t i = 0; i < BWL_FIELDS_COUNT; i++) {
        (void)fprintf(out, "%s\"%s\": ", i == 0 ? "" : ", ", bwl_fields[i].name);
        put_field(out, s, &bwl_fields[i]);
    }
    (void)fputs("},\n  \"budget\": {", out);
    for (unsigned i = 1, count = 0; i < BWL_BUDGETS_COUNT; i++)
        if (s->budget[i] != 0)
            (void)fprintf(out, "%s\"%s\": %u", count++ == 0 ? "" : ", ",
                          bwl_budget_label((bwl_budget)i), s->budget[i]);
    (void)fputs("},\n", out);
}

/* `says` is for readers of the file; a replay ignores it. */
static void put_transition(FILE *out, bwl_transition transition, const char *says)
{
    (void)fprintf(out, "    {\"do\": \"%s\", \"client\": \"%c\"",
                  bwl_transition_name(transition.kind), bwl_client_name(transition.client));
    if (transition.server != 0)
        (void)fprintf(out, ", \"server\": %u", transition.server);
    if (transition.which != 0)
        (void)fprintf(out, ", \"which\": %u", transition.which);
    if (transition.chance != 0)
        (void)fprintf(out, ", \"chance\": %u", transition.chance);
    (void)fputs(", \"says\": ", out);
    put_string(out, says);
    (void)fputs("}", out);
}

void bwl_record_write(FILE *out, const char *subject, const bwl_picture *picture,
                      const bwl_transition *path)
{
    bwl_world w;

    (void)fprintf(out, "{\n  \"format\": \"bowline-lab schedule\",\n  \"format_version\": %d,\n",
                  BWL_RECORD_FORMAT);
    (void)fprintf(out, "  \"bowline\": \"%s\",\n  \"subject\": ", BWL_LAB_VERSION);
    put_string(out, subject);
    (void)fputs(",\n", out);
    put_world(out, picture->scenario);
    (void)fputs("  \"invariant\": ", out);
    put_string(out, bwl_invariant_label(picture->broken));
    (void)fputs(",\n  \"sentence\": ", out);
    put_string(out, bwl_invariant_sentence(picture->broken));
    (void)fputs(",\n  \"transitions\": [\n", out);
    bwl_world_start(&w, picture->scenario);
    for (unsigned i = 0; i < picture->steps; i++) {
        put_transition(out, path[i], bwl_transition_words(&w, path[i]).of);
        bwl_world_perform(&w, path[i]);
        (void)fputs(i + 1 < picture->steps ? ",\n" : "\n", out);
    }
    (void)fputs("  ]\n}\n", out);
}

void bwl_record_free(bwl_record *record)
{
    free(record->path);
    *record = (bwl_record){ 0 };
}
