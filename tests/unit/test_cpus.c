/*
 * test_cpus.c -- how many CPUs this process may use: its affinity mask, and the limits of control
 * groups, which are directories made here; and that spinning goes by it.
 */
#include "base/cpus.h"
#include "net/spin.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 200 };

static char root[PATH_SIZE];

static const char *in(const char *path)
{
    static char full[2 * PATH_SIZE];

    (void)snprintf(full, sizeof full, "%s%s", root, path);
    return full;
}

static int make_groups(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(root, sizeof root, "%s/bowline-cpus-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(root));
    assert_int_equal(mkdir(in("/a"), 0700), 0);
    assert_int_equal(mkdir(in("/a/b"), 0700), 0);
    return 0;
}

static int remove_groups(void **state)
{
    static const char *const files[] = { "/cpu.max", "/a/cpu.max", "/a/b/cpu.max", "/groups" };
    static const char *const all[]   = { "/a/b", "/a", "" };

    for (size_t i = 0; i < COUNT_OF(files); i++)
        (void)unlink(in(files[i]));
    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_int_equal(rmdir(in(all[i])), 0);
    return 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(in(path), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void limit(const char *group, const char *cpu_max)
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "%s/cpu.max", group);
    write_file(path, cpu_max);
}

FIXTURE(make_groups, remove_groups)

TEST(cpus_group_without_limit_is_zero)
{
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", root), 0);
    limit("/a", "max 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", root), 0);
}

TEST(cpus_limit_is_rounded_down_and_at_least_one)
{
    static const struct {
        const char *cpu_max;
        unsigned    cpus;
    } list[] = {
        { "400000 100000\n", 4 }, { "399999 100000\n", 3 },
        { "150000 100000\n", 1 }, { "10000 100000\n", 1 },
        { "100000 50000\n", 2 },  { "100000 0\n", 0 },
        { "nonsense\n", 0 },      { "", 0 },
    };

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        limit("/a/b", list[i].cpu_max);
        assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", root), list[i].cpus);
    }
}

TEST(cpus_least_limit_of_all_groups_above_counts)
{
    limit("/a/b", "800000 100000\n");
    limit("/a", "300000 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", root), 3);
    limit("", "200000 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", root), 2);
    limit("/a", "max 100000\n");
    limit("", "max 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", root), 8);
}

TEST(cpus_group_is_found_beside_those_of_version_one)
{
    limit("", "200000 100000\n");
    limit("/a", "100000 100000\n");
    assert_int_equal(bwl_cpus_of_groups("4:memory:/a\n1:cpu:/a\n0::/\n", root), 2);
    assert_int_equal(bwl_cpus_of_groups("1:cpu:/a\n0::/a", root), 1);
    assert_int_equal(bwl_cpus_of_groups("1:cpu:/a\n", root), 0);
    assert_int_equal(bwl_cpus_of_groups("", root), 0);
}

enum { AS_EXPECTED = 7, NO_NAMESPACES = 77 };

/* In a mount namespace of its own, where the groups of this test are those of the system. */
static int count_in_group_of_one_cpu(void *arg)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
        mount(root, "/sys/fs/cgroup", "none", MS_BIND, "") != 0 ||
        mount(in("/groups"), "/proc/self/cgroup", "none", MS_BIND, "") != 0)
        return NO_NAMESPACES;
    return bwl_cpus_usable() == 1 ? AS_EXPECTED : 1;
}

/* These two count in a child, before the parent does: the first count of a process is kept. */
TEST(cpus_process_in_a_group_of_one_cpu_has_one)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
        skip_because("there is one CPU");
    limit("/a", "100000 100000\n");
    write_file("/groups", "0::/a\n");
    int result = in_child(count_in_group_of_one_cpu, NULL);
    if (result == NO_NAMESPACES)
        skip_because("mount namespaces are not allowed");
    assert_int_equal(result, AS_EXPECTED);
}

static int count_with_mask_of_one_cpu(void *arg)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    CPU_SET((unsigned)sched_getcpu(), &mask);
    bool is_set = sched_setaffinity(0, sizeof mask, &mask) == 0;
    return is_set && bwl_cpus_usable() == 1 && bwl_spin_real.cpus() == 1 ? AS_EXPECTED : 1;
}

TEST(cpus_process_with_a_mask_of_one_cpu_has_one)
{
    assert_int_equal(in_child(count_with_mask_of_one_cpu, NULL), AS_EXPECTED);
    assert_in_range(bwl_cpus_usable(), 1, (uintmax_t)sysconf(_SC_NPROCESSORS_CONF));
}
