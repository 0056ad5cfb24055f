/*
 * test_sentinel.c -- a primary that sentinels watch, and locks when another node becomes the
 * primary: a primary, a replica and three sentinels of each test's own.
 *
 * A hold is verified at the new primary: it is kept if the key was replicated.  The simulator loses
 * keys in failovers, and silences sentinels.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <sys/stat.h>

enum { SENTINELS = 3, LEASE_MS = 120000, LONG_MS = 120000, PATIENCE_MS = 60000 };
enum { DOWN_MS = 1000, BUSY_MS = 10000 }; /* a busy machine may run no process for a second */

static server *primary;
static server *replica;
static server *sentinels[SENTINELS];
static char    url[320];

/* A node that is silent for so long is down. */
static void set_down_after(int ms)
{
    for (unsigned i = 0; i < SENTINELS; i++)
        (void)server_ask(sentinels[i], "SENTINEL SET m down-after-milliseconds %d", ms);
}

static bool knows(server *sentinel, const char *question, const char *part)
{
    for (int64_t end = clock_ms() + PATIENCE_MS; clock_ms() < end; sleep_ms(20))
        if (strstr(server_ask(sentinel, "%s", question), part) != NULL)
            return true;
    return false;
}

static int begin(void **state)
{
    size_t size = (size_t)snprintf(url, sizeof url, "redis+sentinel://");

    server_needed();
    primary = server_start("--repl-diskless-sync-delay 0");
    replica = server_start("--repl-diskless-sync-delay 0");
    (void)server_ask(replica, "REPLICAOF 127.0.0.1 %d", primary->port);
    assert_true(server_comes_to(replica, "master_link_status:up", "INFO replication"));
    for (unsigned i = 0; i < SENTINELS; i++) {
        sentinels[i] = server_start_sentinel(primary->port, 2);
        size += (size_t)snprintf(url + size, sizeof url - size, "%s127.0.0.1:%d", i > 0 ? "," : "",
                                 sentinels[i]->port);
    }
    (void)snprintf(url + size, sizeof url - size, "/m?lease=%dms&timeout=1s", LEASE_MS);
    for (unsigned i = 0; i < SENTINELS; i++)
        assert_true(knows(sentinels[i], "INFO sentinel", "slaves=1,sentinels=3"));
    set_down_after(BUSY_MS);
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < SENTINELS; i++)
        server_stop(sentinels[i]);
    server_stop(replica);
    server_stop(primary);
    return 0;
}

/* The primary was killed: waits until the sentinels have made the replica the primary. */
static void replica_becomes_primary(void)
{
    char port[20];

    (void)snprintf(port, sizeof port, "127.0.0.1 %d", replica->port);
    set_down_after(DOWN_MS);
    for (unsigned i = 0; i < 2; i++)
        assert_true(knows(sentinels[i], "SENTINEL GET-MASTER-ADDR-BY-NAME m", port));
    set_down_after(BUSY_MS);
}

static bool replica_has_lock(void)
{
    return strcmp(server_ask(replica, "EXISTS bowline:{x}"), "1") == 0;
}

/* A sentinel may still name the old primary: then the extension is UNREACHABLE. */
static void must_extend_in_failover(bowline_hold *hold)
{
    int status = BOWLINE_UNREACHABLE;

    while (status == BOWLINE_UNREACHABLE || status == BOWLINE_UNKNOWN) {
        status = bowline_extend(hold, 0, NULL);
        sleep_ms(5);
    }
    assert_status(BOWLINE_OK, status, NULL);
}

/* Reads a list up to the limit or its end; returns how many names there were. */
static unsigned read_list(bowline_list *list, uint64_t limit, int wanted)
{
    bowline_holder holder = { .size = sizeof holder };
    unsigned       count  = 0;
    int            status;

    bowline_list_limit(list, limit);
    while ((status = bowline_list_next(&holder, list, NULL)) == 1) {
        assert_string_equal(holder.name, "x");
        count++;
    }
    assert_status(wanted, status, NULL);
    return count;
}

/* ---- failover -------------------------------------------------------------------------------- */

FIXTURE(begin, end)

/* The primary is killed after replication: the hold is kept, and excludes others until its
 * release. */
TEST(hold_is_kept_when_its_primary_is_killed)
{
    bowline_hold *second = NULL;

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    bowline_list   *list   = NULL;

    (void)server_ask(primary, "EVAL 'for i = 1, 2000 do redis.call(\"SET\", \"o\" .. i, i) end' 0");
    assert_status(BOWLINE_OK, bowline_list_start(&list, other, NULL, NULL), NULL);
    unsigned listed = read_list(list, 1001, BOWLINE_TIMEOUT); /* the cursor is of this server */
    assert_true(server_comes_to(replica, "1", "EXISTS bowline:{x}"));
    server_kill(primary);
    replica_becomes_primary();
    assert_true(replica_has_lock());
    must_extend_in_failover(hold);
    assert_status(BOWLINE_TIMEOUT, acquire_within(&second, other, "x", 500, NULL), NULL);
    assert_int_equal(bowline_hold_fence(hold), fence);
    assert_true(bowline_hold_left_ms(hold) > 0);
    (void)server_ask(replica, "CONFIG RESETSTAT");
    assert_int_equal(listed + read_list(list, 0, 0), 1);
    assert_true(server_command_count(replica, "scan") >= 2000 / 250 - 1); /* from the beginning */
    bowline_list_free(list);
    must_release(hold);
    second = must_acquire_within(other, "x", LONG_MS);
    assert_true(bowline_hold_fence(second) > fence);
    must_release(second);
    bowline_close(client);
    bowline_close(other);
}

/* ---- passwords ------------------------------------------------------------------------------- */

FIXTURE(NULL, NULL)

TEST(sentinel_and_primary_have_separate_passwords)
{
    char path[96];

    server *node     = server_start("--requirepass hunter2");
    server *sentinel = server_start_sentinel(node->port, 1);
    (void)snprintf(node->login, sizeof node->login, "AUTH hunter2");
    (void)server_ask(sentinel, "SENTINEL SET m auth-pass hunter2");
    (void)server_ask(sentinel, "ACL SETUSER watcher on >hunter2-watches +@all &*");
    (void)server_ask(sentinel, "ACL SETUSER default off");
    (void)snprintf(path, sizeof path, "%s/secret", node->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(fputs("hunter2-watches\n", file) >= 0, true);
    assert_int_equal(fclose(file), 0);

    expect(BOWLINE_OK, "",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m?sentinel-user=watcher&"
           "sentinel-password-file=%s",
           sentinel->port, path);
    expect(BOWLINE_REFUSED, "it wants a password (NOAUTH): give sentinel-password-file=",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m", sentinel->port);
    expect(BOWLINE_REFUSED, "wants a password (NOAUTH)",
           "redis+sentinel://127.0.0.1:%d/m?sentinel-user=watcher&sentinel-password-file=%s",
           sentinel->port, path);
    (void)server_ask(node, "CONFIG SET requirepass changed");
    expect(BOWLINE_REFUSED, "WRONGPASS",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m?sentinel-user=watcher&"
           "sentinel-password-file=%s",
           sentinel->port, path);
    server_stop(sentinel);
    server_stop(node);
}
