/*
 * server.h -- a private redis-server of the test: on a free port of the loopback interface and on a
 * socket in a private directory.
 *
 * It ends, and its directory is removed, with server_stop; also when the test program dies before:
 * a small process waits for that, and cleans up.  Servers are stopped by their process id, never by
 * name.
 *
 * Call all of it from the main thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct server {
    pid_t pid; /* 0: not running */
    int   port;
    char  directory[64];
    char  socket[96];
    char  options[512];
    char  config[96];    /* a config file to start with; it makes a sentinel; "": none */
    char  tcp_url[64];   /* redis://127.0.0.1:PORT                                     */
    char  unix_url[128]; /* unix:///...                                                */
    int   tls_port;      /* 0: none                                                    */
    char  tls_url[160];  /* rediss://127.0.0.1:PORT?ca=DIRECTORY/ca.pem                */
    char  login[128];    /* the command that server_ask starts with; "": none          */
    int  *shared;        /* the process id, for the janitor                            */
    pid_t janitor;
} server;

/* Skips the test if there is no redis-server; on a build machine (CI is set) fails it. */
void server_needed(void);

/* Whether it is 7.0 or newer.  Before, DEBUG needs no permission, and some options do not exist. */
bool server_is_new(void);

/* Starts a server and waits until it replies or has ended.  `options` as on its command line
 * ("--maxmemory 2mb"), NULL: none.  Fails the test if it has ended.  Free with server_stop. */
server *server_start(const char *options);
void    server_stop(server *s); /* also NULL */

/* The same with a TLS port, if openssl(1) and the server's build support it (see tls_port).  Its
 * directory has an authority, ca.pem, and its certificate for localhost, 127.0.0.1 and ::1,
 * host.pem and host.key: see certs.h. */
server *server_start_tls(const char *options);

/* Starts a sentinel that monitors the server at this port of the loopback interface, or of another
 * address, under the name "m".  `quorum` sentinels must agree; a server is down after a second of
 * silence.  `options` as of server_start. */
server *server_start_sentinel(int port, int quorum);
server *server_start_sentinel_of(const char *address, int port, int quorum, const char *options);

/* A port of the loopback interface on which no server listens, and which no other program gets
 * while this one runs: it stays bound here.  A server that sets SO_REUSEADDR can listen on it. */
int server_free_port(void);

/* The same for a node of a cluster, which listens for the other nodes at the port that is
 * SERVER_BUS_PORT_STEP higher.  server_start takes such a port if `options` enable the cluster. */
enum { SERVER_BUS_PORT_STEP = 10000 };
int server_free_node_port(void);

/* Kill ends the process at once, as a crash does; start it again on the same port, with no data. */
void server_kill(server *s);
void server_start_again(server *s);
void server_restart(server *s);

/* Starts it again without waiting for replies. */
void server_start_only(server *s);
bool server_comes_up(server *s); /* it accepts connections; false: it has ended */
void server_await(server *s);

/* Writes so many keys that the server, started again with the options that are returned, loads its
 * snapshot for two seconds and replies meanwhile. */
const char *server_fill_to_load_slowly(server *s);

void server_signal(server *s, int signal);

/* Sends a command on a new connection and returns the reply as text: "OK", "-ERR why", "7",
 * "(nil)", the bytes of a string with \xHH for those that cannot be printed, the items of an array
 * with blanks between them.  Words have blanks between them, or are 'in quotes, with blanks'.  The
 * text lives until eight more calls.  Fails the test if the server does not reply within ten
 * seconds. */
__attribute__((format(printf, 2, 3))) const char *server_ask(server *s, const char *format, ...);

/* The same for a server that may close the connection; NULL: it did. */
__attribute__((format(printf, 2, 3))) const char *server_may_say(server *s, const char *format,
                                                                 ...);

/* Sends a command without reading the reply.  Returns the descriptor; close it. */
__attribute__((format(printf, 2, 3))) int server_say(server *s, const char *format, ...);

/* What such a connection receives next, within ten seconds; lives until the next call. */
const char *server_heard(int fd);

/* Closes every connection, also those of subscribers, which the server counts as another kind. */
void server_hang_up(server *s);

/* Waits, ten seconds at most, until the reply to a command contains `part`. */
bool server_comes_to(server *s, const char *part, const char *question);

/* Waits, ten seconds at most, until no database has the key of a lock: only the counter of fences
 * and client info may exist.  Otherwise prints the key and deletes it, so that the next test does
 * not fail. */
bool server_becomes_empty(server *s);
