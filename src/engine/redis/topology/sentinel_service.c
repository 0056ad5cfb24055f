#include "engine/redis/topology/sentinel_service.h"

#include "base/fault.h"
#include "base/secret.h"
#include "engine/redis/wire/sentinel.h"
#include "net/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_in(const bwl_url *url)
{
    return url->path[0] == '/' ? url->path + 1 : url->path;
}

int bwl_sentinel_parse(bwl_endpoint *ret_endpoint, const bwl_url *url, const char **ret_rest,
                       bwl_fault *fault)
{
    const char *name = name_in(url);
    size_t      size = strcspn(name, "/");

    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(
            fault, BWL_STATUS_USAGE,
            "%s: takes the sentinels and a service: %s://HOST:26379,HOST:26379/mymaster",
            url->scheme, url->scheme);
    if (size == 0)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: the path names the service, as the sentinels know it: /mymaster",
                        url->scheme);
    if (size > BWL_SENTINEL_NAME_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a service has at most %d characters",
                        BWL_SENTINEL_NAME_MAX);
    for (unsigned i = 0; i < url->hosts_count; i++)
        if (strlen(url->hosts[i].name) > BWL_RESOLVE_HOST_MAX)
            return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                            BWL_RESOLVE_HOST_MAX);
    (void)snprintf(ret_endpoint->text, sizeof ret_endpoint->text, "%.*s",
                   (int)(size < 100 ? size : 100), name);
    *ret_rest = name + size;
    return BWL_OK;
}

/* False: out of memory. */
static bool take_texts(bwl_sentinel_service *service, const bwl_url *url)
{
    const char *in_path = name_in(url);
    char        name[BWL_SENTINEL_NAME_MAX + 1];
    bool        all = true;

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(in_path, "/"), in_path);
    service->name = bwl_copy_of(name, &all);
    service->user = bwl_copy_of(bwl_url_find(url, BWL_SENTINEL_OPTION_USER), &all);
    for (unsigned i = 0; i < url->hosts_count; i++) {
        uint16_t port     = url->hosts[i].port;
        service->hosts[i] = (bwl_url_host){ .name = bwl_copy_of(url->hosts[i].name, &all),
                                            .port = port != 0 ? port : BWL_SENTINEL_PORT };
    }
    service->hosts_count = url->hosts_count;
    return all;
}

int bwl_sentinel_service_new(bwl_sentinel_service **ret_service, const bwl_url *url,
                             bwl_fault *fault)
{
    const char *file   = bwl_url_find(url, BWL_SENTINEL_OPTION_PASSWORD);
    int         status = BWL_OK;

    assert(url->hosts_count >= 1 && url->hosts_count <= BWL_URL_HOSTS_MAX);
    if (bwl_url_find(url, BWL_SENTINEL_OPTION_USER) != NULL && file == NULL)
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "the URL names a user of the sentinels without a password: give "
                        "sentinel-password-file=");
    bwl_sentinel_service *service = calloc(1, sizeof *service);
    if (service == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    atomic_init(&service->references, 1);
    atomic_init(&service->epoch, 0);
    if (!take_texts(service, url))
        status = bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (status == BWL_OK && file != NULL)
        status = bwl_secret_read(&service->password, file, fault);
    if (status == BWL_OK)
        *ret_service = service;
    else
        bwl_sentinel_service_unref(service);
    return status;
}

bwl_sentinel_service *bwl_sentinel_service_ref(bwl_sentinel_service *service)
{
    unsigned before = atomic_fetch_add(&service->references, 1);

    assert(before > 0);
    (void)before;
    return service;
}

void bwl_sentinel_service_unref(bwl_sentinel_service *service)
{
    if (service == NULL || atomic_fetch_sub(&service->references, 1) > 1)
        return;
    for (unsigned i = 0; i < service->hosts_count; i++)
        free((char *)service->hosts[i].name);
    bwl_secret_free(service->password);
    free(service->user);
    free(service->name);
    free(service);
}
