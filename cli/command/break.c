/*
 * break.c -- `bowline break`: shows the holder of a lock, asks for confirmation, and force-releases
 * exactly that hold.
 *
 *      look --no holder--> report
 *        |--several share it, no --id--> show each, with its id
 *        |--no id--> report, with what to do instead
 *        `--held--> show --yes--> release, if it is still the same hold
 *
 * The lock may get a new holder between the look and the answer.  So the id of the hold that was
 * shown is released, never the lock as such.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/look.h"
#include "cli/settings/commands.h"
#include "cli/text/holder.h"
#include "cli/text/json.h"
#include "doctor/caps.h"

static const option_row rows[] = { BREAK_OPTION_MAP(OPTION_ROW) };

const option_table break_table = {
    OPTION_TABLE("break", rows, BREAK_OPERANDS, false),
    .before = "bowline break nightly             show the holder, ask, release\n"
              "bowline break --yes nightly       in a script\n"
              "bowline break --id ID encoder     of those that share it, the one with this id\n"
              "\n",
    .after  = "\n"
              "Releases exactly the hold that it shows; the next waiter then has the lock.  The\n"
              "old holder runs on until its next renewal (a third of its lease), unless it is\n"
              "dead.  A lock with a timestamp as value (setnx-getset, jedis-lock-1) is never\n"
              "renewed, and a program that shares a profile may never check: such a holder runs\n"
              "on beside the next one.  Stop the holder first if you can, or make sure that a\n"
              "fencing token keeps its writes out.\n"
              "Of a lock that several clients share, it ends one share: it shows them with their\n"
              "ids, and --id chooses one.\n"
              "A lock of file: ends with its process and cannot be broken.\n"
              "\n"
              "Exit: 0 released, or not held; 122 not released: the hold has ended, or the\n"
              "answer was no; 125 bowline could not release it.\n",
};

typedef struct break_job {
    look            look;
    bowline_holder  holder;
    bowline_holder *shares; /* those that share the lock, if none is chosen */
    int             shares_count;
    bool            is_share;   /* `holder` is one of those that share the lock */
    bool            is_renewed; /* a bowline renews such a lock while it holds it */
    bool            is_shared;  /* other programs take part in the lock, by a profile */
} break_job;

/* ---- output ---------------------------------------------------------------------------------- */

static void write_event(const break_job *j, const char *event, const char *why)
{
    const bowline_holder *h     = &j->holder;
    int                   count = j->shares_count > 0 ? j->shares_count : j->is_share;

    if (!j->look.options.wants_json)
        return;
    json_open(NULL, '{');
    json_text("event", event);
    json_text("name", j->look.options.name);
    holder_write_json(h, holder_mode(h, j->shares_count > 0 ? j->shares : h, count));
    look_write_shares(j->shares, j->shares_count);
    json_text("why", why);
    json_close('}');
}

static void write_line(const break_job *j, words text)
{
    if (!j->look.options.wants_json)
        (void)printf("%s\n", words_escaped(text.text, WORDS_MAX).text);
}

/* "nightly: held by deploy@web-2 pid 4121 (pg_dump); its lease ends in 25s unless it is renewed" */
static words shown_words(const break_job *j)
{
    const bowline_holder *h    = &j->holder;
    words                 text = words_of("%s: %s", j->look.options.name, holder_words(h).text);

    if (h->left_ms == INT64_MAX || h->done != 0)
        return text;
    return words_of("%s; its lease ends in %s%s", text.text, words_of_duration(h->left_ms).text,
                    j->is_renewed ? " unless it is renewed" : "");
}

static const char *consequence(const break_job *j)
{
    if (j->holder.done != 0)
        return "The next run may begin at once, before the period is over.";
    if (!j->is_renewed)
        return "This lock is never renewed: its holder does not notice and runs on beside the next "
               "one.";
    if (j->is_shared)
        return "A bowline runs on until its next renewal; another program that shares this lock "
               "may never notice.";
    return "The holder runs on until its next renewal, if it is alive.";
}

/* ---- looking --------------------------------------------------------------------------------- */

