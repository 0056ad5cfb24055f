/*
 * doctor.h -- checks the server or directory of a URL.  Each finding says what it is, why it
 * matters for a lock, and what to type.
 *
 * Nothing is changed: a server gets commands that read, and commands in a transaction that is
 * discarded.  A URL may stand for several servers: each finding names its server.
 */
#pragma once

#include <stdint.h>

enum {
    DOCTOR_SENTINELS_MAX = 16,
    DOCTOR_NODES_MAX     = 32,                   /* of a cluster; further nodes are not checked */
    DOCTOR_SERVERS_MAX   = DOCTOR_NODES_MAX + 1, /* plus one for all of them together */
    DOCTOR_FINDINGS_MAX  = 1024,                 /* for all servers */
    DOCTOR_TEXT_MAX      = 400,
    DOCTOR_NAME_MAX      = 320,
};

typedef enum doctor_grade {
    DOCTOR_FINE = 1,
    DOCTOR_NOTE,    /* worth knowing; nothing is wrong */
    DOCTOR_UNKNOWN, /* could not be checked; no failure */
    DOCTOR_WARNING, /* locks work, but guarantee less than they seem to */
    DOCTOR_FAILURE, /* locks do not work */
} doctor_grade;

typedef struct doctor_finding {
    const char  *check; /* a constant: "connect", "rights"                                     */
    doctor_grade grade;
    unsigned     server; /* index into report.servers */
    char         what[DOCTOR_TEXT_MAX];
    char         why[DOCTOR_TEXT_MAX];  /* "" */
    char         type[DOCTOR_TEXT_MAX]; /* "" */
} doctor_finding;

typedef struct doctor_report {
    char           protocol[48];
    char           servers[DOCTOR_SERVERS_MAX][DOCTOR_NAME_MAX]; /* URLs without secrets        */
    unsigned       servers_count;
    doctor_finding findings[DOCTOR_FINDINGS_MAX]; /* in the order of the checks */
    unsigned       findings_count;
} doctor_report;

/* Runs the checks.  Each step may block for the timeout= of the URL.  lease_ms as in
 * bowline_options. */
void doctor_examine(doctor_report *ret_report, const char *url, uint32_t lease_ms);

const char *doctor_grade_name(doctor_grade grade);

doctor_grade doctor_worst(const doctor_report *report);
