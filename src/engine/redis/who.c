/*
 * who.c -- of a protocol with a queue: who we are, for whoever wants to know who has a lock;
 * and who has it.  See session.h.
 *
 * A value says whose session it is, and the session has a hash that says who that is.  It ends by
 * itself when nobody writes it any more; it is written when we connect, and, if that was a while
 * ago, together with what we ask anyway.  It goes when the client is closed.
 */
#include "engine/redis/note.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/session/session.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    AGAIN_AFTER_MS = 20000,
    KEPT_MS        = 60000, /* beside the lease: a lock may be held so long without a question   */
    USERS_SIZE     = 2048,
    LAST_ROOM      = 128,
};

/* Without control characters: others wrote the text, and it may end on a terminal. */
static void copy(char ret_text[BWL_HOLDER_TEXT_MAX], const char *text)
{
    size_t size = strnlen(text, BWL_HOLDER_TEXT_MAX - 1); /* cutting is meant */

    for (size_t i = 0; i < size; i++)
        ret_text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    ret_text[size] = '\0';
}

static void here(char ret_host[BWL_HOLDER_TEXT_MAX])
{
    struct utsname system;

    copy(ret_host, uname(&system) == 0 ? system.nodename : "");
}

/* What the kernel calls this program; "" if it does not say. */
static void name_ourselves(char ret_program[BWL_HOLDER_TEXT_MAX])
{
    int     fd  = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, ret_program, BWL_HOLDER_TEXT_MAX - 1) : 0;

    ret_program[got > 0 ? got : 0]          = '\0';
    ret_program[strcspn(ret_program, "\n")] = '\0';
    if (fd >= 0)
        (void)close(fd); /* was only read */
}

/* The number of a user means something on his own machine only. */
static void name_user(const bwl_redis_look *look, char ret_text[BWL_HOLDER_TEXT_MAX])
{
    char           text[USERS_SIZE];
    char           host[BWL_HOLDER_TEXT_MAX];
    struct passwd  user;
    struct passwd *found = NULL;

    here(host);
    if (strcmp(host, look->host) == 0)
        (void)getpwuid_r((uid_t)look->uid, &user, text, sizeof text, &found);
    if (found != NULL)
        copy(ret_text, user.pw_name);
    else
        (void)snprintf(ret_text, BWL_HOLDER_TEXT_MAX, "%lld", (long long)look->uid);
}

/* ---- what we say ----------------------------------------------------------------------------- */

void bwl_redis_introduce(bwl_redis_store *store, bwl_resp_writer *writer, const char *tag)
{
    bwl_queue_card card = { .pid     = getpid(),
                            .uid     = geteuid(),
                            .kept_ms = store->client->settings.lease_ms + KEPT_MS,
                            .session = store->session };

    here(card.host);
    if (store->client->program[0] != '\0')
        copy(card.program, store->client->program);
    else
        name_ourselves(card.program);
    (void)snprintf(card.tag, sizeof card.tag, "%s", tag);
    if (tag[0] == '\0') /* else it is one of many slots */
        store->introduced_at = bwl_host_now(store->client);
    bwl_queue_write_floor(writer, &card);
}

bool bwl_redis_is_to_introduce(const bwl_redis_store *store)
{
    return store->phase == BWL_REDIS_READY && !store->client->closing &&
           store->client->latest >= bwl_later(store->introduced_at, AGAIN_AFTER_MS);
}

void bwl_redis_take_leave(bwl_redis_store *store)
{
    bwl_resp_writer writer;

    if (store->slots != NULL)
        bwl_redis_slots_leave(store);
    if (store->cluster != NULL || store->introduced_at == 0 ||
        !bwl_resp_stream_reserve(&store->conn, LAST_ROOM, &writer))
        return; /* it ends by itself */
    bwl_queue_write_leave(&writer, "", store->session);
    bwl_resp_stream_commit(&store->conn, &writer);
}

void bwl_redis_name_user(char ret_who[2 * BWL_HOLDER_TEXT_MAX])
{
    bwl_redis_look self = { .uid = geteuid() };
    char           user[BWL_HOLDER_TEXT_MAX];

    here(self.host);
    name_user(&self, user);
    (void)snprintf(ret_who, 2 * BWL_HOLDER_TEXT_MAX, "%s@%s", user, self.host);
}

/* ---- what others have said ------------------------------------------------------------------- */

void bwl_redis_fill_in_who(bwl_holder *ret_holder, const bwl_redis_look *look)
{
    if (look->pid == 0)
        return; /* its session does not say, or no more */
    ret_holder->pid = look->pid;
    name_user(look, ret_holder->user);
    copy(ret_holder->host, look->host);
    copy(ret_holder->program, look->program);
}
