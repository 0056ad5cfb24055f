#include "sim/search/crash.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STACK_SIZE = 65536 };

static struct {
    char text[80]; /* what the handler writes: it may not format */
    char stack[STACK_SIZE];
} crash;

/* The signal comes again when it returns, and kills. */
static void name_it(int signal)
{
    ssize_t written = write(STDOUT_FILENO, crash.text, strlen(crash.text));

    (void)signal;
    (void)written;
}

void sim_crash_watch(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    const stack_t    stack     = { .ss_sp = crash.stack, .ss_size = STACK_SIZE };
    struct sigaction action = { .sa_handler = name_it, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK };

    (void)sigaltstack(&stack, NULL); /* the arguments are valid */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &action, NULL); /* the same */
}

void sim_crash_in(uint64_t seed)
{
    (void)fflush(stdout);
    (void)snprintf(crash.text, sizeof crash.text, "seed %" PRIu64 ": died of a signal\n", seed);
}
