/*
 * session.h -- what the files of the Redis engine share: one server, one connection, its pipeline
 * of requests.
 *
 *      connect.c               dials, backs off after a failure, notices what is late
 *      handshake.c             HELLO, INFO, SELECT; handshake_resp2.c for a server without HELLO
 *      requests.c              requests out, replies in
 *      pipeline.c              the requests in flight, oldest first
 *      write.c                 a request as bytes; renewal_batch.c: many renewals as one script
 *      complete.c              how a request ends, also when the connection breaks
 *      push_channel.c          pushes to those who wait for a queued lock; key_tracking.c: by key
 *      replication_barrier.c   WAIT for replicas
 *      transaction.c           one WATCH ... EXEC at a time
 *      await.c                 waiting for a reply in the connection itself, see net/spin.h
 *      revalidate.c            what a new connection means for the locks that are held
 *
 *      DOWN --wanted--> RESTING --> RESOLVING --> CONNECTING --> GREETING --all answered--> READY
 *        ^                                                                                    |
 *        +------------------- any fault: every question gets an event ------------------------+
 *
 * Of a service with sentinels, SEEKING comes before RESOLVING.
 *
 * A connection is wanted when something is asked, and at once when one breaks while a lock is held.
 * RESTING is the pause after an attempt that failed, which all locks of the client share.
 *
 * A connection with an answer that nobody waits for any more is closed, never used again: the next
 * command would be taken to have said what an earlier one was answered.
 */
#ifndef BWL_ENGINE_REDIS_SESSION_SESSION_H
#define BWL_ENGINE_REDIS_SESSION_SESSION_H

#include "engine/engine.h"
#include "engine/redis/session/resp_stream.h"
#include "engine/redis/session/request.h"
#include "net/dialer.h"
#include "engine/redis/topology/sentinel.h"
#include "net/spin.h"
#include "engine/redis/wire/batch.h"
#include "engine/redis/wire/key.h"
#include "engine/redis/profile.h"

typedef struct bwl_redis_store bwl_redis_store;
typedef struct bwl_cluster     bwl_cluster; /* engine/redis/topology/cluster.h */

typedef enum bwl_redis_phase {
    BWL_REDIS_DOWN = 1,
    BWL_REDIS_RESTING,
    BWL_REDIS_SEEKING, /* the sentinels are asked                                              */
    BWL_REDIS_RESOLVING,
    BWL_REDIS_CONNECTING, /* with TLS: and shaking hands                                       */
    BWL_REDIS_GREETING,
    BWL_REDIS_READY,
} bwl_redis_phase;

/* What we expect an answer to while greeting, in this order. */
typedef enum bwl_redis_greeting {
    BWL_GREET_HELLO = 1,
    BWL_GREET_AUTH, /* where HELLO is not known: see handshake_resp2.c */
    BWL_GREET_INFO, /* which process this is                                                   */
    BWL_GREET_SELECT,
    BWL_GREET_SLOTS,     /* of a cluster: which node has which                                  */
    BWL_GREET_SUBSCRIBE, /* this one and the next four: see push_channel.c                       */
    BWL_GREET_PUBLISH,
    BWL_GREET_SCRIPTS,
    BWL_GREET_FLOOR,
    BWL_GREET_LOAD,
    BWL_GREET_ID,   /* as AUTH                                                                  */
    BWL_GREET_KILL, /* of our connection before this one: nothing of it may run later           */
    BWL_GREET_DONE,
} bwl_redis_greeting;

enum { BWL_REDIS_RUN_ID_SIZE = 40 };

struct bwl_redis_store {
    bwl_resp_stream    conn; /* first: the reactor's source is the store                          */
    bwl_host          *client;
    bwl_spin           spin; /* waiting for answers of this connection */
    bwl_redis_phase    phase;
    bwl_redis_greeting greeting;
    bwl_ms             phase_began_at;
    bwl_ms             phase_ends_at; /* but for READY, where each question has its own time     */
    bwl_ms             heard_at;      /* when the connection last had something for us           */
    uint64_t           opened;        /* how many connections there have been                   */
    bool               has_answered;  /* this connection, to a question                          */
    bool               is_put_off;    /* while greeting: the server cannot serve now             */
    bool               reply_is_off;  /* while closing: answers were forbidden                  */
    bool               lingers;       /* while closing: there are answers on their way          */
    bool               is_resp2; /* the server does not know HELLO: see handshake_resp2.c      */
    bool               tracks;   /* the server says when keys change: see key_tracking.c    */
    uint8_t            void_answers; /* that are on their way, and mean nothing                */
    uint64_t           texts_sent; /* while closing: whose script the server has seen: 1 << word */

