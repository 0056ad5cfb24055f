/*
 * server.h -- a redis-server of the test's own: on a free port of the loopback interface and on a
 * socket in a directory that nobody else uses.
 *
 * It ends, and its directory goes, with server_stop; and also when the test program dies without
 * getting so far: a small process waits for that, and cleans up.  Servers are stopped by their
 * process id, never by name.
 *
 * Everything here is called from the main thread.
 */
#ifndef TEST_SERVER_H
#define TEST_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct server {
    pid_t pid; /* 0: it does not run */
    int   port;
    char  directory[64];
    char  socket[96];
    char  options[512];
    char  config[96];  /* a file that it begins with, and is a sentinel by; "": none              */
    char  tcp_url[64]; /* redis://127.0.0.1:PORT                                         */
    char  unix_url[128]; /* unix:///...                                                    */
    int   tls_port;      /* 0: none                                                        */
    char  tls_url[160];  /* rediss://127.0.0.1:PORT?ca=DIRECTORY/ca.pem                    */
    char  login[128];    /* the command that server_ask begins with; "": none              */
    int  *shared;        /* the process id, for the janitor                                */
    pid_t janitor;
} server;

/* Is there a redis-server at all?  If not, skips the test; on a build machine (CI is set) it
 * fails. */
void server_needed(void);

/* Is it 7.0 or newer?  Before, DEBUG needs no leave, and some options are not known. */
bool server_is_new(void);

/* Starts a server and waits until it answers or has ended.  `options` as on its command line
 * ("--maxmemory 2mb"), NULL: none.  Fails the test if it has ended.  Free with server_stop. */
server *server_start(const char *options);
void    server_stop(server *s); /* also NULL */

/* The same with a port for TLS beside it, if openssl(1) and the server's build allow (tls_port says
 * so).  Its directory holds an authority, ca.pem, and a certificate of it for localhost, 127.0.0.1
 * and ::1, host.pem and host.key: see certs.h. */
server *server_start_tls(const char *options);

/* Starts a sentinel that watches the server at this port of the loopback interface, or of another
 * address, under the name of "m".  `quorum` of its like must agree; a second of silence is a
 * server's end.  `options` as of server_start. */
server *server_start_sentinel(int port, int quorum);
server *server_start_sentinel_of(const char *address, int port, int quorum, const char *options);

/* A port of the loopback interface on which nobody listens, and which no other program gets for as
 * long as this one runs: it stays bound here.  A server that sets SO_REUSEADDR can listen on it. */
int server_free_port(void);

/* Ends the process at once, as a crash does; starts it again, on the same port, with nothing in
 * it. */
void server_kill(server *s);
void server_start_again(server *s);
void server_restart(server *s);

/* Starts it again without waiting until it answers as it should. */
void server_start_only(server *s);
bool server_comes_up(server *s); /* it takes connections; false: it has ended                */
void server_await(server *s);

void server_signal(server *s, int signal);

/* Says a command on a connection of its own and returns the answer as text: "OK", "-ERR why",
 * "7", "(nil)", the bytes of a string with \xHH for what cannot be printed, the items of an
 * array between spaces. Words are parted by spaces; 'in quotes they may hold some'.  The text
 * lives until eight more have been asked for.  Fails the test if the server does not answer
 * within ten seconds. */
__attribute__((format(printf, 2, 3))) const char *server_ask(server *s, const char *format, ...);

/* The same of a server that may be about to hang up; NULL: it did. */
__attribute__((format(printf, 2, 3))) const char *server_may_say(server *s, const char *format,
                                                                 ...);

/* Says a command and does not read the answer.  Returns the descriptor; close it. */
__attribute__((format(printf, 2, 3))) int server_say(server *s, const char *format, ...);

/* Ends every connection.  Those with an inbox are of another kind than the others. */
void server_hang_up(server *s);

/* Waits, ten seconds at most, until the answer to a question holds `part`. */
bool server_comes_to(server *s, const char *part, const char *question);

/* Waits, ten seconds at most, until there is no key of a lock in any database: what may be there
 * is the count that fences are drawn from, and who the clients are.  If there is one still, says
 * which and removes it: the next test has not done that. */
bool server_becomes_empty(server *s);

#endif
