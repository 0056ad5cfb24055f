/*
 * measures.c -- the table of measures and their goals.
 */
#include "bench/measure/measures.h"

#include "bench/duel/duel.h"
#include "bench/measure/measure.h"

#define QUEUE     "protocol=queue"
#define PAIR_OURS "acquire and release, both awaited"

/* The same two regimes for every number of threads. */
#define THREADS_MAP(X) \
    X(1, 1.0, 0)       \
    X(2, 1.0, 0)       \
    X(4, 1.0, 0)       \
    X(16, 1.3, 0)      \
    X(64, 1.6, 0)

#define THREADS_MEASURE(count, where, needed, wanted, place)                               \
    {                                                                                      \
        .name    = "threads-" #count "-" where,                                            \
        .regime  = place,                                                                  \
        .unit    = BENCH_RATES,                                                            \
        .ours    = "threads on one client, pairs per second",                              \
        .theirs  = "one hiredis connection per thread",                                    \
        .means   = "Threads acquire and release locks of different names. bowline has up " \
                   "to four connections, and sends the commands of several threads "       \
                   "together; on the other side each thread has its own connection.",      \
        .bound   = BENCH_AT_LEAST,                                                         \
        .goal    = needed,                                                                 \
        .stretch = wanted,                                                                 \
        .threads = count,                                                                  \
        .run     = bench_measure_threads,                                                  \
    },

#define COUNTER_MEASURE(count, needed)                                                           \
    {                                                                                            \
        .name = "counter-" #count "-free", .regime = BENCH_FREE, .unit = BENCH_UPDATES,          \
        .ours   = "bowline_update, all threads on one key",                                      \
        .theirs = "the same under a lock: acquire, GET, SET, release",                           \
        .means  = "Threads add to one number in Redis, and no addition is lost. An update "      \
                  "is two round trips, and is tried again after a conflict; under a lock "       \
                  "it is four, and the others wait.",                                            \
        .bound = BENCH_AT_LEAST, .goal = needed, .threads = count, .run = bench_measure_counter, \
    }

#define HAND_OVER_MEASURE(where, place, needed)                                           \
    {                                                                                     \
        .name = "hand-over-" where, .regime = place, .unit = BENCH_TIMES,                 \
        .ours = "from release to the other's acquire, " QUEUE, .theirs = "one PING",      \
        .means = "One client holds the lock and another waits. The lock goes from the "   \
                 "holder to the server and from there to the waiter: at least one round " \
                 "trip.",                                                                 \
        .bound = BENCH_AT_MOST, .goal = needed, .run = bench_measure_hand_over,           \
    }

/* `count` not 0: the other side is not a PING. */
#define HAND_OVER_LEAST_MEASURE(where, place, needed)                                       \
    {                                                                                       \
        .name = "hand-over-least-" where, .regime = place, .unit = BENCH_TIMES,             \
        .ours   = "from release to the other's acquire, " QUEUE,                            \
        .theirs = "the same scripts by blocking hiredis",                                   \
        .means  = "Both sides include the time of the server. The other side has a "        \
                  "connection that only subscribes; it confirms and renews nothing.",       \
        .bound = BENCH_AT_MOST, .goal = needed, .count = 1, .run = bench_measure_hand_over, \
    }

#define TAKEOVER_MEASURE(called, others)                                                  \
    {                                                                                     \
        .name = called, .regime = BENCH_FREE, .unit = BENCH_TIMES,                        \
        .ours   = "from the end of a dead holder's lease to the other's acquire, " QUEUE, \
        .theirs = "5 ms, and a heartbeat at worst",                                       \
        .means  = "The holder is killed without a message to the server. The number is "  \
                  "that of other keys with an expiry on the same server, which must not " \
                  "matter.",                                                              \
        .bound = BENCH_AT_MOST, .goal = 1.0, .count = others, .is_long = true,            \
        .run = bench_measure_takeover,                                                    \
    }

