/*
 * test_reply_items.c -- replies of many items: what happens when the reply ends early, and when one
 * item is another one than a server sends.  Each reply is read whole first.
 */
#include "engine/redis/wire/cluster.h"
#include "engine/redis/wire/election.h"
#include "engine/redis/wire/scan.h"
#include "engine/redis/wire/sentinel.h"
#include "engine/redis/wire/transaction.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { ITEMS_MAX = 24, FRAME_MAX = 1024, LOCKS = 2 };

#define VALUE  "$b1:SSSSSSSSSTTTTTTTTTTTTTTTT"
#define CLIENT "$1000", "$812", "$web1", "$report"
#define STATUS ":5000", ":1"

/* ---- the readers ----------------------------------------------------------------------------- */

/* Of the last reply. */
static bwl_answer answer;

static bool is_yes(bwl_redis_verdict verdict)
{
    return verdict == BWL_REDIS_ANSWER && answer == BWL_YES;
}

static bool reads_observe(const char *bytes, size_t size)
{
    bwl_observe_reply reply;

    return is_yes(bwl_observe_read(bytes, size, &answer, &reply)) && reply.leads;
}

static bool reads_observe_push(const char *bytes, size_t size)
{
    bwl_bytes channel;

    return bwl_observe_read_push(bytes, size, &channel) == BWL_OBSERVE_CHANGED;
}

static bool reads_announced(const char *bytes, size_t size)
{
    bowline_loss loss;

    return is_yes(bwl_announce_read(bytes, size, &answer, &loss));
}

static bool reads_holder(const char *bytes, size_t size)
{
    bwl_holder_reply reply = { .uid = 0 };

    return is_yes(bwl_redis_read_holder_query(bytes, size, &answer, &reply));
}

static bool reads_holders(const char *bytes, size_t size)
{
    bwl_holder_reply reply;
    bwl_holders_page page;

    return is_yes(bwl_redis_read_holders(bytes, size, &answer, &page)) && page.count == 1 &&
           bwl_redis_next_holder(&page, &reply);
}

static bool reads_scan(const char *bytes, size_t size)
{
    bwl_resp_cursor keys;
    uint64_t        next;
    uint32_t        count;
    bwl_bytes       key;

    return is_yes(bwl_scan_read(bytes, size, &answer, &keys, &next, &count)) && count == 1 &&
           bwl_scan_next(&keys, &key);
}

static bool reads_size(const char *bytes, size_t size)
{
    return bwl_scan_read_size(bytes, size) > 0;
}

static bool reads_push(const char *bytes, size_t size)
{
    return bwl_queue_read_push("c", bytes, size).kind == BWL_PUSH_SUBSCRIBED;
}

static bool reads_hello(const char *bytes, size_t size)
{
    return bwl_queue_read_push("c", bytes, size).kind == BWL_PUSH_HELLO;
}

static bool reads_broken(const char *bytes, size_t size)
{
    return bwl_queue_read_broken(bytes, size).size > 0;
}

static bool reads_scripts(const char *bytes, size_t size)
{
    unsigned missing;

    return bwl_queue_read_scripts(bytes, size, &missing);
}

static bool reads_batch(bwl_redis_command command, const char *bytes, size_t size)
{
    bwl_batch_reply reply;

    return bwl_batch_read(command, LOCKS, bytes, size, &reply) == BWL_BATCH_EACH;
}

static bool reads_extensions(const char *bytes, size_t size)
{
    return reads_batch(REDIS_EXTEND_IF_MINE, bytes, size);
}

static bool reads_heartbeats(const char *bytes, size_t size)
{
    return reads_batch(REDIS_QUEUE_HEARTBEAT, bytes, size);
}

static bool reads_takes(const char *bytes, size_t size)
{
    return reads_batch(REDIS_QUEUE_TAKE, bytes, size);
}

static bool reads_queued(const char *bytes, size_t size)
{
    bwl_redis_command_args args = { .command = REDIS_QUEUE_JOIN };
    bwl_redis_reply        reply;

    return bwl_redis_read(&args, 0, bytes, size, &reply) == BWL_REDIS_ANSWER &&
           reply.queue_status.kind == BWL_QUEUE_STATUS_QUEUED;
}

static bool reads_primary(const char *bytes, size_t size)
{
    bwl_primary primary;

    return bwl_sentinel_read(&primary, bytes, size) == BWL_SENTINEL_FOUND;
}

static bool reads_state(const char *bytes, size_t size)
{
    bwl_sentinel_state state;

    return bwl_sentinel_read_state(&state, bytes, size) == BWL_SENTINEL_FOUND;
}

static bool reads_switch(const char *bytes, size_t size)
{
    bwl_primary primary;

    return bwl_sentinel_read_switch(&primary, "m", bytes, size);
}

static bool reads_slots(const char *bytes, size_t size)
{
    bwl_cluster_walk  walk;
    bwl_cluster_range range;

    return bwl_cluster_begin(&walk, bytes, size) && bwl_cluster_next(&walk, &range) == 1;
}

static bool reads_redirect(const char *bytes, size_t size)
{
    bwl_redirect to;

    return bwl_cluster_read_redirect(&to, bytes, size);
}

static bool reads_set(const char *bytes, size_t size)
{
    bwl_transaction_reply reply;

    return bwl_transaction_read(TRANSACTION_SET, 1, bytes, size, &reply) == BWL_REDIS_ANSWER &&
           reply.answer == BWL_YES;
}

/* ---- the replies ----------------------------------------------------------------------------- */

/* What an item is replaced by. */
static const struct {
    char        letter;
    const char *frame;
} others[] = {
    { 'n', "_" }, { 'm', ":-7" }, { 'i', ":7" }, { 't', "$x" }, { 'l', "*0" },
};

