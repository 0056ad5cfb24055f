/*
 * who.c -- `bowline who`: shows the holder of a lock, and says by its exit status whether there is
 * one.
 */
#include "cli/command/command.h"

#include "cli/command/look.h"
#include "cli/settings/commands.h"
#include "cli/text/holder.h"

#include <stdlib.h>

enum { EXIT_HELD = 0, EXIT_FREE = 1 };

static const option_row rows[] = { WHO_OPTION_MAP(OPTION_ROW) };

const option_table who_table = {
    OPTION_TABLE("who", rows, WHO_OPERANDS, false),
    .before = "bowline who nightly              show its holder\n"
              "bowline who --json nightly       for a program\n"
              "bowline who -q nightly           only the exit status\n"
              "\n",
    .after  = "\n"
              "Under the line of a lock that clients share, each of them has a line.\n"
              "\n"
              "A snapshot: when it is read, the lock may have another holder.  \"free\" permits\n"
              "nothing; only bowline run acquires the lock.\n"
              "\n"
              "Exit: 0 held; 1 free; 125 bowline could not look.\n",
};

static void write_holders(const look *l, const bowline_holder *holder, const bowline_holder all[],
                          int count)
{
    if (l->options.wants_json) {
        look_write_json(l->options.name, holder, all, count);
    } else if (!l->options.quiet) {
        holder_write_line(l->options.name, holder, NULL, look_columns());
        for (int i = 0; i < count; i++)
            holder_write_share(&all[i], false, look_columns());
    }
}

static int who(look *l, failure *reterr)
{
    bowline_holder  holder;
    bowline_holder *all   = NULL;
    int             count = 0;

    if (look_open(l, reterr) < 0 || look_at_holder(l, &holder, reterr) < 0)
        return -1;
    if (holder.sharers > 0 && !l->options.quiet)
        count = look_at_all(l, &all, reterr);
    if (count >= 0) {
        holder_learn_limit(&holder, all, count);
        write_holders(l, &holder, all, count);
    }
    free(all);
    if (count < 0)
        return -1;
    return holder.held != 0 ? EXIT_HELD : EXIT_FREE;
}

int who_main(int argc, char **argv)
{
    return look_main(&who_table, who, true, argc, argv);
}
