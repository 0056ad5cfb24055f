#include "lab/options.h"
#include "core/nearest.h"
#include "core/text.h"
#include "lab/report/names.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "lab/base/say.h"
#include "lab/scenario/lock_file.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    STATES_USUAL = 2000000,
    STATES_MAX   = INT32_MAX,
    RUNS_USUAL   = 100000,
    FAULTS_USUAL = 2,
    FAULTS_MOST  = 12,
    SCALE_MOST   = 10000,
    ROUNDS_MOST  = 9,
    PACE_MOST    = 1000,
};

typedef enum option_id {
    ID_NONE = 255,
#define X(name, letter, word, argument, commands, words) ID_##name,
    BWL_OPTIONS(X)
#undef X
        ID_BUDGETS,
} option_id;

typedef struct option_row {
    char        letter;
    const char *word;
    const char *argument;
    unsigned    commands;
    const char *words;
} option_row;

/* The commands that have an option. */
enum {
#define X(name, word, operands, words) name = 1u << BWL_COMMAND_##name,
    BWL_COMMANDS(X)
#undef X
};

static const option_row rows[] = {
#define X(name, letter, word, argument, commands, words) \
    { letter, word, argument, commands, words },
    BWL_OPTIONS(X)
#undef X
};

typedef struct command_row {
    const char *word;
    const char *operands;
    const char *words;
} command_row;

static const command_row commands[] = {
#define X(name, word, operands, words) { word, operands, words },
    BWL_COMMANDS(X)
#undef X
};

enum {
    ROWS_COUNT  = sizeof rows / sizeof rows[0],
    LONG_COUNT  = ROWS_COUNT + BWL_BUDGETS_COUNT, /* NONE is no option; the end is a row */
    LETTERS_MAX = 2 * ROWS_COUNT + 2,
};

/* ---- help ------------------------------------------------------------------------------------ */

static void help_on_option(FILE *out, const option_row *row)
{
    bwl_text name = bwl_say("--%s%s%s", row->word, row->argument != NULL ? " " : "",
                            row->argument != NULL ? row->argument : "");

    if (row->letter != 0)
        bwl_put(out, "  -%c, %-16s %s\n", row->letter, name.of, bwl_tr(row->words));
    else
        bwl_put(out, "      %-16s %s\n", name.of, bwl_tr(row->words));
}

void bwl_options_help(FILE *out)
{
    bwl_put(out, "bowline lab try token --loss 1     does one broken connection break the lock?\n\n"
                 "usage: bowline-lab COMMAND ...\n");
    for (unsigned i = 0; i < BWL_COMMANDS_COUNT; i++)
        bwl_put(out, "  %-22s %s\n", bwl_say("%s %s", commands[i].word, commands[i].operands).of,
                bwl_tr(commands[i].words));
    for (unsigned i = 0; i < BWL_COMMANDS_COUNT; i++) {
        bool has_title = false;
        for (unsigned j = 0; j < ROWS_COUNT; j++) {
            if ((rows[j].commands >> i & 1) == 0 || rows[j].commands == ~0u)
                continue;
            if (!has_title)
                bwl_put(out, "\noptions of %s:\n", commands[i].word);
            has_title = true;
            help_on_option(out, &rows[j]);
        }
    }
    bwl_put(out, "\nfaults, for try, matrix and servers; N is a number, or any:\n");
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        bwl_put(out, "      %-16s %s\n", bwl_say("--%s N", bwl_budget_label((bwl_budget)i)).of,
                bwl_budget_sentence((bwl_budget)i));
    bwl_put(out, "\nevery command:\n");
    for (unsigned j = 0; j < ROWS_COUNT; j++)
        if (rows[j].commands == ~0u)
            help_on_option(out, &rows[j]);
    bwl_put(
        out,
        "\nbowline lab help format shows how a lock file is written.\n\n"
        "Exit: 0 no invariant broke (run, walk, servers: every scenario had the expected result;\n"
        "replay: the server replied as the schedule says); 1 otherwise; 2 wrong usage, or a file\n"
        "with an error; 3 out of memory.\n");
}

