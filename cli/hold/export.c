/*
 * export.c -- no process keeps the lock: it lasts for its lease, until it is taken over.
 */
#include "cli/hold/export.h"

#include <inttypes.h>
#include <string.h>

#include "cli/run/ticket.h"

static int check(const run_options *o, failure *reterr)
{
    if (o->hold.pid == 0 && o->max_hold_ms == 0 && !o->no_renew)
        return 0;
    return failed(reterr, words_of("--ticket: no process keeps the lock"),
                  words_of("--for, --max-hold and --no-renew are for a process that keeps it"),
                  words_of("to choose how long the ticket is good, type: bowline hold -t 1h "
                           "--ticket FILE %s",
                           o->name));
}

static void release(job *j)
{
    bowline_error unused;

    if (j->hold != NULL)
        (void)lock_release(j, &unused); /* (void): no work was done under this lock */
}

/* The file could not be written, so no one has the ticket: takes the lock back. */
static void take_back(job *j, const char *ticket)
{
    if (bowline_hold_import(&j->hold, j->client, ticket, NULL, NULL) == BOWLINE_OK)
        release(j); /* otherwise it ends with its lease */
}

static void report(const job *j, const char *path, uint64_t fence, int64_t left_ms)
{
    if (j->options.verbose)
        say_line("%s: the ticket in %s is good for %s", j->options.name, path,
                 words_of_duration(left_ms).text);
    if (!j->options.wants_json)
        return;
    json_open(NULL, '{');
    json_text("event", "exported");
    json_text("name", j->options.name);
    json_text("ticket", path);
    json_text("fence", fence != 0 ? words_of("%" PRIu64, fence).text : NULL);
    json_number("left_ms", left_ms);
    json_close('}');
}

static int pass_on(job *j, ticket_file *file, failure *reterr)
{
    char          ticket[BOWLINE_TICKET_MAX];
    bowline_error error;
    uint64_t      fence    = bowline_hold_fence(j->hold);
    int64_t       lease_ms = bowline_hold_left_ms(j->hold);

    if (bowline_hold_export(j->hold, ticket, &error) < 0) {
        failure is = { .code = EXIT_FAILED,
                       .what = words_of("%s was not passed on", j->options.name) };
        failure_explain(&is, error.text,
                        words_of("check the URL, from %s", j->settings.url_from.text));
        ticket_abandon(file);
        return failed_with(reterr, is);
    }
    j->hold    = NULL;
    int status = ticket_end(file, ticket, reterr);
    if (status < 0)
        take_back(j, ticket);
    else
        report(j, file->path, fence, lease_ms);
    explicit_bzero(ticket, sizeof ticket);
    return status;
}

/* Returns the exit code, or below 0 with *reterr. */
static int run(job *j, failure *reterr)
{
    ticket_file file;

    if (check(&j->options, reterr) < 0 || lock_prepare(j, reterr) < 0 ||
        ticket_begin(&file, j->options.hold.ticket, reterr) < 0)
        return -1;
    int status = lock_take(j, reterr);
    lock_check_signals(j);
    if (status == 0 && j->ended_by == 0)
        return pass_on(j, &file, reterr);
    ticket_abandon(&file);
    return status < 0 ? status : EXIT_SIGNAL + j->ended_by;
}

int export_main(const run_options *options)
{
    job     j = { .options = *options, .interrupt = INTERRUPT_NONE };
    failure is;
    int     code    = run(&j, &is);
    bool    is_busy = code < 0 && is.code == EXIT_NOT_ACQUIRED;

    release(&j);
    if (code < 0 && !(is_busy && (options->skips || options->quiet)))
        say_failure(&is);
    if (code < 0)
        code = is_busy ? options->busy_code : is.code;
    settings_wipe(&j.settings);
    if (!j.server_is_silent) /* else it would wait, as in run.c */
        bowline_close(j.client);
    int done = say_done();
    return code != 0 ? code : done;
}
