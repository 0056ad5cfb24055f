/*
 * target.h -- what a URL stands for, found by the code that would lock there.
 *
 * The URL is opened as bowline_open opens it: what is wrong with it is said in the same words, and
 * nobody here reads a URL in a way of his own.  Nothing is sent to anybody by that.
 */
#ifndef DOCTOR_TARGET_H
#define DOCTOR_TARGET_H

#include "runtime/client.h"

enum { DOCTOR_PLACE_MAX = 320 };

typedef struct doctor_target {
    bwl_client         *client;
    const bwl_protocol *protocol;                /* what it will lock by                        */
    const char         *profile;                 /* NULL: none                                  */
    char                place[DOCTOR_PLACE_MAX]; /* the URL without user, password and options  */
    bool                is_redis;
    bool                is_quorum;  /* most of several servers                               */
    bool                is_cluster; /* is_redis too: of its nodes the one that has the slot     */
    bool                is_default; /* nobody has named a protocol or a profile               */
    unsigned            replicas;   /* that must have a lock before it counts                   */
} doctor_target;

/* As bowline_open; lease_ms as in bowline_options.  Free it with doctor_target_close. */
int  doctor_target_open(doctor_target *ret_target, const char *url, uint32_t lease_ms,
                        bwl_fault *fault);
void doctor_target_close(doctor_target *target);

#endif
