/*
 * fake_net.h -- src/net over memory: no socket, no thread, no clock of the machine.
 *
 * fake_net.c defines the functions of net/stream.h, net/reactor.h, net/resolve.h, base/clock.h and
 * base/entropy.h, and poll, recv, shutdown and nanosleep.  It is linked before the library, so that
 * the real dialer, sessions, topologies, engine, runtime and lock machine run on it.
 *
 * A server is named by its port, or by HOST:PORT if the host is not 127.0.0.1.
 */
#pragma once

#include "core/core.h"
#include "net/stream.h"

enum { FAKE_NAME_MAX = 64, FAKE_CONNECTIONS_MAX = 2200, FAKE_SERVERS_MAX = 1100, FAKE_FD = 1000 };

typedef enum fake_manner {
    FAKE_ACCEPTS = 1,
    FAKE_REFUSES,       /* answers the connect with a refusal */
    FAKE_DROPS_PACKETS, /* does not answer, not even the connect */
} fake_manner;

typedef struct fake_server {
    char        name[FAKE_NAME_MAX];
    fake_manner manner;
    bool        no_handshake; /* the robot does not answer the handshake: see robot.h */
    bool        is_scripts;   /* the robot replies that every script is known */
    char        run_id[48];
    char        version[24];
    char        role[16];
    char        mode[16];
    char        info[160];  /* added to the reply to INFO */
    char        slots[400]; /* the reply to CLUSTER SLOTS, as story.h writes replies; "": none */
    char        named[200]; /* of a sentinel: the reply to GET-MASTER-ADDR-BY-NAME */
    char        state[200]; /* of a sentinel: the reply to MASTER; "": the named primary, ... */
    unsigned    epoch;      /* ... with this epoch */
    int64_t     connections;
    size_t      takes; /* bytes that the kernel takes now; SIZE_MAX: all */
} fake_server;

typedef struct fake_connection {
    bwl_stream  *stream; /* NULL: closed by the client */
    fake_server *server;
    int64_t      id;
    bool         ended;       /* by the server, after what it has sent */
    bool         broken;      /* likewise, by a reset */
    bool         breaks_late; /* found by a write of the client */
    bool         shut;        /* the client has shut down its direction */
    char        *in;          /* sent by the server, not received yet */
    size_t       in_size;
    char        *out; /* handed over by the client, not a whole command yet */
    size_t       out_size;
} fake_connection;

typedef struct fake_world {
    int64_t         now_ns;
    unsigned        draws;   /* of random bits */
    uint64_t        events;  /* reported by the reactor */
    unsigned        polls;   /* while closing */
    bool            by_byte; /* each receive gets one byte */
    bool            stalls_lookups;
    char            leads_to[16];  /* the address of every name */
    bool            no_memory;     /* for the requests of a connection that has sent none yet */
    bool            others_refuse; /* servers that no line has named before */
    bool            is_woken;
    fake_server     servers[FAKE_SERVERS_MAX];
    fake_connection connections[FAKE_CONNECTIONS_MAX];
    unsigned        servers_count;
    unsigned        connections_count;
} fake_world;

extern fake_world fake;

void         fake_begin(bool by_byte);
void         fake_end(void);
fake_server *fake_server_of(const char *name); /* creates it if necessary */

/* The latest connection to the server that the client has not closed; NULL if there is none. */
fake_connection *fake_connection_to(const fake_server *server);

void fake_send(fake_connection *to, const char *bytes, size_t size);
bool fake_has_event(void);
void fake_pass(bwl_ms ms);

/* The bits of draw number n, from 1 on. */
bwl_random fake_bits(unsigned n);

/* ---- functions that story.c defines ---------------------------------------------------------- */

void story_dialled(const fake_server *server);
void story_closed(const fake_connection *connection);

/* connection->out has more bytes. */
void story_handed_over(fake_connection *connection);

/* The client receives from the socket itself; `waits`: until a byte arrives. */
void story_receives(const fake_connection *connection, bool waits);

/* The client has nothing to do for wait_ms: play the next line, or advance the time. */
void story_idle(bwl_ms wait_ms);

/* The same for a client that closes. */
void story_closing(bwl_ms wait_ms);
