/*
 * testing.c -- see testing.h.
 */
#include "tests/lib/testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void assert_status_at(int expected, int actual, const bowline_error *error, const char *file,
                      int line)
{
    if (expected == actual)
        return;
    print_error("%s, expected %s: %s\n", bowline_status_name(actual), bowline_status_name(expected),
                error != NULL && actual != BOWLINE_OK ? error->text : "");
    _fail(file, line);
}

bowline_client *must_open_at(const char *url, uint32_t flags, const char *file, int line)
{
    bowline_client *client = NULL;
    bowline_error   error  = { 0 };
    int status = bowline_open(&client, BOWLINE_OPTIONS(.url = url, .flags = flags), &error);

    assert_status_at(BOWLINE_OK, status, &error, file, line);
    return client;
}

bowline_client *must_open_url_at(const char *file, int line, const char *format, ...)
{
    char    url[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    return must_open_at(url, 0, file, line);
}

bool came_too_late(int status, const bowline_error *error)
{
    return status < 0 && (strstr(error->text, "no answer within") != NULL ||
                          strstr(error->text, "no answer before the end of the wait") != NULL ||
                          strstr(error->text, "too slowly") != NULL);
}

void acquire_in_the_end_at(bowline_hold **ret_hold, bowline_client *client, const char *name,
                           const char *file, int line)
{
    bowline_error error  = { 0 };
    int           status = BOWLINE_UNKNOWN;

    for (int round = 0; round < 20 && status != BOWLINE_OK; round++) {
        status = acquire_within(ret_hold, client, name, 20000, &error);
        if (!came_too_late(status, &error))
            break;
    }
    assert_status_at(BOWLINE_OK, status, &error, file, line);
}

void give_back_or_lose_at(bowline_hold *hold, const char *file, int line)
{
    bowline_error error  = { 0 };
    int           status = bowline_release(hold, &error);

    if (status != BOWLINE_LOST && status != BOWLINE_UNKNOWN && status != BOWLINE_UNREACHABLE)
        assert_status_at(BOWLINE_OK, status, &error, file, line);
}

bowline_hold *must_acquire_at(bowline_client *client, const char *name, const char *file, int line)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, name, BOWLINE_NO_WAIT, &error);

    if (came_too_late(status, &error)) /* it may still be executed, and ends with its lease */
        acquire_in_the_end_at(&hold, client, name, file, line);
    else
        assert_status_at(BOWLINE_OK, status, &error, file, line);
    return hold;
}

bowline_hold *must_acquire_within_at(bowline_client *client, const char *name, int64_t wait_ms,
                                     const char *file, int line)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, name, wait_ms, &error);

    assert_status_at(BOWLINE_OK, status, &error, file, line);
    return hold;
}

bowline_holder must_who_at(bowline_client *client, const char *name, const char *file, int line)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error  = { 0 };

    assert_status_at(BOWLINE_OK, bowline_who(client, name, &holder, &error), &error, file, line);
    return holder;
}

bowline_operation *must_start_at(bowline_client *client, const char *name, int64_t wait_ms,
                                 const char *file, int line)
{
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };
    int                status =
        bowline_acquire_start(&op, client, name, BOWLINE_ACQUIRE(.wait_ms = wait_ms), &error);

    assert_status_at(BOWLINE_OK, status, &error, file, line);
    return op;
}

bowline_hold *must_finish_at(bowline_operation *op, const char *file, int line)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = bowline_acquire_finish(&hold, op, &error);

    assert_status_at(BOWLINE_OK, status, &error, file, line);
    return hold;
}

void must_release_at(bowline_hold *hold, const char *file, int line)
{
    bowline_error error  = { 0 };
    int           status = bowline_release(hold, &error);

    assert_status_at(BOWLINE_OK, status, &error, file, line);
}

int acquire_within(bowline_hold **ret_hold, bowline_client *client, const char *name,
                   int64_t wait_ms, bowline_error *reterr)
{
    return bowline_acquire(ret_hold, client, name, BOWLINE_ACQUIRE(.wait_ms = wait_ms), reterr);
}

int try_once(bowline_client *client, const char *name)
{
    bowline_hold *hold   = NULL;
    int           status = acquire_within(&hold, client, name, BOWLINE_NO_WAIT, NULL);

    return status == BOWLINE_OK ? bowline_release(hold, NULL) : status;
}

void must_end_at(bowline_hold *hold, const char *file, int line)
{
    for (int64_t end = clock_ms() + 20000; bowline_hold_left_ms(hold) > 0; sleep_ms(1))
        _assert_true(clock_ms() < end, "the hold has ended", file, line);
}

static void *wait_for_it(void *arg)
{
    waiter *w = arg;

    atomic_store(&w->begun, true);
    w->status = acquire_within(&w->hold, w->client, w->name, w->wait_ms, &w->error);
    atomic_store(&w->ended, true);
    return NULL;
}

void waiter_start(waiter *w, bowline_client *client, const char *name, int64_t wait_ms)
{
    *w = (waiter){ .client = client, .name = name, .wait_ms = wait_ms };
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
    assert_true(comes_true(&w->begun));
}

int waiter_join(waiter *w)
{
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    return w->status;
}

void waiter_must_release_at(waiter *w, const char *file, int line)
{
    _assert_true(waiter_ends(w), "the waiter has ended", file, line);
    assert_status_at(BOWLINE_OK, waiter_join(w), &w->error, file, line);
    must_release_at(w->hold, file, line);
}

bool comes_true(const atomic_bool *flag)
{
    for (int64_t end = clock_ms() + 10000; !atomic_load(flag) && clock_ms() < end;)
        sleep_ms(1);
    return atomic_load(flag);
}

int64_t clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void sleep_ms(int64_t ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

    while (nanosleep(&t, &t) != 0)
        continue; /* a signal: sleeps for the rest */
}

static unsigned count_entries(const char *directory)
{
    unsigned count = 0;
    DIR     *dir   = opendir(directory);

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        count += e->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

unsigned count_descriptors(void)
{
    return count_entries("/proc/self/fd") - 1; /* the directory itself */
}

bool descriptor_closes_on_exec(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && (flags & FD_CLOEXEC) != 0;
}

unsigned count_threads(void)
{
    return count_entries("/proc/self/task");
}

bool threads_end(unsigned count)
{
    for (int64_t end = clock_ms() + 10000; count_threads() > count && clock_ms() < end;)
        sleep_ms(1); /* a joined thread may be visible for a moment longer */
    return count_threads() <= count;
}

int in_child(int (*body)(void *arg), void *arg)
{
    int   status = 0;
    pid_t pid    = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(20); /* it may hang instead of failing */
        _exit(body(arg));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child_expects(int *failed, bool holds, const char *what)
{
    if (holds)
        return;
    (void)dprintf(STDERR_FILENO, "# in the child: not so: %s\n", what);
    *failed = 1;
}

bool keeps_in_round_at(bool kept, int status, int round, const char *file, int line)
{
    if (kept && status == BOWLINE_OK)
        return true;
    bool by_time = status == BOWLINE_OK || status == BOWLINE_LOST || status == BOWLINE_UNKNOWN ||
                   status == BOWLINE_UNREACHABLE;
    if (!by_time || round >= 20) {
        print_error("not kept in round %d, and released with %s\n", round,
                    bowline_status_name(status));
        _fail(file, line);
    }
    print_message("# round %d: the machine was too slow\n", round);
    return false;
}
