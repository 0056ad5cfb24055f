/*
 * visit.h -- what the checks of one server share: where they write what they find, and the
 * connection by which they ask.
 */
#ifndef DOCTOR_VISIT_H
#define DOCTOR_VISIT_H

#include "doctor/doctor.h"
#include "doctor/link.h"
#include "doctor/target.h"

/* A look at one server. */
typedef struct visit {
    doctor_report         *report;
    const doctor_target   *target;
    const bwl_redis_store *store; /* of this server: where it is, and who we are to it           */
    bool                   asks_sentinel; /* it is no server of locks                             */
    const char            *url; /* for the rights of its lock; may hold a password               */
    unsigned               server;
    doctor_link            link;
    char                   version[24];
    unsigned               major;    /* 0: not known */
    bool                   is_resp2; /* it does not know HELLO 3                                  */
    bool                   is_dead;  /* the connection broke: nothing more can be asked          */
} visit;

/* Adds a finding, to be filled in by the next calls; never NULL. */
doctor_finding *visit_find(visit *v, const char *check, doctor_grade grade);

__attribute__((format(printf, 2, 3))) void visit_what(doctor_finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void visit_why(doctor_finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void visit_type(doctor_finding *f, const char *format, ...);

/* Who we are to the server, for what is to be typed. */
const char *visit_user(const visit *v);

/* Asks, and copies what an answer that is a text says; the command is words with blanks between
 * them.  NULL: it is an error, whose text is in v->link.error (NOPERM: is_denied), or the
 * connection has broken.  Lives until the next question. */
const char *visit_ask(visit *v, const char *command);
bool        visit_is_denied(const visit *v);

/* The finding that a check could not be made for want of a right, or as the server put it. */
void visit_cannot(visit *v, const char *check, const char *what, const char *right);

/* From nothing to a greeted connection.  False: that is as far as it goes. */
bool visit_reach(visit *v);

/* Of a service: looks at its sentinels.  True, and store is that of the primary which they name. */
bool visit_service(visit *v);

/* The rest, on such a connection. */
void visit_server(visit *v);    /* version, role, clock, round trip                            */
void visit_memory(visit *v);    /* what is thrown away, and what a restart loses               */
void visit_rights(visit *v);    /* of the lock of the URL, and of looking                      */
void visit_strangers(visit *v); /* scripts of other locks                                      */

/* A place of this machine. */
void visit_local(visit *v);

#endif
