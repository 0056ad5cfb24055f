/*
 * test_net.c -- hosts of the test's own (net.h): is a way that is cut cut, in silence, and no
 * other?
 *
 * What is told apart by order: a word that was lost is not before the next one, which arrives.
 */
#include "tests/lib/net.h"
#include "tests/lib/testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOSTS = 3, PORT = 7000, PATIENCE_MS = 10000 };

static net *hosts;
static int  sockets[HOSTS];

static int begin(void **state)
{
    const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };

    hosts = net_make(HOSTS);
    for (unsigned i = 0; i < HOSTS && hosts != NULL; i++) {
        net_enter(hosts, i);
        sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(sockets[i], (const struct sockaddr *)&at, sizeof at), 0);
        net_leave(hosts);
    }
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < HOSTS && hosts != NULL; i++)
        (void)close(sockets[i]);
    net_free(hosts);
    return 0;
}

static void says(unsigned from, unsigned to, const char *word)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };

    assert_int_equal(inet_pton(AF_INET, net_address(hosts, to), &at.sin_addr), 1);
    assert_int_equal(
        sendto(sockets[from], word, strlen(word), 0, (struct sockaddr *)&at, sizeof at),
        (ssize_t)strlen(word));
}

static void hears(unsigned host, const char *word)
{
    struct pollfd fd       = { .fd = sockets[host], .events = POLLIN };
    char          said[16] = "";

    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    assert_true(recv(sockets[host], said, sizeof said - 1, 0) >= 0);
    assert_string_equal(said, word);
}

static void must_have_hosts(void)
{
    if (hosts == NULL)
        skip();
}

static void test_each_hears_each(void **state)
{
    must_have_hosts();
    for (unsigned i = 0; i < HOSTS; i++)
        for (unsigned k = 0; k < HOSTS; k++)
            if (i != k) {
                says(i, k, "hello");
                hears(k, "hello");
            }
}

static void test_way_that_is_cut_loses_what_is_said_and_no_other_does(void **state)
{
    must_have_hosts();
    net_cut(hosts, 0, 1);
    says(0, 1, "lost");
    says(1, 0, "lost");
    says(0, 2, "other");
    says(2, 1, "other");
    hears(2, "other");
    hears(1, "other");
    net_mend(hosts, 0, 1);
    says(0, 1, "again");
    says(1, 0, "again");
    hears(1, "again");
    hears(0, "again");
}

/* Neither is a host of another, nor is this process on one when it has left. */
static void test_hosts_are_apart_from_this_machine(void **state)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    int                here = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    must_have_hosts();
    assert_int_equal(inet_pton(AF_INET, net_address(hosts, 1), &at.sin_addr), 1);
    assert_int_equal(bind(here, (struct sockaddr *)&at, sizeof at), -1); /* not our address */
    (void)close(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_hears_each),
        cmocka_unit_test(test_way_that_is_cut_loses_what_is_said_and_no_other_does),
        cmocka_unit_test(test_hosts_are_apart_from_this_machine),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
