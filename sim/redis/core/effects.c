/*
 * effects.c -- the log of what has changed, and who waits until replicas have it.
 *
 * The changes of one command, with all that a script or a transaction in it did, are pending until
 * it ends; several of them become one MULTI ... EXEC.  Each such piece begins and ends in database
 * 0, so a replica may begin with any of them.
 */
#include "sim/redis/core/inside.h"

#include <string.h>

static void write_head(model_bytes *out, size_t argc)
{
    model_bytes_add(out, "*", 1);
    model_bytes_add_integer(out, (int64_t)argc);
    model_bytes_add(out, "\r\n", 2);
}

static void select_database(model_server *server, unsigned database)
{
    model_effects *effects = &server->effects;
    model_bytes   *out     = &effects->pending;
    char           number  = (char)('0' + database % 10);

    if (effects->database == (int)database)
        return;
    write_head(out, 2);
    model_write_bulk(out, model_text_of("SELECT"));
    if (database < 10)
        model_write_bulk(out, (model_text){ &number, 1 });
    else
        model_bytes_print(out, "$2\r\n%u\r\n", database);
    effects->database = (int)database;
}

void model_effects_add(model_server *server, unsigned database, const model_text *argv, size_t argc)
{
    model_effects *effects = &server->effects;

    if (effects->is_silent)
        return;
    select_database(server, database);
    write_head(&effects->pending, argc);
    for (size_t i = 0; i < argc; i++)
        model_write_bulk(&effects->pending, argv[i]);
    effects->pending_count++;
}

void model_effects_add_own(model_server *server, unsigned database)
{
    model_effects *effects = &server->effects;

    if (effects->is_silent)
        return;
    select_database(server, database);
    model_bytes_add(&effects->pending, effects->own.at, effects->own.size);
    effects->pending_count++;
}

void model_effects_end(model_server *server)
{
    model_effects *effects = &server->effects;

    if (effects->pending_count == 0)
        return;
    select_database(server, 0);
    if (effects->pending_count > 1)
        model_bytes_add_text(&effects->log, "*1\r\n$5\r\nMULTI\r\n");
    model_bytes_add(&effects->log, effects->pending.at, effects->pending.size);
    if (effects->pending_count > 1)
        model_bytes_add_text(&effects->log, "*1\r\n$4\r\nEXEC\r\n");
    effects->pending.size  = 0;
    effects->pending_count = 0;
}

void model_effect_begin(model_call *call, size_t count)
{
    call->has_effect               = true;
    call->server->effects.own.size = 0;
    write_head(&call->server->effects.own, count);
}

void model_effect_add(model_call *call, model_text text)
{
    model_write_bulk(&call->server->effects.own, text);
}

void model_effect_add_text(model_call *call, const char *text)
{
    model_effect_add(call, model_text_of(text));
}

void model_effect_add_integer(model_call *call, int64_t number)
{
    model_bytes text = { .size = 0 };

    model_bytes_add_integer(&text, number);
    model_effect_add(call, model_bytes_text(&text));
    model_bytes_free(&text);
}

/* ---- the log for others ---------------------------------------------------------------------- */

uint64_t model_server_offset(const model_server *server)
{
    return server->effects.begin + server->effects.log.size;
}

bool model_server_effects(const model_server *server, uint64_t from, const char **ret_bytes,
                          size_t *ret_size)
{
    const model_effects *effects = &server->effects;

    if (from < effects->begin || from > model_server_offset(server))
        return false;
    size_t skipped = (size_t)(from - effects->begin);
    *ret_size      = effects->log.size - skipped;
    *ret_bytes     = *ret_size != 0 ? effects->log.at + skipped : "";
    return true;
}

void model_server_trim(model_server *server, uint64_t before)
{
    model_effects *effects = &server->effects;
    uint64_t       end     = model_server_offset(server);

    if (before > end)
        before = end;
    if (before <= effects->begin)
        return;
    model_bytes_drop(&effects->log, (size_t)(before - effects->begin));
    effects->begin = before;
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

size_t model_replicas_with(const model_server *server, uint64_t offset)
{
    size_t count = 0;

    for (unsigned i = 0; i < MODEL_REPLICAS_MAX; i++)
        count += server->replication.replicas[i].is_there &&
                 server->replication.replicas[i].offset >= offset;
    return count;
}

static void end_wait(model_link *link, size_t replicas)
{
    link->wait.is_waiting = false;
    model_bytes_print(model_link_output(link), ":%zu\r\n", replicas);
}

/* The links whose WAIT has ended run the rest of their input. */
void model_waiters_serve(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link  = server->links.at[i];
        size_t      count = model_replicas_with(server, link->wait.offset);
        if (!link->wait.is_waiting ||
            (count < (size_t)link->wait.replicas && server->now_us < link->wait.until_us))
            continue;
        end_wait(link, count);
        model_link_read(link);
    }
}

void model_waiters_disconnect(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link = server->links.at[i];
        if (!link->wait.is_waiting)
            continue;
        link->wait.is_waiting = false;
        model_bytes_add_text(model_link_output(link),
                             "-UNBLOCKED force unblock from blocking operation, instance state "
                             "changed (master -> replica?)\r\n");
        model_link_end(link);
    }
}

void model_server_acked(model_server *server, unsigned replica, uint64_t offset, int64_t now_us)
{
    server->now_us = now_us;
    if (replica >= MODEL_REPLICAS_MAX)
        return;
    server->replication.replicas[replica] =
        (model_replica_state){ .offset = offset, .acked_us = now_us, .is_there = true };
    model_waiters_serve(server);
    model_links_flush(server);
}

void model_server_lost_replica(model_server *server, unsigned replica, int64_t now_us)
{
    server->now_us = now_us;
    if (replica < MODEL_REPLICAS_MAX)
        server->replication.replicas[replica].is_there = false;
}
