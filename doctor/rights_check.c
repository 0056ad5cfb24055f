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

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Each command of a list of permissions, as it is sent.  K: a key; C: a channel; S: the hash of a
 * script. */
/* clang-format off */
static const char *const forms[] = {
    "EVAL return 1 K", "EVALSHA S 1 K", "SSUBSCRIBE C", "SPUBLISH C x", "SUBSCRIBE C",
    "PUBLISH C x", "GET K", "SET K x", "DEL K", "EXISTS K", "TYPE K", "INCR K", "TIME",
    "PERSIST K", "EXPIRE K 1", "PEXPIRE K 1", "PEXPIREAT K 1", "TTL K", "PTTL K", "ZADD K 1 x",
    "ZREM K x", "ZPOPMIN K", "ZSCORE K x", "ZRANK K x", "ZCARD K", "ZREVRANGE K 0 0",
    "ZRANGEBYSCORE K 0 0", "ZREMRANGEBYSCORE K 0 0", "HGET K x", "HSET K x x", "HDEL K x",
    "HMGET K x", "HEXISTS K x", "HLEN K", "HKEYS K", "MGET K", "GETRANGE K 0 1", "SETNX K x",
    "GETSET K x", "LPUSH K x", "LTRIM K 0 0", "CLIENT KILL ID 1", "SCRIPT EXISTS S", "WAIT 0 1",
    "ASKING", "CLUSTER SLOTS",
};
/* clang-format on */

/* Commands that cannot be sent in a transaction. */
static const char *const not_sent[] = { "client|tracking", "info",  "select", "watch",
                                        "unwatch",         "multi", "exec" };

enum {
    FORMS     = sizeof forms / sizeof forms[0],
    NOT_SENT  = sizeof not_sent / sizeof not_sent[0],
    KEY_ROOM  = 1100,
    LINE_ROOM = 3000,
};

static const char no_script[] = "0000000000000000000000000000000000000000";

/* ---- one command ----------------------------------------------------------------------------- */

typedef enum verdict {
    VERDICT_GRANTED = 1,
    VERDICT_NO_COMMAND,
    VERDICT_NO_KEY,
    VERDICT_NO_CHANNEL,
    VERDICT_NOT_KNOWN, /* the server has no such command */
} verdict;

/* The error shows which of the three it is; its text differs between versions. */
static verdict verdict_of(const visit *v, bool is_error)
{
    const char *text = v->link.text;

    if (!is_error)
        return VERDICT_GRANTED;
    if (strncmp(text, "ERR unknown command", 19) == 0)
        return VERDICT_NOT_KNOWN;
    if (!visit_is_denied(v))
        return VERDICT_GRANTED; /* another error, which an earlier check reports */
    if (strstr(text, "channel") != NULL)
        return VERDICT_NO_CHANNEL;
    return strstr(text, " a key") != NULL || strstr(text, "the keys") != NULL ? VERDICT_NO_KEY
                                                                              : VERDICT_NO_COMMAND;
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

/* NULL: it cannot be sent in a transaction. */
static const char *form_of(const char *command)
{
    for (unsigned i = 0; i < FORMS; i++)
        if (is_form_of(forms[i], command))
            return forms[i];
    for (unsigned i = 0; i < NOT_SENT; i++)
        if (strcmp(not_sent[i], command) == 0)
            return NULL;
    bwl_unreachable("a right that the doctor does not know");
}

typedef struct samples {
    char key[KEY_ROOM];
    char channel[KEY_ROOM];
} samples;

static verdict ask_verdict(visit *v, const char *form, const samples *s)
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
    return verdict_of(v, type == '-');
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

static void check_commands(visit *v, const rights *r, samples *s, missing *ret_missing,
                           const char **ret_granted)
{
    for (unsigned i = 0; i < r->count && !v->is_dead; i++) {
        const char *form = r->items[i][0] == '+' ? form_of(r->items[i] + 1) : NULL;
        if (form == NULL)
            continue;
        verdict found = ask_verdict(v, form, s);
        ret_missing->looked_at++;
        if (found == VERDICT_NO_COMMAND)
            add(ret_missing->items, r->items[i]);
        else if (found == VERDICT_NOT_KNOWN)
            add(ret_missing->unknown, r->items[i] + 1);
        /* Prefer a command that writes: it checks a key for writing. */
        else if (strchr(form, 'K') != NULL &&
                 (*ret_granted == NULL || strcmp(form, "SET K x") == 0))
            *ret_granted = form;
    }
}

static void check_keys(visit *v, const rights *r, samples *s, missing *ret_missing,
                       const char *granted)
{
    for (unsigned i = 0; i < r->count && !v->is_dead; i++) {
        if (r->items[i][0] != '~' || granted == NULL)
            continue;
        write_sample(s->key, r->items[i] + 1);
        ret_missing->looked_at++;
        if (ask_verdict(v, granted, s) == VERDICT_NO_KEY)
            add(ret_missing->items, r->items[i]);
    }
}

static void check_channels(visit *v, const rights *r, samples *s, missing *ret_missing)
{
    const char *says = form_of(v->major >= 7 ? "spublish" : "publish");

    for (unsigned i = 0; i < r->count && !v->is_dead; i++) {
        if (r->items[i][0] != '&')
            continue;
        write_sample(s->channel, r->items[i] + 1);
        ret_missing->looked_at++;
        if (ask_verdict(v, says, s) == VERDICT_NO_CHANNEL)
            add(ret_missing->items, r->items[i]);
    }
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
    check_commands(v, r, &s, ret_missing, &granted);
    check_keys(v, r, &s, ret_missing, granted);
    check_channels(v, r, &s, ret_missing);
    if (!v->is_dead)
        (void)visit_ask(v, "DISCARD");
    return !v->is_dead;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void report_lock(visit *v, const missing *l)
{
    const char     *name = v->target->protocol->name;
    doctor_finding *f    = visit_find(v, "rights", DOCTOR_FINE);

    if (l->unknown[0] != '\0') {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "the server has no command %.200s", l->unknown);
        visit_why(f, "protocol %s needs it: acquire is REFUSED, or release fails", name);
        visit_type(f, "remove its rename-command from redis.conf, or use another protocol: "
                      "bowline acl");
    } else if (l->items[0] != '\0') {
        f->grade = DOCTOR_FAILURE;
        visit_what(f, "user %.60s lacks: %.300s", visit_user(v), l->items);
        visit_why(f, "protocol %s needs it: acquire is REFUSED, or release fails", name);
        visit_type(f, "ACL SETUSER %.60s %.300s", visit_user(v), l->items);
    } else {
        visit_what(f, "user %.60s has all permissions of protocol %s (%u checked)", visit_user(v),
                   name, l->looked_at);
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