static int look_at(break_job *j, failure *reterr)
{
    char why[CAPS_TEXT_MAX];
    caps gives;

    if (look_open(&j->look, reterr) < 0)
        return -1;
    if (caps_find(&gives, j->look.settings.url, 0, why) < 0)
        return settings_fail(&j->look.settings, words_of("the locks cannot be opened"), why,
                             reterr);
    j->is_renewed = gives.row.renews;
    j->is_shared  = gives.profile[0] != '\0';
    return look_at_holder(&j->look, &j->holder, reterr);
}

static int is_over(const break_job *j, failure *reterr)
{
    return failed_with(reterr,
                       (failure){ .code = EXIT_CHANGED,
                                  .what = words_of("%s was not broken", j->look.options.name),
                                  .why  = words_of("the hold that was meant has ended"),
                                  .hint = words_of("to see who holds it, type: bowline who %s",
                                                   j->look.options.name) });
}

/* Of a lock that clients share: the one with the id that was given, or the only one. */
static int choose_share(break_job *j, failure *reterr)
{
    uint64_t        id    = j->look.options.look.id;
    bowline_holder *all   = NULL;
    int             count = look_at_all(&j->look, &all, reterr);

    for (int i = 0; i < count; i++)
        if (id != 0 ? all[i].id == id : count == 1) {
            j->holder   = all[i];
            j->is_share = true;
            free(all);
            return 0;
        }
    if (id == 0 && count > 1) {
        j->shares       = all;
        j->shares_count = count;
        return 0;
    }
    free(all);
    return count < 0 ? -1 : is_over(j, reterr);
}

/* What ends the shares of a lock file: the end of these processes. */
static words kill_all(const break_job *j)
{
    words hint = words_of("type: kill");

    for (int i = 0; i < j->shares_count; i++) {
        if (j->shares[i].pid <= 0) /* of flock(1) */
            return words_of("type: lsof or fuser on its file, and stop those processes");
        hint = words_of("%.200s %lld", hint.text, (long long)j->shares[i].pid);
    }
    return hint;
}

/* Several clients share it, and none is chosen.  Returns the exit code, or below 0. */
static int show_shares(const break_job *j, failure *reterr)
{
    if (!j->look.options.look.is_confirmed && j->look.options.wants_json) {
        write_event(j, "held", NULL);
        return EXIT_CHANGED;
    }
    for (int i = 0; i < j->shares_count && !j->look.options.wants_json; i++)
        holder_write_share(&j->shares[i], j->shares[0].id != 0, look_columns());
    if (j->shares[0].id == 0)
        return failed(
            reterr, words_of("%s was not broken", j->look.options.name),
            words_of("a lock of file: ends with the processes that hold it, and not before"),
            kill_all(j));
    return failed(
        reterr, words_of("%s was not broken", j->look.options.name),
        words_of("%d clients share it, and a break ends the share of one", j->shares_count),
        words_of("type: bowline break --id ID %s", j->look.options.name));
}

static int cannot_break(const break_job *j, failure *reterr)
{
    const bowline_holder *h = &j->holder;
    words                 why, hint;

    if (strncmp(j->look.settings.url, "file:", 5) == 0) {
        why  = words_of("a lock of file: ends with the process that holds it, and not before");
        hint = h->pid > 0 ? words_of("type: kill %lld", (long long)h->pid)
                          : words_of("type: lsof or fuser on its file, and stop that process");
    } else if (strncmp(j->look.settings.url, "redlock", 7) == 0) {
        why  = words_of("it is on a majority of several servers and ends with its lease or holder");
        hint = words_of("stop the holder, or wait until the lease ends: redlock.md");
    } else if (h->done != 0) {
        why  = words_of("protocol queue keeps it taken, and this URL has another protocol");
        hint = words_of("remove protocol= or profile= from the URL");
    } else if (h->foreign != 0) {
        why  = words_of("its value is not of this protocol: it may be anything");
        hint = words_of("if another program owns the lock, add ?profile= or ?protocol= to the URL");
    } else {
        why  = words_of("its value does not name the hold: a release might end another hold");
        hint = words_of("if no holder can be running, delete the key: redis-cli DEL");
    }
    return failed(reterr, words_of("%s was not broken", j->look.options.name), why, hint);
}

