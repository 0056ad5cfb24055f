/*
 * test_resolve.c -- hosts become addresses; neither the start nor the drop of a lookup waits.
 *
 * The slow resolver answers when the test says so: then the test knows what was done before.
 */
#include "net/resolve.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdlib.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 20 };

/* ---- a resolver that the test controls ------------------------------------------------------- */

static sem_t       asked; /* posted by every lookup of a name when it begins */
static sem_t       may_answer;
static sem_t       woken;
static atomic_int  lookups;  /* lookups by name so far */
static atomic_int  wakes;    /* all lookups so far */
static atomic_int  lists;    /* of addresses, not yet freed     */
static atomic_int  error;    /* its error code; 0: addresses */
static atomic_int  how_many; /* addresses                       */
static atomic_bool is_slow;
static atomic_bool signals_are_blocked;

static struct addrinfo *make_list(int count, uint16_t port)
{
    struct addrinfo *first = NULL;

    for (int i = count; i > 0; i--) { /* from the last to the first */
        struct addrinfo    *one = calloc(1, sizeof *one);
        struct sockaddr_in *to  = calloc(1, sizeof *to);
        assert(one != NULL && to != NULL);
        *to   = (struct sockaddr_in){ .sin_family      = AF_INET,
                                      .sin_port        = htons(port),
                                      .sin_addr.s_addr = htonl(0x0a000000 + (uint32_t)i) };
        *one  = (struct addrinfo){ .ai_family  = AF_INET,
                                   .ai_addr    = (struct sockaddr *)to,
                                   .ai_addrlen = sizeof *to,
                                   .ai_next    = first };
        first = one;
    }
    return first;
}

static void free_list(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list->ai_addr);
        free(list);
        list = next;
    }
    lists--;
}

static int look_up(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    sigset_t blocked;

    if ((hints->ai_flags & AI_NUMERICHOST) != 0)
        return EAI_NONAME;
    lookups++;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (sigismember(&blocked, SIGTERM) != 1 || sigismember(&blocked, SIGUSR1) != 1)
        signals_are_blocked = false;
    (void)sem_post(&asked);
    if (is_slow)
        while (sem_wait(&may_answer) != 0)
            continue;
    errno = EMFILE; /* for EAI_SYSTEM */
    if (error != 0)
        return error;
    assert(strcmp(host, "") != 0);
    *ret_found = make_list(how_many, (uint16_t)atoi(port));
    lists++;
    return 0;
}

static void wake(void *arg)
{
    wakes++;
    if (arg != NULL)
        ++*(int *)arg; /* a sanitizer notices if it is freed */
    (void)sem_post(&woken);
}

static void await(sem_t *what)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (sem_timedwait(what, &until) != 0)
        if (errno != EINTR)
            fail_msg("nothing happened for %d s", PATIENCE_S);
}

/* ---- threads --------------------------------------------------------------------------------- */

static unsigned threads_at_first;

static void *say_who_and_end(void *arg)
{
    return memcpy(arg, &(pid_t){ gettid() }, sizeof(pid_t));
}

/* Includes the thread that a sanitizer starts together with our first thread. */
static int count_threads_at_first(void **state)
{
    pthread_t thread;
    pid_t     id;

    (void)pthread_create(&thread, NULL, say_who_and_end, &id);
    (void)pthread_join(thread, NULL);
    while (syscall(SYS_tgkill, getpid(), id, 0) == 0) /* until it has left the thread list too */
        (void)usleep(1000);
    threads_at_first = count_threads();
    return 0;
}

static int begin(void **state)
{
    (void)sem_init(&asked, 0, 0);
    (void)sem_init(&may_answer, 0, 0);
    (void)sem_init(&woken, 0, 0);
    lookups             = 0;
    wakes               = 0;
    error               = 0;
    how_many            = 1;
    is_slow             = false;
    signals_are_blocked = true;
    return 0;
}

/* Every lookup has ended, and all memory is freed. */
static int finish(void **state)
{
    assert_true(threads_end(threads_at_first));
    assert_int_equal(lists, 0);
    assert_true(signals_are_blocked);
    (void)sem_destroy(&asked);
    (void)sem_destroy(&may_answer);
    (void)sem_destroy(&woken);
    return 0;
}

