/*
 * say.h -- what happens, as text, for a person who replays a world.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum sim_said_kind {
    SIM_SAID_SERVERS = 1, /* an event of the servers */
    SIM_SAID_CLIENT,      /* of a client */
    SIM_SAID_ASK,         /* bytes arrive at a server */
    SIM_SAID_ANSWER,      /* bytes arrive at a client */
    SIM_SAID_FAULT,
} sim_said_kind;

typedef struct sim_said {
    sim_said_kind kind;
    unsigned      client; /* a host; CLIENT, ASK, ANSWER */
    unsigned      server; /* a host; ASK, ANSWER */
    const char   *text;   /* or the bytes, printable; valid during the call */
} sim_said;

/* Prints to standard output, one line each with the time.  Off at first. */
void sim_say_begin(bool is_on);
/* Calls this, too; NULL: nothing. */
void sim_say_pass_to(void (*take)(const sim_said *said));
bool sim_says(void); /* it is printed or passed on */

void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* of the servers */
void sim_say_of(sim_said_kind kind, unsigned client, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The bytes of an ASK or an ANSWER, over the connection of this number.  Those that are not
 * printable are shown as '.', and CR LF as '|'. */
void sim_say_bytes(sim_said_kind kind, unsigned number, unsigned client, unsigned server,
                   const char *bytes, size_t size);
