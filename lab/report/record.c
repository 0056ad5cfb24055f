/*
 * record.c -- writes a schedule as JSON, and reads it.  See record.h.
 */
#include "lab/report/record.h"
#include "lab/report/names.h"
#include "lab/base/memory.h"
#include "lab/report/json.h"
#include "lab/scenario/lock_file.h"
#include "lab/scenario/table.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum field_kind {
    FIELD_MS = 1,
    FIELD_MS_OR_NEVER, /* null: NEVER */
    FIELD_COUNT,
    FIELD_BOOL,
} field_kind;

typedef struct record_field {
    const char *name;
    field_kind  kind;
    size_t      offset;
    int64_t     min, max;
} record_field;

/* A shorter lease is all drift allowance. */
enum { FIELD_LEASE_MIN = 3, FIELD_MS_MAX = 1000000 };

#define AT(member) offsetof(bwl_scenario, member)

static const record_field fields[] = {
    { "clients", FIELD_COUNT, AT(clients), 2, BWL_CLIENTS_MAX },
    { "rounds", FIELD_COUNT, AT(rounds), 1, BWL_ANY },
    { "lease_ms", FIELD_MS, AT(terms.lease_ms), FIELD_LEASE_MIN, FIELD_MS_MAX },
    { "answer_ms", FIELD_MS, AT(terms.answer_ms), 1, FIELD_MS_MAX },
    { "max_hold_ms", FIELD_MS_OR_NEVER, AT(terms.max_hold_ms), 1, FIELD_MS_MAX },
    { "wait_ms", FIELD_MS_OR_NEVER, AT(wait_ms), 0, FIELD_MS_MAX },
    { "extend_ms", FIELD_MS, AT(extend_ms), FIELD_LEASE_MIN, FIELD_MS_MAX },
    { "jump_ms", FIELD_MS, AT(clocks.jump_ms), -FIELD_MS_MAX, FIELD_MS_MAX },
    { "wall_ms", FIELD_MS, AT(clocks.wall_ms), -FIELD_MS_MAX, FIELD_MS_MAX },
    { "skew_a_ms", FIELD_MS, AT(clocks.skew_ms[0]), -FIELD_MS_MAX, FIELD_MS_MAX },
    { "skew_b_ms", FIELD_MS, AT(clocks.skew_ms[1]), -FIELD_MS_MAX, FIELD_MS_MAX },
    { "skew_c_ms", FIELD_MS, AT(clocks.skew_ms[2]), -FIELD_MS_MAX, FIELD_MS_MAX },
    { "lease_a_ms", FIELD_MS, AT(lease_of_ms[0]), FIELD_LEASE_MIN, FIELD_MS_MAX },
    { "lease_b_ms", FIELD_MS, AT(lease_of_ms[1]), FIELD_LEASE_MIN, FIELD_MS_MAX },
    { "lease_c_ms", FIELD_MS, AT(lease_of_ms[2]), FIELD_LEASE_MIN, FIELD_MS_MAX },
    { "pace_a", FIELD_COUNT, AT(clocks.pace_of[0]), 1, 1000 },
    { "pace_b", FIELD_COUNT, AT(clocks.pace_of[1]), 1, 1000 },
    { "pace_c", FIELD_COUNT, AT(clocks.pace_of[2]), 1, 1000 },
    { "rate_pace", FIELD_COUNT, AT(clocks.rate_pace), 1, 1000 },
    { "server_pace", FIELD_COUNT, AT(clocks.server_pace), 1, 1000 },
    { "delay_ms", FIELD_MS, AT(clocks.delay_ms), 0, FIELD_MS_MAX },
    { "has_run_id", FIELD_BOOL, AT(server.has_run_id), 0, 1 },
    { "renews", FIELD_BOOL, AT(terms.renews), 0, 1 },
    { "tries_once", FIELD_BOOL, AT(tries_once), 0, 1 },
    { "stale", FIELD_BOOL, AT(server.stale), 0, 1 },
    { "start_ms", FIELD_MS, AT(server.start_ms), 0, FIELD_MS_MAX },
    { "fences", FIELD_BOOL, AT(server.fences), 0, 1 },
    { "chances", FIELD_BOOL, AT(chances), 0, 1 },
    { "fine", FIELD_BOOL, AT(fine), 0, 1 },
};