    bwl_redis_open_question *questions; /* a ring, oldest first                                 */
    size_t                   questions_first;
    size_t                   questions_count;
    size_t                   questions_room;
    unsigned kept_back;       /* questions that alarms have put since any was written           */
    unsigned batches_refused; /* in a row, on this connection                                   */

    /* Among those of its client, of which client->store is the first. */
    struct bwl_redis_store *next;  /* NULL: it is the last, and of most clients the only one     */
    bwl_redis_part         *locks; /* of the first one: those of the client */
    bwl_cluster            *cluster; /* NULL: it is none of a cluster                           */
    unsigned                place;   /* there, from 1; 0: it never connects                     */
    uint8_t                 node;    /* of several servers, see quorum.h                    */
    bool                    is_of_many;
    bool                    trusts_young; /* also asks one that was started a moment ago        */

    bwl_engine_lock
        *watcher; /* whose section is open on this connection, or will be; NULL         */
    bwl_engine_lock
        *kept_first; /* that wait for theirs, see transaction.c                            */
    bwl_engine_lock *kept_last;

    /* Where replicas must have it, see replication_barrier.c. */
    unsigned waits_out; /* questions to them that stand in the ring                           */
    bwl_engine_lock
        *unasked; /* those that wait for these to be answered; NULL                     */
    bwl_engine_lock *unasked_last;

    /* Where the protocol listens, see push_channel.c. */
    bool              is_without_shards; /* the server, as it said last                         */
    bool              inbox_is_wrong;    /* it was made for a server of the other kind          */
    bool              inbox_was_heard;   /* what we have said ourselves has come                */
    unsigned          scripts_missing;   /* there: 1 << i                                       */
    char              session[BWL_QUEUE_SESSION_SIZE + 1]; /* ours, as long as the store lives   */
    char              inbox[BWL_QUEUE_INBOX_SIZE + 1]; /* of this connection                    */
    bwl_ms            introduced_at; /* when we last said who we are                            */
    uint32_t          queue_max; /* how many may wait for a lock when we come; 0: any number     */
    bwl_redis_waiter *waiters;
    uint32_t          waiters_room;
    uint32_t          waiter_free; /* the first slot that is; 0: none                           */

    /* Of a cluster. */
    uint8_t *slots; /* of a node, see slots.h; NULL                           */
    bwl_ms   slots_new_until;
    uint64_t processes;  /* that were others than we had known, and no replicas         */
    bool     is_replica; /* as it said last                                             */

    bwl_dialer    dialer;
    bwl_fault     refusal; /* of this attempt: somebody has to correct that; status 0: none      */
    bwl_ms        attempt_by; /* of a service: none of its sentinels is asked any more           */
    bwl_fault     doubt;      /* what is wrong with the server that one has named; status 0       */
    bwl_ms        rests_until;
    bwl_fault     broke;    /* why the last connection ended                                    */
    unsigned      failures; /* in a row */
    char         *host; /* NULL: a socket in the files, whose address the dialer has           */
    uint16_t      port;
    bwl_sentinel *sentinel; /* NULL: the host does not move; else it is what they said last       */
    bwl_primary   served;   /* where it was when we were READY last; a port of 0: never          */
    bwl_resolver  resolver; /* zero: the system's */
    bwl_tls_context *tls;   /* NULL: clear text                                                   */
    bool             borrows_tls; /* it is another lane's                                      */

    /* Of the process at the other end, as it said when we connected last; "": it may not say. */
    char     run_id[BWL_REDIS_RUN_ID_SIZE + 1];
    uint64_t knows_release; /* the number of the connection over which its script has gone      */
    uint64_t texts_due; /* words whose script a new process cannot know yet: 1 << word          */
    bool is_another; /* process than the one that gave what is held, which nobody was told yet   */

