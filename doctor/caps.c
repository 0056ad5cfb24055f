/*
 * caps.c -- the table of what each lock gives.  docs/guarantees.md says it at length; a test holds
 * its table "At a glance" to this one, and the locks to both.
 *
 * Two rows are there twice.  A directory on a file system that others have a part in is "remote".
 * A lock of stamps that goes by the server's clock ("server") is taken and released in one step.
 */
#include "doctor/caps.h"
#include "doctor/target.h"
#include "engine/file_seat.h"
#include "engine/redis_store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POLLED         "who waits asks again from time to time"
#define SAME_KEY       "every client of this server that asks for the same key"
#define SAME_KEY_THERE "every client of this cluster that asks for the same key"
#define NO_NOTICE      "nobody tells; it ends when its time is over by the holder's own clock"
#define NO_ORDER       "none: whoever asks at the right moment"
#define NO_FENCE       "none"
#define WITH_LEASE     "the lock stays taken until its lease is over"
#define FOR_EVER       "the lock stays taken for ever: somebody has to delete the key"

/* What the locks of articles have in common. */
#define ARTICLE(name)                                                                           \
    .engine = "redis", .protocol = (name), .wake = "poll", .loss = "clock",                     \
    .excludes_words = "the programs that take this lock in the same way", .wake_words = POLLED, \
    .order_words = NO_ORDER, .fence_words = NO_FENCE, .loss_words = NO_NOTICE

