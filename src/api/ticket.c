/*
 * ticket.c -- a hold that is passed on as a text: bowline_hold_export, bowline_hold_import,
 * bowline_ticket_name.
 *
 *      bowline-ticket 1 PROTOCOL PLACE FENCE VALUE NAME
 *
 * PLACE is a hash of 16 hexadecimal digits, FENCE a decimal number (0: none).  VALUE is what the
 * store has; its token makes the ticket a secret.  NAME goes on to the end and may have blanks.
 *
 * An export extends the hold first: so the lock lasts for a whole lease, replicas have it with
 * sync=, and a provisional grant is confirmed.  What is passed on is the lock in the store, also if
 * threads of this client hand it to each other.
 */
#include "api/handles.h"
#include "base/fault.h"
#include "core/text.h"
#include "runtime/local_groups.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICKET_KIND    "bowline-ticket"
#define TICKET_VERSION "1"

enum { TICKET_FIELDS = 6 /* before the name */, PLACE_DIGITS = 16 };

typedef struct ticket {
    bwl_passed_hold passed;
    const char     *name; /* in the text */
} ticket;

/* ---- the text -------------------------------------------------------------------------------- */

/* Cuts the next field off. False: there is none. */
static bool next_field(const char **ret_field, size_t *ret_size, const char **rest)
{
    const char *blank = strchr(*rest, ' ');

    if (blank == NULL || blank == *rest)
        return false;
    *ret_field = *rest;
    *ret_size  = (size_t)(blank - *rest);
    *rest      = blank + 1;
    return true;
}

static bool copy_field(char *ret_text, size_t capacity, const char *field, size_t size)
{
    if (size >= capacity)
        return false;
    memcpy(ret_text, field, size);
    ret_text[size] = '\0';
    return true;
}

static bool read_place(uint64_t *ret_place, const char *field, size_t size)
{
    if (size != PLACE_DIGITS || strspn(field, "0123456789abcdef") < size)
        return false;
    *ret_place = strtoull(field, NULL, 16);
    return true;
}

static bool is_word(const char *field, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(field, word, size) == 0;
}

static int read_ticket(ticket *ret_ticket, const char *text, bowline_error *reterr)
{
    const char *fields[TICKET_FIELDS];
    size_t      sizes[TICKET_FIELDS];
    ticket     *t     = ret_ticket;
    unsigned    count = 0;

    *t = (ticket){ .name = text };
    if (strnlen(text, BOWLINE_TICKET_MAX) < BOWLINE_TICKET_MAX)
        while (count < TICKET_FIELDS && next_field(&fields[count], &sizes[count], &t->name))
            count++;
    if (count == 0 || !is_word(fields[0], sizes[0], TICKET_KIND))
        return bwl_fail(reterr, BWL_STATUS_USAGE, "this is not a ticket of bowline");
    if (count > 1 && !is_word(fields[1], sizes[1], TICKET_VERSION))
        return bwl_fail(reterr, BWL_STATUS_UNSUPPORTED,
                        "the ticket has a version that this bowline does not know");
    if (count < TICKET_FIELDS ||
        !copy_field(t->passed.protocol, sizeof t->passed.protocol, fields[2], sizes[2]) ||
        !read_place(&t->passed.place, fields[3], sizes[3]) ||
        !bwl_number_parse(&t->passed.fence, fields[4], sizes[4], UINT64_MAX) ||
        !copy_field(t->passed.value, sizeof t->passed.value, fields[5], sizes[5]) ||
        bwl_name_fault(t->name, strlen(t->name)) != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE, "the ticket is damaged");
    return BOWLINE_OK;
}