static bwl_resolve *start_lookup(const char *host, bool by_system, void *arg)
{
    bwl_resolve *resolve = NULL;
    bwl_fault    fault   = { 0 };
    bwl_dial     request = { .host = host, .port = 6379, .wake = wake, .wake_arg = arg };

    if (!by_system)
        request.resolver = (bwl_resolver){ look_up, free_list };
    if (bwl_resolve_start(&resolve, &request, &fault) != BWL_OK)
        fail_msg("%s: %s", host, fault.text);
    return resolve;
}

/* ---- addresses ------------------------------------------------------------------------------- */

FIXTURE(begin, finish)

TEST(resolve_numeric_address_needs_no_thread)
{
    bwl_address addresses[BWL_RESOLVE_MAX];
    bwl_fault   fault = { 0 };

    bwl_resolve *resolve = start_lookup("127.0.0.1", true, NULL);
    assert_int_equal(count_threads(), threads_at_first);
    assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), 1);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addresses[0].socket;
    assert_int_equal(v4->sin_family, AF_INET);
    assert_int_equal(ntohs(v4->sin_port), 6379);
    assert_int_equal(ntohl(v4->sin_addr.s_addr), INADDR_LOOPBACK);
    assert_int_equal(addresses[0].size, sizeof *v4);
    bwl_resolve_forget(resolve);

    resolve = start_lookup("::1", true, NULL);
    assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), 1);
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addresses[0].socket;
    assert_int_equal(v6->sin6_family, AF_INET6);
    assert_int_equal(ntohs(v6->sin6_port), 6379);
    assert_memory_equal(&v6->sin6_addr, &in6addr_loopback, sizeof in6addr_loopback);
    assert_int_equal(addresses[0].size, sizeof *v6);
    assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), 1); /* any number of times */
    bwl_resolve_forget(resolve);
    assert_int_equal(wakes, 0);
}

TEST(resolve_keeps_the_order_and_the_maximum)
{
    bwl_address addresses[BWL_RESOLVE_MAX];
    bwl_fault   fault = { 0 };

    for (how_many = 1; how_many <= 12; how_many++) {
        bwl_resolve *resolve = start_lookup("many.test", false, NULL);
        await(&woken);
        int count = bwl_resolve_take(resolve, addresses, &fault);
        assert_int_equal(count, how_many < BWL_RESOLVE_MAX ? how_many : BWL_RESOLVE_MAX);
        for (int i = 0; i < count; i++) {
            const struct sockaddr_in *to = (const struct sockaddr_in *)&addresses[i].socket;
            assert_int_equal(ntohl(to->sin_addr.s_addr), 0x0a000001 + i);
            assert_int_equal(ntohs(to->sin_port), 6379);
        }
        bwl_resolve_forget(resolve);
    }
}

/* ---- no addresses ---------------------------------------------------------------------------- */

TEST(resolve_failure_has_a_reason)
{
    static const struct {
        int         error;
        int         how_many;
        int         status;
        const char *words;
    } cases[] = {
        { EAI_NONAME, 0, BWL_STATUS_UNREACHABLE, "the host \"odd.test\" is not known: " },
        { EAI_FAIL, 0, BWL_STATUS_UNREACHABLE, "the host \"odd.test\" is not known: " },
        { EAI_AGAIN, 0, BWL_STATUS_UNREACHABLE, "could not be looked up: no name server answers" },
        { EAI_MEMORY, 0, BWL_STATUS_NOMEM, "out of memory" },
        { EAI_SYSTEM, 0, BWL_STATUS_SYSTEM, "cannot look up the host \"odd.test\": " },
        { 0, 0, BWL_STATUS_UNREACHABLE, "the host \"odd.test\" has no address" },
    };
    bwl_address addresses[BWL_RESOLVE_MAX];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bwl_fault fault = { 0 };
        error           = cases[i].error;
        how_many        = cases[i].how_many;

        bwl_resolve *resolve = start_lookup("odd.test", false, NULL);
        await(&woken);
        assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), cases[i].status);
        assert_int_equal(fault.status, cases[i].status);
        if (strstr(fault.text, cases[i].words) == NULL)
            fail_msg("\"%s\" expected, \"%s\" found", cases[i].words, fault.text);
        if (cases[i].error == EAI_SYSTEM && strstr(fault.text, strerror(EMFILE)) == NULL)
            fail_msg("\"%s\" expected, \"%s\" found", strerror(EMFILE), fault.text);
        bwl_resolve_forget(resolve);
    }
}