static const caps_row rows[] = {
    { .engine         = "thread",
      .has_order      = true,
      .has_fence      = true,
      .wake           = "handed",
      .loss           = "none",
      .crash          = "process",
      .excludes_words = "the threads of this process, and nobody else",
      .order_words    = "first come, first served",
      .fence_words    = "grows with every holder, as long as the process lives",
      .wake_words     = "by the release itself",
      .loss_words     = "cannot happen: nothing but a release or max-hold ends it",
      .crash_words = "nothing outlives the process; a thread that ends without releasing leaves it "
                     "taken" },
    { .engine         = "file",
      .has_order      = true,
      .has_fence      = true,
      .wake           = "kernel",
      .loss           = "none",
      .crash          = "freed",
      .excludes_words = "the processes of this machine that use this directory (without one: of "
                        "this user alone), and flock(2) on its files",
      .order_words    = "first come, first served, among bowline's own; flock(1) has no place",
      .fence_words    = "grows with every holder, also across a restart",
      .wake_words     = "by the kernel (inotify), when the file is closed",
      .loss_words     = "cannot happen while the holder lives; a stopped holder holds",
      .crash_words    = "the kernel frees it at once, when the last process that has it is gone" },
    { .engine         = "file",
      .variant        = "remote",
      .has_order      = true,
      .has_fence      = true,
      .wake           = "poll",
      .loss           = "none",
      .crash          = "freed",
      .excludes_words = "those whose locks this network file system keeps apart",
      .order_words    = "first come, first served, as far as its locks of bytes are good",
      .fence_words    = "grows with every holder, also across a restart",
      .wake_words     = "nobody tells across machines: who waits looks again from time to time",
      .loss_words     = "is not noticed: the locks are as good as the file system's",
      .crash_words    = "freed when the file system notices that the holder is gone" },
    { .engine         = "redis",
      .protocol       = "queue",
      .has_order      = true,
      .has_fence      = true,
      .renews         = true,
      .wake           = "push",
      .loss           = "told",
      .crash          = "lease",
      .excludes_words = SAME_KEY,
      .order_words    = "first come, first served, among clients of this protocol",
      .fence_words = "grows with every holder, also if the server comes back empty or with older "
                     "data",
      .wake_words  = "by a push, from the step that releases: nothing is polled",
      .loss_words  = "told at the next renewal, or as soon as a connection has broken",
      .crash_words = WITH_LEASE },
    { .engine         = "redis",
      .protocol       = "token",
      .renews         = true,
      .wake           = "poll",
      .loss           = "told",
      .crash          = "lease",
      .excludes_words = SAME_KEY,
      .order_words    = NO_ORDER,
      .fence_words    = NO_FENCE,
      .wake_words     = POLLED ": 10ms, doubling to 500ms, half of it random",
      .loss_words     = "told at the next renewal, or as soon as a connection has broken",
      .crash_words    = WITH_LEASE },
    { .engine         = "cluster",
      .protocol       = "queue",
      .has_order      = true,
      .has_fence      = true,
      .renews         = true,
      .wake           = "push",
      .loss           = "told",
      .crash          = "lease",
      .excludes_words = SAME_KEY_THERE,
      .order_words =
          "first come, first served, among clients of this protocol, also while the slot "
          "moves",
      .fence_words = "grows with every holder, also when another node takes over, as far as the "
                     "clocks of the nodes are together",
      .wake_words  = "by a push, from the step that releases: nothing is polled",
      .loss_words  = "told at the next renewal, or as soon as a connection has broken; a node that "
                     "takes over without our key loses it",
      .crash_words = WITH_LEASE },
    { .engine         = "cluster",
      .protocol       = "token",
      .renews         = true,
      .wake           = "poll",
      .loss           = "told",
      .crash          = "lease",
      .excludes_words = SAME_KEY_THERE,
      .order_words    = NO_ORDER,
      .fence_words    = NO_FENCE,
      .wake_words     = POLLED ": 10ms, doubling to 500ms, half of it random",
      .loss_words  = "told at the next renewal, or as soon as a connection has broken; a node that "
                     "takes over without our key loses it",
      .crash_words = WITH_LEASE },
    { .engine         = "redlock",
      .renews         = true,
      .wake           = "poll",
      .loss           = "told",
      .crash          = "lease",
      .excludes_words = "every client of these servers that asks most of them for the same key",
      .order_words    = NO_ORDER,
      .fence_words    = NO_FENCE,
      .wake_words     = POLLED ": 10ms, doubling to 500ms, half of it random",
      .loss_words     = "told at the next renewal",
      .crash_words    = WITH_LEASE },
    { ARTICLE("setnx-del"), .crash = "never", .crash_words = FOR_EVER },
    { ARTICLE("setnx-del-expire"), .crash = "never", .crash_words = FOR_EVER },
    { ARTICLE("setnx-stamp-del"), .crash = "lease",
      .crash_words = "the lock stays taken until the time in it is over" },
    { ARTICLE("setnx-getset"), .crash = "lease",
      .crash_words = "the lock stays taken until the time in it is over" },
    { ARTICLE("setnx-getset"), .variant = "server", .crash = "lease",
      .crash_words = "the lock stays taken until the time in it is over, by the server's clock" },
    { ARTICLE("set-nx-ex"), .crash = "lease", .crash_words = WITH_LEASE },
    { ARTICLE("setnx-expire-watch"), .crash = "lease",
      .crash_words = "the lock stays taken until its lease is over; without one, until somebody "
                     "waits for it" },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The directory of `file:` may not be there yet: then the one above it says where it will be. */
static bool is_remote(const bwl_file_store *store)
{
    bool remote = store->directory.is_remote;
    int  above  = -1;

    if (store->directory.fd < 0 && store->parent != NULL)
        above = bwl_file_open_directory(-1, store->parent);
    if (above >= 0) {
        remote = bwl_file_is_remote(above);
        (void)close(above);
    }
    return remote;
}

static const caps_row *find_row(const doctor_target *target)
{
    const bwl_client *client   = target->client;
    const char       *single   = target->is_many ? "redlock" : client->engine->scheme;
    const char       *server   = target->is_cluster ? "cluster" : "redis";
    const char       *engine   = target->is_redis ? server : single;
    const char       *protocol = target->is_redis ? target->protocol->name : NULL;
    const bwl_rules  *rules    = client->settings.rules;
    const char       *variant  = NULL;

    if (strcmp(engine, "file") == 0 && is_remote(client->store))
        variant = "remote";
    else if (is_same(protocol, "setnx-getset") && rules != NULL &&
             rules->clock == BWL_CLOCK_OF_SERVER)
        variant = "server";
    for (unsigned i = 0; i < ROWS; i++)
        if (is_same(rows[i].engine, engine) && is_same(rows[i].protocol, protocol) &&
            is_same(rows[i].variant, variant))
            return &rows[i];
    bwl_unreachable("a protocol without a row: a test asks for each");
}

int caps_find(caps *ret_caps, const char *url, uint32_t lease_ms, char ret_why[CAPS_TEXT_MAX])
{
    doctor_target target;
    bwl_fault     fault  = { 0 };
    int           status = doctor_target_open(&target, url, lease_ms, &fault);

    if (status < 0) {
        (void)snprintf(ret_why, CAPS_TEXT_MAX, "%s", fault.text);
        return status;
    }
    const bwl_client *client = target.client;
    const caps_row   *row    = find_row(&target);
    *ret_caps                = (caps){
                       .row        = row,
                       .is_default = target.is_default,
                       .renews     = row->renews && client->settings.renews,
                       .lease_ms   = client->engine->has_lease ? client->settings.lease_ms : 0,
                       .replicas   = target.replicas,
    };
    (void)snprintf(ret_caps->place, sizeof ret_caps->place, "%s", target.place);
    (void)snprintf(ret_caps->risk, sizeof ret_caps->risk, "%s", client->settings.risk);
    if (target.profile != NULL)
        (void)snprintf(ret_caps->profile, sizeof ret_caps->profile, "%s", target.profile);
    doctor_target_close(&target);
    return 0;
}
