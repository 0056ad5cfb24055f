/*
 * stages.c -- replays a schedule and writes the state of the world after each step.  See stages.h.
 */
#include "lab/report/stages.h"
#include "lab/base/lang.h"
#include "lab/model/queue.h"
#include "lab/report/json.h"
#include "lab/report/names.h"
#include <inttypes.h>

typedef struct stage {
    FILE              *out;
    const bwl_world   *w;
    const bwl_picture *picture;
    unsigned           step; /* 0: before the first */
    unsigned           steps;
    bool               has_crashed[BWL_CLIENTS_MAX];
    bool               has_item; /* the list that is being written */
} stage;

static void put_text(const stage *g, const char *name, bwl_text text)
{
    bwl_put(g->out, "\"%s\":", name);
    bwl_json_put_string(g->out, text.of);
    bwl_put(g->out, ",");
}

static void begin_list(stage *g, const char *name)
{
    bwl_put(g->out, "\"%s\":[", name);
    g->has_item = false;
}

static void put_item(stage *g, bwl_text text)
{
    bwl_put(g->out, g->has_item ? "," : "");
    bwl_json_put_string(g->out, text.of);
    g->has_item = true;
}

/* ---- the step -------------------------------------------------------------------------------- */

static bwl_text step_words(const bwl_world *before, bwl_transition transition)
{
    bwl_text what = bwl_transition_words(before, transition);

    switch (bwl_transition_actor(transition)) {
    case BWL_ACTOR_CLIENT:
    case BWL_ACTOR_CLIENT_FAULT:
        return bwl_say("%c: %s", bwl_client_name(transition.client), what.of);
    case BWL_ACTOR_SERVER:
    case BWL_ACTOR_SERVER_FAULT: return bwl_say("redis: %s", what.of);
    case BWL_ACTOR_OTHER: break;
    }
    if (transition.kind == BWL_TRANSITION_PASS)
        return what;
    if (transition.kind == BWL_TRANSITION_DELIVER)
        return bwl_say("%c: %s", bwl_client_name(transition.client), what.of);
    return bwl_say("redis: %s", what.of);
}

/* A command that is executed at once has its step in the row of its request: see picture.c. */
static void put_rows(const stage *g)
{
    const bwl_picture *p     = g->picture;
    int                first = BWL_NO_ROW;
    int                last  = BWL_NO_ROW;
    bool               is_half;

    for (size_t i = 0; i < p->rows_count && p->rows[i].step <= g->step; i++) {
        last  = (int)i;
        first = first == BWL_NO_ROW || p->rows[first].step != p->rows[i].step ? last : first;
    }
    if (last != BWL_NO_ROW && p->rows[last].step != g->step)
        first = last;
    is_half = last != BWL_NO_ROW && p->rows[last].kind == BWL_ROW_ASK &&
              p->rows[last].step == g->step && p->rows[last].effect.of[0] != '\0';
    bwl_put(g->out, "\"rows\":[%d,%d],\"is_half\":%s,", first, last, is_half ? "true" : "false");
}

/* ---- the world ------------------------------------------------------------------------------- */

static bwl_text client_words(const stage *g, unsigned client, const char **ret_is)
{
    const bwl_lab_client *c    = &g->w->clients[client];
    bwl_ms                left = bwl_world_believes(g->w, client);

    *ret_is = "holds";
    if (left == BWL_NEVER)
        return bwl_say("believes it holds the lock, without an end");
    if (left > 0)
        return bwl_say("believes it holds the lock for %" PRId64 " ms more", left);
    *ret_is = "over";
    if (c->caller.is_working)
        return bwl_say("works past the end of its lease");
    *ret_is = "busy";
    if (c->is_running && c->hold.state == BWL_HOLD_ACQUIRING)
        return bwl_say("acquires the lock");
    if (c->is_running)
        return bwl_say("%s", bwl_tr(bwl_hold_state_name(c->hold.state)));
    *ret_is = g->has_crashed[client] ? "crashed" : "idle";
    return g->has_crashed[client] ? bwl_say("has crashed") : bwl_say("is idle");
}