int bowline_ticket_name(char ret_name[BOWLINE_NAME_MAX + 1], const char *text,
                        bowline_error *reterr)
{
    ticket t;

    if (ret_name == NULL || text == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_ticket_name needs a place for the name, and a ticket");
    int status = read_ticket(&t, text, reterr);
    explicit_bzero(&t.passed, sizeof t.passed);
    if (status == BOWLINE_OK)
        memcpy(ret_name, t.name, strlen(t.name) + 1);
    return status;
}

/* ---- export ---------------------------------------------------------------------------------- */

/* UNSUPPORTED, with the reason, before anything is sent. */
static int check_kind(const bwl_engine *engine, const bwl_protocol *protocol,
                      const bwl_compat_rules *rules, const char *name, bowline_error *reterr)
{
    const char *why = bwl_why_not_passed(engine, protocol, rules);

    assert(why != NULL || engine->passing != NULL);
    return why == NULL
               ? BOWLINE_OK
               : bwl_fail(reterr, BWL_STATUS_UNSUPPORTED, "%s cannot be passed on: %s", name, why);
}

/* locked: describes the hold for another client. */
static int describe(bwl_passed_hold *ret_passed, bwl_lock *lock, bowline_error *reterr)
{
    bwl_lock *in_store = bwl_lock_in_store(lock);

    if (bwl_hold_left(&lock->base.hold, bwl_shard_now(lock->shard)) <= 1 || in_store == NULL)
        return bwl_report_loss(lock, reterr);
    const bwl_hold *hold = &in_store->base.hold;
    int status = check_kind(in_store->engine, hold->protocol, hold->request.options->rules,
                            lock->base.name, reterr);
    if (status < 0)
        return status;
    in_store->engine->passing->pass(&in_store->base, ret_passed);
    ret_passed->fence = lock->base.hold.fence;
    return BOWLINE_OK;
}

/* locked: ends the hold. */
static int give_up(bwl_lock *lock, char ret_ticket[BOWLINE_TICKET_MAX], bowline_error *reterr)
{
    bwl_passed_hold passed;

    if (lock->operation != NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "something is being done with %s already: finish that first",
                        lock->base.name);
    int status = bwl_check_only_reference(lock, "export", reterr);
    if (status == BOWLINE_OK && lock->engine->view.election != NULL)
        lock->engine->view.election->withdraw(&lock->base); /* it may read from the connection */
    if (status == BOWLINE_OK)
        status = describe(&passed, lock, reterr);
    if (status < 0)
        return status;
    (void)snprintf(ret_ticket, BOWLINE_TICKET_MAX,
                   TICKET_KIND " " TICKET_VERSION " %s %016" PRIx64 " %" PRIu64 " %s %s",
                   passed.protocol, passed.place, passed.fence, passed.value, lock->base.name);
    explicit_bzero(&passed, sizeof passed);
    bwl_lock_pass_on(lock);
    return BOWLINE_OK;
}

/* locked: whether it can be passed on at all; nothing must be sent for a lock that cannot. */
static int check_hold(bwl_lock *lock, bowline_error *reterr)
{
    bwl_passed_hold passed;

    if (lock->base.hold.request.rest_ms != 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "%s was acquired with once_ms or at_least_ms: only this client knows when "
                        "they end",
                        lock->base.name);
    if (lock->base.hold.request.share.weight > 0)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "%s is shared: only an exclusive hold can be passed on", lock->base.name);
    int status = bwl_check_only_reference(lock, "export", reterr);
    if (status < 0)
        return status;
    status = describe(&passed, lock, reterr);
    explicit_bzero(&passed, sizeof passed);
    return status;
}

/* NULL: only checks whether it can be passed on. */
static int end_hold(bwl_lock *lock, char *ret_ticket, bowline_error *reterr)
{
    bwl_shard *shard = lock->shard;

    BWL_CALL(shard, reterr);
    if (call.status < 0)
        return call.status;
    bwl_shard_enter(shard);
    int status = ret_ticket != NULL ? give_up(lock, ret_ticket, reterr) : check_hold(lock, reterr);
    bwl_shard_leave(shard);
    return status;
}