/* ---- one option ------------------------------------------------------------------------------ */

static bool read_number(const char *name, const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end;

    *ret_number = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && *ret_number > 0 && *ret_number <= max)
        return true;
    (void)bwl_complain(bwl_say("--%s %s is not a valid number", name, bwl_shown(text).of),
                       bwl_say("it must be from 1 to %llu", (unsigned long long)max).of,
                       "type: bowline lab --help");
    return false;
}

static bool read_unsigned(const char *name, const char *text, unsigned max, unsigned *ret_number)
{
    uint64_t number;

    if (!read_number(name, text, max, &number))
        return false;
    *ret_number = (unsigned)number;
    return true;
}

/* "512M", "2G": bytes. */
static bool read_memory(const char *text, size_t *ret_bytes)
{
    char              *end;
    unsigned long long number = strtoull(text, &end, 10);
    const char        *unit   = strchr("KMG", *end); /* also without a unit */
    unsigned           shift  = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

    if (text[0] < '0' || text[0] > '9' || unit == NULL || (*end != '\0' && end[1] != '\0') ||
        number == 0 || number > (SIZE_MAX >> shift)) {
        (void)bwl_complain(bwl_say("--memory %s is not an amount of memory", bwl_shown(text).of),
                           "", "type it as 512M or 2G");
        return false;
    }
    *ret_bytes = (size_t)number << shift;
    return true;
}

static bool read_budget(bwl_lab_options *set, unsigned budget, const char *text)
{
    const char *name   = bwl_budget_label((bwl_budget)budget);
    unsigned    number = BWL_ANY;

    if (strcmp(text, "0") == 0)
        number = 0;
    else if (strcmp(text, "any") != 0 && !read_unsigned(name, text, BWL_ANY - 1, &number))
        return false;
    set->has_budget     = true;
    set->budget[budget] = (uint8_t)number;
    return true;
}

static bool read_invariant(bwl_lab_options *set, const char *text)
{
    const char *meant     = bwl_invariant_nearest(text);
    unsigned    invariant = bwl_invariant_named(text);

    set->invariants |= invariant;
    if (invariant != 0)
        return true;
    (void)bwl_complain(bwl_say("no invariant is called %s", bwl_shown(text).of), "",
                       meant != NULL ? bwl_say("did you mean --invariant '%s'?", meant).of
                                     : "type: bowline lab list");
    return false;
}

static bool read_language(const char *text)
{
    if (bwl_lang_set(text))
        return true;
    (void)bwl_complain(bwl_say("--lang %s is no language of the lab", bwl_shown(text).of), "",
                       "type: --lang en, or --lang zh");
    return false;
}

static bool read_option(bwl_lab_options *set, option_id id, const char *argument)
{
    switch (id) {
    case ID_CLIENTS: return read_unsigned("clients", argument, BWL_CLIENTS_MAX, &set->clients);
    case ID_ROUNDS: return read_unsigned("rounds", argument, ROUNDS_MOST, &set->rounds);
    case ID_FAULTS:
        set->has_faults = true;
        return read_unsigned("faults", argument, FAULTS_MOST, &set->faults_max);
    case ID_PACE: return read_unsigned("pace", argument, PACE_MOST, &set->pace);
    case ID_INVARIANT: return read_invariant(set, argument);
    case ID_SET: set->settings = argument; return true;
    case ID_START: set->start = argument; return true;
    case ID_SVG: set->svg = argument; return true;
    case ID_MERMAID: set->mermaid = true; return true;
    case ID_JSON: set->json = true; return true;
    case ID_HTML: set->html = argument; return true;
    case ID_SCALE: return read_unsigned("scale", argument, SCALE_MOST, &set->scale);
    case ID_PROTOCOL: set->protocol = argument; return true;
    case ID_SERVER: set->server = argument; return true;
    case ID_MEMORY: return read_memory(argument, &set->search.memory_max);
    case ID_QUIET: set->quiet = true; return true;
    case ID_BUDGET: return read_unsigned("budget", argument, STATES_MAX, &set->search.states_max);
    case ID_SEED: return read_number("seed", argument, UINT64_MAX, &set->search.seed);
    case ID_RUNS: return read_unsigned("runs", argument, UINT32_MAX, &set->search.runs);
    case ID_DRAW: set->draws = true; return true;
    case ID_PLAIN: set->search.plain = true; return true;
    case ID_TAP: set->tap = true; return true;
    case ID_LANG: return read_language(argument);
    case ID_HELP: set->help = BWL_HELP_COMMANDS; return true;
    case ID_NONE:
    case ID_BUDGETS: break;
    }
    return read_budget(set, (unsigned)id - ID_BUDGETS, argument);
}

