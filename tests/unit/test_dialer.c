/*
 * test_dialer.c -- names and addresses within one time limit.  Time is virtual, and the name
 * service is a function of the test.
 */
#include "net/dialer.h"
#include "tests/lib/suite.h"

#include <arpa/inet.h>
#include <sys/un.h>
#include <unistd.h>

enum { START = 1000, UNTIL = 4000, AGE = 500 };

static bwl_reactor reactor;
static bwl_stream  stream;
static bwl_dialer  dialer;
static bwl_fault   fault;
static int         listener;
static uint16_t    port;

static void ready(bwl_source *source, uint32_t events)
{
}

static void woken(void *arg)
{
}

static int begin(void **state)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof here;

    fault    = (bwl_fault){ 0 };
    reactor  = (bwl_reactor)BWL_REACTOR_CLOSED;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &size), 0);
    port = ntohs(here.sin_port);
    assert_int_equal(bwl_reactor_open(&reactor, &fault), BWL_OK);
    bwl_stream_init(&stream, &reactor, ready, 4096);
    bwl_dialer_init(&dialer, &stream);
    return 0;
}

static int end(void **state)
{
    bwl_dialer_forget(&dialer);
    bwl_stream_close(&stream);
    bwl_stream_free(&stream);
    bwl_reactor_close(&reactor);
    (void)close(listener);
    return 0;
}

static int start(const char *host, bwl_ms now)
{
    bwl_dial to = { .host = host, .port = port, .wake = woken };

    return bwl_dialer_start(&dialer, &to, now, now + UNTIL - START, AGE, &fault);
}

FIXTURE(begin, end)

TEST(dialer_numeric_address_is_connected_at_once)
{
    assert_int_equal(start("127.0.0.1", START), BWL_DIAL_CONNECTING);
    assert_true(bwl_stream_is_open(&stream));
    assert_int_equal(dialer.ends_at, UNTIL);
    assert_false(bwl_dialer_is_late(&dialer, UNTIL - 1, &fault));
    assert_true(bwl_dialer_is_late(&dialer, UNTIL, &fault));
    assert_string_equal(fault.text, "no answer within 3000 ms");
    assert_int_equal(bwl_dialer_next(&dialer, UNTIL, &fault), BWL_STATUS_UNREACHABLE);
    assert_false(bwl_stream_is_open(&stream));
}

TEST(dialer_address_without_a_name_needs_no_lookup)
{
    bwl_address         address = { .size = sizeof(struct sockaddr_un) };
    struct sockaddr_un *missing = (struct sockaddr_un *)&address.socket;

    missing->sun_family = AF_UNIX;
    strcpy(missing->sun_path, "/nonexistent/socket");
    bwl_dialer_set_address(&dialer, &address);
    assert_true(start(NULL, START) < 0);
    assert_null(dialer.resolve);
    assert_non_null(strstr(fault.text, "cannot connect"));
}

/* The same address three times: each attempt gets an equal part of the remaining time. */
TEST(dialer_addresses_share_the_remaining_time)
{
    bwl_fault late = { .status = BWL_STATUS_UNREACHABLE, .text = "late" };

    assert_int_equal(start("127.0.0.1", START), BWL_DIAL_CONNECTING);
    dialer.addresses[1]    = dialer.addresses[0];
    dialer.addresses[2]    = dialer.addresses[0];
    dialer.addresses_count = 3;
    assert_int_equal(bwl_dialer_next(&dialer, START + 1000, &late), BWL_DIAL_CONNECTING);
    assert_int_equal(dialer.ends_at, START + 2000);
    assert_int_equal(bwl_dialer_next(&dialer, START + 1500, &late), BWL_DIAL_CONNECTING);
    assert_int_equal(dialer.ends_at, UNTIL);
    assert_int_equal(bwl_dialer_next(&dialer, UNTIL, &late), BWL_STATUS_UNREACHABLE);
    assert_string_equal(late.text, "late");
}

TEST(dialer_refusal_outweighs_the_error_of_the_last_address)
{
    bwl_fault refused = { .status = BWL_STATUS_REFUSED, .text = "its certificate" };
    bwl_fault late    = { .status = BWL_STATUS_UNREACHABLE, .text = "late" };

    assert_int_equal(start("127.0.0.1", START), BWL_DIAL_CONNECTING);
    dialer.addresses[1]    = dialer.addresses[0];
    dialer.addresses_count = 2;
    assert_int_equal(bwl_dialer_next(&dialer, START, &refused), BWL_DIAL_CONNECTING);
    assert_int_equal(bwl_dialer_next(&dialer, START, &late), BWL_STATUS_REFUSED);
    assert_string_equal(late.text, "its certificate");
    /* The next attempt starts without it. */
    assert_int_equal(start("127.0.0.1", START), BWL_DIAL_CONNECTING);
    late = (bwl_fault){ .status = BWL_STATUS_UNREACHABLE, .text = "late" };
    assert_int_equal(bwl_dialer_next(&dialer, START, &late), BWL_STATUS_UNREACHABLE);
}

/* A lookup without an answer in time is kept.  An old answer is not used. */
TEST(dialer_lookup_is_cached_for_a_limited_time)
{
    bwl_dial other = { .host = "127.0.0.2", .port = port, .wake = woken };

    assert_int_equal(bwl_resolve_start(&dialer.resolve, &other, &fault), BWL_OK);
    dialer.resolve_began_at = START - AGE + 1;
    assert_int_equal(start("127.0.0.1", START), BWL_DIAL_CONNECTING);
    const struct sockaddr_in *to = (const struct sockaddr_in *)&dialer.addresses[0].socket;
    assert_int_equal(ntohl(to->sin_addr.s_addr), 0x7f000002);
    bwl_stream_close(&stream);
    assert_int_equal(bwl_resolve_start(&dialer.resolve, &other, &fault), BWL_OK);
    dialer.resolve_began_at = START - AGE;
    assert_int_equal(start("127.0.0.1", START), BWL_DIAL_CONNECTING);
    assert_int_equal(ntohl(to->sin_addr.s_addr), 0x7f000001);
}
