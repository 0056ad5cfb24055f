/*
 * acl.c -- see acl.h.
 */
#include "sim/redis/core/acl.h"
#include "sim/redis/core/call.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/data/hash.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The rules of a user that are lists, and the commands that they allow; SUBCOMMANDS has words such
 * as "+config|get". */
typedef enum rule_list {
    RULES = 0,
    PASSWORDS,
    KEYS,
    CHANNELS,
    SUBCOMMANDS,
    COMMAND_RULES,
    COMMANDS,
    LISTS
} rule_list;

struct model_user {
    char       *name;
    model_table lists[LISTS]; /* by rule_list; RULES has a number before each, to keep repeats */
    bool        is_enabled;
    bool        needs_no_password;
    bool        has_all_channels;
    bool        starts_with_channels; /* Redis 6.2 */
};

static model_text rest_of(model_text text, size_t skipped)
{
    return (model_text){ text.at + skipped, text.size - skipped };
}

static void add(model_user *user, rule_list list, model_text text)
{
    bool is_new;

    (void)model_table_add(&user->lists[list], text, &is_new);
}

static void empty(model_user *user, rule_list list)
{
    model_table_clear(&user->lists[list], NULL);
}

/* ---- commands -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned    flags; /* any of them */
} categories[] = {
    { "all", UINT32_MAX },
    { "read", MODEL_CMD_READ },
    { "write", MODEL_CMD_WRITE },
    { "fast", MODEL_CMD_FAST },
    { "blocking", MODEL_CMD_BLOCKS },
    { "keyspace", MODEL_CAT_KEYSPACE },
    { "string", MODEL_CAT_STRING },
    { "hash", MODEL_CAT_HASH },
    { "list", MODEL_CAT_LIST },
    { "set", MODEL_CAT_SET },
    { "sortedset", MODEL_CAT_SORTEDSET },
    { "pubsub", MODEL_CAT_PUBSUB },
    { "connection", MODEL_CAT_CONNECTION },
    { "transaction", MODEL_CAT_TRANSACTION },
    { "scripting", MODEL_CAT_SCRIPTING },
    { "admin", MODEL_CAT_ADMIN },
    { "dangerous", MODEL_CAT_DANGEROUS },
    { "slow", 0 },
    { "bitmap", 0 },
    { "hyperloglog", 0 },
    { "geo", 0 },
    { "stream", 0 },
};

static void allow(model_user *user, const model_command *command, bool is_allowed)
{
    void *nothing;

    if (is_allowed)
        add(user, COMMANDS, model_text_of(command->name));
    else
        (void)model_table_remove(&user->lists[COMMANDS], model_text_of(command->name), &nothing);
}

/* flags: of the category; a command that has one of them belongs to it. */
static void set_flags(model_user *user, unsigned flags, bool with_slow, bool is_allowed)
{
    for (size_t i = 0; model_command_tables[i] != NULL; i++)
        for (const model_command *c = model_command_tables[i]; c->name != NULL; c++)
            if ((c->flags & flags) != 0 || flags == UINT32_MAX ||
                (with_slow && (c->flags & MODEL_CMD_FAST) == 0))
                allow(user, c, is_allowed);
}

static bool set_category(model_user *user, model_text name, bool is_allowed)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (!model_text_is(name, categories[i].name))
            continue;
        set_flags(user, categories[i].flags, model_text_is(name, "slow"), is_allowed);
        if (i == 0)
            empty(user, SUBCOMMANDS);
        return true;
    }
    return false;
}

/* NULL: no version has it. */
static const model_command *find_command(model_text name)
{
    for (size_t i = 0; model_command_tables[i] != NULL; i++)
        for (const model_command *c = model_command_tables[i]; c->name != NULL; c++)
            if (model_text_is(name, c->name))
                return c;
    return NULL;
}

