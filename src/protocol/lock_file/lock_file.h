/*
 * lock_file.h -- the protocol that runs the program of a lock file.
 *
 * It adds nothing to the program: a command without a reply ends the operation as UNKNOWN, an error
 * reply ends it with that error, unless the program has a case for it.
 */
#pragma once

#include "core/one_request.h"
#include "protocol/lock_file/program.h"
#include "protocol/store/redis.h"

/* A reply, or a time, that has a name. */
typedef struct bwl_lock_value {
    int64_t number;
    int64_t hash; /* of a reply's bytes: equal if and only if they are; 0: nil, or a time */
} bwl_lock_value;

/* The state of a hold.  The lab reads it. */
typedef struct bwl_lock_file_state {
    bwl_one_request in_flight;
    uint8_t         verb;    /* a bwl_verb */
    uint8_t         at;      /* the operation that runs, or the CALL in flight */
    uint8_t         tries;   /* of `retry N` */
    uint8_t         kind;    /* of the last reply: a bwl_reply_kind */
    bool            is_mine; /* its bytes are the token */
    bool            is_number;
    bool            sleeps;
    bwl_ms          until;
    bwl_lock_value  reply; /* the last one */
    bwl_lock_value  names[BWL_LOCK_FILE_NAMES_MAX];
} bwl_lock_file_state;

_Static_assert(sizeof(bwl_lock_file_state) <= 144, "a hold has room for it");

/* A sum, and whether a test passes, in this state at this time.  The lab tells what they give. */
int64_t bwl_lock_file_sum(const bwl_lock_file_state *s, const bwl_lock_request *request,
                          int64_t wall_ns, const bwl_lock_sum *sum);
bool    bwl_lock_file_passes(const bwl_lock_file_state *s, const bwl_lock_request *request,
                             int64_t wall_ns, const bwl_lock_op *op);

/* Completes a program after the parser: its protocol and its options. */
void bwl_lock_file_finish(bwl_lock_program *program, const char *name);
