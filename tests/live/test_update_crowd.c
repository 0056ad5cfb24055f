/*
 * test_update_crowd.c -- many threads, and many processes, add to one counter by bowline_update:
 * every addition counts, once.
 */
#include "tests/lib/counter.h"
#include "tests/lib/shared_server.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PLACES = 16, CROWD = 24, EACH_ADDS = 40, PROCESSES = 6 };

typedef struct member {
    pthread_t       thread;
    bowline_client *client;
    uint64_t        conflicts;
    int             status;
    bowline_error   error;
} member;

static void *add(void *arg)
{
    member *m = arg;

    for (unsigned i = 0; i < EACH_ADDS && m->status == BOWLINE_OK; i++) {
        uint32_t conflicts = 0;
        m->status          = count_on(m->client, "sum", &conflicts, &m->error);
        m->conflicts += conflicts;
    }
    return NULL;
}

static uint64_t add_in_threads(bowline_client *client, unsigned threads)
{
    member   crowd[CROWD] = { { .client = NULL } };
    uint64_t conflicts    = 0;

    for (unsigned i = 0; i < threads; i++) {
        crowd[i].client = client;
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, add, &crowd[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        assert_status(BOWLINE_OK, crowd[i].status, &crowd[i].error);
        conflicts += crowd[i].conflicts;
    }
    return conflicts;
}

static void expect_sum(long long sum)
{
    assert_int_equal(atoll(server_ask(redis, "GET sum")), sum);
    (void)server_ask(redis, "DEL sum");
}

/* How many connections the server has. */
static long connected(void)
{
    const char *said = strstr(server_ask(redis, "INFO clients"), "connected_clients:");

    assert_non_null(said);
    return strtol(said + strlen("connected_clients:"), NULL, 10);
}

/* More threads than there are connections: those too many wait for one. */
static void test_threads_of_one_client_lose_no_update(void **state)
{
    bowline_client *client = must_open(redis->tcp_url);
    unsigned        before = count_descriptors();

    uint64_t conflicts = add_in_threads(client, CROWD);
    expect_sum(CROWD * EACH_ADDS);
    assert_true(conflicts > 0);
    assert_in_range(connected(), 2, PLACES + 1); /* and the one that asks */
    bowline_close(client);
    assert_true(count_descriptors() <= before);
}

static int add_in_process(void *arg)
{
    member m = { .status = BOWLINE_OK };

    (void)arg;
    if (bowline_open(&m.client, BOWLINE_OPTIONS(.url = redis->unix_url), NULL) < 0)
        return 2;
    (void)add(&m);
    bowline_close(m.client);
    return m.status == BOWLINE_OK ? 0 : 1;
}

static void test_processes_lose_no_update(void **state)
{
    pid_t children[PROCESSES];
    int   status;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(add_in_process(NULL));
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    expect_sum(PROCESSES * EACH_ADDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test(test_threads_of_one_client_lose_no_update),
        cmocka_unit_test(test_processes_lose_no_update),
    };

    int failed = cmocka_run_group_tests_name("update_crowd", tests, NULL, NULL);
    server_stop(redis);
    return failed;
}
