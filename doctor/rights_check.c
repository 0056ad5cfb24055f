/*
 * rights_check.c -- checks the permissions of the user without running a command.
 *
 *      MULTI
 *      an unknown command                   the transaction can now only be discarded
 *      PING                                 QUEUED: this is a transaction
 *      each command, with a key of ours     QUEUED or NOPERM: the server checks before it queues
 *      DISCARD
 *
 * Nothing runs: the server has marked the transaction as broken before the first command that could
 * change something, and a lost connection discards it.  No command that writes is sent before one
 * was QUEUED, in case a proxy does not know transactions.
 */
#include "doctor/rights.h"
#include "doctor/visit.h"
#include "protocol/lock_file/program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The form of a command that lock files have, by the number of its arguments. */
#define ARGUMENTS_0
#define ARGUMENTS_1           " K"
#define ARGUMENTS_2           " K 1"
#define ARGUMENTS_3           " K 1 1"
#define FORM(name, few, many) #name ARGUMENTS_##few,

/* Each command of a list of permissions, as it is sent.  K: a key; C: a channel; S: the hash of a
 * script.  The first form of a command counts. */
/* clang-format off */
static const char *const forms[] = {
    "EVAL return 1 K", "EVALSHA S 1 K", "SSUBSCRIBE C", "SPUBLISH C x", "SUBSCRIBE C",
    "PUBLISH C x", "GET K", "SET K x", "DEL K", "EXISTS K", "TYPE K", "INCR K", "TIME",
    "PERSIST K", "EXPIRE K 1", "PEXPIRE K 1", "PEXPIREAT K 1", "TTL K", "PTTL K", "ZADD K 1 x",
    "ZREM K x", "ZPOPMIN K", "ZSCORE K x", "ZRANK K x", "ZCARD K", "ZREVRANGE K 0 0",
    "ZRANGEBYSCORE K 0 0", "ZREMRANGEBYSCORE K 0 0", "HGET K x", "HSET K x x", "HDEL K x",
    "HMGET K x", "HEXISTS K x", "HLEN K", "HKEYS K", "MGET K", "GETRANGE K 0 1", "SETNX K x",
    "GETSET K x", "LPUSH K x", "LTRIM K 0 0", "CLIENT KILL ID 1", "SCRIPT EXISTS S", "WAIT 0 1",
    "ASKING", "CLUSTER SLOTS", "SCAN 0", "DBSIZE", BWL_CALL_WORDS(FORM)
};
/* clang-format on */

/* Commands that cannot be sent in a transaction. */
static const char *const not_sent[] = { "client|tracking", "client|caching", "info",  "select",
                                        "watch",           "unwatch",        "multi", "exec" };

enum {
    FORMS     = sizeof forms / sizeof forms[0],
    NOT_SENT  = sizeof not_sent / sizeof not_sent[0],
    KEY_ROOM  = 1100,
    LINE_ROOM = 3000,
};

static const char no_script[] = "0000000000000000000000000000000000000000";

/* ---- one command ----------------------------------------------------------------------------- */

/* What the user lacks: the kind of an item of rights; or NOT_KNOWN: the server has no such
 * command. */
enum { GRANTED = 0, NO_COMMAND = '+', NO_KEY = '~', NO_CHANNEL = '&', NOT_KNOWN = '?' };

/* The error shows which of them it is; its text differs between versions. */
static char what_lacks(const visit *v, bool is_error)
{
    const char *text = v->link.text;

    if (!is_error)
        return GRANTED;
    if (strncmp(text, "ERR unknown command", 19) == 0)
        return NOT_KNOWN;
    if (!visit_is_denied(v))
        return GRANTED; /* another error, which an earlier check reports */
    if (strstr(text, "channel") != NULL)
        return NO_CHANNEL;
    return strstr(text, " a key") != NULL || strstr(text, "the keys") != NULL ? NO_KEY : NO_COMMAND;
}

static void write_sample(char ret_name[KEY_ROOM], const char *pattern)
{
    size_t size = 0;

    for (const char *at = pattern; *at != '\0' && size + 24 < KEY_ROOM; at++) {
        if (*at == '*') {
            memcpy(ret_name + size, "bowline-doctor", 14);
            size += 14;
        } else if (*at == '?') {
            ret_name[size++] = 'q';
        } else {
            if (*at == '\\' && at[1] != '\0')
                at++;
            ret_name[size++] = *at;
        }
    }
    ret_name[size] = '\0';
}