/* ---- releasing ------------------------------------------------------------------------------- */

/* 1: yes; 0: no; below 0 with *reterr. */
static int confirm(const break_job *j, failure *reterr)
{
    const char *name = j->look.options.name;
    char        line[16];

    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return failed(reterr, words_of("%s was not broken", name),
                      words_of("bowline cannot ask for confirmation: this is not a terminal"),
                      words_of("type: bowline break --yes %s", name));
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s  Break it? [y/N] ", consequence(j));
    if (fgets(line, sizeof line, stdin) == NULL)
        return 0;
    return strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0 ? 1 : 0;
}

static int not_broken(const break_job *j, int status, const bowline_error *error, failure *reterr)
{
    bool  is_changed = status == BOWLINE_BUSY;
    words hint       = words_of("check the URL, from %s", j->look.settings.url_from.text);

    if (is_changed || status == BOWLINE_UNKNOWN)
        hint = words_of("to see the present holder, type: bowline break --json %s",
                        j->look.options.name);
    return failed_with(reterr, (failure){
                                   .code = is_changed ? EXIT_CHANGED : EXIT_FAILED,
                                   .what = words_of("%s was not broken", j->look.options.name),
                                   .why  = words_of("%s", error->text),
                                   .hint = hint,
                               });
}

/* Returns the exit code, or below 0 with *reterr. */
static int break_lock(break_job *j, failure *reterr)
{
    bowline_error error;

    if (j->holder.held == 0 && j->holder.done == 0) {
        write_line(j, words_of("%s: no one holds it", j->look.options.name));
        write_event(j, "free", NULL);
        return 0;
    }
    if (j->holder.sharers > 0 && choose_share(j, reterr) < 0)
        return -1;
    if (j->look.options.look.id != 0 && j->holder.id != j->look.options.look.id)
        return is_over(j, reterr);
    write_line(j, shown_words(j));
    if (j->shares_count > 0)
        return show_shares(j, reterr);
    if (j->holder.id == 0)
        return cannot_break(j, reterr);
    if (j->look.options.wants_json && !j->look.options.look.is_confirmed) {
        write_event(j, j->holder.done != 0 ? "done" : "held", NULL);
        return EXIT_CHANGED;
    }
    int answer = j->look.options.look.is_confirmed ? 1 : confirm(j, reterr);
    if (answer <= 0)
        return answer < 0 ? -1 : EXIT_CHANGED;
    int status = bowline_break(j->look.client, j->look.options.name, j->holder.id, &error);
    if (status < 0)
        return not_broken(j, status, &error, reterr);
    write_line(j, words_of("%s: broken", j->look.options.name));
    write_event(j, "broken", NULL);
    return 0;
}

static int run(break_job *j, int operands_count, failure *reterr)
{
    if (operands_count != 1)
        return options_fail(&break_table, reterr,
                            words_of(operands_count > 1 ? "more than one lock is named"
                                                        : "the name of the lock is missing"),
                            words_of("usage: %s", break_table.usage));
    if (options_check_name(j->look.options.name, "break", reterr) < 0 ||
        settings_find(&j->look.settings, &j->look.options, reterr) < 0 || look_at(j, reterr) < 0)
        return -1;
    return break_lock(j, reterr);
}

int break_main(int argc, char **argv)
{
    break_job j = { .look = { .table = &break_table } };
    failure   is;
    int       at = options_parse(&j.look.options, &break_table, argc, argv, &is);

    if (at == 0) {
        options_write(&break_table, false);
        return say_done();
    }
    if (at > 0 && at < argc)
        j.look.options.name = argv[at];
    int code = at < 0 ? -1 : run(&j, argc - at, &is);
    settings_wipe(&j.look.settings);
    bowline_close(j.look.client);
    if (code < 0) {
        (void)fflush(stdout); /* who holds it comes before why it was not broken */
        write_event(&j, is.code == EXIT_CHANGED ? "changed" : "failed", is.why.text);
        say_failure(&is);
        code = is.code;
    }
    free(j.shares);
    int done = say_done();
    return code != 0 ? code : done;
}
