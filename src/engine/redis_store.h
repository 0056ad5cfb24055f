/*
 * redis_store.h -- what the files of the Redis engine share: one server, one connection, the queue
 * of questions.
 *
 *      redis_open.c    from a URL to a store: addresses, password, key template
 *      redis_greet.c   from a fresh connection to one that may be asked: HELLO, SELECT
 * redis_ask.c     questions out, answers in, and what becomes of them when the connection breaks
 *      redis.c         the engine's table
 *
 *      DOWN --question--> CONNECTING --> GREETING --all answered--> READY
 *        ^                                                            |
 *        +-------------- any fault: every question gets an event -----+
 *
 * A connection with an answer that nobody waits for any more is closed, never used again: the next
 * command would be taken to have said what an earlier one was answered.
 */
#ifndef BWL_REDIS_STORE_H
#define BWL_REDIS_STORE_H

#include "engine/client.h"
#include "engine/conn.h"
#include "redis/key.h"
#include "redis/words.h"

typedef enum bwl_redis_phase {
    BWL_REDIS_DOWN = 1,
    BWL_REDIS_CONNECTING,
    BWL_REDIS_GREETING,
    BWL_REDIS_READY,
} bwl_redis_phase;

/* What we expect an answer to while greeting, in this order. */
typedef enum bwl_redis_greeting {
    BWL_GREET_HELLO = 1,
    BWL_GREET_KILL, /* of our connection before this one: nothing of it may run later           */
    BWL_GREET_SELECT,
    BWL_GREET_DONE,
} bwl_redis_greeting;

/* Somebody who looks at a key. */
typedef struct bwl_redis_looker {
    bwl_redis_look look;
    bwl_answer     answer;
} bwl_redis_looker;

typedef struct bwl_redis_open_question {
    bwl_lock         *lock;   /* pinned */
    bwl_redis_looker *looker; /* lives as long as the lock; NULL: asked by the machine         */
    uint32_t          tag;
    bwl_redis_word    word;
    bool              by_text;
    bool              written;   /* into the connection's queue */
    uint64_t          starts_at; /* its first byte, counted as conn.handed_over is             */
    bwl_ms written_at;           /* from then on the server may be silent for so long and no more */
    bwl_ms lease_ms;             /* as it was claimed then                                      */
    char   token[BWL_TOKEN_MAX + 1];
} bwl_redis_open_question;

enum { BWL_REDIS_ADDRESSES_MAX = 8 };

typedef struct bwl_redis_store {
    bwl_conn           conn; /* first: the reactor's source is the store                          */
    bwl_client        *client;
    bwl_redis_phase    phase;
    bwl_redis_greeting greeting;
    bwl_ms             phase_began_at;
    bwl_ms             heard_at; /* when the connection last had something for us               */
    uint64_t           opened;   /* how many connections there have been */
    bool               reply_is_off;  /* while closing: answers were forbidden                  */
    bool               lingers;       /* while closing: there are answers on their way          */
    bool               text_was_sent; /* while closing: the server has seen the script          */

    bwl_redis_open_question *questions; /* a ring, oldest first                                 */
    size_t                   questions_first;
    size_t                   questions_count;
    size_t                   questions_room;

    bwl_address addresses[BWL_REDIS_ADDRESSES_MAX];
    unsigned    addresses_count;
    unsigned    address; /* that we are trying */
    int64_t     database;
    int64_t     connection_id; /* 0: not known                                                 */
    int64_t     to_be_killed;  /* the id of a connection that broke with questions open; 0     */
    char       *user;          /* NULL: none                                                   */
    char       *password;      /* NULL: none                                                   */
    char       *key_template;  /* NULL: the default                                            */
    char        where[128];    /* for people: "127.0.0.1:6379"                                 */
} bwl_redis_store;

/* redis_open.c */
int  bwl_redis_open(bwl_client *client, const bwl_url *url, bwl_fault *fault);
void bwl_redis_close(bwl_client *client);
int  bwl_redis_share(bwl_client *client, const bwl_client *first);

/* redis_greet.c */
/* Begins to greet: what is to be said is written.  Below 0: it is broken. */
int bwl_redis_greet(bwl_redis_store *store, bwl_fault *fault);

/* The answer to a greeting.  OK; REFUSED: for good; UNREACHABLE: try later; the fault says why. */
int bwl_redis_greeted(bwl_redis_store *store, const char *bytes, size_t size, bwl_fault *fault);

/* The server's error in words for people, without our password if it quotes that. */
void bwl_redis_error_words(const bwl_redis_store *store, char *ret_text, size_t capacity,
                           const char *bytes, size_t size);

/* redis_ask.c */
/* Puts a question, connecting first if need be.  False: there is no memory for it. */
bool bwl_redis_put(bwl_redis_store *store, const bwl_redis_open_question *question);

void bwl_redis_ready(bwl_source *source, uint32_t events);
void bwl_redis_flush(bwl_client *client);
void bwl_redis_woken(bwl_client *client);

#endif
