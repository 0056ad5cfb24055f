/*
 * lock_file.c -- see lock_file.h.
 *
 * The lab has a short lease, so that few pauses fit in a wait: 30 ms, or 2 s if the file has whole
 * seconds.  A file with times that do not follow its lease keeps its own.  What a file says to the
 * lab replaces that.
 */
#include "lab/scenario/lock_file.h"
#include "core/nearest.h"
#include "core/text.h"
#include "lab/model/script.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "protocol/lock_file/program.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEASE_S_MS       = 2000,
    PAUSES_PER_LEASE = 3,
    LAB_LEASE_MS     = 30,
    TRIES_MAX        = 1000000,
    NS_PER_S         = 1000000000,
    NAME_MAX_HERE    = 56
};

bool bwl_names_lock_file(const char *name)
{
    static const char end[] = ".lock";
    size_t            size  = strlen(name);

    return size >= sizeof end && strcmp(name + size - (sizeof end - 1), end) == 0;
}

/* The name without its directory and its end; with a number, if it is not the first world. */
static bwl_text name_of(const char *path, unsigned which)
{
    const char *slash = strrchr(path, '/');
    const char *name  = slash != NULL ? slash + 1 : path;
    size_t      size  = strlen(name) - strlen(".lock");

    int shown = (int)(size < NAME_MAX_HERE ? size : NAME_MAX_HERE);

    return which == 0 ? bwl_say("%.*s", shown, name) : bwl_say("%.*s/%u", shown, name, which + 1);
}

static bool is_set_option(const bwl_call *call, unsigned i, bwl_set_word word)
{
    return call->args[i].kind == BWL_ARG_KEYWORD && call->args[i].number == (int64_t)word;
}

static bool has_seconds(const bwl_lock_program *program)
{
    for (unsigned i = 0; i < program->calls_count; i++) {
        const bwl_call *call = &program->calls[i];
        for (unsigned k = 0; k < call->args_count; k++)
            if (call->args[k].kind == BWL_ARG_LEASE_S || is_set_option(call, k, BWL_SET_EXAT))
                return true;
    }
    return program->rules.unit_ns == NS_PER_S;
}

/* An argument that may be a time, and is a number. */
static bool is_literal_time(const bwl_call *call, unsigned i)
{
    const bwl_call_arg *before = i > 0 ? &call->args[i - 1] : NULL;
    bool is_lease = call->args[i].kind == BWL_ARG_LEASE_S || call->args[i].kind == BWL_ARG_LEASE_MS;
    bool is_option =
        call->word == BWL_CALL_SET && before != NULL && before->kind == BWL_ARG_KEYWORD;

    bool is_ttl = is_option || call->word == BWL_CALL_EXPIRE || call->word == BWL_CALL_PEXPIRE;

    if (is_lease)
        return call->args[i].number != 0;
    return call->args[i].kind == BWL_ARG_NUMBER &&
           (is_ttl ? call->args[i].number > 0
                   : call->word == BWL_CALL_EVAL && i > 1 && call->args[i].number > 1);
}

bool bwl_lock_file_has_literal_times(const bwl_lock_program *program)
{
    for (unsigned i = 0; i < program->calls_count; i++)
        for (unsigned k = 0; k < program->calls[i].args_count; k++)
            if (is_literal_time(&program->calls[i], k))
                return true;
    return false;
}

/* ---- what the file says to the lab ----------------------------------------------------------- */

typedef enum setting_kind { COUNT = 1, MS } setting_kind;

typedef struct setting {
    const char  *name;
    setting_kind kind;
    size_t       offset; /* in a scenario */
    int64_t      min, max;
} setting;

#define AT(member) offsetof(bwl_scenario, member)

static const setting settings[] = {
    { "clients", COUNT, AT(clients), 2, BWL_CLIENTS_MAX },
    { "rounds", COUNT, AT(rounds), 1, 9 },
    { "lease", MS, AT(terms.lease_ms), 3, 1000000 },
    { "wait", MS, AT(wait_ms), 0, 1000000 },
    { "extend", MS, AT(extend_ms), 3, 1000000 },
    { "answer", MS, AT(terms.answer_ms), 1, 1000000 },
    { "delay", MS, AT(clocks.delay_ms), 1, 1000000 },
    { "skew", MS, AT(clocks.skew_ms[1]), -1000000, 1000000 },
    { "wall-step", MS, AT(clocks.wall_ms), -1000000, 1000000 },
    { "pace", COUNT, AT(clocks.rate_pace), 1, 1000 },
    { "ttl", MS, AT(server.start_ms), 1, 1000000 },
    { "poll", MS, 0, 1, 1000000 }, /* of the rules */
};

#undef AT

enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* Settings of other kinds. */
static const char *const other_settings[] = { "fine", "start", "breaks", "holds", "twin" };