static void put_clients(stage *g)
{
    bwl_put(g->out, "\"clients\":[");
    for (unsigned i = 0; i < g->w->scenario->clients; i++) {
        const char *is;
        bwl_text    says = client_words(g, i, &is);
        bwl_put(g->out, "%s{\"is\":\"%s\",\"says\":", i == 0 ? "" : ",", is);
        bwl_json_put_string(g->out, says.of);
        bwl_put(g->out, "}");
    }
    bwl_put(g->out, "],");
}

static void put_server(stage *g)
{
    const bwl_server *server = &g->w->servers[BWL_ONLY];
    unsigned          queued = bwl_model_items_count(&server->redis, BWL_MODEL_QUEUE);

    begin_list(g, "server");
    put_item(g, bwl_key_name(g->w));
    if (queued > 0)
        put_item(g, bwl_say("entries in the queue: %u", queued));
    if (server->is_stopped)
        put_item(g, bwl_say("it is stopped"));
    bwl_put(g->out, "],");
}

static void put_message(stage *g, unsigned client, const bwl_message *message)
{
    char name = bwl_client_name(client);

    switch ((bwl_message_kind)message->kind) {
    case BWL_MESSAGE_REQUEST:
        put_item(g, bwl_say("%c → redis: %s", name, bwl_message_name(g->w, message).of));
        return;
    case BWL_MESSAGE_ANSWER:
        if (message->answer != BWL_NOT_SENT)
            put_item(g, bwl_say("redis → %c: %s", name, bwl_reply_name(g->w, message).of));
        return;
    case BWL_MESSAGE_PUSH: put_item(g, bwl_say("redis → %c: push", name)); return;
    case BWL_MESSAGE_CUT_OFF: return; /* only the client's own engine will say so */
    }
}

static void put_way(stage *g)
{
    begin_list(g, "way");
    for (unsigned k = 0; k < g->w->scenario->servers; k++)
        for (unsigned i = 0; i < g->w->scenario->clients; i++) {
            const bwl_link *link = &g->w->servers[k].links[i];
            for (unsigned m = 0; m < link->count; m++)
                put_message(g, i, &link->messages[m]);
            for (unsigned m = 0; m < link->late_count; m++)
                put_item(g, bwl_say("%c → redis, on a broken connection: %s", bwl_client_name(i),
                                    bwl_message_name(g->w, &link->late[m]).of));
        }
    if (!g->has_item)
        put_item(g, bwl_say("nothing"));
    bwl_put(g->out, "]");
}

static void put_stage(stage *g, bwl_text says, bool is_bad)
{
    bwl_put(g->out, g->step == 0 ? "{" : ",\n{");
    put_text(g, "title",
             bwl_say("step %u of %u, at %" PRId64 " ms", g->step, g->steps,
                     g->w->now - BWL_BEGINNING_MS));
    put_text(g, "says", says);
    bwl_put(g->out, "\"is_bad\":%s,", is_bad ? "true" : "false");
    put_rows(g);
    put_clients(g);
    put_server(g);
    if (g->step == g->steps)
        put_text(g, "moral", g->picture->moral);
    put_way(g);
    bwl_put(g->out, "}");
}

void bwl_stages_put(FILE *out, const bwl_scenario *s, const bwl_transition *path, unsigned count,
                    const bwl_picture *picture)
{
    bwl_world before;
    bwl_world w;
    stage     g = { .out = out, .w = &w, .picture = picture, .steps = count };

    bwl_put(out, "[");
    bwl_world_start(&w, s);
    put_stage(&g, bwl_say("the beginning"), false);
    for (g.step = 1; g.step <= count; g.step++) {
        bwl_transition t = path[g.step - 1];
        before           = w;
        bwl_world_perform(&w, t);
        if (t.kind == BWL_TRANSITION_CRASH || t.kind == BWL_TRANSITION_START)
            g.has_crashed[t.client] = t.kind == BWL_TRANSITION_CRASH;
        put_stage(&g, step_words(&before, t), bwl_transition_is_fault(&before, t));
    }
    bwl_put(out, "]");
}