/* ---- the command line ------------------------------------------------------------------------ */

static void fill_tables(struct option longs[LONG_COUNT], char letters[LETTERS_MAX])
{
    unsigned count = 0;

    *letters++ = ':'; /* reports a missing argument, without messages of getopt */
    for (unsigned i = 0; i < ROWS_COUNT; i++) {
        int has        = rows[i].argument != NULL ? required_argument : no_argument;
        longs[count++] = (struct option){ rows[i].word, has, NULL, ID_NONE + 1 + (int)i };
        if (rows[i].letter != 0)
            *letters++ = rows[i].letter;
        if (rows[i].letter != 0 && has == required_argument)
            *letters++ = ':';
    }
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        longs[count++] = (struct option){ bwl_budget_label((bwl_budget)i), required_argument, NULL,
                                          ID_BUDGETS + (int)i };
    longs[count] = (struct option){ 0 };
    *letters     = '\0';
}

static int complain_about(const char *typed, const struct option *longs)
{
    const char *words[LONG_COUNT];
    unsigned    count = 0;
    const char *meant;

    for (; longs[count].name != NULL; count++)
        words[count] = longs[count].name;
    meant = bwl_nearest(typed + strspn(typed, "-"), words, count);
    return bwl_complain(
        bwl_say("%s is no option, or its value is missing", bwl_shown(typed).of), "",
        meant != NULL ? bwl_say("did you mean --%s?", meant).of : "type: bowline lab --help");
}

static int read_all(bwl_lab_options *set, int argc, char **argv)
{
    struct option longs[LONG_COUNT];
    char          letters[LETTERS_MAX];
    unsigned      allowed; /* commands */
    int           found;

    fill_tables(longs, letters);
    opterr = 0;
    while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        option_id id = (option_id)found;
        if (found == ':' || found == '?')
            return complain_about(argv[optind - 1], longs);
        for (unsigned i = 0; found < ID_NONE && i < ROWS_COUNT; i++)
            if (rows[i].letter == found)
                id = (option_id)(ID_NONE + 1 + (int)i);
        allowed = id > ID_BUDGETS ? TRY | MATRIX | SERVERS : rows[id - ID_NONE - 1].commands;
        if ((allowed >> set->command & 1) == 0)
            return bwl_complain(bwl_say("%s is no option of `%s`", bwl_shown(argv[optind - 1]).of,
                                        commands[set->command].word),
                                "", "type: bowline lab --help");
        if (!read_option(set, id, optarg))
            return BWL_EXIT_USAGE;
    }
    set->operands       = argv + optind;
    set->operands_count = (unsigned)(argc - optind);
    return 0;
}

static int read_command(bwl_lab_options *set, const char *word)
{
    const char *words[BWL_COMMANDS_COUNT];
    const char *meant;

    for (unsigned i = 0; i < BWL_COMMANDS_COUNT; i++) {
        words[i] = commands[i].word;
        if (strcmp(word, words[i]) == 0) {
            set->command = (bwl_lab_command)i;
            return 0;
        }
    }
    meant = bwl_nearest(word, words, BWL_COMMANDS_COUNT);
    return bwl_complain(bwl_say("there is no command %s", bwl_shown(word).of), "",
                        meant != NULL ? bwl_say("did you mean %s?", meant).of
                                      : "type: bowline lab --help");
}

