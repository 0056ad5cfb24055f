/*
 * elect.c -- what `bowline elect` does beyond `bowline run`: it announces that it leads, and after
 * a loss it acquires the lock again.
 *
 *      command has started --> announce --> result read while the loop turns
 *      lock lost --> command stopped --> back to the wait, unless a signal ends bowline
 *
 * The library repeats the announcement with each renewal, so a failure is a warning.
 */
#include "cli/run/job.h"
#include "doctor/caps.h"

#include <sys/utsname.h>
#include <unistd.h>

int elect_check(const job *j, failure *reterr)
{
    char why[CAPS_TEXT_MAX];
    caps found;

    if (caps_find(&found, j->settings.url, j->settings.lease_ms, why) < 0 ||
        found.why_no_election == NULL)
        return 0;
    return failed(reterr, words_of("there is no election at this URL"),
                  words_of("%s", found.why_no_election),
                  words_of("type: bowline elect --url redis://HOST %s ..., without protocol=, "
                           "profile= and token= in the URL",
                           j->options.name));
}

void elect_announce(job *j)
{
    struct utsname system;
    words          usual;
    const char    *text = j->options.hold.value;
    bowline_error  error;

    if (text == NULL) {
        bool is_known = uname(&system) == 0;
        usual = words_of("%s:%d", is_known ? system.nodename : "localhost", (int)j->child.pid);
        text  = usual.text;
    }
    if (bowline_announce_start(&j->election.announcement, j->hold, text, &error) == BOWLINE_OK)
        return;
    j->election.announcement = NULL;
    if (error.status != BOWLINE_LOST)
        say_line("%s: observers do not see that it leads: %s", j->options.name, error.text);
}

void elect_look(job *j)
{
    bowline_operation *op = j->election.announcement;
    bowline_error      error;

    if (op == NULL || !bowline_operation_done(op))
        return;
    j->election.announcement = NULL;
    int status               = bowline_finish(op, &error);
    if (status == BOWLINE_OK) {
        job_event(j, "announced");
        json_send();
    } else if (status != BOWLINE_LOST && status != BOWLINE_CANCELLED) {
        say_line("%s: observers do not see yet that it leads: %s", j->options.name, error.text);
    }
}

void elect_end(job *j)
{
    if (j->election.announcement == NULL)
        return;
    bowline_cancel(j->election.announcement);
    (void)bowline_finish(j->election.announcement, NULL); /* (void): the release withdraws it */
    j->election.announcement = NULL;
}

/* The next command is another process, and what is known of the last one is not about it. */
static void forget_round(job *j)
{
    if (j->terminal.fd >= 0)
        (void)close(j->terminal.fd); /* it was only read */
    signals_leave_stops(&j->signals);
    j->loss                      = (loss_report){ .is_lost = false };
    j->ending                    = (ending){ .has_begun = false };
    j->child                     = (child){ .is_running = false };
    j->interrupt                 = INTERRUPT_NONE;
    j->expected_until            = 0;
    j->held_at                   = 0;
    j->settings.waits_for_server = true; /* it was there, and will come back */
}

/* A command that has ended by itself has ended the election, too: its status says how. */
bool elect_again(job *j)
{
    if (!j->election.is_on || j->election.is_over || !j->loss.is_lost || !j->ending.has_begun ||
        j->ending.not_stopped)
        return false;
    job_event(j, "waits-again");
    json_text("why", j->loss.why.text);
    json_send();
    say_line("%s was lost, %s was stopped: %s; waiting to lead again", j->options.name,
             j->options.command[0], j->loss.why.text);
    forget_round(j);
    return true;
}
