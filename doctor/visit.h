/*
 * visit.h -- what the checks of one server share: where they write what they find, and the
 * connection by which they ask.
 */
#ifndef DOCTOR_VISIT_H
#define DOCTOR_VISIT_H

#include "doctor/doctor.h"
#include "doctor/info.h"
#include "doctor/link.h"
#include "doctor/target.h"

/* What several servers behind one URL are compared by. */
typedef struct visit_facts {
    char    run_id[64];  /* ""                                                                 */
    char    replid[64];  /* of the data, which replicas share; ""                               */
    char    address[64]; /* ""                                                                 */
    int64_t uptime_s;    /* below 0: not known                                                  */
    int64_t ahead_us;    /* of our clock                                                       */
    bool    tells_time;
    bool    is_cluster;
    bool    is_replica;
    int64_t node_timeout_ms; /* of a node of a cluster; 0: not known                            */
    int8_t  wants_all_slots; /* 1: serves none when one is missing; 0; below 0: not known       */
} visit_facts;

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
    visit_facts            facts;
} visit;

/* Goes on to the next server of several: its name in the report is `form` and where it is. */
void visit_begin(visit *v, const char *form, const char *where);

/* Adds a finding, to be filled in by the next calls; never NULL. */
doctor_finding *visit_find(visit *v, const char *check, doctor_grade grade);

__attribute__((format(printf, 2, 3))) void visit_what(doctor_finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void visit_why(doctor_finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void visit_type(doctor_finding *f, const char *format, ...);

/* Who we are to the server, for what is to be typed. */
const char *visit_user(const visit *v);

/* What CONFIG GET says of a setting.  False: it is not for us to know, or there is none. */
bool visit_setting(visit *v, const char *name, char ret_value[INFO_VALUE_MAX]);

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
void visit_server(visit *v);        /* version, role, clock, round trip */
void visit_memory(visit *v);        /* what is thrown away, and what a restart loses */
void visit_rights(visit *v);        /* of the lock of the URL, and of looking */
void visit_foreign_locks(visit *v); /* scripts of other locks */

/* All of that. */
void visit_all(visit *v);

/* Of a lock on most of several: looks at each, and then at all of them. */
void visit_quorum(visit *v);

/* Of several servers: how far their clocks are apart; and why that matters. */
void visit_clocks(visit *v, const visit_facts *of, const char *const *where, unsigned count,
                  const char *why);

/* Of a cluster: looks at the nodes of the URL, at those that they name, and then at all of them. */
void visit_nodes(visit *v);

/* A node of it, greeted: its settings.  And then whether it serves. */
void visit_node(visit *v);

/* A place of this machine. */
void visit_local(visit *v);

#endif
