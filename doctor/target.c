/*
 * target.c -- see target.h.
 */
#include "doctor/target.h"
#include "engine/file_seat.h"
#include "engine/redis_store.h"

#include <stdio.h>
#include <string.h>

static void name_place(doctor_target *target)
{
    const bwl_client *client = target->client;
    const char       *scheme = client->engine->scheme;

    if (target->is_redis) {
        const bwl_redis_store *store = client->store;
        (void)snprintf(target->place, sizeof target->place, "%s://%s", scheme, store->where);
        if (store->database != 0)
            (void)snprintf(target->place + strlen(target->place), 24, "%s%lld",
                           store->host != NULL ? "/" : "?db=", (long long)store->database);
    } else if (strcmp(scheme, "file") == 0) {
        const bwl_file_store *store = client->store;
        (void)snprintf(target->place, sizeof target->place, "file:%.250s", store->directory.path);
    } else {
        (void)snprintf(target->place, sizeof target->place, "%s:", scheme);
    }
}

int doctor_target_open(doctor_target *ret_target, const char *url, uint32_t lease_ms,
                       bwl_fault *fault)
{
    const bwl_settings asked  = { .lease_ms = lease_ms };
    doctor_target      target = { .client = NULL };
    int                status = bwl_client_open(&target.client, &asked, false, url, fault);

    if (status < 0)
        return status;
    const bwl_client *client = target.client;
    target.is_redis          = client->engine->open == bwl_redis_open;
    target.is_default        = client->settings.protocol == NULL;
    target.protocol = target.is_default ? client->engine->protocol : client->settings.protocol;
    if (target.is_redis && ((const bwl_redis_store *)client->store)->profile != NULL)
        target.profile = ((const bwl_redis_store *)client->store)->profile->name;
    name_place(&target);
    *ret_target = target;
    return BWL_OK;
}

void doctor_target_close(doctor_target *target)
{
    bwl_client_close(target->client);
    target->client = NULL;
}
