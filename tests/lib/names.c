/*
 * names.c -- see names.h.
 */
#include "tests/lib/names.h"
#include "tests/lib/testing.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>

enum { NAMES_MAX = 4 };

typedef int look_up(const char *node, const char *service, const struct addrinfo *hints,
                    struct addrinfo **res);

static struct {
    char     name[40];
    char     address[40]; /* "": not found */
    unsigned lookups;
} known[NAMES_MAX];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* locked; -1: not in the table */
static int place_of(const char *name)
{
    for (int i = 0; i < NAMES_MAX; i++)
        if (known[i].name[0] != '\0' && strcmp(known[i].name, name) == 0)
            return i;
    return -1;
}

void name_leads_to(const char *name, const char *address)
{
    (void)pthread_mutex_lock(&mutex);
    int at = place_of(name);
    for (int i = 0; i < NAMES_MAX && at < 0; i++)
        if (known[i].name[0] == '\0')
            at = i;
    assert_in_range(at, 0, NAMES_MAX - 1);
    (void)snprintf(known[at].name, sizeof known[at].name, "%s", name);
    (void)snprintf(known[at].address, sizeof known[at].address, "%s",
                   address != NULL ? address : "");
    (void)pthread_mutex_unlock(&mutex);
}

unsigned name_lookups(const char *name)
{
    (void)pthread_mutex_lock(&mutex);
    int      at      = place_of(name);
    unsigned lookups = at >= 0 ? known[at].lookups : 0;
    (void)pthread_mutex_unlock(&mutex);
    return lookups;
}

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict res)
{
    char     address[40] = "";
    void    *symbol      = dlsym(RTLD_NEXT, "getaddrinfo");
    look_up *of_system   = NULL;
    bool     is_numeric  = hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0;

    memcpy(&of_system, &symbol, sizeof of_system);
    (void)pthread_mutex_lock(&mutex);
    int at = node != NULL && !is_numeric ? place_of(node) : -1;
    if (at >= 0) {
        memcpy(address, known[at].address, sizeof address);
        known[at].lookups++;
    }
    (void)pthread_mutex_unlock(&mutex);
    if (at < 0)
        return of_system(node, service, hints, res);
    return address[0] != '\0' ? of_system(address, service, hints, res) : EAI_NONAME;
}