/* Whether `form` sends this command: "client|kill" is CLIENT KILL. */
static bool is_form_of(const char *form, const char *command)
{
    while (*command != '\0' &&
           tolower((unsigned char)*form) == (*command == '|' ? ' ' : *command)) {
        form++;
        command++;
    }
    return *command == '\0' && (*form == '\0' || *form == ' ');
}

/* NULL: it cannot be sent in a transaction; or only a script of a lock file calls it, and its
 * arguments are not known. */
static const char *form_of(const char *command)
{
    for (unsigned i = 0; i < NOT_SENT; i++)
        if (strcmp(not_sent[i], command) == 0)
            return NULL;
    for (unsigned i = 0; i < FORMS; i++)
        if (is_form_of(forms[i], command))
            return forms[i];
    return NULL;
}

typedef struct samples {
    char key[KEY_ROOM];
    char channel[KEY_ROOM];
} samples;

static char try(visit *v, const char *form, const samples *s)
{
    char        text[64];
    const char *words[8];
    unsigned    count = 0;
    char       *rest;

    (void)snprintf(text, sizeof text, "%s", form);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        words[count++] = strcmp(word, "K") == 0   ? s->key
                         : strcmp(word, "C") == 0 ? s->channel
                         : strcmp(word, "S") == 0 ? no_script
                                                  : word;
    int type = link_ask(&v->link, words, count);
    if (type < 0)
        v->is_dead = true;
    return what_lacks(v, type == '-');
}

/* ---- the discarded transaction --------------------------------------------------------------- */

static bool is_queued(const visit *v, const char *answer)
{
    return answer != NULL && strcmp(v->link.text, "QUEUED") == 0;
}