enum { OTHER_SETTINGS = sizeof other_settings / sizeof other_settings[0] };

static bool read_value(const setting *s, const char *value, int64_t *ret_number)
{
    bool     is_minus = value[0] == '-';
    bwl_ms   ms;
    uint64_t number  = 0;
    bool     is_good = s->kind == COUNT
                           ? bwl_number_parse(&number, value, strlen(value), 1000000)
                           : bwl_duration_parse(&ms, value + is_minus, strlen(value) - is_minus);

    if (!is_good)
        return false;
    *ret_number = s->kind == COUNT ? (int64_t)number : is_minus ? -ms : ms;
    return *ret_number >= s->min && *ret_number <= s->max;
}

/* program: NULL if the world is not of a file. */
static bool set_number(const setting *s, const char *text, bwl_lock_program *program,
                       bwl_scenario *world)
{
    int64_t value;

    if (!read_value(s, text, &value) || (s->offset == 0 && program == NULL))
        return false;
    if (s->offset == offsetof(bwl_scenario, server.start_ms) && world->server.start == NULL)
        return false; /* of which key? */
    if (s->offset == 0)
        program->rules.pause_ms = value;
    else if (s->kind == COUNT)
        *(unsigned *)(void *)((char *)world + s->offset) = (unsigned)value;
    else
        *(bwl_ms *)(void *)((char *)world + s->offset) = value;
    if (s->offset == offsetof(bwl_scenario, wait_ms))
        world->tries_once = value == 0;
    return true;
}

static const setting *setting_named(const char *name)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}