int bowline_hold_export(bowline_hold *hold, char ret_ticket[BOWLINE_TICKET_MAX],
                        bowline_error *reterr)
{
    if (hold == NULL || ret_ticket == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_hold_export needs a hold, and a place for the ticket");
    int status = end_hold(bwl_lock_of(hold), NULL, reterr);
    if (status == BOWLINE_OK)
        status = bowline_extend(hold, 0, reterr);
    if (status == BOWLINE_OK)
        status = end_hold(bwl_lock_of(hold), ret_ticket, reterr);
    return status;
}

/* ---- import ---------------------------------------------------------------------------------- */

static int new_lock(bwl_lock **ret_lock, const char **ret_token, bwl_shard *shard, const ticket *t,
                    const bwl_terms *terms, bowline_error *reterr)
{
    const bwl_engine   *engine   = shard->host.engine;
    const bwl_settings *settings = &shard->host.settings;
    const bwl_protocol *chosen   = settings->protocol;
    bwl_lock           *lock;
    int                 status = check_kind(engine, chosen != NULL ? chosen : engine->protocol,
                                            settings->options.rules, t->name, reterr);

    if (status == BOWLINE_OK)
        status = bwl_lock_new(&lock, shard, engine, t->name, terms, reterr);
    if (status < 0)
        return status;
    status = engine->passing->adopt(&lock->base, &t->passed, ret_token, reterr);
    if (status < 0)
        bwl_lock_drop_handle(lock);
    else
        *ret_lock = lock;
    return status;
}

/* locked */
static int adopt(bowline_hold **ret_hold, bwl_shard *shard, const ticket *t, const bwl_terms *terms,
                 bwl_ms wait_ms, bowline_error *reterr)
{
    bwl_operation operation;
    const char   *token;
    bwl_lock     *lock;

    if (wait_ms <= 0)
        bwl_loop_catch_up(&shard->loop);
    int status = new_lock(&lock, &token, shard, t, terms, reterr);
    if (status < 0)
        return status;
    bwl_lock_adopt(lock, &operation, token, wait_ms);
    status = bwl_end_acquire(ret_hold, &operation, reterr);
    if (status == BOWLINE_LOST)
        return bwl_fail(reterr, BWL_STATUS_LOST,
                        "%s: the ticket was used already, or the lock has ended", t->name);
    return status;
}

int bowline_hold_import(bowline_hold **ret_hold, bowline_client *client, const char *text,
                        const bowline_acquire_options *options, bowline_error *reterr)
{
    bowline_acquire_options o;
    bowline_hold           *hold = NULL;
    bwl_terms               terms;
    bwl_ms                  wait_ms;
    ticket                  t;

    if (ret_hold == NULL || client == NULL || text == NULL)
        return bwl_fail(reterr, BWL_STATUS_USAGE,
                        "bowline_hold_import needs a place for the hold, a client and a ticket");
    BWL_CALL(client->first, reterr);
    if (call.status < 0)
        return call.status;
    int status = bwl_take_acquire_options(&o, &wait_ms, client->first, options, reterr);
    if (status == BOWLINE_OK && (o.once_ms != 0 || o.at_least_ms != 0))
        status = bwl_fail(reterr, BWL_STATUS_USAGE,
                          "a hold that is imported has neither once_ms nor at_least_ms");
    if (status == BOWLINE_OK && o.mode != BOWLINE_EXCLUSIVE)
        status = bwl_fail(reterr, BWL_STATUS_USAGE, "a hold that is imported is exclusive");
    if (status == BOWLINE_OK)
        status = read_ticket(&t, text, reterr);
    if (status < 0)
        return status;
    terms  = bwl_acquire_terms(client->first, &o);
    status = adopt(&hold, client->first, &t, &terms, wait_ms, reterr);
    explicit_bzero(&t, sizeof t);
    if (status == BOWLINE_OK)
        status = bwl_keep_hold(&hold, reterr);
    if (status == BOWLINE_OK)
        *ret_hold = hold;
    return status;
}