/* text has its sign. */
static const char *set_command(model_user *user, model_text text)
{
    bool        is_allowed = text.at[0] == '+';
    model_text  name       = rest_of(text, 1);
    const char *bar        = name.size != 0 ? memchr(name.at, '|', name.size) : NULL;

    if (name.size != 0 && name.at[0] == '@')
        return set_category(user, rest_of(name, 1), is_allowed)
                   ? NULL
                   : "Unknown command or category name in ACL";
    if (bar != NULL)
        name.size = (size_t)(bar - name.at);
    const model_command *command = find_command(name);
    if (command == NULL)
        return "Unknown command or category name in ACL";
    if (bar == NULL) {
        allow(user, command, is_allowed);
        return NULL;
    }
    void *nothing;
    char *other = model_text_copy(text);
    other[0]    = is_allowed ? '-' : '+';
    (void)model_table_remove(&user->lists[SUBCOMMANDS], (model_text){ other, text.size }, &nothing);
    free(other);
    add(user, SUBCOMMANDS, text);
    return NULL;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void add_password(model_user *user, model_text password)
{
    char hash[MODEL_SHA256_TEXT + 1];

    model_sha256(hash, password);
    add(user, PASSWORDS, model_text_of(hash));
    user->needs_no_password = false;
}

static void all_commands(model_user *user, bool is_allowed)
{
    empty(user, COMMAND_RULES);
    add(user, COMMAND_RULES, model_text_of(is_allowed ? "+@all" : "-@all"));
    (void)set_category(user, model_text_of("all"), is_allowed);
}

/* has_all_channels: acl-pubsub-default. */
static void reset(model_user *user, bool has_all_channels)
{
    empty(user, PASSWORDS);
    empty(user, KEYS);
    empty(user, CHANNELS);
    user->is_enabled = user->needs_no_password = false;
    user->has_all_channels                     = has_all_channels;
    all_commands(user, false);
}

/* Rules that are words.  False: none of them. */
static bool set_word(model_user *user, model_text rule)
{
    if (model_text_is(rule, "on") || model_text_is(rule, "off")) {
        user->is_enabled = model_text_is(rule, "on");
    } else if (model_text_is(rule, "nopass") || model_text_is(rule, "resetpass")) {
        empty(user, PASSWORDS);
        user->needs_no_password = model_text_is(rule, "nopass");
    } else if (model_text_is(rule, "allkeys") || model_text_is(rule, "resetkeys")) {
        empty(user, KEYS);
        if (model_text_is(rule, "allkeys"))
            add(user, KEYS, model_text_of("*"));
    } else if (model_text_is(rule, "allchannels") || model_text_is(rule, "resetchannels")) {
        empty(user, CHANNELS);
        user->has_all_channels = model_text_is(rule, "allchannels");
    } else if (model_text_is(rule, "allcommands") || model_text_is(rule, "nocommands")) {
        all_commands(user, model_text_is(rule, "allcommands"));
    } else if (model_text_is(rule, "reset")) {
        reset(user, user->starts_with_channels);
    } else {
        return model_text_is(rule, "sanitize-payload") || model_text_is(rule, "clearselectors") ||
               model_text_is(rule, "skip-sanitize-payload");
    }
    return true;
}

static const char *add_pattern(model_user *user, rule_list list, model_text pattern)
{
    bool is_all  = model_text_is(pattern, "*");
    bool has_all = list == KEYS ? model_table_find(&user->lists[KEYS], model_text_of("*")) != NULL
                                : user->has_all_channels;

    if (has_all && !is_all)
        return list == KEYS
                   ? "Adding a pattern after the * pattern (or the 'allkeys' flag) is not "
                     "valid and does not have any effect. Try 'resetkeys' to start with an "
                     "empty list of patterns"
                   : "Adding a pattern after the * pattern (or the 'allchannels' flag) is "
                     "not valid and does not have any effect. Try 'resetchannels' to start "
                     "with an empty list of channels";
    if (is_all) {
        empty(user, list);
        user->has_all_channels = user->has_all_channels || list == CHANNELS;
    }
    if (list == KEYS || !is_all)
        add(user, list, pattern);
    return NULL;
}

static const char *set_rule(model_user *user, model_text rule)
{
    void *nothing;
    char  hash[MODEL_SHA256_TEXT + 1];

    if (rule.size == 0)
        return "Syntax error";
    if (set_word(user, rule))
        return NULL;
    switch (rule.at[0]) {
    case '>': add_password(user, rest_of(rule, 1)); return NULL;
    case '<':
        model_sha256(hash, rest_of(rule, 1));
        return model_table_remove(&user->lists[PASSWORDS], model_text_of(hash), &nothing)
                   ? NULL
                   : "The password you are trying to remove from the user does not exist";
    case '#': add(user, PASSWORDS, rest_of(rule, 1)); return NULL;
    case '~': return add_pattern(user, KEYS, rest_of(rule, 1));
    case '&': return add_pattern(user, CHANNELS, rest_of(rule, 1));
    case '+':
    case '-': {
        const char *why = set_command(user, rule);
        if (why == NULL) {
            bool is_all = model_text_is(rest_of(rule, 1), "@all");
            if (is_all)
                empty(user, COMMAND_RULES);
            add(user, COMMAND_RULES, rule);
        }
        return why;
    }
    case '%':
        if (rule.size > 4 && strncasecmp(rule.at, "%RW~", 4) == 0) {
            return add_pattern(user, KEYS, rest_of(rule, 4));
        }
    }
    return "Syntax error";
}

static void clear(model_user *user)
{
    for (int list = 0; list < LISTS; list++)
        model_table_clear(&user->lists[list], NULL);
    free(user->name);
}

static void free_user(void *memory)
{
    clear(memory);
    free(memory);
}

/* A user from its rules, each with a number before it. */
static const char *build(model_user *ret_user, const model_server *server, model_text name,
                         const model_table *before, const model_text *rules, size_t count,
                         size_t *ret_nth)
{
    size_t       at = 0;
    model_entry *entry;
    const char  *why = NULL;

    *ret_user                      = (model_user){ .name = model_text_copy(name) };
    ret_user->has_all_channels     = server->version == MODEL_REDIS_6_2;
    ret_user->starts_with_channels = ret_user->has_all_channels;
    all_commands(ret_user, false);
    while (before != NULL && (entry = model_table_next(before, &at)) != NULL) {
        model_text numbered = { entry->key, entry->size };
        add(ret_user, RULES, numbered);
        (void)set_rule(ret_user, rest_of(numbered, 4));
    }
    for (size_t i = 0; i < count && why == NULL; i++) {
        model_bytes numbered = { .size = 0 };
        model_bytes_print(&numbered, "%04u", ret_user->lists[RULES].count % 10000);
        model_bytes_add(&numbered, rules[i].at, rules[i].size);
        why      = set_rule(ret_user, rules[i]);
        *ret_nth = i;
        if (model_text_is(rules[i], "reset"))
            empty(ret_user, RULES);
        else
            add(ret_user, RULES, model_bytes_text(&numbered));
        model_bytes_free(&numbered);
    }
    return why;
}

static bool is_in(const model_user *user, rule_list list, model_text text, bool is_literal)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&user->lists[list], &at)) != NULL) {
        model_text pattern = { entry->key, entry->size };
        if (is_literal ? model_text_equal(text, pattern) : model_text_matches(text, pattern))
            return true;
    }
    return false;
}

