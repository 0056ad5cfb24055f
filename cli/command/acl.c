/*
 * acl.c -- `bowline acl`: prints the Redis ACL rule for a user with only these permissions.  The
 * rule is a command for redis-cli; lines after a # are for the reader.
 */
#include "cli/command/command.h"

#include <string.h>

#include "cli/settings/commands.h"
#include "cli/settings/config.h"
#include "cli/text/json.h"
#include "doctor/rights.h"

static const option_row rows[] = { ACL_OPTION_MAP(OPTION_ROW) };

static void write_features(void)
{
    (void)printf("\nfeatures:\n");
    for (unsigned i = 0; rights_feature_at(i) != NULL; i++)
        (void)printf("  %-19s %s\n", rights_feature_at(i)->name, rights_feature_at(i)->words);
}

const option_table acl_table = {
    OPTION_TABLE("acl", rows, ACL_OPERANDS, false),
    .before = "bowline acl redis://db.example                       for locks on that server\n"
              "bowline acl --user ann redis://db.example            the same for user ann\n"
              "bowline acl --feature token,status redis://db.example\n"
              "bowline acl --feature update --key 'seats:*' redis://db.example\n"
              "\n",
    .more   = write_features,
    .after  = "\n"
              "The rule is minimal: if any item is missing, the feature fails.\n"
              "Without --feature it is for the lock of the URL, by its protocol or profile.\n"
              "Without URL it is for the lock of bowline run: $BOWLINE_URL or the config file.\n"
              "bowline acl sends nothing to a server.\n",
};

static const char default_user[] = "bowline";

/* A word as redis-cli reads it, quoted if it contains a blank. */
static void write_word(const char *word)
{
    if (strpbrk(word, " \t\"'") == NULL) {
        (void)fputs(word, stdout);
        return;
    }
    (void)putchar('"');
    for (; *word != '\0'; word++) {
        if (*word == '"' || *word == '\\')
            (void)putchar('\\');
        (void)putchar(*word);
    }
    (void)putchar('"');
}

static void write_rule(const char *user, const rights *r)
{
    (void)printf("ACL SETUSER ");
    write_word(user);
    (void)printf(" reset on >PASSWORD resetchannels");
    for (unsigned i = 0; i < r->count; i++) {
        (void)putchar(' ');
        write_word(r->items[i]);
    }
    (void)putchar('\n');
}

static void write_text(const char *user, const rights *r, const rights *before_7)
{
    write_rule(user, r);
    for (unsigned i = 0; i < r->features_count; i++)
        if (r->features[i]->useful != NULL)
            (void)printf("# also useful: %s: %s\n", r->features[i]->useful,
                         r->features[i]->useful_words);
    if (r->more != NULL)
        (void)printf("# also useful: %s: %s\n", r->more, r->more_words);
    if (memcmp(r->items, before_7->items, sizeof r->items) != 0) {
        (void)printf("# for a server before 7.0: ");
        write_rule(user, before_7);
    }
    if (r->at_sentinels != NULL)
        (void)printf("# for sentinel-user= at each sentinel: ACL SETUSER USER reset on >PASSWORD "
                     "resetchannels %s\n",
                     r->at_sentinels);
}

static void write_items(const char *key, const rights *r, char kind)
{
    json_open(key, '[');
    for (unsigned i = 0; i < r->count; i++)
        if (r->items[i][0] == kind)
            json_text(NULL, r->items[i] + 1);
    json_close(']');
}

/* The words, as the items of an array. */
static void write_list(const char *key, const char *list)
{
    char item[RIGHTS_TEXT_MAX];

    json_open(key, '[');
    for (size_t size; list != NULL && *list != '\0'; list += size + (list[size] == ' ')) {
        size = strcspn(list, " ");
        (void)snprintf(item, sizeof item, "%.*s", (int)size, list);
        json_text(NULL, item);
    }
    json_close(']');
}

static void write_json(const char *user, const rights *r, const rights *before_7)
{
    json_open(NULL, '{');
    json_text("user", user);
    json_open("features", '[');
    for (unsigned i = 0; i < r->features_count; i++)
        json_text(NULL, r->features[i]->name);
    json_close(']');
    write_items("keys", r, '~');
    write_items("channels", r, '&');
    write_items("commands", r, '+');
    write_items("commands_before_7", before_7, '+');
    write_list("at_sentinels", r->at_sentinels);
    json_close('}');
}

/* True if a feature takes its keys from --key. */
static bool is_of_keys(const rights *r)
{
    for (unsigned i = 0; i < r->features_count; i++)
        if (r->features[i]->keys == RIGHTS_KEYS_GIVEN)
            return true;
    return false;
}

static int find(rights *ret_rights, const settings *s, const run_options *o, bool before_7,
                failure *reterr)
{
    char          why[RIGHTS_TEXT_MAX];
    rights_wanted wanted = {
        .url      = s->url,
        .features = o->acl.feature,
        .key      = o->acl.key,
        .before_7 = before_7,
    };

    if (o->acl.user != NULL && o->acl.user[0] == '\0')
        return options_fail(&acl_table, reterr, words_of("--user is empty"),
                            words_of("give the name of a Redis user"));
    if (rights_find(ret_rights, &wanted, why) < 0)
        return options_fail(&acl_table, reterr, words_of("there is no such rule"),
                            words_of("%s", why));
    if (o->acl.key != NULL && !is_of_keys(ret_rights))
        return options_fail(&acl_table, reterr, words_of("there is no such rule"),
                            words_of("--key belongs to --feature update; the keys of a lock come "
                                     "from its URL"));
    return 0;
}

static int answer(const settings *s, const run_options *o, failure *reterr)
{
    static rights now, before_7;

    if (find(&now, s, o, false, reterr) < 0 || find(&before_7, s, o, true, reterr) < 0)
        return -1;
    const char *user = o->acl.user != NULL   ? o->acl.user
                       : now.user[0] != '\0' ? now.user
                                             : default_user;
    if (o->wants_json)
        write_json(user, &now, &before_7);
    else
        write_text(user, &now, &before_7);
    return 0;
}

int acl_main(int argc, char **argv)
{
    return url_query_main(&acl_table, answer, argc, argv);
}
