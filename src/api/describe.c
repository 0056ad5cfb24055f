/*
 * describe.c -- see describe.h; and bowline_who, which is the same question put by the caller.
 */
#include "api/describe.h"
#include "api/uncancelled.h"
#include "engine/fault.h"

#include <stdio.h>
#include <string.h>

/* locked */
static int ask_who(bwl_client *client, const char *name, bwl_holder *ret_holder, bwl_fault *fault)
{
    bwl_terms terms = { .lease_ms = BWL_LEASE_DEFAULT_MS, .max_hold_ms = BWL_NEVER };
    bwl_lock *lock;
    int       status = bwl_lock_new(&lock, client, name, &terms, fault);

    if (status < 0)
        return status;
    status = client->engine->who(lock, ret_holder, fault);
    bwl_lock_unwanted(lock);
    return status;
}

/* "deploy@web-2 pid 4121 (pg_dump)", as far as it is known. */
static void name_holder(char *ret_text, size_t capacity, const bwl_holder *h)
{
    const char *at = h->host[0] != '\0' ? "@" : "";
    char        process[40];
    int         size = 0;

    ret_text[0] = '\0';
    if (h->user[0] != '\0')
        size = snprintf(ret_text, capacity, ": by %s%s%s", h->user, at, h->host);
    if (h->pid != 0 && size >= 0 && (size_t)size < capacity) {
        (void)snprintf(process, sizeof process, " pid %lld", (long long)h->pid);
        size += snprintf(ret_text + size, capacity - (size_t)size, "%s", process);
    }
    if (h->program[0] != '\0' && size >= 0 && (size_t)size < capacity)
        (void)snprintf(ret_text + size, capacity - (size_t)size, " (%s)", h->program);
}

void bwl_describe_holder(bwl_client *client, const char *name, bowline_error *error)
{
    bwl_holder  holder;
    char        who[3 * BWL_HOLDER_TEXT_MAX + 48];
    size_t      size = strlen(error->text);
    const char *mark;

    if (ask_who(client, name, &holder, NULL) < 0 || !holder.held)
        return; /* the text as it is does without it */
    name_holder(who, sizeof who, &holder);
    mark = holder.note[0] != '\0' ? "; " : "";
    (void)snprintf(error->text + size, sizeof error->text - size, "%s%s%s", who, mark,
                   holder.note); /* cutting is meant */
}

static void copy(bowline_holder *ret_public, const bwl_holder *h)
{
    ret_public->held     = h->held;
    ret_public->foreign  = h->foreign;
    ret_public->left_ms  = h->left_ms;
    ret_public->since_ms = h->since_ms;
    ret_public->pid      = h->pid;
    ret_public->fence    = h->fence;
    memcpy(ret_public->user, h->user, sizeof h->user);
    memcpy(ret_public->host, h->host, sizeof h->host);
    memcpy(ret_public->program, h->program, sizeof h->program);
    memcpy(ret_public->note, h->note, sizeof h->note);
}

int bowline_who(bowline_client *client, const char *name, bowline_holder *ret_holder,
                bowline_error *reterr)
{
    BWL_UNCANCELLED;
    bwl_holder holder;

    if (client == NULL || name == NULL || ret_holder == NULL)
        return bwl_fail(bwl_fault_of(reterr), BWL_STATUS_USAGE,
                        "bowline_who needs a client, a name and a place for the holder");
    if (ret_holder->size != sizeof *ret_holder)
        return bwl_fail(bwl_fault_of(reterr), BWL_STATUS_USAGE,
                        "the size field of the holder is not sizeof(bowline_holder)");
    int status = bwl_check_fork(client->inner, reterr);
    if (status < 0)
        return status;
    bwl_client_lock(client->inner);
    status = ask_who(client->inner, name, &holder, bwl_fault_of(reterr));
    bwl_client_unlock(client->inner);
    if (status == BOWLINE_OK)
        copy(ret_holder, &holder);
    return status;
}
