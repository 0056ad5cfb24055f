/*
 * input.c -- see input.h.
 */
#include "sim/redis/core/input.h"
#include "sim/redis/core/dispatch.h"
#include "sim/redis/core/effects.h"
#include "sim/redis/core/link.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/protocol.h"
#include "sim/redis/core/replication.h"

/* ---- requests -------------------------------------------------------------------------------- */

static void refuse(model_link *link, const char *error)
{
    model_bytes *out = model_link_output(link);

    model_bytes_print(out, "-%s\r\n", error);
    model_link_end(link);
}

/* Returns how many bytes were commands. */
static size_t run_commands(model_link *link, model_text bytes)
{
    model_parser parser = { .argc = 0 };
    size_t       used   = 0;

    link->flags |= LINK_IN_BUFFER;
    while ((link->flags & LINK_CLOSING) == 0 && !link->wait.is_waiting) {
        model_text rest = { bytes.at + used, bytes.size - used };
        size_t     size = 0;
        int        done = model_parse(&parser, rest, link->user != NULL, &size);
        if (done == MODEL_PARSE_BROKEN)
            refuse(link, parser.error);
        if (done != MODEL_PARSE_DONE)
            break;
        if (parser.argc != 0)
            model_execute(link, parser.argv, parser.argc);
        used += size;
    }
    link->flags &= ~(unsigned)LINK_IN_BUFFER;
    model_parser_free(&parser);
    return used;
}

static void read_kept(model_link *link)
{
    model_text bytes = model_bytes_text(&link->in);

    if ((link->flags & LINK_IN_BUFFER) == 0 && bytes.size != 0)
        model_bytes_drop(&link->in, run_commands(link, bytes));
}

void model_link_feed(model_link *link, const char *bytes, size_t size, int64_t now_us)
{
    link->server->now_us = now_us;
    if ((link->flags & LINK_CLOSING) != 0 || size == 0)
        return;
    if (link->in.size == 0 && !link->wait.is_waiting) {
        size_t used = run_commands(link, (model_text){ bytes, size });
        model_bytes_add(&link->in, bytes + used, size - used);
    } else {
        model_bytes_add(&link->in, bytes, size);
        read_kept(link);
    }
    model_links_flush(link->server);
}

/* ---- WAIT ------------------------------------------------------------------------------------ */

static void end_wait(model_link *link, size_t replicas)
{
    link->wait.is_waiting = false;
    model_bytes_print(model_link_output(link), ":%zu\r\n", replicas);
}

void model_waiters_serve(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link  = server->links.at[i];
        size_t      count = model_replicas_with(server, link->wait.offset);
        if (!link->wait.is_waiting ||
            (count < (size_t)link->wait.replicas && server->now_us < link->wait.until_us))
            continue;
        end_wait(link, count);
        read_kept(link);
    }
}

/* ---- effects of the primary ------------------------------------------------------------------ */

/* Its reply goes to *nowhere. */
static void execute_effect(model_link *link, const model_text *argv, size_t argc,
                           model_bytes *nowhere)
{
    model_call call = {
        .server   = link->server,
        .link     = link,
        .command  = model_command_find(link->server, argv[0]),
        .argv     = argv,
        .argc     = argc,
        .out      = nowhere,
        .database = &link->database,
        .resp     = 2,
        .origin   = MODEL_FROM_PRIMARY,
    };

    if (call.command == NULL || !model_command_accepts(call.command, argc))
        return;
    if (link->transaction.is_open && (call.command->flags & MODEL_CMD_NOQUEUE) == 0)
        model_transaction_queue(&link->transaction, call.command, argv, argc);
    else
        model_run(&call);
    nowhere->size = 0;
}

/* Carries out what is whole.  A transaction that is not complete stays in the input, and begins
 * again with the next bytes.  Returns the size of what was carried out. */
static size_t run_effects(model_link *link)
{
    model_parser parser  = { .argc = 0 };
    model_bytes  nowhere = { .size = 0 };
    model_text   all     = model_bytes_text(&link->in);
    size_t       used    = 0;
    size_t       whole   = 0;
    size_t       piece   = 0;

    while (model_parse(&parser, (model_text){ all.at + used, all.size - used }, true, &piece) ==
           MODEL_PARSE_DONE) {
        if (parser.argc != 0)
            execute_effect(link, parser.argv, parser.argc, &nowhere);
        used += piece;
        if (!link->transaction.is_open)
            whole = used;
    }
    model_transaction_clear(&link->transaction);
    model_parser_free(&parser);
    model_bytes_free(&nowhere);
    return whole;
}

/* The log of this server is that of its primary, byte for byte. */
void model_server_apply(model_server *server, const char *bytes, size_t size, int64_t now_us)
{
    server->now_us   = now_us;
    model_link *link = model_link_of_primary(server);
    model_bytes_add(&link->in, bytes, size);
    model_effects_silence(server, true);
    size_t whole = run_effects(link);
    model_effects_silence(server, false);
    model_effects_copy(server, (model_text){ link->in.at, whole });
    model_bytes_drop(&link->in, whole);
    model_links_flush(server);
}
