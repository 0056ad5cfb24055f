/*
 * visit.h -- what the checks share: the report, the connection, and facts for later checks.
 */
#pragma once

#include "doctor/doctor.h"
#include "doctor/link.h"
#include "doctor/target.h"
#include <stdbool.h>
#include <stdint.h>

/* Reads a field of the reply to INFO: lines of NAME:VALUE. */

enum { INFO_VALUE_MAX = 64 };

bool info_text(char ret_value[INFO_VALUE_MAX], const char *info, const char *name);

int64_t info_number(const char *info, const char *name, int64_t otherwise);

/* Facts by which several servers are compared. */
typedef struct visit_facts {
    char    where[128];
    char    run_id[64];  /* ""                                  */
    char    replid[64];  /* of the data, shared by replicas; "" */
    char    address[64]; /* ""                                  */
    int64_t uptime_s;    /* below 0: unknown                    */
    int64_t ahead_us;    /* ahead of our clock                  */
    bool    tells_time;
    bool    is_cluster;
    bool    is_replica;
    bool    fails;           /* of a quorum: it has no vote */
    int64_t node_timeout_ms; /* of a cluster node; 0: unknown */
    int8_t  wants_all_slots; /* cluster-require-full-coverage: 1 or 0; below 0: unknown */
} visit_facts;

typedef struct visit {
    doctor_report       *report;
    const doctor_target *target;
    doctor_server        store;         /* address and credentials of this server */
    bool                 asks_sentinel; /* this is a sentinel */
    const char          *url; /* for the permissions of its lock; may contain a password */
    unsigned             server;
    doctor_link          link;
    char                 version[24];
    unsigned             major;    /* 0: unknown */
    bool                 is_resp2; /* does not know HELLO 3 */
    bool                 is_dead;  /* the connection broke */
    visit_facts          facts;
} visit;

/* Begins the next server, with its name in the report. */
void visit_begin(visit *v, doctor_server store);

/* Adds a finding; the next calls fill it in.  Never NULL. */
doctor_finding *visit_find(visit *v, const char *check, doctor_grade grade);

/* Turns the failures of a server into warnings; below 0: those of all servers. */
void visit_downgrade(visit *v, int server);

__attribute__((format(printf, 2, 3))) void visit_what(doctor_finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void visit_why(doctor_finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void visit_type(doctor_finding *f, const char *format, ...);

/* The user of the URL, for messages. */
const char *visit_user(const visit *v);

/* The text at this index of the last reply, an array or a map.  False: there is none. */
bool visit_part(const visit *v, unsigned index, char ret_value[INFO_VALUE_MAX]);

/* The value of CONFIG GET.  False: no permission, or no such setting. */
bool visit_setting(visit *v, const char *name, char ret_value[INFO_VALUE_MAX]);

/* Sends a command, words separated by blanks, and returns the text of the reply, valid until the
 * next command.  NULL: an error, whose text is in v->link.text, or a broken connection. */
const char *visit_ask(visit *v, const char *command);
bool        visit_is_denied(const visit *v);

/* Adds the finding that a check could not be made: a permission is missing, or the server
 * refused. */
void visit_cannot(visit *v, const char *check, const char *what, const char *right);

/* Connects and logs in.  False: failed, and reported. */
bool visit_reach(visit *v);

/* Checks the sentinels of a service.  True: v->store is the primary that they name. */
bool visit_service(visit *v);

/* Checks over that connection. */
void visit_server(visit *v);        /* version, role, clock, round trip */
void visit_memory(visit *v);        /* eviction and persistence */
void visit_rights(visit *v);        /* permissions */
void visit_foreign_locks(visit *v); /* other lock libraries */

void visit_all(visit *v);

/* Checks the servers of redlock://, each alone and then together. */
void visit_quorum(visit *v);

void visit_clocks(visit *v, const visit_facts *of, unsigned count, const char *why);

/* Checks a cluster: the nodes of the URL, those that they name, and then all together. */
void visit_nodes(visit *v);

/* Checks a place on this machine. */
void visit_local(visit *v);