typedef struct reply {
    const char *name;
    bool (*reads)(const char *bytes, size_t size);
    const char *items[ITEMS_MAX];
    const char *may; /* for each item, the letters of what it may also be, and a comma */
} reply;

static const reply replies[] = {
    { "observe", reads_observe, { "*7", ":1", ":29000", "$17 web1:80", CLIENT }, ",,mi,,t,t,t,t," },
    { "observe push", reads_observe_push, { ">3", "$smessage", "$bowline:i:v:{a}" }, ",nmitl,," },
    { "announced", reads_announced, { ":1" }, "," },
    { "holder of another protocol",
      reads_holder,
      { "*3", "+string", ":29000", VALUE },
      ",t,mi,t," },
    { "holder",
      reads_holder,
      { "*13", "+string", ":29000", VALUE, CLIENT, ":0", ":5", "$17", "$9", ":0", ":0" },
      ",t,mi,t,t,t,t,t,i,i,t,t,i,i," },
    { "holders",
      reads_holders,
      { "*17", "+string", ":29000", VALUE, ":3", "$0", ":0", VALUE, ":1", ":29000", CLIENT, ":5",
        "$17", "$9", "$2" },
      ",t,mi,t,i,t,i,t,i,mi,t,t,t,t,i,t,t,t," },
    { "keys", reads_scan, { "*2", "$17", "*1", "$bowline:{a}" }, ",,,t," },
    { "number of keys", reads_size, { ":3" }, "i," },
    { "subscribed", reads_push, { ">3", "$ssubscribe", "$c", ":1" }, ",,,nmitl," },
    { "hello", reads_hello, { ">3", "$smessage", "$c", "$H" }, ",,,," },
    { "broken", reads_broken, { "$me" }, "t," },
    { "scripts",
      reads_scripts,
      { "*8", ":1", ":1", ":1", ":0", ":1", ":1", ":1", ":1" },
      ",mi,mi,mi,mi,mi,mi,mi,mi," },
    { "extensions", reads_extensions, { "*2", ":1", ":0" }, ",,," },
    { "heartbeats",
      reads_heartbeats,
      { "*7", ":0", STATUS, ":2", STATUS, ":1795323949966265" },
      ",i,i,,i,i,,i," },
    { "takes", reads_takes, { "*2", ":1795323949966265", "*2", STATUS }, ",i,i,i,," },
    { "queued",
      reads_queued,
      { "*6", "$QUEUED", ":1795323949966265", ":3", STATUS, ":1795323949966265" },
      ",,i,i,i,,i," },
    { "primary", reads_primary, { "*2", "$127.0.0.1", "$7001" }, ",t,," },
    { "state",
      reads_state,
      { "%3", "$ip", "$127.0.0.1", "$port", "$7001", "$config-epoch", "$4" },
      "l,,t,,,,," },
    { "switch",
      reads_switch,
      { ">3", "$message", "$+switch-master", "$m 127.0.0.1 7001 127.0.0.1 7002" },
      ",,,," },
    { "slots",
      reads_slots,
      { "*1", "*3", ":0", ":99", "*2", "$127.0.0.1", ":7001" },
      ",,i,i,,nt,i," },
    { "redirect", reads_redirect, { "-MOVED 99 127.0.0.1:7001" }, "," },
    { "transaction", reads_set, { "*1", "+OK" }, ",," },
};

/* A text goes with its length, everything else is a line. */
static size_t write_item(char *frame, size_t room, const char *item)
{
    int size = *item == '$' ? snprintf(frame, room, "$%zu\r\n%s\r\n", strlen(item + 1), item + 1)
                            : snprintf(frame, room, "%s\r\n", item);

    assert_in_range(size, 1, room - 1);
    return (size_t)size;
}

/* The first `count` items, and `with` in the place of one. */
static bool is_read(const reply *r, size_t count, size_t other, const char *with)
{
    char   frame[FRAME_MAX];
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += write_item(frame + size, sizeof frame - size, i == other ? with : r->items[i]);
    return r->reads(frame, size);
}

static size_t count_of(const reply *r)
{
    size_t count = 0;

    while (count < ITEMS_MAX && r->items[count] != NULL)
        count++;
    return count;
}

TEST(reply_items_whole_reply_is_read)
{
    for (const reply *r = replies; r < replies + COUNT_OF(replies); r++)
        if (!is_read(r, count_of(r), ITEMS_MAX, NULL))
            fail_msg("%s", r->name);
}

/* As after a list that is shorter than its header says. */
TEST(reply_items_reply_that_ends_early_is_refused)
{
    for (const reply *r = replies; r < replies + COUNT_OF(replies); r++)
        for (size_t count = 0; count < count_of(r); count++)
            if (is_read(r, count, ITEMS_MAX, NULL))
                fail_msg("%s: %zu items", r->name, count);
}

TEST(reply_items_another_item_is_refused_unless_it_may_be_that)
{
    for (const reply *r = replies; r < replies + COUNT_OF(replies); r++) {
        char   found[ITEMS_MAX * (COUNT_OF(others) + 1) + 1];
        size_t size = 0;
        for (size_t i = 0; i < count_of(r); i++) {
            for (size_t k = 0; k < COUNT_OF(others); k++)
                if (is_read(r, count_of(r), i, others[k].frame))
                    found[size++] = others[k].letter;
            found[size++] = ',';
        }
        found[size] = '\0';
        if (strcmp(found, r->may) != 0)
            fail_msg("%s: may be %s, and should be %s", r->name, found, r->may);
    }
}
