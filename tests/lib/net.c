/*
 * net.c -- see net.h.
 */
#include "tests/lib/net.h"
#include "tests/lib/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct net {
    unsigned hosts_count;
    int      home;
    int      bridge;
    int      hosts[NET_HOSTS_MAX];
    char     addresses[NET_HOSTS_MAX][16];
};

/* ---- ip(8) ----------------------------------------------------------------------------------- */

/* Runs ip(8) in this thread's namespace: one command per line. */
__attribute__((format(printf, 1, 2))) static bool ip(const char *format, ...)
{
    va_list arguments;
    FILE   *to = popen("ip -batch - >&2", "we");

    if (to == NULL)
        return false;
    va_start(arguments, format);
    (void)vfprintf(to, format, arguments);
    va_end(arguments);
    return pclose(to) == 0;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

/* Of this thread. */
static int namespace_now(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static bool write_to(const char *path, const char *text)
{
    size_t size = strlen(text);
    int    fd   = open(path, O_WRONLY | O_CLOEXEC);
    bool   done = fd >= 0 && write(fd, text, size) == (ssize_t)size;

    if (fd >= 0)
        (void)close(fd);
    return done;
}

/* A user who is not root may be root in a user namespace, with the same files as before. */
static bool become_root(void)
{
    char user[32];
    char group[32];

    (void)snprintf(user, sizeof user, "0 %u 1", (unsigned)geteuid());
    (void)snprintf(group, sizeof group, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_to("/proc/self/setgroups", "deny") &&
           write_to("/proc/self/uid_map", user) && write_to("/proc/self/gid_map", group);
}

/* Creates a namespace, and enters it; -1: not allowed. */
static int namespace_new(void)
{
    return unshare(CLONE_NEWNET) == 0 ? namespace_now() : -1;
}

static bool is_allowed(net *n)
{
    n->home   = namespace_now();
    n->bridge = namespace_new();
    if (n->bridge < 0 && become_root()) {
        (void)close(n->home); /* it belongs to the outer namespace, and cannot be entered again */
        n->home   = namespace_new();
        n->bridge = n->home >= 0 && ip("link set lo up\n") ? namespace_new() : -1;
    }
    return n->bridge >= 0;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static bool plug_in(net *n, unsigned host)
{
    n->hosts[host] = namespace_new();
    (void)snprintf(n->addresses[host], sizeof n->addresses[host], "10.117.0.%u", host + 1);
    if (n->hosts[host] < 0 || setns(n->bridge, CLONE_NEWNET) != 0)
        return false;
    if (!ip("link add to%u type veth peer name eth0 address 02:00:00:00:00:%02x netns "
            "/proc/%d/fd/%d\n"
            "link set to%u master hub up\n",
            host, host + 1, (int)getpid(), n->hosts[host], host))
        return false;
    net_enter(n, host);
    return ip("link set lo up\nlink set eth0 up\naddr add %s/24 dev eth0\n", n->addresses[host]);
}

net *net_make(unsigned hosts_count)
{
    net *n = calloc(1, sizeof *n);

    assert_non_null(n);
    assert_in_range(hosts_count, 2, NET_HOSTS_MAX);
    if (!is_allowed(n)) {
        print_message("# no private hosts: a network namespace is not allowed here: %s\n",
                      strerror(errno));
        free(n);
        return NULL;
    }
    bool made = ip("link set lo up\nlink add hub type bridge\nlink set hub up\n");
    for (unsigned i = 0; i < hosts_count && made; i++) {
        made = plug_in(n, i);
        n->hosts_count += n->hosts[i] > 0;
    }
    net_leave(n);
    if (made) {
        net_mend_all(n);
        return n;
    }
    print_message("# no private hosts: ip(8) is not there, or may not make a bridge\n");
    net_free(n);
    return NULL;
}

void net_free(net *n)
{
    if (n == NULL)
        return;
    for (unsigned i = 0; i < n->hosts_count; i++)
        (void)close(n->hosts[i]);
    (void)close(n->bridge);
    (void)close(n->home);
    free(n);
}

const char *net_address(const net *n, unsigned host)
{
    assert_in_range(host, 0, n->hosts_count - 1);
    return n->addresses[host];
}

void net_enter(const net *n, unsigned host)
{
    assert_int_equal(setns(n->hosts[host], CLONE_NEWNET), 0);
}

void net_leave(const net *n)
{
    assert_int_equal(setns(n->home, CLONE_NEWNET), 0);
}

/* ---- ways ------------------------------------------------------------------------------------ */

enum { COMMAND_MAX = 96 };

/* Sets the neighbour entry of a host: its interface, or with `astray` an unused address. */
static int write_way(char *ret_command, const net *n, unsigned to, bool astray)
{
    return snprintf(ret_command, COMMAND_MAX,
                    "neigh replace %s lladdr 02:00:00:00:%s:%02x dev eth0 nud permanent\n",
                    n->addresses[to], astray ? "ff" : "00", to + 1);
}

static void carry_out(const net *n, unsigned host, const char *commands)
{
    net_enter(n, host);
    bool done = ip("%s", commands);
    net_leave(n);
    assert_true(done);
}

static void lead(const net *n, unsigned one, unsigned other, bool astray)
{
    char command[COMMAND_MAX];

    (void)write_way(command, n, other, astray);
    carry_out(n, one, command);
}

void net_cut(const net *n, unsigned one, unsigned other)
{
    lead(n, one, other, true);
    lead(n, other, one, true);
}

void net_mend_all(const net *n)
{
    for (unsigned i = 0; i < n->hosts_count; i++) {
        char   commands[NET_HOSTS_MAX * COMMAND_MAX] = "";
        size_t size                                  = 0;
        for (unsigned k = 0; k < n->hosts_count; k++)
            if (k != i)
                size += (size_t)write_way(commands + size, n, k, false);
        carry_out(n, i, commands);
    }
}
