/*
 * link.h -- one connection to one server, asked and answered in turn: the library's own way to it
 * (names, addresses, TLS, frames), without a lock behind it.
 */
#ifndef DOCTOR_LINK_H
#define DOCTOR_LINK_H

#include "doctor/target.h"
#include "engine/redis/session/resp_stream.h"
#include "engine/redis/session/session.h"

enum { LINK_TEXT_MAX = 64 * 1024, LINK_WORDS_MAX = 128 };

typedef struct doctor_link {
    bwl_resp_stream      conn; /* first: the reactor's source is the link                     */
    bwl_reactor          reactor;
    bwl_dialer           dialer;
    const doctor_server *store; /* where, and with which TLS; is not changed                  */
    bwl_ms               patience_ms;
    int                  status; /* of the connection; below 0: broken, and the fault says why */
    bwl_fault            fault;
    unsigned             addresses_count;
    char                 address[64]; /* the last one that was tried                         */
    bool                 was_joined;  /* a connection came about                             */
    bool                 was_heard;   /* and something came over it                          */
    bool                 was_alert;   /* which is an alert of TLS                            */
    const char          *frame;       /* of the last answer                                  */
    size_t               frame_size;
    char                 text[LINK_TEXT_MAX + 1]; /* it, if it is a text or an error          */
} doctor_link;

/* How to speak, whatever the URL says. */
typedef enum link_way {
    LINK_AS_URL = 1,
    LINK_CLEAR,
    LINK_TLS,
} link_way;

/* Connects, and shakes hands.  UNREACHABLE, REFUSED (by TLS), NOMEM, SYSTEM; then the link is
 * closed.  Close it with link_close. */
int  link_open(doctor_link *link, const doctor_server *store, link_way way, bwl_ms patience_ms);
void link_close(doctor_link *link);

/* Says a command and waits for its answer.  Below 0: broken, see fault.  Else the type of the
 * answer as in bwl_resp_value, or '-' for an error. */
int link_ask(doctor_link *link, const char *const *words, unsigned count);

/* When the certificate of the other end ends, in seconds since 1970; 0: not known. */
int64_t link_certificate_ends(const doctor_link *link);

#endif