    int64_t database;
    int64_t connection_id;      /* 0: not known                                                 */
    int64_t to_be_killed;       /* the id of a connection that broke with questions open; 0     */
    char   *user;               /* NULL: none                                                   */
    char   *password;           /* NULL: none                                                   */
    char   *key_template;       /* NULL: the default                                            */
    const bwl_profile *profile; /* NULL: none                                              */
    bwl_rules          rules;   /* of a profile whose values name us                       */
    char prefix[BWL_AFFIX_MAX + 1]; /* of those values                                */
    char where[128]; /* for people: "127.0.0.1:6379"                                 */
};

/* The locks of the client of this store, the newest first; NULL behind the last. */
static inline bwl_engine_lock *bwl_redis_first_lock(const bwl_redis_store *store)
{
    const bwl_redis_part *first = ((const bwl_redis_store *)store->client->store)->locks;

    return first != NULL ? first->lock : NULL;
}

static inline bwl_engine_lock *bwl_redis_next_lock(const bwl_engine_lock *lock)
{
    const bwl_redis_part *next = ((const bwl_redis_part *)lock->part)->next;

    return next != NULL ? next->lock : NULL;
}

/* The nth question of the ring. */
static inline bwl_redis_open_question *bwl_redis_nth(const bwl_redis_store *store, size_t n)
{
    assert(store->questions_room > 0);
    return &store->questions[(store->questions_first + n) % store->questions_room];
}

/* open.c */
int bwl_redis_open(bwl_host *client, const bwl_url *url, bwl_fault *fault);

/* The same for one that is nobody's yet. */
int bwl_redis_store_open(bwl_redis_store **ret_store, bwl_host *client, const bwl_url *url,
                         bwl_fault *fault);

/* sessions.c */
/* Of this client, connected to nothing, and without a place: an empty one, and one like that.
 * NULL: out of memory. */
bwl_redis_store *bwl_redis_new(bwl_host *client);
bwl_redis_store *bwl_redis_copy(bwl_host *client, const bwl_redis_store *its);
void             bwl_redis_free(bwl_redis_store *store);

/* Its place, or another one.  NOMEM. */
int bwl_redis_set_host(bwl_redis_store *store, const char *host, uint16_t port);

/* Puts it behind the others. */
void bwl_redis_join(bwl_redis_store **first, bwl_redis_store *store);

/* Those of a client.  Of a client that closes, what is to be said is said before. */
int  bwl_redis_share(bwl_host *client, const bwl_host *first);
void bwl_redis_close_all(bwl_redis_store *first);
void bwl_redis_close(bwl_host *client);

/* rules.c */
/* Writes protocol, rules and risk.  UNSUPPORTED: there is no such protocol or profile; USAGE, also
 * if it has a fault and the URL does not say that the risk is accepted. */
