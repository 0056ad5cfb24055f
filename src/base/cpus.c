/*
 * cpus.c -- see cpus.h and cgroups(7).
 */
#include "base/cpus.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MASKS = 64 }; /* of 1024 CPUs each */

/* Reads the beginning of a small file.  False: it cannot be read. */
static bool read_text(const char *path, char *ret_text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t size = read(fd, ret_text, capacity - 1);
    (void)close(fd);
    if (size < 0)
        return false;
    ret_text[size] = '\0';
    return true;
}

/* "150000 100000" is 1; "max 100000" is 0, no limit. */
static unsigned limit_of(const char *cpu_max)
{
    char              *end;
    unsigned long long quota  = strtoull(cpu_max, &end, 10);
    unsigned long long period = strtoull(end, NULL, 10);

    if (quota == 0 || period == 0)
        return 0;
    unsigned long long cpus = quota / period;
    return cpus == 0 ? 1 : cpus < UINT_MAX ? (unsigned)cpus : UINT_MAX;
}

static unsigned less_of(unsigned a, unsigned b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

unsigned bwl_cpus_of_groups(const char *groups, const char *mount)
{
    const char *line  = strncmp(groups, "0::/", 4) == 0 ? groups : strstr(groups, "\n0::/");
    unsigned    limit = 0;
    char        path[PATH_MAX];
    char        cpu_max[64];
    char        file[PATH_MAX + sizeof "/cpu.max"];

    if (line == NULL)
        return 0;
    line += *line == '\n' ? 4 : 3;
    int size = snprintf(path, sizeof path, "%s%.*s", mount, (int)strcspn(line, "\n"), line);
    if (size < 0 || (size_t)size >= sizeof path)
        return 0;
    for (char *end = path + size; end != NULL; end = strrchr(path, '/')) {
        *end = '\0';
        if (strlen(path) < strlen(mount))
            break;
        (void)snprintf(file, sizeof file, "%s/cpu.max", path);
        if (read_text(file, cpu_max, sizeof cpu_max))
            limit = less_of(limit, limit_of(cpu_max));
    }
    return limit;
}

/* The mask has the kernel's size, which may exceed one cpu_set_t.  0: it cannot be read. */
static unsigned count_mask(void)
{
    cpu_set_t masks[MASKS] = { 0 };

    return sched_getaffinity(0, sizeof masks, masks) == 0
               ? (unsigned)CPU_COUNT_S(sizeof masks, masks)
               : 0;
}

unsigned bwl_cpus_usable(void)
{
    static atomic_uint cpus; /* 0: not counted yet */
    char               groups[PATH_MAX + 1024];
    unsigned           limit = 0;
    unsigned           count = atomic_load_explicit(&cpus, memory_order_relaxed);

    if (count > 0)
        return count;
    if (read_text("/proc/self/cgroup", groups, sizeof groups))
        limit = bwl_cpus_of_groups(groups, "/sys/fs/cgroup");
    count = less_of(count_mask(), limit);
    count = count > 0 ? count : 1;
    atomic_store_explicit(&cpus, count, memory_order_relaxed);
    return count;
}