static bool apply(const bwl_lab_setting *said, bwl_lock_program *program, bwl_scenario *world)
{
    unsigned       budget = bwl_budget_named(said->name);
    const setting *is_of  = setting_named(said->name);
    uint64_t       number;

    for (const bwl_lab_setting *is = program->settings; is < said; is++)
        if (is->world == said->world && strcmp(is->name, said->name) == 0)
            return false; /* twice */
    if (strcmp(said->name, "twin") == 0)
        return true; /* see bwl_lock_file_says */
    if (strcmp(said->name, "holds") == 0)
        return bwl_invariant_named(said->value) != 0;
    if (strcmp(said->name, "breaks") == 0) {
        world->breaks = bwl_invariant_named(said->value);
        return world->breaks != 0;
    }
    if (strcmp(said->name, "fine") == 0) {
        world->fine = true;
        return strcmp(said->value, "yes") == 0;
    }
    if (strcmp(said->name, "start") == 0) {
        bwl_scenario_start(world, said->value);
        return true;
    }
    if (budget != 0 && bwl_number_parse(&number, said->value, strlen(said->value), BWL_ANY - 1)) {
        world->budget[budget] = (uint8_t)number;
        return true;
    }
    return is_of != NULL && set_number(is_of, said->value, program, world);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The file; or, for a name without a directory, the one that is installed. */
static FILE *open_file(const char *path)
{
    FILE *in = fopen(path, "rb");

    if (in == NULL && errno == ENOENT && strchr(path, '/') == NULL)
        in = fopen(bwl_say("%s/%s", BWL_LOCKS_DIRECTORY, path).of, "rb");
    return in;
}

char *bwl_lock_file_read(const char *path, size_t *ret_size)
{
    FILE *in    = open_file(path);
    char *bytes = malloc(BWL_LOCK_FILE_MAX + 1);
    bool  fails = in == NULL || bytes == NULL;

    if (!fails) {
        *ret_size        = fread(bytes, 1, BWL_LOCK_FILE_MAX, in);
        bytes[*ret_size] = '\0';
        fails            = ferror(in) != 0;
    }
    int error = errno;
    if (in != NULL)
        (void)fclose(in);
    if (!fails)
        return bytes;
    free(bytes);
    errno = error;
    return NULL;
}

/* Refuses a script that Lua cannot compile.  Lua says script:2: and counts from the first line of
 * the text. */
static bool check_scripts(const char *path, const bwl_lock_program *program, bwl_text reterr[3])
{
    for (unsigned i = 0; i < program->calls_count; i++) {
        const bwl_call *call = &program->calls[i];
        if (call->word != BWL_CALL_EVAL)
            continue;
        const bwl_lock_text *script = &program->texts[call->args[0].number];
        const char          *fault  = bwl_model_script_fault(script);
        unsigned             line   = 1;
        int                  size   = 0;
        if (fault == NULL)
            continue;
        (void)sscanf(fault, "script:%u: %n", &line, &size);
        return bwl_refuse(reterr,
                          bwl_say("%s:%u: the script of this EVAL is wrong", bwl_shown(path).of,
                                  script->line + line - 1),
                          bwl_shown(fault + size), "type: bowline lab --help format");
    }
    return true;
}

/* ---- worlds ---------------------------------------------------------------------------------- */

static void set_world(bwl_lock_program *program, bwl_scenario *ret_world)
{
    bool is_zh = bwl_lang_now() == BWL_LANG_ZH && program->story_zh[0] != '\0';

    *ret_world = (bwl_scenario){
        .name     = program->protocol.name,
        .story    = is_zh ? program->story_zh : program->story,
        .protocol = &program->protocol,
        .options  = program->options,
    };
    ret_world->terms.lease_ms = bwl_lock_file_has_literal_times(program) ? program->rules.lease_ms
                                : has_seconds(program)                   ? LEASE_S_MS
                                                                         : LAB_LEASE_MS;
    program->rules.pause_ms   = 0;
    program->rules.token      = BWL_TOKEN_OURS; /* the lab reads it */
}

/* The pause and the wait follow the lease, unless the file says them. */
static void complete(bwl_lock_program *program, bwl_scenario *world)
{
    if (program->rules.pause_ms == 0)
        program->rules.pause_ms = (world->terms.lease_ms + PAUSES_PER_LEASE - 1) / PAUSES_PER_LEASE;
    if (world->wait_ms == 0)
        world->wait_ms = world->terms.lease_ms + world->terms.lease_ms / 2;
    if (world->extend_ms == 0)
        world->extend_ms = world->terms.lease_ms;
}

static bool is_known(const char *name, const char **ret_meant)
{
    const char *names[SETTINGS + OTHER_SETTINGS + BWL_BUDGETS_COUNT];
    size_t      count = 0;

    for (size_t i = 0; i < SETTINGS; i++)
        names[count++] = settings[i].name;
    for (size_t i = 0; i < OTHER_SETTINGS; i++)
        names[count++] = other_settings[i];
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        names[count++] = bwl_budget_label((bwl_budget)i);
    *ret_meant = bwl_nearest(name, names, count);
    return *ret_meant != NULL && strcmp(*ret_meant, name) == 0;
}

static bool refuse_setting(const char *path, const bwl_lab_setting *said, bwl_text reterr[3])
{
    bwl_text    where = bwl_say("%s:%u:%u", bwl_shown(path).of, said->line, said->column);
    bool        names = strcmp(said->name, "breaks") == 0 || strcmp(said->name, "holds") == 0;
    const char *meant;

    if (names && bwl_invariant_named(said->value) == 0) {
        meant = bwl_invariant_nearest(said->value);
        return bwl_refuse(
            reterr, bwl_say("%s: no invariant is called %s", where.of, bwl_shown(said->value).of),
            bwl_say("%s", ""),
            meant != NULL ? bwl_say("did you mean %s \"%s\"?", said->name, meant).of
                          : "type: bowline lab list  to see their names");
    }
    if (is_known(said->name, &meant))
        return bwl_refuse(
            reterr,
            bwl_say("%s: the lab does not understand this value of %s", where.of, said->name),
            bwl_say("a setting stands once in a line, and its value has bounds"),
            "type: bowline lab --help format");
    return bwl_refuse(
        reterr, bwl_say("%s: the lab has no setting %s", where.of, bwl_shown(said->name).of),
        bwl_say("%s", ""),
        meant != NULL ? bwl_say("did you mean %s?", meant).of : "type: bowline lab --help format");
}

static bool make_world(const char *path, bwl_lock_program *program, unsigned which,
                       bwl_scenario *ret_world, bwl_text reterr[3])
{
    set_world(program, ret_world);
    for (unsigned i = 0; i < program->settings_count; i++)
        if (program->settings[i].world == which &&
            !apply(&program->settings[i], program, ret_world))
            return refuse_setting(path, &program->settings[i], reterr);
    complete(program, ret_world);
    return true;
}

/* The settings of the others are not needed any more. */
static void keep_world(bwl_lock_program *program, unsigned which)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < program->settings_count; i++)
        if (program->settings[i].world == which)
            program->settings[kept++] = program->settings[i];
    program->settings_count = (uint8_t)kept;
}

/* Machines and compiled scripts refer to a program, so none is freed. */
static bwl_lock_program *new_program(void)
{
    typedef struct kept {
        struct kept     *next;
        bwl_lock_program program;
    } kept;
    static kept *all;
    kept        *made = bwl_room_for(1, sizeof *made);

    made->next = all;
    all        = made;
    return &made->program;
}