int bwl_redis_choose(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

/* The same for redlock://, which has one protocol: writes rules and risk.  UNSUPPORTED: there is no
 * such profile, or the locks of that program are on one server. */
int bwl_redis_choose_of_many(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

/* The profile of the URL, which was chosen before.  USAGE: its keys cannot be so. */
int bwl_redis_take_profile(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault);

/* handshake.c */
/* Begins to greet: what is to be said is written.  Below 0: it is broken. */
int bwl_redis_greet(bwl_redis_store *store, bwl_fault *fault);

/* The answer to a greeting.  OK; REFUSED: for good; UNREACHABLE: try later; the fault says why. */
int bwl_redis_greeted(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault);

/* INFO and SELECT, of every greeting. */
void bwl_redis_write_rest(const bwl_redis_store *store, bwl_resp_writer *writer);

/* OK; REFUSED: it is older than what bowline needs. */
int bwl_redis_check_age(const bwl_redis_store *store, const char *version, bwl_fault *fault);

/* Adds to a fault before the greeting is over what may be its cause.  is_silent: it is a time-out,
 * not an event of the connection.  True: it is final (REFUSED), and nothing was asked yet. */
bool bwl_redis_suspect(const bwl_redis_store *store, bool is_silent, bwl_fault *fault);

/* The server's error in words for people; its code alone if they repeat a part of our password. */
void bwl_redis_error_words(const bwl_redis_store *store, char *ret_text, size_t capacity,
                           const char *bytes, size_t size);

/* handshake_resp2.c */
/* Is this answer to HELLO that of a server that does not know it? */
bool bwl_redis_knows_no_hello(const char *bytes, size_t size);

/* Greets it in its own language, beginning anew.  REFUSED: that does not do for this protocol. */
int bwl_redis_greet_resp2(bwl_redis_store *store, bwl_fault *fault);

/* The answers to AUTH, to CLIENT ID (0: it does not say), to INFO (OK, or REFUSED). */
bool    bwl_redis_is_ok(const char *bytes, size_t size);
int64_t bwl_redis_id_of(const char *bytes, size_t size);
int     bwl_redis_check_version(const bwl_redis_store *store, const char *bytes, size_t size,
                                bwl_fault *fault);

/* push_channel.c */
/* Does the store's protocol, and does anybody lock?  All that follows is for those. */
bool bwl_redis_listens(const bwl_redis_store *store);

/* Writes the inbox's part of the greeting, whose room is BWL_QUEUE_GREETING_ROOM. */
int bwl_redis_write_inbox(bwl_redis_store *store, bwl_resp_writer *writer, bwl_fault *fault);

/* HELLO has said what the server is: of another kind than we had thought, perhaps. */
void bwl_redis_says_version(bwl_redis_store *store, bool has_shards);

/* As bwl_redis_greeted; store->greeting is what comes next then, or this was the last of it. */
int bwl_redis_inbox_greeted(bwl_redis_store *store, const char *bytes, size_t size,
                            bwl_fault *fault);

/* A new attempt may have to wait: by this name.  False: out of memory. */
bool bwl_redis_name_waiter(bwl_redis_store *store, bwl_engine_lock *lock, const bwl_ask *ask);
void bwl_redis_forget_waiter(bwl_redis_store *store, bwl_engine_lock *lock);

/* What the question says of us.  It is about to be written. */
bwl_queue_self bwl_redis_self_of(bwl_redis_store *store, const bwl_redis_open_question *question);

/* The answer says this of the queue: that it stands there as was written, that nobody else may. */
void bwl_redis_placed(bwl_redis_store *store, const bwl_redis_open_question *question,
                      const bwl_place *place);

/* Is it the error of a script whose user may not run one of its commands?  Before 7.2 the server
 * does not say which.  Then: what there is to do. */
bool bwl_redis_lacks_a_right(const char *text);
void bwl_redis_name_rights(const bwl_redis_store *store, char *ret_text, size_t capacity);

/* A push has come. */
void bwl_redis_pushed(bwl_redis_store *store, const char *bytes, size_t size);

/* The connection has ended, and what is said to its inbox comes no more. */
void bwl_redis_inbox_ended(bwl_redis_store *store);

/* who.c */
/* Says who we are, and sees to it that fences are above the server's time; has room in
 * BWL_QUEUE_GREETING_ROOM, and is answered by one frame. */
void bwl_redis_introduce(bwl_redis_store *store, bwl_resp_writer *writer, const char *tag);

/* Is that due again, now that something is asked? */
bool bwl_redis_is_to_introduce(const bwl_redis_store *store);

/* The client closes: writes that nobody need know us any more. */
void bwl_redis_take_leave(bwl_redis_store *store);

/* What the session of the value says of itself. */
void bwl_redis_fill_in_who(bwl_holder *ret_holder, const bwl_redis_look *look);

/* discovery.c */
/* Does the URL name a service and its sentinels? */
bool bwl_redis_is_watched(const bwl_url *url);

/* The path of such a URL: a service, and what follows it.  USAGE. */
int bwl_redis_take_service(bwl_redis_store *store, const bwl_url *url, const char **ret_rest,
                           bwl_fault *fault);

/* Its hosts, once the rest of the store is made.  Nothing, for any other URL.  USAGE, REFUSED (a
 * file with a password), NOMEM. */
int bwl_redis_take_sentinels(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault);
int bwl_redis_share_sentinels(bwl_redis_store *store, const bwl_redis_store *its);

/* The server says of itself that it is this, "master" or else.  UNREACHABLE: not what we seek. */
int bwl_redis_check_role(const bwl_redis_store *store, const bwl_resp_value *role,
                         bwl_fault *fault);

/* A connection is about to be ready.  Is it to another server than the last one was? */
bool bwl_redis_has_moved(const bwl_redis_store *store);
void bwl_redis_serves(bwl_redis_store *store);

/* The answer says that the server is no primary any more: it is to be sought again. */
bool bwl_redis_was_demoted(const bwl_redis_store *store, const char *bytes, size_t size);

/* force_release.c */
/* Does this question break what was seen? */
bool bwl_redis_breaks(const bwl_redis_open_question *question);

/* What it says beside its word, written to ret_question; self is of a protocol with a queue. */
void bwl_redis_name_seen(const bwl_redis_open_question *question, bwl_redis_question *ret_question,
                         bwl_queue_self *self);

/* The end of it. */
void bwl_redis_break_ended(bwl_redis_store *store, const bwl_redis_open_question *question,
                           const bwl_event *ev);

/* Tells the hold that was seen from others of this lock; 0: it cannot be told, or is not one. */
uint64_t bwl_redis_id_of_seen(const bwl_hold *hold, const bwl_redis_look *look);

/* See bwl_engine. */
bool bwl_redis_break_seen(bwl_engine_lock *lock);
int  bwl_redis_broken(bwl_engine_lock *lock, bwl_fault *fault);

/* connect.c */
/* The sentinels have spoken: the host is to be looked up, or cannot be had. */
void bwl_redis_found(bwl_redis_store *store);
void bwl_redis_not_found(bwl_redis_store *store, const bwl_fault *fault);

/* This connection has ended: threads may rather share one that works, if it was the last here. */
void bwl_redis_stands_no_more(bwl_redis_store *store);

/* The server that a sentinel has named is none to lock at.  True: another one is asked, and this is
 * not the end of the attempt; or it was, and all of them were asked. */
bool bwl_redis_seek_on(bwl_redis_store *store, const bwl_fault *fault);

/* A connection is wanted, and there is none. */
void bwl_redis_connect(bwl_redis_store *store);

/* The address that we are trying is no good; the next one may be. */
void bwl_redis_not_connected(bwl_redis_store *store, bwl_fault *fault);

/* The attempt, or a connection that never answered anything, has failed: the next one waits. */
void bwl_redis_rest(bwl_redis_store *store);

/* Names the place in a fault. */
void bwl_redis_name_place(const bwl_redis_store *store, bwl_fault *fault);

/* Sets the timer to when something will be late. */
void bwl_redis_set_timer(bwl_redis_store *store);
void bwl_redis_woken(bwl_host *client);

/* redis.c */
/* What the lock's machine asks, as it is claimed now. */
bwl_redis_open_question bwl_redis_question_of(bwl_engine_lock *lock, const bwl_ask *ask);

/* pipeline.c */
/* Puts it behind the others, to be written with them.  False: there is no memory for it. */
bool bwl_redis_append(bwl_redis_store *store, const bwl_redis_open_question *question);

/* Takes the oldest one out, or the nth, which is not written.  Its lock stays pinned. */
bwl_redis_open_question bwl_redis_take_first(bwl_redis_store *store);
bwl_redis_open_question bwl_redis_take_unsent(bwl_redis_store *store, size_t nth);

/* So many, from the nth on, go out as one, which is what the connection is given next. */
void bwl_redis_go_together(bwl_redis_store *store, size_t nth, size_t size);

/* requests.c */
/* Why the question has this answer. */
void bwl_redis_says_why(bwl_redis_store *store, const bwl_redis_open_question *question,
                        bwl_answer answer, const char *bytes, size_t size);

/* Puts a question, connecting first if need be.  False: there is no memory for it. */
bool bwl_redis_put(bwl_redis_store *store, const bwl_redis_open_question *question);

void bwl_redis_ready(bwl_source *source, uint32_t events);
void bwl_redis_flush(bwl_host *client);

/* complete.c */
/* What becomes of a question that is in no ring any more. */
void bwl_redis_settle(const bwl_redis_open_question *question, const bwl_event *ev);

/* The connection cannot be used any more, or there is none.  `refused`: nor would the next one
 * be. */
void bwl_redis_break_off(bwl_redis_store *store, const bwl_fault *fault, bool refused);
void bwl_redis_withdraw(bwl_engine_lock *lock);

/* write.c */
/* Into the connection, which is not sent.  False: there is no room for it. */
bool bwl_redis_write_question(bwl_redis_store *store, bwl_redis_open_question *question);

/* renewal_batch.c */
/* How many questions, from the nth of the ring on, go out as one; 1: it goes out alone. */
size_t bwl_redis_batch_size(const bwl_redis_store *store, size_t nth);

/* As bwl_redis_write_question. */
bool bwl_redis_write_batch(bwl_redis_store *store, size_t nth, size_t size);

/* The frame answers the batch that stands first: each of it is known now, or asks again. */
bwl_redis_verdict bwl_redis_batch_heard(bwl_redis_store *store, const char *bytes, size_t size);

/* One that was asked alone has its answer: may it be among others the next time? */
void bwl_redis_batch_learns(const bwl_redis_open_question *question, bwl_answer answer);

/* transaction.c */
/* May the question go out now?  False: it is kept, to be put when the sections before it have
 * ended; or its section has ended with its connection, and it is answered UNSENT. */
bool bwl_redis_watch_admits(bwl_redis_store *store, const bwl_redis_open_question *question);

/* It has gone out: if it was the last of its section, the next one's turn has come. */
void bwl_redis_watch_went(bwl_redis_store *store, const bwl_redis_open_question *question);

/* The answer to WATCH_READ showed nothing: no question will follow. */
void bwl_redis_watch_failed(bwl_redis_store *store, const bwl_redis_open_question *question);

/* The connection has ended, and every section with it.  Those that are kept: to be settled by
 * the second call, when what was asked before them has been. */
bwl_engine_lock *bwl_redis_watch_broken(bwl_redis_store *store);
void bwl_redis_watch_settle(bwl_redis_store *store, bwl_engine_lock *kept, bwl_answer answer);

/* Something came, or the connection broke (status, and the fault): takes what is there. */
void bwl_redis_heard(bwl_redis_store *store, int status, bwl_fault *fault);

/* update.c */
bool bwl_redis_step(bwl_engine_lock *lock, bwl_section *section);

/* May it go out on this connection?  False: it has ended UNSENT. */
bool bwl_redis_section_admits(bwl_redis_store *store, const bwl_redis_open_question *question);

/* Writes it into the connection, to be committed.  False: there is no room. */
bool bwl_redis_section_write(bwl_redis_store *store, const bwl_section *section,
                             bwl_resp_writer *ret_writer);

/* A frame of its answer, and the end of it. */
bwl_redis_verdict bwl_redis_section_heard(bwl_redis_store *store, bwl_redis_open_question *q,
                                          const char *bytes, size_t size, bwl_answer *ret_answer);
void              bwl_redis_section_ended(bwl_redis_store *store, const bwl_redis_open_question *q,
                                          const bwl_event *ev);

/* await.c */
bool bwl_redis_await(bwl_host *client, bwl_ms until);

/* revalidate.c */
/* The word by which the client's protocol extends a hold: asked for when a connection is new. */
bwl_redis_word bwl_redis_extension(const bwl_redis_store *store);
bool           bwl_redis_holds_something(const bwl_redis_store *store);

/* A connection is about to be ready: asks for, or gives up, what is held. */
void bwl_redis_vouch(bwl_redis_store *store);

/* What is held was given by a process that is no more, and is lost. */
void bwl_redis_give_up(bwl_redis_store *store, bwl_engine_lock *lock);

/* The answer to a question that verifies. */
void bwl_redis_verified(const bwl_redis_open_question *question, const bwl_event *ev);

#endif
