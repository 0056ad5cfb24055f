/*
 * queue.c -- bowline's lock with a queue: the invariants that hold in every state, its limits, and
 * planted faults; a holder that gives the lock to the first waiter and waits for it again; and a
 * lock that needs the acknowledgement of replicas, on a server that fails over to a replica without
 * the last change.  See table.h.
 *
 * With a lease of 30 ms a provisional grant lasts a whole lease, and no client waits long enough
 * for a second heartbeat; with 3 s it lasts 2 s, and all timers of the machine are within it.
 *
 * Without the replicas, limit-server-gives-way gives two holders in seven steps.  For the command
 * to the replicas, DENIAL means that too few have acknowledged.
 */
#include "lab/mutant/mutant.h"
#include "lab/scenario/tables.h"
#include "protocol/queue_lock.h"
#include "protocol/token_lock.h"
#include "lab/model/queue.h"

enum {
    EVERY_KEY =
        1u << 0 | 1u << BWL_MODEL_QUEUE | 1u << BWL_MODEL_HEARTBEATS | 1u << BWL_MODEL_COUNT,
    HOUR_MS          = 3600000,
    INVARIANTS_TOKEN = BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS,
    /* A server that loses its waiters breaks no promise to a holder. */
    INVARIANTS_GIVES_WAY = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_FIRST_COME,
};

/* Faults of clients and messages; and actions of callers. */
#define OF_CLIENTS                                                                               \
    SLOW(BWL_ANY), LOSS(3), DENIAL(2), REFUSAL(1), CANCEL(3), EXTEND_BY_CALLER(2), LOST_PUSH(2), \
        NOSCRIPT(2), SILENCE(2), BORROWER(2), YIELD(3)

#define QUEUE_BUT(INVARIANT) \
    OF(queue), .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_##INVARIANT
#define QUEUE_ENDLESS OF(queue), .invariants = INVARIANTS_QUEUE | BWL_INVARIANTS_BACKWARDS, ENDLESS
#define QUEUE_FENCE   OF(queue), .invariants = BWL_INVARIANT_FENCE

/* The server restarts with all its data, and clients that reconnect notice. */
#define KEEPS_ALL .server.has_run_id = true, .server.keeps_all = true

/* Too many states: random walks. */
#define VAST .clients = 3, .rounds = 3, .is_vast = true, .chances = true

/* With a lease of 3 s. */
#define OF_LONG_QUEUE  OF_QUEUE, .terms = { .lease_ms = 3000, .answer_ms = 1500 }, .extend_ms = 2000

#define WITH_ONE_START .invariants = INVARIANTS_QUEUE | BWL_INVARIANT_ONE_START
#define OF_REST(MS)    OF(queue), WITH_ONE_START, .terms = { .rest_ms = (MS) }
#define OF_REST_ONLY(MS) \
    OF(queue), .invariants = BWL_INVARIANT_ONE_START, .terms = { .rest_ms = (MS) }

#define SYNCED(NAME) .protocol = &bwl_##NAME, .options.replicas = 1
#define SYNCED_TOKEN SYNCED(synced_token), .invariants = INVARIANTS_TOKEN
#define SYNCED_QUEUE SYNCED(synced_queue), .invariants = INVARIANTS_GIVES_WAY

