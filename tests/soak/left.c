/*
 * left.c -- what remains at the end: in the members that were never killed, and on the server. See
 * soak.h.
 */
#include "tests/soak/soak.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LEFT_FOR_MS = 60000, /* how long client info of killed clients may remain */
    /* For each connection: it may have been down, or used less. Its buffers are kept, and are twice
     * the most that was to be sent at once: with the texts of the scripts, about 17 kB. Two threads
     * may use two more connections, with a renewal thread each. */
    BLOCKS_CONNECTION = 50000,
    BLOCKS_SHARD      = 100000,
    FILES_CONNECTION  = 3,
    FILES_SHARD       = 9,
};

void soak_check_members(const soak_run *run)
{
    for (unsigned i = 0; i < run->journal->members_count; i++) {
        const soak_member *m = &run->journal->members[i];
        if (m->is_killable || m->part != SOAK_LIBRARY)
            continue;
        unsigned first = m->blocks_bytes[1] != 0 ? 1 : 2, last = SOAK_QUARTERS - 1;
        uint64_t before = m->blocks_bytes[first], after = m->blocks_bytes[last];
        uint64_t files = m->descriptors[first], files_after = m->descriptors[last];
        if (before == 0 || after == 0) {
            (void)printf("        a long-lived holder of %s had too few holds for a comparison\n",
                         run->journal->locks[m->lock].name);
            continue;
        }
        unsigned others = m->threads - 1;
        soak_check(after <= before + BLOCKS_CONNECTION + others * BLOCKS_SHARD &&
                       files_after <= files + FILES_CONNECTION + others * FILES_SHARD,
                   "a long-lived holder of %s uses no more after %u holds: %lu and %lu bytes, "
                   "%lu and %lu descriptors",
                   run->journal->locks[m->lock].name, soak_holds_of(m), before, after, files,
                   files_after);
    }
}

/* Counts the keys except fence counters; in `ret_locks` also without client info. */
static unsigned count_keys(server *s, unsigned *ret_locks)
{
    char     keys[16384];
    unsigned count = 0;

    *ret_locks = 0;
    (void)snprintf(keys, sizeof keys, "%s", server_ask(s, "KEYS *"));
    for (char *key = strtok(keys, " "); key != NULL; key = strtok(NULL, " ")) {
        if (strcmp(key, "bowline:f") == 0 || strncmp(key, "bowline:f:", 10) == 0)
            continue;
        count++;
        *ret_locks += strncmp(key, "bowline:who:", 12) != 0;
    }
    return count;
}

static unsigned count_without_expiry(const soak_run *run, server *s)
{
    char     keys[16384];
    unsigned count = 0;

    (void)snprintf(keys, sizeof keys, "%s", server_ask(s, "KEYS bowline:who:*"));
    for (char *key = strtok(keys, " "); key != NULL; key = strtok(NULL, " ")) {
        int64_t left = strtol(server_ask(s, "PTTL %s", key), NULL, 10);
        count += left == -1 || left > LEFT_FOR_MS + soak_lease_max_us(run->journal) / 1000;
    }
    return count;
}

/* Counts the connections of clients, without this one. */
static unsigned count_connected(server *s)
{
    char     list[16384];
    unsigned count = 0;
    char    *pause_after;

    (void)snprintf(list, sizeof list, "%s", server_ask(s, "CLIENT LIST"));
    for (char *line = list; line != NULL && *line != '\0'; line = pause_after) {
        pause_after = strstr(line, "\\x0A");
        if (pause_after != NULL) {
            *pause_after = '\0';
            pause_after += 4;
        }
        count += strstr(line, " cmd=client|list ") == NULL;
    }
    return count;
}

static void check_connections(const soak_run *run, server *s)
{
    soak_check(count_without_expiry(run, s) == 0,
               "the client info of killed clients has an expiry");
    const char *channels = server_ask(s, "PUBSUB SHARDCHANNELS");
    unsigned    others   = count_connected(s);
    soak_check(*channels == '\0' && others == 0,
               "no client is connected or subscribed any more: %u", others);
    if (others != 0)
        (void)printf("        %s\n", server_ask(s, "CLIENT LIST"));
}

void soak_check_server(const soak_run *run, bool waits)
{
    const int64_t lease_ms = soak_lease_max_us(run->journal) / 1000;
    unsigned      locks, keys;

    if (run->server_fault.phase != SOAK_HEALTHY) {
        soak_check(false, "a server with a fault cannot be checked");
        return;
    }
    keys = count_keys(run->server, &locks);

    for (int64_t end_ms = clock_ms() + lease_ms; locks > 0 && clock_ms() < end_ms; sleep_ms(100))
        keys = count_keys(run->server, &locks);
    soak_check(locks == 0,
               "of the locks only the fence counters remain: %u other keys, and %u keys of "
               "client info",
               locks, keys - locks);
    if (locks > 0)
        (void)printf("        %s\n", server_ask(run->server, "KEYS *"));
    check_connections(run, run->server);
    for (int64_t end_ms = clock_ms() + LEFT_FOR_MS + lease_ms;
         waits && keys > 0 && clock_ms() < end_ms; sleep_ms(500))
        keys = count_keys(run->server, &locks);
    if (waits)
        soak_check(keys == 0, "after a minute there are no other keys: %u", keys);
}
