#include "cli/command/look.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text/holder.h"
#include "cli/text/json.h"

int look_open(look *l, failure *reterr)
{
    words           program = words_of("bowline %s", l->table->command);
    bowline_options options = { .size    = sizeof options,
                                .url     = l->settings.url,
                                .flags   = BOWLINE_NO_THREAD,
                                .program = program.text };
    bowline_error   error;

    if (strncmp(l->settings.url, "thread:", 7) == 0)
        return failed(reterr, words_of("thread: has no lock that another process can see"),
                      words_of("it locks between the threads of one process"),
                      words_of("in C, that process can call bowline_who"));
    if (bowline_open(&l->client, &options, &error) < 0)
        return settings_fail(&l->settings, words_of("the locks cannot be opened"), error.text,
                             reterr);
    return 0;
}

int look_at_holder(look *l, bowline_holder *ret_holder, failure *reterr)
{
    const char   *name = l->options.name;
    bowline_error error;

    *ret_holder = (bowline_holder){ .size = sizeof *ret_holder };
    int status  = bowline_who(l->client, name, ret_holder, &error);
    if (status == BOWLINE_USAGE)
        return options_fail(l->table, reterr, words_of("there is no lock \"%s\"", name),
                            words_of("%s", error.text));
    if (status < 0)
        return settings_fail(&l->settings, words_of("the holder of %s is not known", name),
                             error.text, reterr);
    return 0;
}

int look_at_all(look *l, bowline_holder **ret_holders, failure *reterr)
{
    const char     *name    = l->options.name;
    int             room    = 0;
    bowline_holder *holders = NULL;
    bowline_error   error;

    for (;;) { /* more of them may come meanwhile */
        int count = bowline_holders(l->client, name, holders, (size_t)room, &error);
        if (count < 0)
            (void)settings_fail(&l->settings, words_of("the holders of %s are not known", name),
                                error.text, reterr);
        if (count >= 0 && count <= room) {
            *ret_holders = holders;
            return count;
        }
        free(holders);
        if (count < 0)
            return -1;
        room    = count + 16;
        holders = calloc((size_t)room, sizeof *holders);
        if (holders == NULL)
            return failed(reterr, words_of("the holders of %s are not known", name),
                          words_of("out of memory"), words_of("close other programs"));
        holders[0].size = sizeof holders[0];
    }
}

void look_write_shares(const bowline_holder shares[], int count)
{
    if (count == 0)
        return;
    json_open("holders", '[');
    for (int i = 0; i < count; i++) {
        json_open(NULL, '{');
        holder_write_json(&shares[i], holder_mode(&shares[i], &shares[i], 1));
        json_close('}');
    }
    json_close(']');
}

void look_write_json(const char *name, const bowline_holder *holder, const bowline_holder shares[],
                     int count)
{
    json_open(NULL, '{');
    json_text("name", name);
    json_flag("held", holder->held != 0);
    holder_write_json(holder, holder_mode(holder, shares, count));
    look_write_shares(shares, count);
    json_close('}');
}

int look_pipe(void)
{
    struct stat out;

    return fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode) ? STDOUT_FILENO : -1;
}

void look_pause(int64_t pause_ms)
{
    struct pollfd reader = { .fd = look_pipe() };

    if (poll(&reader, 1, (int)pause_ms) == 1 && (reader.revents & POLLERR) != 0)
        (void)raise(SIGPIPE);
}

size_t look_columns(void)
{
    struct winsize size;

    if (isatty(STDOUT_FILENO) != 1)
        return SIZE_MAX;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static int check_operands(look *l, bool takes_name, int count, failure *reterr)
{
    const option_table *t = l->table;

    if (count > 1)
        return options_fail(t, reterr,
                            words_of("more than one %s", takes_name ? "lock is named" : "pattern"),
                            words_of("usage: %s", t->usage));
    if (takes_name && count < 1)
        return options_fail(t, reterr, words_of("the name of the lock is missing"),
                            words_of("usage: %s", t->usage));
    return count == 0 ? 0 : options_check_name(l->options.name, t->command, reterr);
}

int look_main(const option_table *t, look_function *function, bool takes_name, int argc,
              char **argv)
{
    look    l = { .table = t };
    failure is;
    int     at = options_parse(&l.options, t, argc, argv, &is);

    if (at == 0) {
        options_write(t, false);
        return say_done();
    }
    if (at > 0 && at < argc)
        l.options.name = argv[at];
    int code = -1;
    if (at > 0 && check_operands(&l, takes_name, argc - at, &is) == 0 &&
        settings_find(&l.settings, &l.options, &is) == 0)
        code = function(&l, &is);
    settings_wipe(&l.settings);
    bowline_close(l.client);
    if (code < 0) {
        say_failure(&is);
        code = is.code;
    }
    int done = say_done();
    return done == 0 ? code : done;
}
