/*
 * socket.h -- descriptors for connections of network.h: as the system calls of these names, with
 * errno.  All sockets are TCP over IPv4; a Unix socket is not simulated.
 */
#pragma once

#include "sim/kernel/descriptor.h"

#include <sys/socket.h>

int     sim_socket(int family, int type);
int     sim_connect(int fd, const struct sockaddr *address, socklen_t size);
ssize_t sim_send(int fd, const void *bytes, size_t size);
ssize_t sim_recv(int fd, void *bytes, size_t size, int flags);
int     sim_shutdown(int fd, int how);
int     sim_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int     sim_getsockopt(int fd, int level, int option, void *value, socklen_t *size);
int     sim_getpeername(int fd, struct sockaddr *address, socklen_t *size);

/* F_GETFL and F_SETFL: only O_NONBLOCK. */
int sim_fcntl(int fd, int what, int flags);
