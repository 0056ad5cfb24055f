/*
 * member.c -- the processes that share the locks: see soak.h.
 *
 * A program with the library acquires the lock, mostly with a wait, sometimes with a short or no
 * wait, holds it for some milliseconds or for longer than a lease, and releases it. It leaves when
 * a third of the lease is left: so only a stopped process ever holds it for too long.
 */
#include "tests/soak/soak.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CALM_MS = 400 };

typedef struct worker {
    soak_journal   *journal;
    bowline_client *client;
    soak_member    *me;
    soak_tally     *tally;
    unsigned        member;
    uint64_t        seed;
} worker;

static int64_t random_below(worker *w, int64_t bound)
{
    return (int64_t)(soak_random(&w->seed) % (uint64_t)bound);
}

static bool one_in(worker *w, int64_t n)
{
    return random_below(w, n) == 0;
}

/* ---- a program of the library --------------------------------------------------------------- */

static void report_wrong(const worker *w, const char *call, const bowline_error *error)
{
    (void)dprintf(STDERR_FILENO, "soak: %s of %s: %s: %s\n", call,
                  w->journal->locks[w->me->lock].name, bowline_status_name(error->status),
                  error->text);
    atomic_fetch_add(&w->tally->wrong, 1);
}

/* Refusals that may happen: the server loads or runs an endless script; or the process itself was
 * stopped during the request. */
static bool may_refuse(const bowline_error *error)
{
    static const char *const parts[] = { "LOADING", "BUSY", "closed the connection", "too slowly",
                                         "no answer" };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(error->text, parts[i]) != NULL)
            return true;
    return false;
}

static void count(worker *w, const char *call, int status, const bowline_error *error)
{
    switch (status) {
    case BOWLINE_OK: return;
    case BOWLINE_BUSY:
    case BOWLINE_TIMEOUT: atomic_fetch_add(&w->tally->in_vain, 1); return;
    case BOWLINE_LOST: atomic_fetch_add(&w->tally->lost, 1); return;
    case BOWLINE_UNKNOWN:
    case BOWLINE_UNREACHABLE: atomic_fetch_add(&w->tally->unknown, 1); return;
    case BOWLINE_REFUSED:
        if (may_refuse(error)) {
            atomic_fetch_add(&w->tally->refused, 1);
            return;
        }
        break;
    default: break;
    }
    report_wrong(w, call, error);
}

static int64_t stay_ms(worker *w)
{
    int64_t lease_ms = w->journal->locks[w->me->lock].lease_ms;

    if (one_in(w, 60))
        return lease_ms + random_below(w, 2 * lease_ms + 500); /* it must be renewed */
    return one_in(w, 8) ? random_below(w, 100) : random_below(w, 8);
}

static void visit_lock(worker *w, bowline_hold *hold)
{
    int64_t       enough_ms = w->journal->locks[w->me->lock].lease_ms / 3;
    int64_t       end       = clock_ms() + stay_ms(w);
    bowline_error error     = { 0 };
    int64_t       left;
    int           fd;
    soak_visit   *visit = soak_enter(w->journal, w->member, bowline_hold_fence(hold), &fd);

    do {
        int64_t at = soak_now_us();
        left       = bowline_hold_left_ms(hold);
        soak_sure(visit, at, left);
        if (one_in(w, 200))
            count(w, "extend", bowline_extend(hold, 0, &error), &error);
        sleep_ms(1);
    } while (left > enough_ms && clock_ms() < end && !atomic_load(&w->journal->ends));
    soak_leave(visit, fd);
}

#ifdef HAVE_MALLINFO2
/* mallinfo2 reports only the first arena, and it is random which thread connects. */
static void have_one_arena(void)
{
    (void)mallopt(M_ARENA_MAX, 1);
}

static uint64_t blocks_bytes(void)
{
    return mallinfo2().uordblks;
}
#else
static void have_one_arena(void)
{
}

static uint64_t blocks_bytes(void)
{
    return 1; /* this C library does not report it */
}
#endif

static void note_least(_Atomic uint64_t *least, uint64_t now)
{
    uint64_t before = atomic_load(least);

    while ((before == 0 || now < before) && !atomic_compare_exchange_weak(least, &before, now))
        continue;
}

static void note_own_resources(worker *w)
{
    unsigned quarter = atomic_load(&w->journal->quarter);

    note_least(&w->me->blocks_bytes[quarter], blocks_bytes());
    note_least(&w->me->descriptors[quarter], count_descriptors());
}

/* Without a queue, a client that tries again at once may starve one that polls. */
static void pause_after(worker *w)
{
    bool has_queue = strcmp(w->journal->locks[w->me->lock].protocol, "queue") == 0;

    sleep_ms(one_in(w, 30) ? random_below(w, 300) : random_below(w, 8));
    if (atomic_load(&w->journal->is_calm) && !has_queue)
        sleep_ms(random_below(w, CALM_MS));
}

static void acquire_and_release(worker *w)
{
    int64_t       waits[] = { BOWLINE_NO_WAIT, 1 + random_below(w, 30), BOWLINE_FOREVER,
                              50 + random_below(w, 4000) };
    size_t        which   = one_in(w, 10) ? 0 : one_in(w, 6) ? 1 : one_in(w, 10) ? 2 : 3;
    bowline_hold *hold    = NULL;
    bowline_error error   = { 0 };
    const char   *name    = w->journal->locks[w->me->lock].name;
    int           status  = acquire_within(&hold, w->client, name, waits[which], &error);

    count(w, "acquire", status, &error);
    if (status == BOWLINE_OK) {
        visit_lock(w, hold);
        atomic_fetch_add(&w->tally->holds, 1);
        status = bowline_release(hold, &error);
        count(w, "release", status, &error);
        if (status == BOWLINE_OK && !w->me->is_killable)
            note_own_resources(w); /* it is still connected */
    }
    pause_after(w);
}

