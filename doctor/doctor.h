/*
 * doctor.h -- what a look at the place behind a URL shows: findings, each with what it is, why it
 * matters for a lock, and what to type.
 *
 * Nothing is changed there: a server is asked by commands that read, and by commands in a
 * transaction that is thrown away before it runs.  Several servers may stand behind one URL: a
 * finding says of which one it is.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DOCTOR_SENTINELS_MAX = 16,
    DOCTOR_NODES_MAX     = 32, /* of a cluster; those behind them are not looked at             */
    DOCTOR_SERVERS_MAX   = DOCTOR_NODES_MAX + 1, /* and all of them as one                      */
    DOCTOR_FINDINGS_MAX  = 1024,                 /* of all of these                             */
    DOCTOR_TEXT_MAX      = 400,
    DOCTOR_NAME_MAX      = 320,
};

typedef enum doctor_grade {
    DOCTOR_FINE = 1,
    DOCTOR_NOTE,    /* to be known; nothing is wrong                                           */
    DOCTOR_UNKNOWN, /* could not be looked at: no failure by itself                            */
    DOCTOR_WARNING, /* a lock works, and is worth less than it seems                           */
    DOCTOR_FAILURE, /* a lock does not work                                                    */
} doctor_grade;

typedef struct doctor_finding {
    const char  *check; /* a constant: "connect", "rights"                                     */
    doctor_grade grade;
    unsigned     server; /* whose it is: of report.servers                                     */
    char         what[DOCTOR_TEXT_MAX];
    char         why[DOCTOR_TEXT_MAX];  /* ""                                                  */
    char         type[DOCTOR_TEXT_MAX]; /* ""                                                  */
} doctor_finding;

typedef struct doctor_report {
    char           protocol[48];
    char           servers[DOCTOR_SERVERS_MAX][DOCTOR_NAME_MAX]; /* URLs without secrets        */
    unsigned       servers_count;
    doctor_finding findings[DOCTOR_FINDINGS_MAX]; /* in the order in which they were looked at  */
    unsigned       findings_count;
} doctor_report;

/* Looks.  Blocks for as long as the URL's timeout= at each step.  lease_ms as in bowline_options.
 * False: the URL cannot be opened, and the report says so. */
bool doctor_examine(doctor_report *ret_report, const char *url, uint32_t lease_ms);

/* "ok", "note", "unknown", "warning", "failure". */
const char *doctor_grade_name(doctor_grade grade);

/* The worst there is. */
doctor_grade doctor_worst(const doctor_report *report);

#endif