#define WAITERS_MEASURE(waiters)                                                              \
    {                                                                                         \
        .name = "waiters-" #waiters, .regime = BENCH_FREE, .unit = BENCH_HAND_OVERS,          \
        .ours = "hand-overs per second among so many waiters, " QUEUE, .theirs = "among two", \
        .means = "Many clients acquire the lock, release it at once, and acquire it again: "  \
                 "their number must not matter much.",                                        \
        .bound = BENCH_AT_LEAST, .goal = 0.8, .count = waiters, .is_long = true,              \
        .run = bench_measure_waiters,                                                         \
    }

/* X with pauses between the pairs. */
#define NOWAIT_MEASURE(protocol, where, place, needed)                                      \
    {                                                                                       \
        .name = "nowait-" #protocol "-" where, .regime = place, .unit = BENCH_TIMES,        \
        .ours   = "acquire and release of protocol " #protocol ", the release not awaited", \
        .theirs = "one PING",                                                               \
        .means  = "The cost of a pair when bowline_release_nowait does not wait for the "   \
                  "reply: one round trip. On two CPUs both sides work for a moment before " \
                  "each pair, so that it does not wait for the previous one.",              \
        .bound = BENCH_AT_MOST, .goal = needed, .query = "protocol=" #protocol,             \
        .run = bench_measure_nowait,                                                        \
    }

/* One thread: the time of a pair.  Several: pairs per second. */
#define SPIN_MEASURE(called, place, unit_, bound_, needed, threads_, busy)                  \
    {                                                                                       \
        .name = "spin-" called, .regime = place, .unit = unit_,                             \
        .ours = PAIR_OURS ", spinning where that pays", .theirs = "the same with spin=off", \
        .means = "The cost of busy-polling where it cannot help: on the server's CPU, "     \
                 "among other threads, on a busy machine.",                                 \
        .bound = bound_, .goal = needed, .threads = threads_, .is_busy = busy,              \
        .run = bench_measure_spin,                                                          \
    }
#define SPIN_TIMES(called, place, busy) \
    SPIN_MEASURE(called, place, BENCH_TIMES, BENCH_AT_MOST, 1.03, 1, busy)
#define SPIN_RATES(called, threads, busy) \
    SPIN_MEASURE(called, BENCH_FREE, BENCH_RATES, BENCH_AT_LEAST, 0.97, threads, busy)

/* Of five servers. */
#define SHARED_MEASURE(where, place)                                                   \
    {                                                                                  \
        .name = "shared-" where, .regime = place, .unit = BENCH_TIMES,                 \
        .ours = PAIR_OURS ", shared, " QUEUE, .theirs = "the same, exclusive",         \
        .means = "A lock that one client shares is one string on the server, like an " \
                 "exclusive one ([why](../design/script-cost.md)).",                   \
        .bound = BENCH_AT_MOST, .goal = 1.6, .stretch = 1.1, .query = QUEUE,           \
        .run = bench_measure_shared,                                                   \
    }

#define SEVERAL_MEASURE(where, place, needed)                                               \
    {                                                                                       \
        .name = "several-" where, .regime = place, .unit = BENCH_TIMES,                     \
        .ours   = "bowline_acquire_all of 8 free names, and bowline_release_all, " QUEUE,   \
        .theirs = "8 acquires and 8 releases, one after the other",                         \
        .means = "Two round trips for all, and the same commands.", .bound = BENCH_AT_MOST, \
        .goal = needed, .query = QUEUE, .run = bench_measure_several,                       \
    }

#define STICKY_MEASURE(where, place)                                                       \
    {                                                                                      \
        .name = "sticky-" where, .regime = place, .unit = BENCH_TIMES,                     \
        .ours = PAIR_OURS ", with sticky=1s", .theirs = "the same without it",             \
        .means = "A released lock stays with its client, and is acquired again without a " \
                 "request ([why](../design/sticky.md)).",                                  \
        .bound = BENCH_AT_MOST, .goal = 0.02, .query = QUEUE, .run = bench_measure_sticky, \
    }

#define ARRIVAL_MEASURE(where, place)                                                        \
    {                                                                                        \
        .name = "sticky-arrival-" where, .regime = place, .unit = BENCH_TIMES,               \
        .ours   = "an acquire of a lock that another client keeps (sticky=)",                \
        .theirs = "from release to the other's acquire, " QUEUE,                             \
        .means  = "Four messages one after the other: the waiter's entry to the server, "    \
                  "the push to the client that keeps the lock, its release, and the grant. " \
                  "A hand-over is the last two.",                                            \
        .bound = BENCH_AT_MOST, .goal = 2.2, .run = bench_measure_arrival,                   \
    }

