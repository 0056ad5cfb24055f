#include "net/spin.h"
#include "base/clock.h"
#include "base/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* The number of threads of this process that wait for a reply.  A forked child inherits the count,
 * and spins less. */
static atomic_uint waiting;

static ssize_t look(int fd, void *ret_bytes, size_t room)
{
    return recv(fd, ret_bytes, room, MSG_DONTWAIT);
}

static ssize_t sleep_there(int fd, void *ret_bytes, size_t room)
{
    return recv(fd, ret_bytes, room, 0);
}

static void offer(void)
{
    (void)sched_yield(); /* cannot fail on Linux */
}

const bwl_spin_system bwl_spin_real = { .now_ns = bwl_clock_ns,
                                        .look   = look,
                                        .sleep  = sleep_there,
                                        .offer  = offer,
                                        .cpus   = bwl_cpus_usable };

bool bwl_spin_has_room(unsigned others, unsigned count)
{
    return others + 2 <= count; /* this thread and the server */
}

bwl_spin_wait bwl_spin_plan(const bwl_spin *spin, bwl_ms now)
{
    bwl_spin_wait wait = { .system = spin->system != NULL ? spin->system : &bwl_spin_real };

    wait.is_measured = !spin->is_off;
    if (!wait.is_measured || now < spin->rests_until || spin->smoothed_ns == 0 ||
        spin->smoothed_ns > BWL_SPIN_MAX_NS)
        return wait;
    wait.spin_ns = spin->smoothed_ns + 4 * spin->varies_ns;
    if (wait.spin_ns > BWL_SPIN_MAX_NS)
        wait.spin_ns = BWL_SPIN_MAX_NS;
    wait.gap_ns = spin->smoothed_ns / 2;
    return wait;
}

static void smooth(bwl_spin *spin, int64_t took_ns)
{
    if (spin->smoothed_ns == 0) {
        spin->smoothed_ns = took_ns > 0 ? took_ns : 1;
        spin->varies_ns   = took_ns / 2;
        return;
    }
    int64_t off = took_ns - spin->smoothed_ns;
    spin->varies_ns += ((off < 0 ? -off : off) - spin->varies_ns) / 4;
    spin->smoothed_ns += off / 8;
    if (spin->smoothed_ns < 1)
        spin->smoothed_ns = 1;
}

static void rest(bwl_spin *spin, bwl_ms now)
{
    if (spin->pause_ms == 0)
        spin->pause_ms = 1;
    spin->rests_until = now + spin->pause_ms;
    spin->pause_ms *= 2;
    if (spin->pause_ms > BWL_SPIN_PAUSE_MAX_MS)
        spin->pause_ms = BWL_SPIN_PAUSE_MAX_MS;
}

void bwl_spin_learn(bwl_spin *spin, const bwl_spin_wait *wait, bool heard, bwl_ms now)
{
    if (!wait->is_measured)
        return;
    smooth(spin, wait->took_ns);
    bool spun = wait->looks > 0;
    bool paid = spun && heard && !wait->slept && !wait->was_disturbed;
    if (paid)
        spin->pause_ms -= (spin->pause_ms + 7) / 8;
    bool is_resting = now < spin->rests_until;
    if (!is_resting && ((spun && !paid) || spin->smoothed_ns > BWL_SPIN_MAX_NS))
        rest(spin, now);
}

static bool has_come(ssize_t got)
{
    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* EAGAIN: sleep now. */
static ssize_t spin_for(bwl_spin_wait *wait, int64_t began_ns, int fd, void *ret_bytes, size_t room)
{
    const bwl_spin_system *system  = wait->system;
    int64_t                before  = began_ns;
    bool                   is_last = false;

    while (true) {
        ssize_t got = system->look(fd, ret_bytes, room);
        wait->looks++;
        if (has_come(got) || is_last)
            return got;
        if (wait->looks == 1)
            system->offer();
        int64_t now = system->now_ns();
        if (now - before > wait->gap_ns)
            wait->was_disturbed = true;
        before  = now;
        is_last = wait->was_disturbed; /* the reply may have come meanwhile */
        if (!is_last && now - began_ns >= wait->spin_ns) {
            errno = EAGAIN;
            return -1;
        }
    }
}

ssize_t bwl_spin_receive(bwl_spin_wait *wait, int fd, void *ret_bytes, size_t room)
{
    ssize_t got     = -1;
    bool    is_done = false;

    if (!wait->is_measured) {
        wait->slept = true;
        return wait->system->sleep(fd, ret_bytes, room);
    }
    int64_t  began_ns = wait->system->now_ns();
    unsigned others   = atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);

    /* errno is valid only right after a receive: counting the CPUs may change it. */
    if (wait->spin_ns > 0 && bwl_spin_has_room(others, wait->system->cpus())) {
        got     = spin_for(wait, began_ns, fd, ret_bytes, room);
        is_done = has_come(got);
    }
    if (!is_done) {
        wait->slept = true;
        got         = wait->system->sleep(fd, ret_bytes, room);
    }
    int error = errno;
    (void)atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
    wait->took_ns = wait->system->now_ns() - began_ns;
    errno         = error;
    return got;
}