static int check_operands(const bwl_lab_options *set)
{
    const char *wants  = commands[set->command].operands;
    bool        is_one = wants[0] != '\0' && wants[0] != '[';
    unsigned    most   = wants[0] == '[' ? UINT32_MAX : is_one;

    const char *word = commands[set->command].word;

    if (set->help != BWL_HELP_NONE ||
        (set->operands_count >= is_one && set->operands_count <= most))
        return 0;
    return bwl_complain(is_one ? bwl_say("%s takes exactly one %s", word, wants)
                               : bwl_say("%s takes nothing", word),
                        "", bwl_say("type: bowline lab %s %s", word, wants).of);
}

void bwl_options_change(const bwl_lab_options *set, bwl_scenario *world)
{
    if (set->clients != 0)
        world->clients = set->clients;
    if (set->rounds != 0)
        world->rounds = set->rounds;
    if (set->pace != 0)
        world->clocks.rate_pace = set->pace;
}

/* Takes every `--lang LANG` out of the words: it may come before the command too, and what is
 * complained about behind it is said in that language. */
static bool take_language(int *argc, char **argv)
{
    static const char option[] = "--lang";
    int               kept     = 1;
    bool              is_good  = true;

    for (int i = 1; i < *argc; i++) {
        size_t size = strlen(option);
        if (strcmp(argv[i], option) == 0 && i + 1 < *argc)
            is_good = read_language(argv[++i]) && is_good;
        else if (strncmp(argv[i], option, size) == 0 && argv[i][size] == '=')
            is_good = read_language(argv[i] + size + 1) && is_good;
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    *argc      = kept;
    return is_good;
}

int bwl_options_start(const bwl_lab_options *set, bwl_scenario *world)
{
    static const char behind[] = " ttl ";
    bwl_text          fault[3];

    if (set->settings != NULL && !bwl_lock_file_set(world, set->settings, fault))
        return bwl_complain(fault[0], fault[1].of, fault[2].of);
    if (set->start == NULL)
        return 0;
    char *value = bwl_room_for(strlen(set->start) + 1, 1); /* worlds borrow it */
    char *ttl   = strstr(strcpy(value, set->start), behind);
    if (ttl != NULL) {
        *ttl = '\0';
        ttl += sizeof behind - 1;
    }
    world->server.start_ms = 0;
    bwl_scenario_start(world, value);
    bool is_file  = world->options.program != NULL;
    bool has_time = world->options.rules != NULL && world->options.rules->unit_ns != 0;
    if (!is_file && (world->server.start != NULL || (world->server.stale && !has_time)))
        return bwl_complain(
            bwl_say("--start %s is not possible with %s", bwl_shown(set->start).of, world->name),
            world->server.stale ? "its values are no times"
                                : "a value is for the key of a lock file",
            "type: bowline lab try FILE.lock --start VALUE");
    if (ttl != NULL && (world->server.start == NULL ||
                        !bwl_duration_parse(&world->server.start_ms, ttl, strlen(ttl)) ||
                        world->server.start_ms == 0))
        return bwl_complain(
            bwl_say("--start: %s is not the time that a value has left", bwl_shown(ttl).of), "",
            "type: --start 'VALUE ttl 5s'");
    return 0;
}

int bwl_options_read(bwl_lab_options *ret_options, int argc, char **argv)
{
    bwl_lab_options set = {
        .faults_max = FAULTS_USUAL,
        .search     = { .states_max       = STATES_USUAL,
                        .seed             = 1,
                        .runs             = RUNS_USUAL,
                        .memory_max       = (size_t)1 << 30,
                        .progress_every_s = 0.2 },
    };
    int status = 0;

    if (!take_language(&argc, argv))
        return BWL_EXIT_USAGE;
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        set.help = BWL_HELP_COMMANDS;
    else
        status = read_command(&set, argv[1]);
    if (status == 0 && set.help == BWL_HELP_NONE)
        status = read_all(&set, argc - 1, argv + 1);
    if (status == 0 && set.help == BWL_HELP_NONE)
        status = check_operands(&set);
    if (set.help != BWL_HELP_NONE && argc > 2 && strcmp(argv[2], "format") == 0)
        set.help = BWL_HELP_FORMAT;
    *ret_options = set;
    return status;
}