bool bwl_lock_file_load(const char *path, unsigned which, bwl_scenario *ret_world,
                        bwl_text reterr[3])
{
    size_t              size    = 0;
    char               *bytes   = bwl_lock_file_read(path, &size);
    bwl_lock_file_error error   = { .translate = bwl_tr };
    bwl_lock_program   *program = new_program();

    if (bytes == NULL)
        return bwl_refuse(reterr, bwl_say("%s cannot be read", bwl_shown(path).of),
                          bwl_shown(strerror(errno)), "type: bowline lab list");
    bool is_good = bwl_lock_program_parse(program, name_of(path, which).of, bytes, size, &error);
    free(bytes);
    if (!is_good)
        return bwl_refuse(
            reterr,
            bwl_say("%s:%u:%u: this is no lock file", bwl_shown(path).of, error.line, error.column),
            bwl_say("%s", error.text), "type: bowline lab --help format");
    if (!check_scripts(path, program, reterr))
        return false;
    for (unsigned i = 0; i < program->worlds_count; i++)
        if (!make_world(path, program, i, ret_world, reterr))
            return false;
    keep_world(program, which);
    return make_world(path, program, which, ret_world, reterr);
}

/* The word at *at, and *at behind it; false at the end. */
static bool next_word(const char **at, char *ret_word, size_t room)
{
    size_t size;

    *at += strspn(*at, " ");
    size = strcspn(*at, " ");
    (void)snprintf(ret_word, room, "%.*s", (int)size, *at);
    *at += size;
    return size > 0;
}

/* What follows the lease, unless the file or the text says it. */
static void derive_again(bwl_scenario *world, const char *text)
{
    if (bwl_lock_file_says(world, "wait") == NULL && strstr(text, "wait ") == NULL)
        world->wait_ms = 0;
    if (bwl_lock_file_says(world, "poll") == NULL && strstr(text, "poll ") == NULL)
        world->options.program->rules.pause_ms = 0;
    if (bwl_lock_file_says(world, "extend") == NULL && strstr(text, "extend ") == NULL)
        world->extend_ms = 0;
    complete(world->options.program, world);
}

/* What the file says before its sections, and the lab may change. */
static bool set_rule(bwl_lock_program *program, const char *name, const char *value)
{
    static const char *const trusts[] = { "lease", "whole", "forever" };
    uint64_t                 number;

    if (program == NULL)
        return false;
    if (strcmp(name, "tries") == 0 && bwl_number_parse(&number, value, strlen(value), TRIES_MAX)) {
        program->rules.tries_max = (unsigned)number;
        return true;
    }
    for (size_t i = 0; strcmp(name, "trust") == 0 && i < sizeof trusts / sizeof trusts[0]; i++)
        if (strcmp(value, trusts[i]) == 0) {
            program->trust = (bwl_lock_trust)i;
            return true;
        }
    return false;
}

bool bwl_lock_file_set(bwl_scenario *world, const char *text, bwl_text reterr[3])
{
    enum { WORD_MAX = 24 };
    const char *at = text;
    const char *meant;
    char        name[WORD_MAX], value[WORD_MAX];

    while (next_word(&at, name, sizeof name)) {
        const setting *s = setting_named(name);
        if (next_word(&at, value, sizeof value) &&
            (s != NULL ? set_number(s, value, world->options.program, world)
                       : set_rule(world->options.program, name, value)))
            continue;
        if (is_known(name, &meant))
            meant = NULL; /* it is its value, or it is no number and no time */
        return bwl_refuse(
            reterr, bwl_say("--set: %s %s is not possible here", bwl_shown(name).of, value),
            bwl_say("it takes the numbers and the times of a line with lab:, each with its value"),
            meant != NULL ? bwl_say("did you mean %s?", meant).of
                          : "type: --set 'lease 5s skew 3s', or bowline lab --help format");
    }
    if (world->options.program != NULL)
        derive_again(world, text);
    return true;
}

unsigned bwl_lock_file_worlds(const bwl_scenario *world)
{
    unsigned count = world->options.program->worlds_count;

    return count > 0 ? count : 1;
}

const char *bwl_lock_file_says(const bwl_scenario *world, const char *name)
{
    const bwl_lock_program *program = world->options.program;

    for (unsigned i = 0; i < program->settings_count; i++)
        if (strcmp(program->settings[i].name, name) == 0)
            return program->settings[i].value;
    return NULL;
}

static int is_lock_file(const struct dirent *entry)
{
    return bwl_names_lock_file(entry->d_name);
}

unsigned bwl_lock_files_installed(void (*each)(const char *name, const char *story))
{
    struct dirent **entries;
    unsigned        shown = 0;
    int             count = scandir(BWL_LOCKS_DIRECTORY, &entries, is_lock_file, alphasort);

    for (int i = 0; i < count; i++) {
        bwl_scenario world;
        bwl_text     fault[3];
        bwl_text     path = bwl_say("%s/%s", BWL_LOCKS_DIRECTORY, entries[i]->d_name);
        if (bwl_lock_file_load(path.of, 0, &world, fault)) {
            each(entries[i]->d_name, world.story);
            shown++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return shown;
}