#define LET_IN_MEASURE(readers, needed)                                                         \
    {                                                                                           \
        .name = "let-in-" #readers "-S", .regime = BENCH_SAME, .unit = BENCH_TIMES,             \
        .ours   = "release of a writer while so many readers wait, " QUEUE,                     \
        .theirs = "release while one exclusive waiter waits",                                   \
        .means  = "The release lets in all readers at the head of the queue, up to 64, in one " \
                  "command, and tells each of them.",                                           \
        .bound = BENCH_AT_MOST, .goal = needed, .count = readers, .run = bench_measure_let_in,  \
    }

#define READERS_MEASURE(called, others, beside)                                            \
    {                                                                                      \
        .name = "readers-16" called, .regime = BENCH_FREE, .unit = BENCH_RATES,            \
        .ours   = "16 clients share a name, pairs/s" beside ", " QUEUE,                    \
        .theirs = "SET NX PX and compare-and-delete by hiredis, 16 names",                 \
        .means  = "Readers of one name do not wait for each other, however many hold it. " \
                  "Compare with exclusive-16, which has a fence and a queue as well "      \
                  "([why](../design/script-cost.md#readers)).",                            \
        .bound = BENCH_AT_LEAST, .goal = 0.55, .threads = 16, .count = others,             \
        .run = bench_measure_readers,                                                      \
    }

#define REDLOCK_MEASURE(called, dead, how)                                                   \
    {                                                                                        \
        .name = "redlock-" called, .regime = BENCH_PROXY, .unit = BENCH_TIMES,               \
        .ours   = "acquire and release on most of five servers, of which one is " how,       \
        .theirs = "the same on the third-fastest of them, protocol=token",                   \
        .means  = "A majority is complete with the third reply, and the rest is not waited " \
                  "for. The delays of the four fastest are one, two, three and four times "  \
                  "that of the proxy.",                                                      \
        .bound = BENCH_AT_MOST, .goal = 1.1, .count = dead, .run = bench_measure_redlock,    \
    }