static void *work(void *arg)
{
    worker *w = arg;

    while (!atomic_load(&w->journal->ends))
        acquire_and_release(w);
    return NULL;
}

int soak_work(soak_journal *journal, unsigned member)
{
    soak_member *me    = &journal->members[member];
    uint32_t     lease = journal->locks[me->lock].lease_ms;
    uint32_t     reply =
        member % 3 == 0 ? lease / 4 : lease; /* the long time-out accepts late replies */
    bowline_client *client = NULL;
    bowline_error   error  = { 0 };
    worker          workers[SOAK_THREADS];
    pthread_t       threads[SOAK_THREADS];

    have_one_arena();
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = me->url, .lease_ms = lease, .reply_ms = reply),
                     &error) != BOWLINE_OK) {
        (void)fprintf(stderr, "soak: %s\n", error.text);
        return 1;
    }
    for (unsigned i = 0; i < me->threads; i++) {
        workers[i] = (worker){ .journal = journal,
                               .client  = client,
                               .me      = me,
                               .tally   = &me->tallies[i],
                               .member  = member,
                               .seed    = journal->seed + (uint64_t)getpid() * SOAK_THREADS + i };
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < me->threads; i++)
        (void)pthread_join(threads[i], NULL);
    bowline_close(client);
    return 0;
}

/* ---- the command of a `bowline run` --------------------------------------------------------- */

int soak_inside(soak_journal *journal, unsigned member)
{
    const char *fence = getenv("BOWLINE_FENCE");
    worker      w     = { .journal = journal,
                          .me      = &journal->members[member],
                          .seed    = journal->seed + (uint64_t)getpid() };
    int         fd;
    soak_visit *visit =
        soak_enter(journal, member, fence != NULL ? strtoull(fence, NULL, 10) : 0, &fd);

    sleep_ms(stay_ms(&w));
    soak_leave(visit, fd);
    return 0;
}

/* ---- a foreign program ----------------------------------------------------------------------- */

static int send_command(int fd, const char *command, char answer[static 64])
{
    ssize_t size = send(fd, command, strlen(command), MSG_NOSIGNAL);

    if (size != (ssize_t)strlen(command) || (size = recv(fd, answer, 63, 0)) <= 0)
        return -1;
    answer[size] = '\0';
    return 0;
}

static int connect_to_server(const soak_journal *journal)
{
    struct sockaddr_un to       = { .sun_family = AF_UNIX };
    struct timeval     patience = { .tv_sec = 5 };
    int                fd       = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", journal->socket);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

#define DELETE_OWN \
    "\"if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0\""

/* Inline commands. 1: it had the lock; 0: it had not; -1: no connection. */
static int hold_once(worker *w, int line)
{
    const char *name    = w->journal->locks[w->me->lock].name;
    unsigned    forgets = atomic_load(&w->journal->data_losses);
    int64_t     px      = 300 + random_below(w, 700);
    int64_t     end_us  = soak_now_us() + px * 1000;
    char        command[256], answer[64];
    int         fd;

    (void)snprintf(command, sizeof command, "SET bowline:{%s} foreign-%d NX PX %d\r\n", name,
                   (int)getpid(), (int)px);
    if (send_command(line, command, answer) != 0)
        return -1;
    if (strncmp(answer, "+OK", 3) != 0)
        return 0;
    soak_visit *visit  = soak_enter(w->journal, w->member, 0, &fd);
    int64_t     now_us = soak_now_us();
    soak_sure(visit, now_us, (end_us - now_us) / 1000);
    sleep_ms(random_below(w, 60));
    soak_leave(visit, fd);
    atomic_fetch_add(&w->tally->holds, 1);
    if (one_in(w, 4))
        return 1; /* the lock expires */
    (void)snprintf(command, sizeof command, "EVAL " DELETE_OWN " 1 bowline:{%s} foreign-%d\r\n",
                   name, (int)getpid());
    if (send_command(line, command, answer) != 0)
        return -1;
    if (answer[0] == ':' && answer[1] == '0' && soak_now_us() < end_us &&
        forgets == atomic_load(&w->journal->data_losses)) {
        (void)dprintf(STDERR_FILENO, "soak: the key of a foreign program was deleted\n");
        atomic_fetch_add(&w->tally->wrong, 1);
    }
    return 1;
}

int soak_foreign_program(soak_journal *journal, unsigned member)
{
    soak_member *me = &journal->members[member];
    worker       w  = { .journal = journal,
                        .me      = me,
                        .tally   = &me->tallies[0],
                        .member  = member,
                        .seed    = journal->seed + (uint64_t)getpid() };
    int          fd = -1;

    while (!atomic_load(&journal->ends)) {
        int done = fd < 0 ? -1 : hold_once(&w, fd);
        if (done < 0 && fd >= 0)
            (void)close(fd);
        if (done < 0 && (fd = connect_to_server(journal)) < 0)
            sleep_ms(50);
        sleep_ms(done == 0 ? 1 + random_below(&w, 20) : random_below(&w, 1000));
    }
    return 0;
}
