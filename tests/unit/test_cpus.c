/*
 * test_cpus.c -- how many CPUs this process may use: its affinity mask, and the limits of control
 * groups, which are directories that the test makes; and that spinning depends on it.
 */
#include "base/cpus.h"
#include "net/spin.h"
#include "tests/lib/suite.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 200 };

static char mount[PATH_SIZE];

static const char *in(const char *path)
{
    static char full[2 * PATH_SIZE];

    (void)snprintf(full, sizeof full, "%s%s", mount, path);
    return full;
}

static int make_groups(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(mount, sizeof mount, "%s/bowline-cpus-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(mount));
    assert_int_equal(mkdir(in("/a"), 0700), 0);
    assert_int_equal(mkdir(in("/a/b"), 0700), 0);
    return 0;
}

static int remove_groups(void **state)
{
    static const char *const files[] = { "/cpu.max", "/a/cpu.max", "/a/b/cpu.max" };
    static const char *const all[]   = { "/a/b", "/a", "" };

    for (size_t i = 0; i < COUNT_OF(files); i++)
        (void)unlink(in(files[i]));
    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_int_equal(rmdir(in(all[i])), 0);
    return 0;
}

static void limit(const char *group, const char *cpu_max)
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "%s/cpu.max", group);
    FILE *file = fopen(in(path), "w");
    assert_non_null(file);
    assert_true(fputs(cpu_max, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

FIXTURE(make_groups, remove_groups)

TEST(cpus_of_a_group_without_a_limit_are_zero)
{
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", mount), 0);
    limit("/a", "max 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", mount), 0);
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
        assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", mount), list[i].cpus);
    }
}

TEST(cpus_lowest_limit_of_the_parent_groups_counts)
{
    limit("/a/b", "800000 100000\n");
    limit("/a", "300000 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", mount), 3);
    limit("", "200000 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", mount), 2);
    limit("/a", "max 100000\n");
    limit("", "max 100000\n");
    assert_int_equal(bwl_cpus_of_groups("0::/a/b\n", mount), 8);
}

TEST(cpus_group_is_found_with_version_one_groups)
{
    limit("", "200000 100000\n");
    limit("/a", "100000 100000\n");
    assert_int_equal(bwl_cpus_of_groups("4:memory:/a\n1:cpu:/a\n0::/\n", mount), 2);
    assert_int_equal(bwl_cpus_of_groups("1:cpu:/a\n0::/a", mount), 1);
    assert_int_equal(bwl_cpus_of_groups("1:cpu:/a\n", mount), 0);
    assert_int_equal(bwl_cpus_of_groups("", mount), 0);
}

/* In a child, so that the mask does not change for the following tests. */
TEST(cpus_with_a_mask_of_one_cpu_are_one)
{
    int status;

    pid_t child = fork();
    if (child == 0) {
        cpu_set_t mask;
        CPU_ZERO(&mask);
        CPU_SET((unsigned)sched_getcpu(), &mask);
        bool is_set = sched_setaffinity(0, sizeof mask, &mask) == 0;
        _exit(is_set && bwl_cpus_usable() == 1 ? 7 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_in_range(bwl_cpus_usable(), 1, (uintmax_t)sysconf(_SC_NPROCESSORS_CONF));
}

/* The count is cached: no other test may ask for it before this one. */
TEST(cpus_of_the_mask_decide_about_spinning)
{
    int status;

    pid_t child = fork();
    if (child == 0) {
        cpu_set_t mask;
        CPU_ZERO(&mask);
        CPU_SET((unsigned)sched_getcpu(), &mask);
        bool is_set = sched_setaffinity(0, sizeof mask, &mask) == 0;
        _exit(is_set && bwl_spin_real.cpus() == 1 ? 7 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}