/* The links of the user that have subscriptions without permission now. */
static void end_forbidden(model_server *server, const model_user *user)
{
    for (size_t i = 0; i < server->links.count && !user->has_all_channels; i++) {
        model_link *link = server->links.at[i];
        for (int kind = MODEL_CHANNEL; kind < MODEL_CHANNEL_KINDS && link->user == user; kind++) {
            const model_table *channels = model_channels_of(link, (model_channel_kind)kind);
            size_t             at       = 0;
            model_entry       *entry;
            while ((entry = model_table_next(channels, &at)) != NULL)
                if (!is_in(user, CHANNELS, (model_text){ entry->key, entry->size },
                           kind == MODEL_PATTERN))
                    model_link_end(link);
        }
    }
}

const char *model_acl_set(model_server *server, model_text name, const model_text *rules,
                          size_t count, size_t *ret_nth)
{
    model_user        *user = model_acl_find(server, name);
    model_user         next;
    bool               is_new;
    const model_table *before = user != NULL ? &user->lists[RULES] : NULL;
    const char        *why    = build(&next, server, name, before, rules, count, ret_nth);

    if (why != NULL) {
        clear(&next);
        return why;
    }
    if (user == NULL) {
        user                                            = model_allocate(sizeof *user);
        *model_table_add(&server->users, name, &is_new) = user;
    } else {
        clear(user);
    }
    *user = next;
    end_forbidden(server, user);
    return NULL;
}

void model_acl_begin(model_server *server)
{
    const model_text rules[] = { model_text_of("on"), model_text_of("nopass"), model_text_of("~*"),
                                 model_text_of("&*"), model_text_of("+@all") };
    size_t           nth;

    (void)model_acl_set(server, model_text_of("default"), rules, sizeof rules / sizeof *rules,
                        &nth);
}

void model_acl_end(model_server *server)
{
    model_table_clear(&server->users, free_user);
}

void model_acl_set_password(model_server *server, model_text password)
{
    model_bytes rule = { .size = 0 };
    size_t      nth;

    model_bytes_add_text(&rule, password.size != 0 ? ">" : "nopass");
    model_bytes_add(&rule, password.at, password.size);
    const model_text rules[] = { model_text_of("resetpass"), model_bytes_text(&rule) };
    (void)model_acl_set(server, model_text_of("default"), rules, 2, &nth);
    model_bytes_free(&rule);
}

bool model_acl_delete(model_server *server, model_text name)
{
    model_user *user = model_acl_find(server, name);
    void       *removed;

    if (user == NULL)
        return false;
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link = server->links.at[i];
        if (link->user != user)
            continue;
        link->user = model_acl_find(server, model_text_of("default"));
        model_link_end(link);
    }
    (void)model_table_remove(&server->users, name, &removed);
    free_user(removed);
    return true;
}

/* ---- questions ------------------------------------------------------------------------------- */

const char *model_acl_name(const model_user *user)
{
    return user->name;
}

const model_table *model_acl_users(const model_server *server)
{
    return &server->users;
}

model_user *model_acl_find(const model_server *server, model_text name)
{
    void **user = model_table_find(&server->users, name);

    return user != NULL ? *user : NULL;
}