/* Begins the transaction.  False: not possible, and reported. */
static bool begin(visit *v)
{
    static const char *const harmless[] = { "PING", "TIME", "GET bowline:{bowline-doctor}" };

    if (visit_ask(v, "MULTI") == NULL) {
        visit_cannot(v, "rights", "permissions of the user", "+multi +discard");
        return false;
    }
    (void)visit_ask(v, "BOWLINE.DOCTOR");
    for (unsigned i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (is_queued(v, visit_ask(v, harmless[i])))
            return true;
    (void)visit_ask(v, "DISCARD");
    if (!v->is_dead) {
        doctor_finding *f = visit_find(v, "rights", DOCTOR_UNKNOWN);
        visit_what(f, "permissions of the user: not checked, MULTI does not start a transaction "
                      "here");
        visit_type(f, "ACL SETUSER %.60s +ping", visit_user(v));
    }
    return false;
}

/* ---- a list of rights ------------------------------------------------------------------------ */

typedef struct missing {
    char     items[LINE_ROOM]; /* "+zadd ~lock:*": permissions to grant */
    char     unknown[LINE_ROOM];
    unsigned looked_at;
} missing;

static void add(char line[LINE_ROOM], const char *item)
{
    size_t size = strlen(line);

    (void)snprintf(line + size, LINE_ROOM - size, "%s%s", size > 0 ? " " : "", item);
}

static const char *find_item(const rights *r, char kind)
{
    for (unsigned i = 0; i < r->count; i++)
        if (r->items[i][0] == kind)
            return r->items[i] + 1;
    return "";
}

/* Checks an item.  `granted` is a command with a key that the user may run; NULL: none yet. */
static void look_at(visit *v, const char *item, samples *s, missing *ret_missing,
                    const char **granted)
{
    const char *form = *granted;

    if (item[0] == '~')
        write_sample(s->key, item + 1);
    else if (item[0] == '&')
        write_sample(s->channel, item + 1);
    if (item[0] != '~')
        form = form_of(item[0] == '+' ? item + 1 : v->major >= 7 ? "spublish" : "publish");
    if (form == NULL)
        return;
    char lacks = try(v, form, s);
    ret_missing->looked_at++;
    if (lacks == item[0])
        add(ret_missing->items, item);
    else if (item[0] == '+' && lacks == NOT_KNOWN)
        add(ret_missing->unknown, item + 1);
    /* Prefer a command that writes: it checks a key for writing. */
    else if (item[0] == '+' && strchr(form, 'K') != NULL &&
             (*granted == NULL || strcmp(form, "SET K x") == 0))
        *granted = form;
}

/* Checks a list in its own transaction. */
static bool look(visit *v, const rights *r, missing *ret_missing)
{
    static samples s;
    const char    *granted = NULL;

    *ret_missing = (missing){ .looked_at = 0 };
    write_sample(s.key, find_item(r, '~'));
    write_sample(s.channel, find_item(r, '&'));
    if (!begin(v))
        return false;
    for (const char *kind = "+~&"; *kind != '\0'; kind++)
        for (unsigned i = 0; i < r->count && !v->is_dead; i++)
            if (r->items[i][0] == *kind)
                look_at(v, r->items[i], &s, ret_missing, &granted);
    if (!v->is_dead)
        (void)visit_ask(v, "DISCARD");
    return !v->is_dead;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void report_lock(visit *v, const missing *l)
{
    const char     *name    = v->target->protocol->name;
    bool            has_all = l->unknown[0] == '\0' && l->items[0] == '\0';
    doctor_finding *f       = visit_find(v, "rights", has_all ? DOCTOR_FINE : DOCTOR_FAILURE);

    if (has_all) {
        visit_what(f, "user %.60s has all permissions of protocol %s (%u checked)", visit_user(v),
                   name, l->looked_at);
        return;
    }
    visit_why(f, "protocol %s needs it: acquire is REFUSED, or release fails", name);
    if (l->unknown[0] != '\0') {
        visit_what(f, "the server has no command %.200s", l->unknown);
        visit_type(f, "remove its rename-command from redis.conf, or use another protocol: "
                      "bowline acl");
    } else {
        visit_what(f, "user %.60s lacks: %.300s", visit_user(v), l->items);
        visit_type(f, "ACL SETUSER %.60s %.300s", visit_user(v), l->items);
    }
}

static bool find_rights(const visit *v, const char *features, rights *ret_rights)
{
    char          why[RIGHTS_TEXT_MAX];
    rights_wanted wanted = {
        .url      = v->url,
        .features = features,
        .before_7 = v->major != 0 && v->major < 7,
    };

    return rights_find(ret_rights, &wanted, why) == 0;
}

static void check_status(visit *v)
{
    static rights  r;
    static missing l;

    if (v->is_dead || !find_rights(v, "status", &r) || !look(v, &r, &l) || l.items[0] == '\0')
        return;
    doctor_finding *f = visit_find(v, "rights", DOCTOR_NOTE);
    visit_what(f, "user %.60s may not query the holder of a lock", visit_user(v));
    visit_why(f, "a waiter does not see who holds the lock");
    visit_type(f, "ACL SETUSER %.60s %.300s", visit_user(v), l.items);
}

static void check_useful(visit *v, const char *useful, const char *with_it)
{
    static rights  r;
    static missing l;

    if (v->is_dead || useful == NULL)
        return;
    r = (rights){ .count = 0 };
    for (const char *at = useful; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        (void)snprintf(r.items[r.count++], RIGHTS_ITEM_MAX, "%.*s", (int)size, at);
        at += size;
    }
    if (!look(v, &r, &l) || l.items[0] == '\0')
        return;
    doctor_finding *f = visit_find(v, "rights", DOCTOR_NOTE);
    visit_what(f, "user %.60s lacks %.200s, which is useful", visit_user(v), l.items);
    visit_why(f, "with it: %s", with_it);
    visit_type(f, "ACL SETUSER %.60s %.200s", visit_user(v), l.items);
}

void visit_rights(visit *v)
{
    static rights  r;
    static missing l;

    if (v->is_dead || !find_rights(v, NULL, &r) || !look(v, &r, &l))
        return;
    report_lock(v, &l);
    if (l.items[0] != '\0')
        return; /* required permissions first */
    check_status(v);
    check_useful(v, r.features[0]->useful, r.features[0]->useful_words);
    check_useful(v, r.more, r.more_words);
}