#undef AT

enum { FIELDS_COUNT = sizeof fields / sizeof fields[0] };

/* Reads a schedule from JSON, strictly.
 *
 * Every member must be known, and the required ones must be present.  Members may come in any
 * order, except that the version comes before all that depend on it. */

enum { NAME_MAX_HERE = 32, SENTENCE_MAX = BWL_TEXT_MAX };

static const int64_t to_255[2] = { 0, 255 };
static const int64_t to_max[2] = { 0, INT32_MAX };

typedef struct reading {
    bwl_json    r;
    bwl_record *record;
    int64_t     format; /* 0: not read yet */
    bool        has_subject;
    bool        has_transitions;
    const char *own;    /* the file that may be loaded */
    bwl_text   *reterr; /* of bwl_subject_find */
} reading;

/* ---- the world ------------------------------------------------------------------------------- */

static bool read_field(bwl_json *r, bwl_scenario *s, const record_field *field)
{
    const int64_t bounds[2] = { field->min, field->max };
    char         *at        = (char *)s + field->offset;
    int64_t       number    = 0;
    bool          is_null   = false;

    if (field->kind == FIELD_BOOL)
        return bwl_json_bool(r, (bool *)(void *)at);
    if (!bwl_json_number(r, bounds, &number, &is_null))
        return false;
    if (is_null && field->kind == FIELD_MS_OR_NEVER)
        number = BWL_NEVER;
    else if (is_null)
        return bwl_json_fault(r, "\"%s\" is out of bounds", field->name);
    if (field->kind == FIELD_COUNT)
        *(unsigned *)(void *)at = (unsigned)number;
    else
        *(bwl_ms *)(void *)at = number;
    return true;
}

static void read_world_member(bwl_json *r, const char *name, void *arg)
{
    bwl_record *record = arg;

    if (strcmp(name, "start") == 0) {
        if (bwl_json_string(r, record->start, sizeof record->start))
            bwl_scenario_start(&record->world, record->start);
        return;
    }
    for (size_t i = 0; i < FIELDS_COUNT; i++)
        if (strcmp(name, fields[i].name) == 0) {
            (void)read_field(r, &record->world, &fields[i]); /* the fault is recorded */
            return;
        }
    (void)bwl_json_fault(r, "a world has no \"%s\"", bwl_shown(name).of);
}

