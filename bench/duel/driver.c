/*
 * driver.c -- see driver.h.
 */
#include "bench/duel/driver.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/base/machine.h"

enum { PATIENCE_MS = 30000, END_MS = 2000, WORDS_MAX = 24, HEARD_MAX = 1 << 20, FDS_MAX = 256 };

/* ---- its life -------------------------------------------------------------------------------- */

_Noreturn static void become(char *const words[], const char *errors, const int fds[2],
                             pid_t parent)
{
    int err = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)dup2(fds[0], STDIN_FILENO);
    (void)dup2(fds[1], STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    for (int fd = STDERR_FILENO + 1; fd < FDS_MAX; fd++)
        (void)close(fd); /* hiredis sockets have no O_CLOEXEC */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        (void)execvp(words[0], words);
    (void)fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

int bench_driver_find_ours(char ret_path[PATH_MAX], bench_failure *reterr)
{
    ssize_t size = readlink("/proc/self/exe", ret_path, PATH_MAX - sizeof "bowline-peer");

    if (size > 0) {
        ret_path[size] = '\0';
        char *slash    = strrchr(ret_path, '/');
        (void)strcpy(slash != NULL ? slash + 1 : ret_path, "bowline-peer");
        if (access(ret_path, X_OK) == 0)
            return 0;
    }
    return bench_fail_errno(reterr, bench_text_of("bowline-peer is not beside this program"));
}

static void write_words(char *words[WORDS_MAX], const bench_driver_plan *plan, bench_text *port)
{
    size_t count = 0;

    *port = bench_text_of("%d", plan->port);
    for (; plan->words[count] != NULL; count++) {
        assert(count < WORDS_MAX - 5);
        words[count] = (char *)(uintptr_t)plan->words[count]; /* exec does not write to them */
    }
    if (plan->word != NULL)
        words[count++] = (char *)(uintptr_t)plan->word;
    words[count++] = (char *)(uintptr_t) "127.0.0.1";
    words[count++] = port->text;
    words[count++] = (char *)(uintptr_t)plan->name;
    words[count]   = NULL;
}

int bench_driver_start(bench_driver *ret_driver, bench_janitor *janitor,
                       const bench_driver_plan *plan, bench_text *ret_why)
{
    bench_driver d = { .janitor = janitor };
    bench_text   port;
    char        *words[WORDS_MAX];
    int          there[2], back[2];
    pid_t        parent = getpid();

    write_words(words, plan, &port);
    d.errors = bench_text_of("%s/driver-%u.err", janitor->directory, plan->number);
    if (pipe2(there, O_CLOEXEC) != 0)
        goto fail;
    if (pipe2(back, O_CLOEXEC) != 0) {
        (void)close(there[0]);
        (void)close(there[1]);
        goto fail;
    }
    d.pid = fork();
    if (d.pid == 0)
        become(words, d.errors.text, (int[]){ there[0], back[1] }, parent);
    (void)close(there[0]);
    (void)close(back[1]);
    d.to   = there[1];
    d.from = back[0];
    if (d.pid < 0) {
        (void)close(d.to);
        (void)close(d.from);
        goto fail;
    }
    bench_janitor_mind(janitor, d.pid);
    *ret_driver = d;
    return 0;
fail:
    *ret_why = bench_text_of("cannot start it: %s", strerror(errno));
    return -1;
}

static bool ends_by_itself(const bench_driver *d)
{
    for (int64_t end_ns = bench_now_ns() + (int64_t)END_MS * 1000000; bench_now_ns() < end_ns;
         bench_sleep_ms(1))
        if (waitpid(d->pid, NULL, WNOHANG) == d->pid)
            return true;
    return false;
}

void bench_driver_end(bench_driver *driver)
{
    if (driver->pid == 0)
        return;
    (void)close(driver->to);
    (void)close(driver->from);
    if (!ends_by_itself(driver)) {
        (void)kill(driver->pid, SIGKILL);
        (void)waitpid(driver->pid, NULL, 0);
    }
    bench_janitor_forget(driver->janitor, driver->pid);
    free(driver->received);
    *driver = (bench_driver){ .pid = 0 };
}

/* ---- talking --------------------------------------------------------------------------------- */

/* The driver has ended: the last line of its standard error. */
static int last_words(const bench_driver *d, bench_text *ret_why)
{
    char  line[256], last[256] = "it ended and said nothing";
    FILE *in = fopen(d->errors.text, "re");

    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (strspn(line, " \t\n") != strlen(line))
            (void)snprintf(last, sizeof last, "%.*s", (int)strcspn(line, "\n"), line);
    if (in != NULL)
        (void)fclose(in);
    *ret_why = bench_text_of("%.120s", last);
    return -1;
}

int bench_driver_tell(bench_driver *driver, const char *line, bench_text *ret_why)
{
    bench_text text = bench_text_of("%s\n", line);
    size_t     size = strlen(text.text);

    /* A line is short and the driver reads each before the next: a pipe takes it whole. */
    if (write(driver->to, text.text, size) != (ssize_t)size)
        return last_words(driver, ret_why);
    return 0;
}

static int read_more(bench_driver *d, int64_t end_ns, bench_text *ret_why)
{
    struct pollfd waits = { .fd = d->from, .events = POLLIN };
    int64_t       left  = (end_ns - bench_now_ns()) / 1000000;

    if (d->room - d->size < 4096) {
        size_t room     = d->room * 2 + 65536;
        char  *received = room <= HEARD_MAX ? realloc(d->received, room) : NULL;
        if (received == NULL) {
            *ret_why = bench_text_of("its line is too long");
            return -1;
        }
        d->received = received;
        d->room     = room;
    }
    if (left <= 0 || poll(&waits, 1, (int)left) <= 0) {
        *ret_why = bench_text_of("no answer within %d s", PATIENCE_MS / 1000);
        return -1;
    }
    ssize_t got = read(d->from, d->received + d->size, d->room - d->size - 1);
    if (got <= 0)
        return last_words(d, ret_why);
    d->size += (size_t)got;
    return 0;
}

int bench_driver_hear(bench_driver *driver, const char *word, char **ret_line, bench_text *ret_why)
{
    int64_t end_ns = bench_now_ns() + (int64_t)PATIENCE_MS * 1000000;
    size_t  size   = strlen(word);

    /* One command, one line: bytes after it are an error. */
    driver->size = 0;
    while (driver->size == 0 || driver->received[driver->size - 1] != '\n')
        if (read_more(driver, end_ns, ret_why) < 0)
            return -1;
    driver->received[driver->size - 1] = '\0';
    if (strncmp(driver->received, word, size) != 0) {
        *ret_why = bench_text_of("%.120s", driver->received);
        return -1;
    }
    if (ret_line != NULL)
        *ret_line = driver->received + size;
    return 0;
}

int bench_driver_ask(bench_driver *driver, const char *line, const char *word, char **ret_line,
                     bench_text *ret_why)
{
    if (bench_driver_tell(driver, line, ret_why) < 0)
        return -1;
    return bench_driver_hear(driver, word, ret_line, ret_why);
}

double bench_driver_cpu_us(const bench_driver *driver)
{
    char               line[512] = "";
    unsigned long long user = 0, system = 0;

    FILE *in = fopen(bench_text_of("/proc/%d/stat", (int)driver->pid).text, "re");
    if (in == NULL)
        return 0;
    const char *rest = fgets(line, sizeof line, in) != NULL ? strrchr(line, ')') : NULL;
    (void)fclose(in);
    if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                               &user, &system) != 2)
        return 0;
    return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}
