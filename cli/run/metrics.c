#include "cli/run/metrics.h"

#include <bowline/stats.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/loop.h"
#include "cli/text/say.h"

enum { FILE_MODE = 0644 }; /* node_exporter is another user */

static int64_t wall_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* it exists: cannot fail */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- one number ------------------------------------------------------------------------------ */

/* {name="..."}, escaped as the format says. */
static void write_label(FILE *out, const char *name)
{
    if (name == NULL)
        return;
    (void)fputs("{name=\"", out); /* (void): write_file checks the stream at the end */
    for (; *name != '\0'; name++)
        if (*name == '\n')
            (void)fputs("\\n", out);
        else
            (void)fprintf(out, "%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
    (void)fputs("\"}", out);
}

static void write_head(FILE *out, const metrics *m, const char *metric, const char *help)
{
    (void)fprintf(out, "# HELP bowline_run_%s %s\n# TYPE bowline_run_%s gauge\nbowline_run_%s",
                  metric, help, metric, metric);
    write_label(out, m->options.name);
}

static void write_number(FILE *out, const metrics *m, const char *metric, const char *help,
                         int64_t number)
{
    write_head(out, m, metric, help);
    (void)fprintf(out, " %" PRId64 "\n", number);
}

static void write_seconds(FILE *out, const metrics *m, const char *metric, const char *help,
                          int64_t ms)
{
    write_head(out, m, metric, help);
    (void)fprintf(out, " %" PRId64 ".%03d\n", ms / 1000, (int)(ms % 1000));
}

/* ---- the file -------------------------------------------------------------------------------- */

/* `end` is NULL while the command runs. */
static void write_all(FILE *out, const metrics *m, bowline_client *client, const metrics_end *end)
{
    bowline_stats s = BOWLINE_STATS_INIT;

    if (client != NULL)
        (void)bowline_client_stats(client, &s, NULL); /* (void): the arguments are right */
    bool    is_acquired = s.acquired > 0;
    int64_t waited_ms   = is_acquired ? s.waited_ms : loop_now() - m->begun_at;

    write_seconds(out, m, "start_time_seconds", "When the run began, since 1970.",
                  m->begun_wall_ms);
    write_seconds(out, m, "waited_seconds", "How long it waited for the lock.", waited_ms);
    write_number(out, m, "not_acquired", "1 if the lock was not acquired.", !is_acquired);
    write_number(out, m, "holding", "1 while the command runs.", end == NULL);
    write_number(out, m, "renewals", "Renewals of the lease.", (int64_t)s.renewals);
    write_number(out, m, "renewals_late",
                 "Renewals that were answered when less than a third of the lease was left.",
                 (int64_t)s.renewals_late);
    write_number(out, m, "renewals_failed", "Renewals that failed while the lock was held.",
                 (int64_t)s.renewals_failed);
    write_number(out, m, "connections", "Connections that were made.", (int64_t)s.connections);
    if (end == NULL)
        return;
    write_seconds(out, m, "held_seconds", "How long the lock was held.", end->held_ms);
    write_number(out, m, "lost", "1 if the lock was lost.", end->was_lost || s.lost > 0);
    write_number(out, m, "exit_code", "The exit status of bowline run.", end->code);
    write_seconds(out, m, "end_time_seconds", "When the run ended, since 1970.", wall_ms());
}

/* Returns 0 or an errno.  Closes `fd`. */
static int write_file(int fd, const metrics *m, bowline_client *client, const metrics_end *end)
{
    FILE *out = fdopen(fd, "w");

    if (out == NULL) {
        int error = errno;
        (void)close(fd); /* (void): nothing was written */
        return error;
    }
    write_all(out, m, client, end);
    bool is_written = fflush(out) == 0 && ferror(out) == 0 && fchmod(fd, FILE_MODE) == 0;
    int  error      = is_written ? 0 : errno;
    if (fclose(out) != 0 && error == 0)
        error = errno;
    return error;
}

static int replace(const metrics *m, bowline_client *client, const metrics_end *end)
{
    char temporary[PATH_MAX];
    int  size = snprintf(temporary, sizeof temporary, "%s.XXXXXX", m->options.file);

    if (size < 0 || (size_t)size >= sizeof temporary)
        return ENAMETOOLONG;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = write_file(fd, m, client, end);
    if (error == 0 && rename(temporary, m->options.file) < 0)
        error = errno;
    if (error != 0)
        (void)unlink(temporary); /* (void): the reason is known */
    return error;
}

static void update(metrics *m, bowline_client *client, const metrics_end *end)
{
    if (m->options.file == NULL)
        return;
    int error = replace(m, client, end);
    if (error != 0 && !m->has_warned)
        say_line("warning: --metrics-file: %s cannot be written: %s", m->options.file,
                 strerror(error));
    m->has_warned = m->has_warned || error != 0;
}

void metrics_begin(metrics *ret_metrics, const metrics_options *options)
{
    *ret_metrics =
        (metrics){ .options = *options, .begun_at = loop_now(), .begun_wall_ms = wall_ms() };
}

void metrics_acquired(metrics *m, bowline_client *client)
{
    update(m, client, NULL);
}

void metrics_ended(metrics *m, bowline_client *client, const metrics_end *end)
{
    update(m, client, end);
}