static void read_budget_member(bwl_json *r, const char *name, void *arg)
{
    bwl_record *record = arg;
    unsigned    budget = bwl_budget_named(name);
    bool        is_null;
    int64_t     number;

    if (budget == 0)
        (void)bwl_json_fault(r, "no fault is called \"%s\"", bwl_shown(name).of);
    else if (bwl_json_number(r, to_255, &number, &is_null))
        record->world.budget[budget] = (uint8_t)(is_null ? BWL_ANY : number);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static uint8_t read_up_to(bwl_json *r, int64_t max)
{
    int64_t number  = 0;
    bool    is_null = false;

    if (bwl_json_number(r, to_255, &number, &is_null) && (is_null || number > max))
        (void)bwl_json_fault(r, "a number up to %" PRId64 " has to be here", max);
    return (uint8_t)number;
}

static void read_transition_member(bwl_json *r, const char *name, void *arg)
{
    bwl_transition *transition = arg;
    char            text[SENTENCE_MAX];

    if (strcmp(name, "do") == 0 && bwl_json_string(r, text, sizeof text)) {
        transition->kind = (uint8_t)bwl_transition_named(text);
        if (transition->kind == 0)
            (void)bwl_json_fault(r, "no step is called \"%s\"", bwl_shown(text).of);
    } else if (strcmp(name, "client") == 0 && bwl_json_string(r, text, sizeof text)) {
        transition->client = (uint8_t)(text[0] - 'A');
        if (text[0] < 'A' || text[0] >= 'A' + BWL_CLIENTS_MAX || text[1] != '\0')
            (void)bwl_json_fault(r, "no client is called \"%s\"", bwl_shown(text).of);
    } else if (strcmp(name, "which") == 0) {
        transition->which = read_up_to(r, UINT8_MAX);
    } else if (strcmp(name, "server") == 0) {
        transition->server = read_up_to(r, BWL_SERVERS_MAX - 1) & 15u;
    } else if (strcmp(name, "chance") == 0) {
        transition->chance = read_up_to(r, 15) & 15u;
    } else if (strcmp(name, "says") == 0) {
        (void)bwl_json_string(r, text, sizeof text);
    } else {
        (void)bwl_json_fault(r, "a step has no \"%s\"", bwl_shown(name).of);
    }
}

static void read_transition(bwl_json *r, void *arg)
{
    bwl_record     *record = arg;
    bwl_transition *transition;

    if (record->path_count == BWL_RECORD_TRANSITIONS_MAX) {
        (void)bwl_json_fault(r, "more steps than a schedule may have");
        return;
    }
    transition  = &record->path[record->path_count++];
    *transition = (bwl_transition){ 0 };
    bwl_json_object(r, read_transition_member, transition);
    if (transition->kind == 0)
        (void)bwl_json_fault(r, "a step without \"do\"");
}

static void read_transitions(reading *k)
{
    if (k->record->path == NULL)
        k->record->path = bwl_room_for(BWL_RECORD_TRANSITIONS_MAX, sizeof k->record->path[0]);
    k->record->path_count = 0;
    k->has_transitions    = true;
    bwl_json_array(&k->r, read_transition, k->record);
}

/* ---- whole records --------------------------------------------------------------------------- */

static void read_format_version(reading *k)
{
    bool is_null;

    if (bwl_json_number(&k->r, to_max, &k->format, &is_null) && k->format != BWL_RECORD_FORMAT)
        (void)bwl_json_fault(&k->r, "the file is in format %d, and this bowline reads %d",
                             (int)k->format, BWL_RECORD_FORMAT);
}

static void read_subject(reading *k)
{
    bwl_record *record = k->record;

    if (!bwl_json_string(&k->r, record->subject, sizeof record->subject))
        return;
    if (bwl_subject_is_file(record->subject) && !bwl_names_lock_file(record->subject) &&
        (k->own == NULL || strcmp(k->own, record->subject) != 0)) {
        (void)bwl_json_fault(&k->r,
                             "it is about %s, which is not loaded unless --protocol "
                             "says so",
                             bwl_shown(record->subject).of);
        return;
    }
    k->has_subject = bwl_subject_find(record->subject, &record->world, k->reterr);
    if (!k->has_subject)
        (void)bwl_json_fault(&k->r, "%s", k->reterr[0].of);
}

static void read_invariant(reading *k)
{
    char text[NAME_MAX_HERE];

    if (!bwl_json_string(&k->r, text, sizeof text))
        return;
    k->record->broken = bwl_invariant_named(text);
    if (k->record->broken == 0)
        (void)bwl_json_fault(&k->r, "no invariant is called \"%s\"", bwl_shown(text).of);
}

static void read_top_member(bwl_json *r, const char *name, void *arg)
{
    reading *k = arg;
    char     text[SENTENCE_MAX];

    if (strcmp(name, "format") == 0 && bwl_json_string(r, text, sizeof text)) {
        if (strcmp(text, "bowline-lab schedule") != 0)
            (void)bwl_json_fault(r, "this is no schedule of bowline-lab");
    } else if (strcmp(name, "format_version") == 0) {
        read_format_version(k);
    } else if (strcmp(name, "bowline") == 0) {
        (void)bwl_json_string(r, k->record->version, sizeof k->record->version);
    } else if (k->format == 0) {
        (void)bwl_json_fault(r, "\"format_version\" has to come first");
    } else if (strcmp(name, "subject") == 0) {
        read_subject(k);
    } else if (strcmp(name, "world") == 0) {
        if (!k->has_subject)
            (void)bwl_json_fault(r, "\"subject\" has to come before \"world\"");
        else
            bwl_json_object(r, read_world_member, k->record);
    } else if (strcmp(name, "budget") == 0) {
        bwl_json_object(r, read_budget_member, k->record);
    } else if (strcmp(name, "invariant") == 0) {
        read_invariant(k);
    } else if (strcmp(name, "sentence") == 0) {
        (void)bwl_json_string(r, text, sizeof text);
    } else if (strcmp(name, "transitions") == 0) {
        read_transitions(k);
    } else {
        (void)bwl_json_fault(r, "a schedule has no \"%s\"", bwl_shown(name).of);
    }
}

static bool refuse(bwl_text reterr[3], bwl_text why, const char *type)
{
    return bwl_refuse(reterr, bwl_say("the schedule cannot be used"), why, type);
}

/* True if every step is possible.  Only a search can check an invariant about the future. */
static bool can_be_walked(const bwl_record *record)
{
    bwl_world       w;
    bwl_transitions transitions;

    bwl_world_start(&w, &record->world);
    for (unsigned i = 0; i < record->path_count; i++) {
        bool may = false;
        bwl_world_transitions(&w, &transitions);
        for (unsigned j = 0; j < transitions.count && !may; j++)
            may = memcmp(&transitions.list[j], &record->path[i], sizeof transitions.list[j]) == 0;
        if (!may)
            return false;
        bwl_world_perform(&w, record->path[i]);
    }
    return true;
}

static bool comes_out(bwl_record *record, bwl_text reterr[3])
{
    static const char type[] = "type: bowline lab try SUBJECT --json  to find it again";
    unsigned          broken;

    record->world.invariants = record->broken;
    broken                   = bwl_path_breaks(&record->world, record->path, record->path_count);
    if ((broken & record->broken) != 0)
        return true;
    if ((record->broken & BWL_INVARIANTS_BACKWARDS) != 0 && can_be_walked(record))
        return true;
    if (strcmp(record->version, BWL_LAB_VERSION) != 0)
        return refuse(reterr,
                      bwl_say("it was written by bowline %s; in this one, %s, it does not break "
                              "the invariant it names",
                              bwl_shown(record->version).of, BWL_LAB_VERSION),
                      type);
    return refuse(reterr,
                  bwl_say("walked step by step it does not break \"%s\": it was changed since it "
                          "was written",
                          bwl_invariant_label(record->broken)),
                  type);
}

bool bwl_record_read(bwl_record *ret_record, const char *text, size_t size, const char *own,
                     bwl_text reterr[3])
{
    bwl_record record = { 0 };
    reading k = { .r = bwl_json_of(text, size), .record = &record, .own = own, .reterr = reterr };
    bool    is_good;

    bwl_json_object(&k.r, read_top_member, &k);
    is_good = bwl_json_end(&k.r);
    if (!is_good)
        (void)refuse(reterr, k.r.fault, "type: bowline lab try SUBJECT --json  to write one");
    else if (!k.has_subject || !k.has_transitions || record.broken == 0)
        is_good =
            refuse(reterr, bwl_say("it lacks its subject, its invariant or its transitions"), "");
    else
        is_good = comes_out(&record, reterr);
    if (!is_good) {
        bwl_record_free(&record);
        return false;
    }
    *ret_record            = record;
    ret_record->world.name = ret_record->subject;
    if (record.world.server.start == record.start)
        ret_record->world.server.start = ret_record->start;
    return true;
}

bool bwl_record_load(bwl_record *ret_record, const char *file, const char *own, bwl_text reterr[3])
{
    bool   is_good = false;
    char  *text    = bwl_room_for(BWL_RECORD_SIZE_MAX + 1, 1);
    FILE  *in      = fopen(file, "re");
    size_t size    = 0;

    if (in != NULL)
        size = fread(text, 1, BWL_RECORD_SIZE_MAX, in);
    if (in == NULL || ferror(in) != 0) {
        (void)bwl_refuse(reterr, bwl_say("%s cannot be read", bwl_shown(file).of),
                         bwl_say("%s", strerror(errno)), "");
    } else if (size == BWL_RECORD_SIZE_MAX) {
        (void)refuse(reterr, bwl_say("%s is too large for one", bwl_shown(file).of), "");
    } else {
        is_good = bwl_record_read(ret_record, text, size, own, reterr);
    }
    if (in != NULL)
        (void)fclose(in); /* nothing was written */
    free(text);
    return is_good;
}

static void put_field(FILE *out, const bwl_scenario *s, const record_field *field)
{
    const char *at     = (const char *)s + field->offset;
    int64_t     number = 0;

    if (field->kind == FIELD_BOOL) {
        bwl_put(out, "%s", *(const bool *)at ? "true" : "false");
        return;
    }
    number = field->kind == FIELD_COUNT ? *(const unsigned *)at : *(const bwl_ms *)at;
    if (number == BWL_NEVER)
        bwl_put(out, "null");
    else
        bwl_put(out, "%" PRId64, number);
}

static void put_world(FILE *out, const bwl_scenario *s)
{
    bwl_put(out, "  \"world\": {");
    for (size_t i = 0; i < FIELDS_COUNT; i++) {
        bwl_put(out, "%s\"%s\": ", i == 0 ? "" : ", ", fields[i].name);
        put_field(out, s, &fields[i]);
    }
    if (s->server.start != NULL) {
        bwl_put(out, ", \"start\": ");
        bwl_json_put_string(out, s->server.start);
    }
    bwl_put(out, "},\n  \"budget\": {");
    for (unsigned i = 1, count = 0; i < BWL_BUDGETS_COUNT; i++)
        if (s->budget[i] != 0)
            bwl_put(out, "%s\"%s\": %u", count++ == 0 ? "" : ", ", bwl_budget_label((bwl_budget)i),
                    s->budget[i]);
    bwl_put(out, "},\n");
}

/* `says` is for human readers; a replay ignores it. */
static void put_transition(FILE *out, bwl_transition transition, const char *says)
{
    bwl_put(out, "    {\"do\": \"%s\", \"client\": \"%c\"", bwl_transition_name(transition.kind),
            bwl_client_name(transition.client));
    if (transition.server != 0)
        bwl_put(out, ", \"server\": %u", transition.server);
    if (transition.which != 0)
        bwl_put(out, ", \"which\": %u", transition.which);
    if (transition.chance != 0)
        bwl_put(out, ", \"chance\": %u", transition.chance);
    bwl_put(out, ", \"says\": ");
    bwl_json_put_string(out, says);
    bwl_put(out, "}");
}

void bwl_record_write(FILE *out, const char *subject, const bwl_record *record)
{
    bwl_world w;

    bwl_put(out, "{\n  \"format\": \"bowline-lab schedule\",\n  \"format_version\": %d,\n",
            BWL_RECORD_FORMAT);
    bwl_put(out, "  \"bowline\": \"%s\",\n  \"subject\": ", BWL_LAB_VERSION);
    bwl_json_put_string(out, subject);
    bwl_put(out, ",\n");
    put_world(out, &record->world);
    bwl_put(out, "  \"invariant\": ");
    bwl_json_put_string(out, bwl_invariant_label(record->broken));
    bwl_put(out, ",\n  \"sentence\": ");
    bwl_json_put_string(out, bwl_invariant_sentence(record->broken));
    bwl_put(out, ",\n  \"transitions\": [\n");
    bwl_world_start(&w, &record->world);
    for (unsigned i = 0; i < record->path_count; i++) {
        put_transition(out, record->path[i], bwl_transition_words(&w, record->path[i]).of);
        bwl_world_perform(&w, record->path[i]);
        (void)fputs(i + 1 < record->path_count ? ",\n" : "\n", out);
    }
    bwl_put(out, "  ]\n}\n");
}

void bwl_record_free(bwl_record *record)
{
    free(record->path);
    *record = (bwl_record){ 0 };
}
