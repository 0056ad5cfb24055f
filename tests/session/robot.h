/*
 * robot.h -- answers the handshake of a client for a server, so that a story starts after it.
 */
#pragma once

#include "fake_net.h"

/* Answers a command of a handshake.  Returns true if the story does not show the command. */
bool robot_answers(fake_connection *connection, const char *command);
