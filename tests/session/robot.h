/*
 * robot.h -- a server answers the handshake by itself, so that a story begins where its subject
 * begins.
 */
#ifndef ROBOT_H
#define ROBOT_H

#include "fake_net.h"

/* Answers what belongs to a handshake.  True: the story does not show the command. */
bool robot_answers(fake_connection *connection, const char *command);

#endif
