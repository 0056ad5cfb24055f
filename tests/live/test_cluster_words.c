/*
 * test_cluster_words.c -- each script of protocol queue in a slot that is moving away, with queues
 * of live and dead waiters.
 *
 * All keys still exist, so each script is executed; the server counts a key that the script deleted
 * as moved.
 */
#include "engine/redis/wire/cluster.h"
#include "engine/redis/wire/queue.h"
#include "tests/lib/cluster.h"
#include "tests/lib/suite.h"
#include "tests/lib/wire.h"

#include <stdio.h>

static cluster *c;

static int end(void **state)
{
    cluster_stop(c);
    return 0;
}

#define SESSION  "SSSSSSSSS"
#define ME       "AAAAAAAAAAAAAAAA"
#define OTHER    "BBBBBBBBBBBBBBBB"
#define AFTER    "DDDDDDDDDDDDDDDD"
#define VALUE(t) "b1:" SESSION t

enum { COMMANDS = REDIS_QUEUE_REQUEUE - REDIS_QUEUE_TAKE + 1 };

static const struct {
    const char *holder;
    const char *waits;    /* NULL: only dead waiters */
    unsigned    dead;     /* in front of it */
    bool        is_there; /* and is subscribed */
} queue_states[] = {
    { VALUE(ME), VALUE(OTHER), 0, false },  { VALUE(ME), VALUE(OTHER), 0, true },
    { VALUE(ME), VALUE(OTHER), 3, false },  { VALUE(ME), NULL, 1, false },
    { VALUE(ME), VALUE(OTHER), 70, false }, { VALUE(ME), NULL, 70, false },
    { VALUE(OTHER), VALUE(ME), 0, false },  { "of-another", VALUE(ME), 2, false },
};

static void make_queue(server *s, const char *key, const char *tag, unsigned i)
{
    assert_string_equal(server_ask(s, "FLUSHALL"), "OK");
    (void)server_ask(s, "SET bowline:f:%s 1795323949966265", tag);
    (void)server_ask(s, "SET '%s' %s PX 600000", key, queue_states[i].holder);
    (void)server_ask(s,
                     "EVAL 'for i = 1, tonumber(ARGV[1]) do "
                     "local v = \"b1:\" .. string.format(\"%%044d\", i) "
                     "redis.call(\"ZADD\", KEYS[1], i, v .. \" 1.0000000000000001 bowline:i:x:%s "
                     "2000\") redis.call(\"HSET\", KEYS[2], v, 1) end' 2 '%s:bwl.q' '%s:bwl.b' %u",
                     tag, key, key, queue_states[i].dead);
    if (queue_states[i].waits == NULL)
        return;
    (void)server_ask(s, "ZADD '%s:bwl.q' 100 '%s 1.0000000000000001 bowline:i:%s:%s 2000'", key,
                     queue_states[i].waits, queue_states[i].is_there ? "here" : "gone", tag);
    (void)server_ask(s,
                     "EVAL 'local t = redis.call(\"TIME\") redis.call(\"HSET\", KEYS[1], ARGV[1], "
                     "t[1] * 1000)' 1 '%s:bwl.b' %s",
                     key, queue_states[i].waits);
}

static void send_command(wire *w, bwl_redis_command command, const char *key, const char *tag)
{
    bwl_queue_self         self = { .uses_sharded_pubsub = true,
                                    .slot                = 1,
                                    .generation          = 1,
                                    .provisional_ttl_ms  = 2000,
                                    .session             = SESSION };
    bwl_redis_command_args args = { .command        = command,
                                    .use_eval       = true,
                                    .key            = key,
                                    .key_size       = strlen(key),
                                    .token          = command == REDIS_QUEUE_REQUEUE ? AFTER : ME,
                                    .previous_token = ME,
                                    .lease_ms       = 30000,
                                    .who            = "ann@web-2",
                                    .self           = &self };

    (void)snprintf(self.tag, sizeof self.tag, "%.8s", tag);
    (void)snprintf(self.push_channels[0], sizeof self.push_channels[0], "bowline:i:gone:%s", tag);
    (void)snprintf(self.push_channels[1], sizeof self.push_channels[1], "bowline:i:before:%s", tag);
    bwl_redis_write(&w->out, &args);
    wire_flush(w);
}

FIXTURE(NULL, end)

/* A script does not access a key again after it deleted it: the error would end a half-executed
 * script. */
TEST(cluster_scripts_succeed_in_a_slot_that_moves_away)
{
    static wire             w;
    static wire             listener;
    static bwl_cluster_tags tags;
    char                    key[40];
    char                    tag[BWL_QUEUE_TAG_MAX + 1];
    char                    listens[80];

    cluster_queue_needed();
    c            = cluster_start(false);
    server *s    = c->nodes[0];
    int     slot = cluster_slot_of(c, cluster_name_at(0, 0));
    (void)snprintf(key, sizeof key, "bowline:{%s}", cluster_name_at(0, 0));
    (void)snprintf(tag, sizeof tag, "{%u}",
                   (unsigned)bwl_cluster_tag(&tags, (uint16_t)slot) % 1000000);
    wire_open(&w, s->socket);
    wire_open(&listener, s->socket);
    (void)snprintf(listens, sizeof listens, "SSUBSCRIBE bowline:i:here:%s", tag);
    (void)wire_ask(&listener, listens);
    for (unsigned i = 0; i < COUNT_OF(queue_states); i++)
        for (unsigned command = 0; command < COMMANDS; command++) {
            make_queue(s, key, tag, i);
            cluster_begin_move(c, slot, 0, 1);
            send_command(&w, REDIS_QUEUE_TAKE + command, key, tag);
            bwl_resp_cursor frame = wire_next(&w);
            if (frame.bytes[0] == '-')
                fail_msg("queue %u, command %u: %.*s", i, command, (int)frame.size, frame.bytes);
            for (unsigned node = 0; node < 2; node++)
                assert_string_equal(server_ask(c->nodes[node], "CLUSTER SETSLOT %d STABLE", slot),
                                    "OK");
        }
    wire_close(&listener);
    wire_close(&w);
}