TEST(resolve_invalid_host_is_refused)
{
    char         host[BWL_RESOLVE_HOST_MAX + 2];
    bwl_resolve *resolve = NULL;
    bwl_fault    fault   = { 0 };
    bwl_dial     request = { .host = "", .wake = wake };

    assert_int_equal(bwl_resolve_start(&resolve, &request, &fault), BWL_STATUS_USAGE);
    memset(host, 'a', sizeof host);
    host[sizeof host - 1] = '\0';
    request.host          = host;
    assert_int_equal(bwl_resolve_start(&resolve, &request, &fault), BWL_STATUS_USAGE);
    assert_null(resolve);
    host[sizeof host - 2] = '\0';
    is_slow               = true;
    resolve               = start_lookup(host, false, NULL);
    memset(host, 'b', sizeof host); /* it was copied */
    (void)sem_post(&may_answer);
    await(&woken);
    bwl_resolve_forget(resolve);
    bwl_resolve_forget(NULL);
}

/* ---- no call waits --------------------------------------------------------------------------- */

TEST(resolve_does_not_block_the_caller)
{
    bwl_address addresses[BWL_RESOLVE_MAX];
    bwl_fault   fault = { 0 };

    is_slow              = true;
    bwl_resolve *resolve = start_lookup("slow.test", false, NULL);
    await(&asked);
    assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), 0);
    assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), 0);
    assert_int_equal(wakes, 0);
    (void)sem_post(&may_answer);
    await(&woken);
    assert_int_equal(bwl_resolve_take(resolve, addresses, &fault), 1);
    assert_int_equal(wakes, 1);
    assert_int_equal(lookups, 1);
    bwl_resolve_forget(resolve);
}

TEST(resolve_dropped_lookup_wakes_nothing)
{
    int *mine = calloc(1, sizeof *mine); /* it is woken, and is freed before the answer arrives */

    is_slow              = true;
    bwl_resolve *resolve = start_lookup("slow.test", false, mine);
    await(&asked);
    bwl_resolve_forget(resolve);
    free(mine);
    (void)sem_post(&may_answer);
    assert_true(threads_end(threads_at_first));
    assert_int_equal(wakes, 0);
}

/* A drop and an answer at the same moment, repeatedly: one of the two is last. */
TEST(resolve_dropped_when_the_answer_arrives)
{
    bwl_address addresses[BWL_RESOLVE_MAX];

    is_slow = true;
    for (int i = 0; i < 300; i++) {
        int         *mine    = calloc(1, sizeof *mine);
        bwl_resolve *resolve = start_lookup("slow.test", false, mine);
        await(&asked);
        (void)sem_post(&may_answer);
        for (volatile int pause = 0; pause < (i % 30) * 200; pause++)
            continue;
        int taken = bwl_resolve_take(resolve, addresses, NULL);
        assert_true(taken == 0 || taken == 1);
        bwl_resolve_forget(resolve);
        free(mine);
    }
    assert_true(threads_end(threads_at_first));
    assert_in_range(wakes, 0, 300);
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* The thread waits here with the mutex locked, so that the mutex stays locked in the child. */
static sem_t is_waking;
static sem_t may_wake;

static void wake_slowly(void *arg)
{
    (void)sem_post(&is_waking);
    while (sem_wait(&may_wake) != 0)
        continue;
    wake(arg);
}

TEST(resolve_child_drops_a_lookup_without_waiting)
{
    bwl_resolve *resolve = NULL;
    bwl_address  addresses[BWL_RESOLVE_MAX];
    bwl_dial     request = { .host     = "slow.test",
                             .resolver = { look_up, free_list },
                             .wake     = wake_slowly };
    int          status  = 0;

    (void)sem_init(&is_waking, 0, 0);
    (void)sem_init(&may_wake, 0, 0);
    assert_int_equal(bwl_resolve_start(&resolve, &request, NULL), BWL_OK);
    await(&is_waking);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(PATIENCE_S);
        int taken = bwl_resolve_take(resolve, addresses, NULL);
        bwl_resolve_forget(resolve);
        _exit(taken == BWL_STATUS_FORKED ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)sem_post(&may_wake);
    await(&woken);
    assert_int_equal(bwl_resolve_take(resolve, addresses, NULL), 1); /* here it continues */
    bwl_resolve_forget(resolve);
}

AROUND(count_threads_at_first, NULL)
