#include "sim/search/picture.h"

#include "lab/draw/diagram.h"
#include "sim/kernel/say.h"
#include "sim/load/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 4096, LABEL_MAX = 18, NO_LANE = BWL_LANES_MAX };

static struct {
    bwl_picture picture;
    unsigned    first; /* the host of client 0 */
    unsigned    lanes[PLAN_CLIENTS_MAX];
    unsigned    clients;
    sim_process *(*process_of)(unsigned client);
    char title[64];
} w;

/* ---- rows ------------------------------------------------------------------------------------ */

static bwl_lane lane_of(unsigned client)
{
    const sim_process *process = w.process_of(client);

    if (process == NULL)
        return BWL_LANE_IDLE;
    return check_relies(process) ? BWL_LANE_BELIEVES : BWL_LANE_BUSY;
}

/* The older half is forgotten when there are too many. */
static bwl_row *add(bwl_row_kind kind, unsigned lane)
{
    bwl_picture *p = &w.picture;

    if (p->rows_count == KEPT_MAX) {
        p->rows_count /= 2;
        memmove(p->rows, p->rows + p->rows_count, p->rows_count * sizeof p->rows[0]);
    }
    bwl_row *row = bwl_picture_add(
        p, (bwl_row){ .kind = kind, .client = lane, .at = sim_now() / SIM_MS, .from = BWL_NO_ROW });
    for (unsigned i = 0; i < w.clients; i++) {
        if (w.lanes[i] != NO_LANE)
            row->lanes[w.lanes[i]] = lane_of(i);
    }
    return row;
}

static const char *after_line(const char *text)
{
    const char *end = strchr(text, '|');

    return end != NULL ? end + 1 : "";
}

/* The first command: *3|$7|EVALSHA|$40|5f1c...|...: its name, and the beginning of its argument. */
static bwl_text command_of(const char *text)
{
    const char *name     = *text == '*' ? after_line(after_line(text)) : text;
    const char *argument = after_line(after_line(name));

    return bwl_say("%.*s %.*s", (int)strcspn(name, "|"), name,
                   (int)strcspn(argument, "|") < 6 ? (int)strcspn(argument, "|") : 6, argument);
}

static void take_message(const sim_said *said, unsigned lane)
{
    bool     is_ask = said->kind == SIM_SAID_ASK;
    bwl_row *row    = add(is_ask ? BWL_ROW_ASK : BWL_ROW_ANSWER, lane);

    row->server = said->server;
    if (is_ask) {
        row->what   = command_of(said->text);
        row->effect = bwl_say("server %u", said->server);
    } else {
        row->what = bwl_say("%.*s", LABEL_MAX, said->text);
        row->note = bwl_say("server %u", said->server);
    }
}

static void take(const sim_said *said)
{
    unsigned client = said->client - w.first;

    switch (said->kind) {
    case SIM_SAID_FAULT: {
        bwl_row *row = add(BWL_ROW_TIME, 0);
        row->what    = bwl_say("%s", said->text);
        row->is_bad  = true;
        return;
    }
    case SIM_SAID_SERVERS: add(BWL_ROW_SERVER, 0)->what = bwl_say("%s", said->text); return;
    case SIM_SAID_CLIENT:
    case SIM_SAID_ASK:
    case SIM_SAID_ANSWER: break;
    }
    if (client >= w.clients || w.lanes[client] == NO_LANE)
        return;
    if (said->kind == SIM_SAID_CLIENT)
        add(BWL_ROW_CLIENT, w.lanes[client])->what = bwl_say("%s", said->text);
    else
        take_message(said, w.lanes[client]);
}

/* ---- the run --------------------------------------------------------------------------------- */

void sim_picture_begin(void)
{
    memset(&w, 0, sizeof w);
    sim_say_pass_to(take);
}

void sim_picture_run(const sim_plan *plan, unsigned first,
                     sim_process *(*process_of)(unsigned client))
{
    w.picture.rows_count = 0;
    w.picture.clients    = 0;
    w.clients            = plan->clients_count;
    w.first              = first;
    w.process_of         = process_of;
    for (unsigned i = 0; i < plan->clients_count; i++)
        w.lanes[i] = plan->clients[i].is_absent ? NO_LANE : w.picture.clients++;
    (void)snprintf(w.title, sizeof w.title, "seed %" PRIu64, plan->seed);
    w.picture.title  = w.title;
    w.picture.server = "servers";
}

/* The rows belong to the whole. */
static bwl_picture last_of(unsigned rows, const char *failure)
{
    bwl_picture last = w.picture;

    if (last.rows_count > rows) {
        last.rows += last.rows_count - rows;
        last.rows_count = rows;
    }
    last.moral = bwl_say("%s", failure);
    return last;
}

void sim_picture_draw(FILE *out, unsigned rows, const char *failure)
{
    bwl_picture last = last_of(rows, failure);

    bwl_draw_picture(out, "", &last);
}

bool sim_picture_svg(const char *file, unsigned rows, const char *failure)
{
    bwl_picture last = last_of(rows, failure);
    bwl_output  output;

    if (!bwl_output_open(&output, file))
        return false;
    bwl_svg(output.out, &last, true);
    return bwl_output_close(&output);
}

void sim_picture_end(void)
{
    sim_say_pass_to(NULL);
    bwl_picture_free(&w.picture);
}
