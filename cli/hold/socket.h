/*
 * socket.h -- the socket of a keeper: how `bowline release` finds it and what they say.
 *
 * The socket is in a directory of mode 700 of this user:
 *
 *      $XDG_RUNTIME_DIR/bowline, else /run/user/UID/bowline, else /tmp/bowline-hold-UID
 *
 * Its name is PID-STARTED of the keeper.  One packet asks, "release" or "check"; one packet
 * answers, as lines: a word, the name of the lock, why.  Only the same user and root may ask.
 */
#pragma once

#include <stdbool.h>
#include <sys/un.h>

#include "cli/text/say.h"

enum {
    HOLD_PATH_MAX   = sizeof(((struct sockaddr_un *)0)->sun_path),
    HOLD_PACKET_MAX = 2048,
    HOLD_ANSWER_MS  = 120000, /* how long to wait for the answer of a keeper */
};

#define HOLD_VARIABLE "BOWLINE_HOLD"

typedef struct hold_socket {
    int  fd;
    char path[HOLD_PATH_MAX];
} hold_socket;

/* Makes the socket, and removes those of keepers that have ended. */
int hold_listen(hold_socket *ret_socket, failure *reterr);

void hold_unlisten(const hold_socket *s);

/* The next connection of a user who may ask, or -1. */
int hold_accept(const hold_socket *s);

/* Reads one packet as a string.  False: none, or the other end is closed. */
bool hold_receive(int fd, char ret_text[HOLD_PACKET_MAX]);

/* Sends one packet, or drops it if the other end does not read. */
void hold_send(int fd, const char *text);

/* Asks the keeper at `path`.  Fails if there is none.  `ends`: the keeper exits after its answer,
 * and this returns after that. */
int hold_ask(char ret_answer[HOLD_PACKET_MAX], const char *path, const char *question, bool ends,
             failure *reterr);
