/*
 * passed_hold.h -- a hold that one client has given up to another, as a ticket has it.
 */
#pragma once

#include <stdint.h>

enum { BWL_PASSED_VALUE_MAX = 64, BWL_PASSED_PROTOCOL_MAX = 16 };

typedef struct bwl_passed_hold {
    char     protocol[BWL_PASSED_PROTOCOL_MAX];
    uint64_t place; /* hash of the key and the database, without the server: machines may name it
                     * differently */
    uint64_t fence; /* 0: none */
    char     value[BWL_PASSED_VALUE_MAX]; /* what the store has; it ends with the token */
} bwl_passed_hold;