model_user *model_acl_first_user(model_server *server)
{
    model_user *user = model_acl_find(server, model_text_of("default"));

    return user->is_enabled && user->needs_no_password ? user : NULL;
}

bool model_acl_needs_password(const model_server *server)
{
    return !model_acl_find(server, model_text_of("default"))->needs_no_password;
}

model_user *model_acl_authenticate(const model_server *server, model_text name, model_text password)
{
    model_user *user = model_acl_find(server, name);
    char        hash[MODEL_SHA256_TEXT + 1];

    if (user == NULL || !user->is_enabled)
        return NULL;
    if (user->needs_no_password)
        return user;
    model_sha256(hash, password);
    return model_table_find(&user->lists[PASSWORDS], model_text_of(hash)) != NULL ? user : NULL;
}

static bool may_run(const model_user *user, const model_command *command, const model_text *argv,
                    size_t argc)
{
    bool   may = model_table_find(&user->lists[COMMANDS], model_text_of(command->name)) != NULL;
    size_t at  = 0;
    model_entry *entry;

    if (argc < 2)
        return may;
    while ((entry = model_table_next(&user->lists[SUBCOMMANDS], &at)) != NULL) {
        size_t     size = strlen(command->name);
        model_text rule = { entry->key, entry->size };
        if (rule.size > size + 2 && strncasecmp(rule.at + 1, command->name, size) == 0 &&
            rule.at[size + 1] == '|' && rule.size - size - 2 == argv[1].size &&
            strncasecmp(rule.at + size + 2, argv[1].at, argv[1].size) == 0)
            may = rule.at[0] == '+';
    }
    return may;
}

/* starts_with_channels: Redis 6.2, where RESET and QUIT need a permission. */
static bool is_for_all(const model_user *user, const model_command *command)
{
    return (command->flags & MODEL_CMD_NOAUTH) != 0 &&
           (!user->starts_with_channels || strcmp(command->name, "auth") == 0 ||
            strcmp(command->name, "hello") == 0);
}

model_acl_answer model_acl_check(const model_user *user, const model_command *command,
                                 const model_text *argv, size_t argc)
{
    bool   is_channel = (command->flags & MODEL_CMD_CHANNELS) != 0;
    bool   is_pattern = (command->flags & MODEL_CMD_PATTERNS) != 0;
    size_t first;
    size_t last;
    size_t step;

    if (user == NULL)
        return MODEL_ACL_YES;
    if (!may_run(user, command, argv, argc) && !is_for_all(user, command))
        return MODEL_ACL_NOT_COMMAND;
    if (is_channel && user->has_all_channels)
        return MODEL_ACL_YES;
    if (!model_command_keys(command, argv, argc, &first, &last, &step))
        return MODEL_ACL_YES;
    for (size_t i = first; i <= last; i += step)
        if (!is_in(user, is_channel ? CHANNELS : KEYS, argv[i], is_pattern))
            return is_channel ? MODEL_ACL_NOT_CHANNEL : MODEL_ACL_NOT_KEY;
    return MODEL_ACL_YES;
}

/* ---- ACL GETUSER ----------------------------------------------------------------------------- */

static void show_list(model_call *call, const model_user *user, rule_list list, const char *prefix)
{
    model_bytes  text = { .size = 0 };
    size_t       at   = 0;
    model_entry *entry;

    while ((entry = model_table_next(&user->lists[list], &at)) != NULL) {
        if (text.size != 0)
            model_bytes_add(&text, " ", 1);
        model_bytes_add_text(&text, prefix);
        model_bytes_add(&text, entry->key, entry->size);
    }
    model_reply_bulk(call, model_bytes_text(&text));
    model_bytes_free(&text);
}

void model_acl_show(model_call *call, const model_user *user)
{
    size_t       at = 0;
    model_entry *entry;

    model_reply_map(call, 6);
    model_reply_text(call, "flags");
    model_reply_set(call, 1u + user->needs_no_password);
    model_reply_text(call, user->is_enabled ? "on" : "off");
    if (user->needs_no_password)
        model_reply_text(call, "nopass");
    model_reply_text(call, "passwords");
    model_reply_array(call, user->lists[PASSWORDS].count);
    while ((entry = model_table_next(&user->lists[PASSWORDS], &at)) != NULL)
        model_reply_bulk(call, (model_text){ entry->key, entry->size });
    model_reply_text(call, "commands");
    show_list(call, user, COMMAND_RULES, "");
    model_reply_text(call, "keys");
    show_list(call, user, KEYS, "~");
    model_reply_text(call, "channels");
    if (user->has_all_channels)
        model_reply_text(call, "&*");
    else
        show_list(call, user, CHANNELS, "&");
    model_reply_text(call, "selectors");
    model_reply_array(call, 0);
}