static const bwl_scenario table[] = {
    /* ---- what must hold: every invariant, in every state ------------------------------------- */
    ROW("queue-calm", "nothing goes wrong; two rounds", OF_QUEUE, .rounds = 2),
    ROW("queue-slow", "messages, pushes and clients are late three times", OF_QUEUE, SLOW(3)),
    ROW("queue-slow-fine", "... and also just before each instant at which something ends",
        OF_QUEUE, .fine = true, SLOW(2)),
    ROW("queue-slow-twice", "two rounds: late messages of the first arrive in the second", OF_QUEUE,
        .rounds = 2, SLOW(2)),
    ROW("queue-slow-at-will", "delays have no limit, also of pushes; no client waits", OF_QUEUE,
        .never_renews = true, .tries_once = true, .rounds = 2, SLOW(BWL_ANY)),
    ROW("queue-cancel", "callers cancel at any moment, in two rounds", OF_QUEUE, .rounds = 2,
        SLOW(1), CANCEL(2)),
    ROW("queue-lost-push", "a push is lost, and a caller cancels", OF_QUEUE, .rounds = 2, SLOW(1),
        CANCEL(1), LOST_PUSH(1)),
    ROW("queue-loss",
        "a connection breaks: its push channel is gone, and its requests may come late", OF_QUEUE,
        SLOW(1), LOSS(1), CANCEL(1)),
    ROW("queue-loss-twice", "... and the next one", OF_QUEUE, LOSS(2), CANCEL(1)),
    ROW("queue-loss-next-round", "what was lost in one round, and the next", OF_QUEUE, .rounds = 2,
        LOSS(1)),
    ROW("queue-loss-short-wait", "two connections break, and the wait ends between them", OF_QUEUE,
        .wait_ms = 5, .chances = true, LOSS(2)),
    ROW("queue-loss-late", "a client that reconnects may not kill its old connection", OF_QUEUE,
        .queue.never_kills = true, SLOW(1), LOSS(1)),
    ROW("queue-loss-late-cancel", "... while its caller cancels, or extends", OF_QUEUE,
        .queue.never_kills = true, LOSS(1), CANCEL(1), EXTEND_BY_CALLER(1)),
    ROW("queue-crash", "a client dies, in the queue or with the lock, and restarts", OF_QUEUE,
        .rounds = 2, CRASH(1)),
    ROW("queue-crash-slow", "the same, slowly", OF_QUEUE, SLOW(2), CRASH(1), CANCEL(1)),
    ROW("queue-noscript", "the server has lost its script cache, twice", OF_QUEUE, SLOW(1),
        CANCEL(1), NOSCRIPT(2)),
    ROW("queue-denial",
        "the server returns a temporary error, or no permission, in place of any reply", OF_QUEUE,
        SLOW(1), CANCEL(1), DENIAL(1), REFUSAL(1)),
    ROW("queue-extend", "a caller extends, to less than the lease", OF_QUEUE, SLOW(2),
        EXTEND_BY_CALLER(1)),
    ROW("queue-max-hold", "the maximum hold ends", OF_QUEUE, .terms = { .max_hold_ms = 37 },
        SLOW(2)),
    ROW("queue-borrower", "another program takes the lock while it is free, and deletes it early",
        OF_QUEUE, SLOW(2), BORROWER(1), CANCEL(1)),
    ROW("queue-silence", "the first waiter is passed over as if it were dead", OF_QUEUE, SLOW(1),
        CANCEL(1), SILENCE(1)),
    ROW("queue-few-at-a-time", "one waiter is passed over at a time: the rest by DISPATCH_NEXT",
        OF_QUEUE, .queue.serve_max = 1, SLOW(1), CRASH(1), CANCEL(1)),
    ROW("queue-few-loss", "... with a loss", OF_QUEUE, .queue.serve_max = 1, SLOW(1), LOSS(1)),
    ROW("queue-rate", "a client's clock runs one per cent too slow", OF_QUEUE, .rounds = 1, SLOW(1),
        RATE(1)),
    ROW("queue-clock-back", "the server's clock is set back: waiting takes longer, nothing else",
        QUEUE_BUT(HAS_END), .clocks.jump_ms = -30, SLOW(2), JUMP(1)),
    ROW("queue-foreign", "another program overwrites the key: its value is not changed",
        QUEUE_FORGETS, SLOW(1), FOREIGN_LOCK(1)),
    ROW("queue-evicts", "the server evicts the key of the lock", QUEUE_FORGETS, SLOW(1),
        EVICTION(1)),
    ROW("queue-forgets", "a server restarts empty, and clients that reconnect notice",
        QUEUE_FORGETS, .server.has_run_id = true, SLOW(1), RESTART(1)),
    ROW("queue-forgets-fence", "... and the resource rejects the older holder by its fence",
        QUEUE_FENCE, RESTART(1), WRITE(2)),
    ROW("queue-older", "the server comes back with its data of any earlier time", QUEUE_FORGETS,
        .server.has_run_id = true, SLOW(1), RESTORE(1)),
    ROW("queue-older-fence", "... and no fence is given twice", QUEUE_FENCE, RESTORE(1), WRITE(2)),
    ROW("queue-gives-way", "a replica without the last write takes over", QUEUE_FORGETS,
        .server.has_run_id = true, SLOW(1), FAILOVER(1)),
    ROW("queue-gives-way-fence", "... and no fence is given twice", QUEUE_FENCE, FAILOVER(1),
        WRITE(2)),
    ROW("queue-for-ever", "endless rounds: every call can end, and some client can get the lock",
        QUEUE_ENDLESS, LOSS(1)),
    ROW("queue-for-ever-crash", "the same, with a client that dies", QUEUE_ENDLESS, CRASH(1)),
    ROW("queue-for-ever-push", "the same, with a push that is lost, and a cancel", QUEUE_ENDLESS,
        LOST_PUSH(1), CANCEL(1)),
    /* ---- a claim that is shorter than the lease ---------------------------------------------- */
    ROW("queue-long", "a lease of 3 s, a provisional grant of 2", OF_LONG_QUEUE, .wait_ms = 4500,
        .rounds = 2),
    ROW("queue-long-slow", "... and everything is late", OF_LONG_QUEUE, .wait_ms = 4500, SLOW(3)),
    ROW("queue-long-push", "... and a push is lost", OF_LONG_QUEUE, .wait_ms = 4500, SLOW(1),
        LOST_PUSH(1), CANCEL(1)),
    ROW("queue-long-loss", "... and a connection", OF_LONG_QUEUE, .wait_ms = 4500, SLOW(1),
        LOSS(1)),
    ROW("queue-long-rate", "... and a clock runs one per cent too slow", OF_LONG_QUEUE,
        .wait_ms = 4500, SLOW(1), RATE(1)),
    ROW("queue-ages", "a waiter that is silent for 3 s is passed over, dead or not", OF_LONG_QUEUE,
        .wait_ms = 9000, .queue.ages = true, SLOW(2)),
    ROW("queue-ages-crash", "... and one is dead", OF_LONG_QUEUE, .wait_ms = 6500,
        .queue.ages = true, .never_renews = true, CRASH(1)),
    /* ---- three clients ----------------------------------------------------------------------- */
    ROW("queue-three", "three clients", OF_QUEUE, .clients = 3, .rounds = 1),
    ROW("queue-three-rounds", "... in two rounds", OF_QUEUE, .clients = 3, .rounds = 2),
    ROW("queue-three-slow", "... and late ones", OF_QUEUE, .clients = 3, SLOW(1)),
    ROW("queue-three-cancel", "... that cancel", OF_QUEUE, .clients = 3, CANCEL(2)),
    ROW("queue-three-crash", "... one of whom dies", OF_QUEUE, .clients = 3, CRASH(1), CANCEL(1)),
    ROW("queue-three-push", "... a lost push, and a lost queue entry", OF_QUEUE, .clients = 3,
        LOST_PUSH(1), SILENCE(1)),
    ROW("queue-three-loss", "... and a connection that breaks", OF_QUEUE, .clients = 3, LOSS(1)),
    ROW("queue-three-borrower", "... and another program", OF_QUEUE, .clients = 3, BORROWER(1),
        CANCEL(1)),
    ROW("queue-three-everything", "three clients, two rounds, and everything goes wrong twice",
        OF_QUEUE, .clients = 3, .rounds = 2, .is_vast = true, .fine = true, .chances = true,
        SLOW(BWL_ANY), LOSS(2), CRASH(1), CANCEL(2), LOST_PUSH(2), NOSCRIPT(2), SILENCE(1),
        BORROWER(1), EXTEND_BY_CALLER(1), DENIAL(1)),
    /* ---- what it cannot give ----------------------------------------------------------------- */
    ROW("queue-limit-pause", "a holder that is stopped for longer than its lease continues to work",
        OF(queue), SLOW(4), BREAKS_ONLY(NO_OVERLAP, 9)),
    ROW("queue-limit-forgets", "a server restarts empty", OF(queue), RESTART(1),
        BREAKS_ONLY(ONE_HOLDER, 7)),
    /* ---- planted in the server and in the engine --------------------------------------------- */
    ROW("queue-planted-barges", "the server grants a free lock to a newcomer, before the waiters",
        OF(queue), .clients = 3, PLANTED(BARGES), CRASH(1), BREAKS_ONLY(FIRST_COME, 10)),
    ROW("queue-planted-fence-bare", "fences are counted from 1 when the server comes back",
        OF(queue), PLANTED(FENCE_BARE), RESTART(1), BREAKS_ONLY(FENCE, 5)),
    ROW("queue-planted-fence-older",
        "a server that comes back with an older count gives a fence twice", OF(queue),
        PLANTED(FENCE_BARE), RESTORE(1), BREAKS_ONLY(FENCE, 18)),
    ROW("queue-planted-mark", "a waiter changes the value of any holder", OF(queue), PLANTED(MARKS),
        BORROWER(1), BREAKS_ONLY(FOREIGN, 3)),
    ROW("queue-planted-tells-first", "memory is full: the push goes out before the key is written",
        OF(queue), .invariants = BWL_INVARIANT_HONEST | BWL_INVARIANT_ONE_HOLDER,
        PLANTED(TELLS_FIRST), DENIAL(1), BREAKS(HONEST, 9)),
    ROW("queue-planted-one-channel",
        "a push channel of the client, not of the connection: a late JOIN gets the lock", OF(queue),
        PLANTED(ONE_CHANNEL), .queue.never_kills = true, LOSS(1), CANCEL(1), SLOW(1),
        BREAKS_ONLY(TAKEN_BACK, 14)),
    ROW("queue-planted-resends", "a new connection repeats requests without a reply", OF(queue),
        PLANTED(RESENDS), LOSS(1), SLOW(1), BREAKS_ONLY(TAKEN_BACK, 8)),
    /* ---- planted in the protocol ------------------------------------------------------------- */
    ROW("queue-mutant-from-push", "a provisional grant counts from the arrival of the push",
        OF(mutant_from_push), .clients = 3, SLOW(2), BREAKS_ONLY(ONE_HOLDER, 14)),
    ROW("queue-mutant-from-push-honest",
        "the same, seen as soon as the client relies on too much time", OF(mutant_from_push),
        SLOW(1), BREAKS_ONLY(HONEST, 10)),
    ROW("queue-mutant-timer-joins", "a timer joins again, and leaves the old queue entry",
        OF(mutant_timer_joins), SLOW(1), LOST_PUSH(1), BREAKS_ONLY(TAKEN_BACK, 15)),
    ROW("queue-mutant-joins-again",
        "a JOIN without a reply is repeated: one client is in the queue and has the lock",
        OF(mutant_joins_again), LOSS(1), CANCEL(1), BREAKS_ONLY(TAKEN_BACK, 12)),
    ROW("queue-mutant-new-ticket", "a lost queue entry is not restored by its ticket",
        OF(mutant_new_ticket), SILENCE(1), BREAKS_ONLY(FIRST_COME, 17)),
    ROW("queue-mutant-just-loses", "a loss is reported, and the lost lock is not released",
        OF(mutant_just_loses), SLOW(2), BREAKS_ONLY(TAKEN_BACK, 6)),
    /* ---- a server that evicts keys, whose clock is set by an hour, that restarts with all ---- */
    ROW("queue-evicts-queue", "the server evicts the queue: tickets are kept, but may be overtaken",
        QUEUE_BUT(FIRST_COME), .server.evicts = 1u << BWL_MODEL_QUEUE, SLOW(1), EVICTION(1)),
    ROW("queue-evicts-heartbeats", "... or the heartbeats: all waiters seem to be alive", OF_QUEUE,
        .server.evicts = 1u << BWL_MODEL_HEARTBEATS, SLOW(1), CRASH(1), EVICTION(1)),
    ROW("queue-evicts-count", "... or the count of fences: it goes on at the time of day", OF_QUEUE,
        .server.evicts = 1u << BWL_MODEL_COUNT, SLOW(1), EVICTION(1), WRITE(2)),
    ROW("queue-hour-back",
        "the server's clock is set back by an hour: waiting takes longer, nothing else",
        QUEUE_BUT(HAS_END), .clocks.jump_ms = -HOUR_MS, .never_renews = true, SLOW(1), JUMP(1),
        CANCEL(1)),
    ROW("queue-hour-on",
        "the server's clock is set an hour forward: the lock ends, waiters seem dead",
        QUEUE_FORGETS, .clocks.jump_ms = HOUR_MS, .queue.ages = true, SLOW(1), JUMP(1), CANCEL(1)),
    ROW("queue-crash-forgotten", "all waiters are dead: a minute later none of their keys is left",
        OF_QUEUE, .queue.keep_ms = 60000, .never_renews = true, CRASH(2)),
    ROW("queue-looks-at-the-dead", "a waiter dies, a holder dies, and a third client tries once",
        OF_QUEUE, .clients = 3, .never_renews = true, .tries_once_of = 1u << 2, CRASH(2),
        CANCEL(1)),
    ROW("queue-looks-slowly", "one waits and loses its connection, or is late; one tries, twice",
        OF_QUEUE, .rounds = 2, .never_renews = true, .tries_once_of = 1u << 1, SLOW(1), LOSS(1)),
    ROW("queue-restarts-with-all",
        "the server restarts with all its data: the guaranteed time stays true", QUEUE_BUT(KEEPS),
        KEEPS_ALL, SLOW(1), RESTORE(1), CANCEL(1)),
    ROW("queue-restarts-with-all-long",
        "... with a provisional grant that is shorter than the lease", OF(queue),
        .terms = { .lease_ms = 3000, .answer_ms = 1500 }, .wait_ms = 4500, .extend_ms = 2000,
        .invariants = INVARIANTS_QUEUE & ~(unsigned)BWL_INVARIANT_KEEPS, KEEPS_ALL, SLOW(1),
        RESTORE(1), EXTEND_BY_CALLER(1)),
    /* ---- what it cannot give ----------------------------------------------------------------- */
    ROW("queue-limit-evicts-queue", "the server evicts the queue: a newcomer overtakes its waiters",
        OF(queue), .clients = 3, .server.evicts = 1u << BWL_MODEL_QUEUE, EVICTION(1),
        BREAKS_ONLY(FIRST_COME, 10)),
    ROW("queue-limit-clock-on",
        "the server's clock is set forward: the lease ends, and the holder does not know",
        OF(queue), .clocks.jump_ms = HOUR_MS, JUMP(1), BREAKS_ONLY(ONE_HOLDER, 7)),
    /* ---- planted ----------------------------------------------------------------------------- */
    ROW("queue-planted-busy-for-dead",
        "a client that tries once gets BUSY, and only dead clients wait", OF(queue), .clients = 3,
        .never_renews = true, .tries_once_of = 1u << 2, PLANTED(BUSY_FOR_DEAD), CRASH(2),
        BREAKS_ONLY(REPORTED, 10)),
    ROW("queue-planted-gives-up-at-once",
        "a lost lock is released at once, although its time was guaranteed", OF(queue), KEEPS_ALL,
        PLANTED(GIVES_UP_AT_ONCE), RESTORE(1), BREAKS_ONLY(HONEST, 7)),
    /* ---- everything at once: too many states, so random walks -------------------------------- */
    ROW("queue-everything",
        "three clients, three rounds, and everything goes wrong, some of it three times", OF_QUEUE,
        VAST, .fine = true, OF_CLIENTS, CRASH(2), RATE(2), WALL(1), WRITE(3)),
    ROW("queue-everything-long",
        "... with a short provisional grant, and silent waiters are passed over", OF_LONG_QUEUE,
        .wait_ms = 9000, VAST, .queue.ages = true, .fine = true, OF_CLIENTS, CRASH(2), RATE(2)),
    ROW("queue-everything-late",
        "... no old connection is ended, one is passed over at a time, one tries once", OF_QUEUE,
        VAST, .queue.never_kills = true, .queue.serve_max = 1, .tries_once_of = 1u << 2,
        .fine = true, OF_CLIENTS, CRASH(2)),
    ROW("queue-everything-back", "... and the server's clock is set back, by an hour",
        QUEUE_BUT(HAS_END), .clocks.jump_ms = -HOUR_MS, VAST, OF_CLIENTS, CRASH(2), JUMP(2)),
    ROW("queue-everything-on", "... or set an hour forward: locks end, and waiters seem dead",
        QUEUE_FORGETS, .clocks.jump_ms = HOUR_MS, VAST, .queue.ages = true, OF_CLIENTS, CRASH(2),
        JUMP(2)),
    ROW("queue-everything-forgets",
        "... and the server forgets, fails over, evicts, and other programs write", QUEUE_FORGETS,
        .server.evicts = EVERY_KEY, .server.has_run_id = true, VAST, OF_CLIENTS, CRASH(1), RATE(2),
        RESTART(1), RESTORE(1), FAILOVER(1), EVICTION(2), FOREIGN_LOCK(1)),
    ROW("queue-everything-restarts", "... and the server is started again, with all that it had",
        QUEUE_BUT(KEEPS), KEEPS_ALL, VAST, OF_CLIENTS, CRASH(2), RATE(2), RESTORE(2)),

    /* ---- a holder that yields ---------------------------------------------------------------- */
    ROW("yield-calm", "the holder yields, and joins the queue behind the waiters", OF_QUEUE,
        YIELD(2)),
    ROW("yield-slow", "... and everything is late", OF_QUEUE, SLOW(2), YIELD(2)),
    ROW("yield-rounds", "... in two rounds", OF_QUEUE, .rounds = 2, SLOW(1), YIELD(2)),
    ROW("yield-cancel", "... and cancels", OF_QUEUE, SLOW(1), YIELD(1), CANCEL(2)),
    ROW("yield-extend", "... while an extension is under way", OF_QUEUE, SLOW(1), YIELD(2),
        EXTEND_BY_CALLER(1)),
    ROW("yield-push", "... and a push is lost", OF_QUEUE, SLOW(1), YIELD(2), LOST_PUSH(1),
        CANCEL(1)),
    ROW("yield-loss", "... and a connection breaks, whose messages may come late", OF_QUEUE,
        SLOW(1), YIELD(1), LOSS(1)),
    ROW("yield-loss-never-kills", "... of which the server does not learn", OF_QUEUE,
        .queue.never_kills = true, YIELD(1), LOSS(1)),
    ROW("yield-loss-twice", "... and another", OF_QUEUE, YIELD(1), LOSS(2)),
    ROW("yield-loss-cancel", "... and a caller that cancels", OF_QUEUE, YIELD(1), LOSS(1),
        CANCEL(1)),
    ROW("yield-crash", "... and a client dies", OF_QUEUE, SLOW(1), YIELD(2), CRASH(1)),
    ROW("yield-noscript", "... and the server forgets its scripts", OF_QUEUE, SLOW(1), YIELD(1),
        NOSCRIPT(2), CANCEL(1)),
    ROW("yield-denial", "... and the server cannot, or will not", OF_QUEUE, SLOW(1), YIELD(1),
        DENIAL(1), REFUSAL(1)),
    ROW("yield-silence", "... and a waiter is passed over", OF_QUEUE, SLOW(1), YIELD(2),
        SILENCE(1)),
    ROW("yield-few-at-a-time", "... and one waiter is passed over at a time", OF_QUEUE,
        .queue.serve_max = 1, YIELD(2), CRASH(1), CANCEL(1)),
    ROW("yield-borrower", "... and another program takes what is free", OF_QUEUE, SLOW(1), YIELD(1),
        BORROWER(1)),
    ROW("yield-foreign", "another program overwrites the key", QUEUE_FORGETS, SLOW(1), YIELD(1),
        FOREIGN_LOCK(1)),
    ROW("yield-forgets", "a server restarts empty", QUEUE_FORGETS, .server.has_run_id = true,
        SLOW(1), YIELD(1), RESTART(1)),
    ROW("yield-for-ever", "endless rounds: every call can end", QUEUE_ENDLESS, YIELD(1), LOSS(1)),
    ROW("yield-three", "three clients, and each joins behind the others", OF_QUEUE, .clients = 3,
        YIELD(2)),
    ROW("yield-three-cancel", "... and cancels", OF_QUEUE, .clients = 3, YIELD(1), CANCEL(1)),
    ROW("yield-three-crash", "... and one of them dies", OF_QUEUE, .clients = 3, YIELD(1),
        CRASH(1)),
    ROW("yield-three-push", "... and a push is lost", OF_QUEUE, .clients = 3, YIELD(1),
        LOST_PUSH(1)),
    ROW("yield-token", "without a queue: a release, and an acquire", OF(token),
        .invariants = INVARIANTS_TOKEN, SLOW(1), YIELD(1), LOSS(1), CANCEL(1)),
    ROW("yield-mutant", "the previous token is not released first", OF(mutant_just_yields),
        YIELD(1), DENIAL(1), BREAKS_ONLY(TAKEN_BACK, 8)),
    ROW("yield-mutant-cancel", "... and the caller cancels, before the server knows the script",
        OF(mutant_just_yields), YIELD(1), NOSCRIPT(1), CANCEL(1), BREAKS_ONLY(TAKEN_BACK, 6)),

    /* ---- once per period --------------------------------------------------------------------- */
    ROW("rest-calm", "a period is longer than the lease: nobody gets the lock before it is over",
        OF_REST(50), .rounds = 2),
    ROW("rest-slow", "... and everything is late", OF_REST(50), SLOW(2), CANCEL(1)),
    ROW("rest-short", "... or shorter: a late renewal does not make it longer", OF_REST(20),
        .rounds = 2, SLOW(1)),
    ROW("rest-crash", "the holder dies: its period is used", OF_REST(50), .rounds = 2, CRASH(1)),
    ROW("rest-loss", "a connection breaks, whose rest may come late, or twice", OF_REST(50),
        .rounds = 2, LOSS(1)),
    ROW("rest-push", "a push is lost, and a waiter is passed over", OF_REST(50), SLOW(1),
        LOST_PUSH(1), SILENCE(1)),
    ROW("rest-max-hold", "the maximum hold ends before the period", OF(queue), WITH_ONE_START,
        .terms = { .rest_ms = 50, .max_hold_ms = 37 }, SLOW(1)),
    ROW("rest-once", "who finds a period that is used is done, and does not wait", OF(queue),
        WITH_ONE_START, .terms = { .rest_ms = 50, .once = true }, .rounds = 2, CANCEL(1)),
    ROW("rest-three", "three clients, and one of them dies", OF_REST(50), .clients = 3, CRASH(1)),
    ROW("rest-planted-releases", "the server releases in place of a rest", OF_REST_ONLY(50),
        PLANTED(RELEASES_REST), BREAKS(ONE_START, 8)),
    ROW("rest-planted-shortens", "a renewal shortens the period, and the holder dies",
        OF_REST_ONLY(80), PLANTED(EXTEND_SHORTENS), CRASH(1), BREAKS(ONE_START, 11)),
    /* ---- replicas must acknowledge: what must hold ------------------------------------------- */
    ROW("synced-faults", "replicas are asked, and too few have it; connections break", SYNCED_TOKEN,
        SLOW(1), LOSS(1), DENIAL(1)),
    ROW("synced-refused", "WAIT is not permitted: the lock is released, and not tried again",
        SYNCED_TOKEN, LOSS(1), REFUSAL(2)),
    ROW("synced-gives-way",
        "another server takes over, which lacks the last change, and so no lock", SYNCED_TOKEN,
        SLOW(1), DENIAL(1), FAILOVER(1)),
    ROW("synced-gives-way-loss",
        "... and a connection breaks: of what was written there the next one says nothing",
        SYNCED_TOKEN, .rounds = 2, LOSS(1), FAILOVER(1)),
    ROW("synced-queue-gives-way",
        "... with a queue: another client has written the grant of a waiter", SYNCED_QUEUE, SLOW(1),
        FAILOVER(1)),
    ROW("synced-queue-gives-way-too-few",
        "... and too few replicas have it, so that it is given on", SYNCED_QUEUE, DENIAL(1),
        FAILOVER(1)),
    ROW("synced-queue-faults", "... and connections break, pushes are lost", SYNCED(synced_queue),
        .invariants = INVARIANTS_QUEUE, LOSS(1), DENIAL(1), CANCEL(1), LOST_PUSH(1)),
    ROW("synced-queue-yields", "... and the holder yields", SYNCED_QUEUE, YIELD(1), FAILOVER(1)),
    /* ---- planted ----------------------------------------------------------------------------- */
    ROW("synced-planted-deaf", "any number of replicas counts as enough", SYNCED(mutant_deaf),
        DENIAL(1), FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 11)),
    ROW("synced-planted-alone", "replicas are asked for the lock, and not for its extensions",
        SYNCED(mutant_alone), FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 21)),
    ROW("synced-planted-early", "a push counts as a yes of the own connection",
        SYNCED(mutant_early), .rounds = 2, FAILOVER(1), BREAKS_ONLY(ONE_HOLDER, 26)),
};

const bwl_scenario_table bwl_scenarios_of_queue = { table, sizeof table / sizeof table[0] };
