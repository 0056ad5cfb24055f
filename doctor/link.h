/*
 * link.h -- one connection to one server, one command at a time, with the dialer, TLS and RESP code
 * of the library.
 */
#pragma once

#include "doctor/target.h"
#include "engine/redis/session/resp_stream.h"
#include "engine/redis/session/session.h"

enum { LINK_TEXT_MAX = 64 * 1024, LINK_WORDS_MAX = 128 };

typedef struct doctor_link {
    bwl_resp_stream      conn; /* first: the source of the reactor is the link */
    bwl_reactor          reactor;
    bwl_dialer           dialer;
    const doctor_server *store; /* address and TLS; not changed */
    bwl_ms               patience_ms;
    int                  status; /* below 0: broken, see fault */
    bwl_fault            fault;
    unsigned             addresses_count;
    char                 address[64];   /* the last address tried */
    bool                 was_connected; /* a connection was established */
    bool                 has_received;  /* bytes were received */
    bool                 was_alert;     /* and they were a TLS alert */
    const char          *frame;         /* the last reply */
    size_t               frame_size;
    char                 text[LINK_TEXT_MAX + 1]; /* its text, if it is a text or an error */
} doctor_link;

/* Overrides the URL for probes. */
typedef enum link_way {
    LINK_AS_URL = 1,
    LINK_CLEAR,
    LINK_TLS,
} link_way;

/* Connects, with the TLS handshake. On UNREACHABLE, REFUSED (by TLS), NOMEM or SYSTEM the link is
 * closed. Close it with link_close. */
int  link_open(doctor_link *link, const doctor_server *store, link_way way, bwl_ms patience_ms);
void link_close(doctor_link *link);

/* Sends a command and waits for its reply. Below 0: broken, see fault. Otherwise the type of the
 * reply as in bwl_resp_value, '-' for an error. */
int link_ask(doctor_link *link, const char *const *words, unsigned count);

/* The end of the certificate of the server, in seconds since 1970; 0: unknown. */
int64_t link_certificate_ends(const doctor_link *link);