const bench_measure bench_measures[] = {
    {
        .name   = "pair-P",
        .regime = BENCH_PROXY,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS,
        .theirs = "two PINGs",
        .means  = "The number of round trips: two. The delay proxy makes every round trip "
                  "slow, so this figure hardly depends on the machine.",
        .bound  = BENCH_AT_MOST,
        .goal   = 1.03,
        .run    = bench_measure_pair_pings,
    },
    {
        .name    = "pair-S",
        .regime  = BENCH_SAME,
        .unit    = BENCH_TIMES,
        .ours    = PAIR_OURS,
        .theirs  = "the same commands by blocking hiredis",
        .means   = "The cost of the library. The other side sends SET NX PX and the same "
                   "compare-and-delete script, and does nothing else: no lease, no renewal, no "
                   "second attempt.",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.05,
        .stretch = 0.95,
        .run     = bench_measure_pair_minimum,
    },
    {
        .name   = "pair-X",
        .regime = BENCH_CROSS,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS,
        .theirs = "the same commands by blocking hiredis",
        .means  = "The same with the server on another CPU, with the cost of waking up.",
        .bound  = BENCH_AT_MOST,
        .goal   = 1.05,
        .run    = bench_measure_pair_minimum,
    },
    {
        .name   = "pair-pings-X",
        .regime = BENCH_CROSS,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS ", spinning",
        .theirs = "two PINGs",
        .means  = "A thread busy-polls for the reply before it sleeps, and then need not be "
                  "woken; a PING of blocking hiredis sleeps.",
        .bound  = BENCH_AT_MOST,
        .goal   = 0.55,
        .run    = bench_measure_pair_pings,
    },
    {
        .name   = "pair-queue-P",
        .regime = BENCH_PROXY,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS ", " QUEUE,
        .theirs = "two PINGs",
        .means  = "Two round trips with a fence and a queue, too.",
        .bound  = BENCH_AT_MOST,
        .goal   = 1.03,
        .query  = QUEUE,
        .run    = bench_measure_pair_pings,
    },
    {
        .name   = "pair-queue-S",
        .regime = BENCH_SAME,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS ", " QUEUE,
        .theirs = "SET NX PX and compare-and-delete by blocking hiredis, without a fence",
        .means  = "The extra cost of a fence and a queue; most of it is the server's.",
        .bound  = BENCH_AT_MOST,
        .goal   = 1.25,
        .query  = QUEUE,
        .run    = bench_measure_pair_minimum,
    },
    {
        .name    = "beside-100000-S",
        .regime  = BENCH_SAME,
        .unit    = BENCH_TIMES,
        .ours    = PAIR_OURS ", beside 100,000 held locks, " QUEUE,
        .theirs  = "the same on an empty server",
        .means   = "The list of held names (bowline ls) has no index, so an acquire pays nothing "
                   "for it ([why](../design/listing.md)).",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.1,
        .count   = 100000,
        .is_long = true,
        .run     = bench_measure_beside,
    },
    NOWAIT_MEASURE(token, "P", BENCH_PROXY, 1.05),
    NOWAIT_MEASURE(token, "X", BENCH_CROSS, 1.5),
    NOWAIT_MEASURE(queue, "P", BENCH_PROXY, 1.05),
    NOWAIT_MEASURE(queue, "X", BENCH_CROSS, 1.5),
#define X(count, needed, wanted)                             \
    THREADS_MEASURE(count, "X", needed, wanted, BENCH_CROSS) \
    THREADS_MEASURE(count, "free", needed, wanted, BENCH_FREE)
    THREADS_MAP(X)
#undef X
        {
            .name      = "threads-64-nowait",
            .regime    = BENCH_FREE,
            .unit      = BENCH_RATES,
            .ours      = "threads on one client, pairs per second, the release not awaited",
            .theirs    = "one hiredis connection per thread",
            .means     = "The same with bowline_release_nowait.",
            .bound     = BENCH_AT_LEAST,
            .goal      = 2.0,
            .threads   = 64,
            .is_nowait = true,
            .query     = "wait=10s", /* in case a hand-over is overtaken */
            .run       = bench_measure_threads,
        },
    SPIN_TIMES("1-S", BENCH_SAME, false),
    SPIN_TIMES("1-X", BENCH_CROSS, false),
    SPIN_TIMES("1-busy", BENCH_FREE, true),
    SPIN_RATES("2", 2, false),
    SPIN_RATES("4", 4, false),
    SPIN_RATES("16", 16, false),
    SPIN_RATES("4-busy", 4, true),
    SHARED_MEASURE("P", BENCH_PROXY),
    SHARED_MEASURE("S", BENCH_SAME),
    SEVERAL_MEASURE("P", BENCH_PROXY, 0.15),
    SEVERAL_MEASURE("S", BENCH_SAME, 0.8),
    STICKY_MEASURE("P", BENCH_PROXY),
    STICKY_MEASURE("X", BENCH_CROSS),
    LET_IN_MEASURE(1, 1.8),
    LET_IN_MEASURE(8, 3.5),
    LET_IN_MEASURE(64, 20.0),
    {
        .name    = "exclusive-16",
        .regime  = BENCH_FREE,
        .unit    = BENCH_RATES,
        .ours    = "16 clients, each a name of its own, pairs/s, " QUEUE,
        .theirs  = "SET NX PX and compare-and-delete by hiredis, 16 names",
        .means   = "What the fence and the queue cost where one server is the limit.",
        .bound   = BENCH_AT_LEAST,
        .goal    = 0.7,
        .threads = 16,
        .run     = bench_measure_exclusive,
    },
    READERS_MEASURE("", 0, ""),
    READERS_MEASURE("-1000", 1000, " beside 1,000 that hold it"),
    {
        .name   = "permits-1000",
        .regime = BENCH_FREE,
        .unit   = BENCH_HAND_OVERS,
        .ours   = "hand-overs of 4 permits per second among 1,000 waiters, " QUEUE,
        .theirs = "among 16",
        .means  = "A waiter that gets a permit releases it at once, and waits again behind all "
                  "others: their number must not matter much.",
        .bound  = BENCH_AT_LEAST,
        .goal   = 0.8,
        .count  = 1000,
        .run    = bench_measure_permits,
    },
    REDLOCK_MEASURE("slow", 0, "30 times as far"),
    REDLOCK_MEASURE("dead", 1, "dead"),
    COUNTER_MEASURE(1, 1.5),
    COUNTER_MEASURE(2, 1.0),
    COUNTER_MEASURE(4, 1.0),
    COUNTER_MEASURE(16, 1.0),
    {
        .name    = "run-file",
        .regime  = BENCH_FREE,
        .unit    = BENCH_TIMES,
        .ours    = "bowline run NAME true, on file:",
        .theirs  = "flock FILE true",
        .means   = "The time that is added to a command that does nothing, from its start to "
                   "its end.",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.1,
        .stretch = 0.85,
        .run     = bench_measure_run_file,
    },
    {
        .name    = "run-redis",
        .regime  = BENCH_FREE,
        .unit    = BENCH_TIMES,
        .ours    = "bowline run NAME true, on redis://",
        .theirs  = "flock FILE true",
        .means   = "The same with a server, over a new connection, still compared with the "
                   "local lock of flock(1).",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.1,
        .stretch = 0.85,
        .run     = bench_measure_run_redis,
    },
    {
        .name   = "file-pair",
        .regime = BENCH_SAME,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS ", on file:",
        .theirs = "open, flock, close",
        .means  = "The cost of order, a fence and the owner record on top of the bare system "
                  "calls, on the same file system.",
        .bound  = BENCH_AT_MOST,
        .goal   = 5,
        .run    = bench_measure_file_pair,
    },
    {
        .name   = "thread-pair",
        .regime = BENCH_SAME,
        .unit   = BENCH_TIMES,
        .ours   = PAIR_OURS ", on thread:",
        .theirs = "pthread_mutex_lock, pthread_mutex_unlock",
        .means  = "The cost of a lock by name, with a fence and a queue, compared with a mutex "
                  "whose address is known.",
        .bound  = BENCH_AT_MOST,
        .goal   = 20,
        .run    = bench_measure_thread_pair,
    },
    {
        .name   = "bytes",
        .regime = BENCH_SAME,
        .unit   = BENCH_BYTES,
        .ours   = "used_memory per lock, 10,000 held",
        .theirs = "SET of the same keys to 16 bytes, PX",
        .means  = "The server memory of a held lock. After all releases, no key may be left.",
        .bound  = BENCH_AT_MOST,
        .goal   = 1.0,
        .count  = 10000,
        .run    = bench_measure_bytes,
    },
    {
        .name    = "million-bytes",
        .regime  = BENCH_SAME,
        .unit    = BENCH_BYTES,
        .ours    = "used_memory per lock, 1,000,000 held, " QUEUE,
        .theirs  = "SET of the same keys to 16 bytes, PX",
        .means   = "The same for a million. The value also identifies the client, for holder "
                   "queries ([where they go](../design/bytes.md)).",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.0,
        .count   = 1000000,
        .is_long = true,
        .run     = bench_measure_queue_bytes,
    },
    HAND_OVER_MEASURE("P", BENCH_PROXY, 1.1),
    HAND_OVER_MEASURE("X", BENCH_CROSS, 1.25),
    HAND_OVER_MEASURE("S", BENCH_SAME, 2.2),
    ARRIVAL_MEASURE("P", BENCH_PROXY),
    ARRIVAL_MEASURE("X", BENCH_CROSS),
    HAND_OVER_LEAST_MEASURE("X", BENCH_CROSS, 1.05),
    HAND_OVER_LEAST_MEASURE("S", BENCH_SAME, 1.05),
    TAKEOVER_MEASURE("takeover", 0),
    TAKEOVER_MEASURE("takeover-200000", 200000),
    WAITERS_MEASURE(16),
    WAITERS_MEASURE(128),
    WAITERS_MEASURE(1000),
    {
        .name    = "waiters-fairness-128",
        .regime  = BENCH_FREE,
        .unit    = BENCH_TURNS,
        .ours    = "turns of the waiter with the fewest, of 128, " QUEUE,
        .theirs  = "turns of the waiter with the most",
        .means   = "In order: a waiter gets the lock again only after all other waiters.",
        .bound   = BENCH_AT_LEAST,
        .goal    = 0.9,
        .count   = 128,
        .is_long = true,
        .run     = bench_measure_fairness,
    },
    {
        .name   = "waiters-commands-128",
        .regime = BENCH_FREE,
        .unit   = BENCH_COMMANDS,
        .ours   = "commands of 128 waiters, " QUEUE,
        .theirs = "hand-overs",
        .means =
            "Joining the queue and releasing: one command each. Heartbeats, confirmations, and "
            "the commands before a release are counted apart; no client waits for those.",
        .bound   = BENCH_AT_MOST,
        .goal    = 2.0,
        .count   = 128,
        .is_long = true,
        .run     = bench_measure_commands,
    },
    {
        .name    = "same-name-16",
        .regime  = BENCH_FREE,
        .unit    = BENCH_COMMANDS,
        .ours    = "commands of 16 threads of one client on one name, " QUEUE,
        .theirs  = "hand-overs",
        .means   = "The threads share one entry in the server's queue, and hand the lock to "
                   "each other; after 64 turns, or a tenth of a second, other clients come "
                   "first.",
        .bound   = BENCH_AT_MOST,
        .goal    = 0.05,
        .threads = 16,
        .run     = bench_measure_same_name,
    },
    {
        .name    = "idle-commands",
        .regime  = BENCH_FREE,
        .unit    = BENCH_COMMANDS,
        .ours    = "commands per second of 1,000 waiters, " QUEUE,
        .theirs  = "one for each waiter and heartbeat",
        .means   = "No waiter polls; each sends a heartbeat now and then. The yardstick is one "
                   "a second.",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.0,
        .count   = 1000,
        .is_long = true,
        .run     = bench_measure_idle_commands,
    },
    {
        .name    = "idle-cpu",
        .regime  = BENCH_FREE,
        .unit    = BENCH_PER_CENT,
        .ours    = "CPU of 1,000 waiters together, " QUEUE,
        .theirs  = "1 % of one CPU",
        .means   = "Each waiter has its own client, all in one program ([where it "
                   "goes](../design/idle-cost.md)).",
        .bound   = BENCH_AT_MOST,
        .goal    = 1.0,
        .count   = 1000,
        .is_long = true,
        .run     = bench_measure_idle_cpu,
    },
    {
        .name   = "depth-128-X",
        .regime = BENCH_CROSS,
        .unit   = BENCH_RATES,
        .ours   = "pairs per second, 128 at once, " QUEUE,
        .theirs = "SET NX PX and compare-and-delete, pipelined",
        .means  = "The throughput of one thread and one connection without a wait for each "
                  "reply: 128 acquires, their replies, 128 releases, their replies.",
        .bound  = BENCH_AT_LEAST,
        .goal   = 0.55,
        .count  = 128,
        .run    = bench_measure_depth,
    },
    {
        .name   = "renewals-due-X",
        .regime = BENCH_CROSS,
        .unit   = BENCH_RENEWALS,
        .ours   = "renewals per second, 1,000 due at once, " QUEUE,
        .theirs = "PEXPIRE without a check, pipelined",
        .means  = "Renewals by timer. A renewal first compares the owner; those that are due "
                  "together go out together.",
        .bound  = BENCH_AT_LEAST,
        .goal   = 0.55,
        .count  = 1000,
        .run    = bench_measure_due,
    },
    {
        .name   = "renewals-X",
        .regime = BENCH_CROSS,
        .unit   = BENCH_RENEWALS,
        .ours   = "renewals per second, 1,000 at once, " QUEUE,
        .theirs = "PEXPIRE without a check, pipelined",
        .means  = "A renewal first compares the owner.",
        .bound  = BENCH_AT_LEAST,
        .goal   = 0.55,
        .count  = 1000,
        .run    = bench_measure_renewals,
    },
};
const size_t bench_measures_count = sizeof bench_measures / sizeof bench_measures[0];
