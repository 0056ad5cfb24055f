/*
 * effects.c -- see effects.h.
 */
#include "sim/redis/core/effects.h"
#include "sim/redis/core/call.h"
#include "sim/redis/core/protocol.h"

#include <stdlib.h>

typedef struct model_effects {
    model_bytes log;
    uint64_t    begin;   /* the offset of its first byte */
    uint64_t    trimmed; /* what lies before this offset is gone, or will be moved out */
    model_bytes pending;
    unsigned    pending_count;
    int         database; /* that the pending ones have selected */
    model_bytes own;      /* what a command logs in place of itself */
    bool        is_silent;
} model_effects;

void model_effects_begin(model_server *server, uint64_t offset)
{
    if (server->effects == NULL) {
        server->effects  = model_allocate(sizeof *server->effects);
        *server->effects = (model_effects){ .begin = 0 };
    }
    server->effects->log.size = 0;
    server->effects->begin    = offset;
    server->effects->trimmed  = offset;
}

void model_effects_free(model_server *server)
{
    model_bytes_free(&server->effects->log);
    model_bytes_free(&server->effects->pending);
    model_bytes_free(&server->effects->own);
    free(server->effects);
}

static void select_database(model_server *server, unsigned database)
{
    model_effects *effects = server->effects;
    model_bytes   *out     = &effects->pending;
    char           number  = (char)('0' + database % 10);

    if (effects->database == (int)database)
        return;
    model_write_head(out, '*', 2);
    model_write_bulk(out, model_text_of("SELECT"));
    if (database < 10)
        model_write_bulk(out, (model_text){ &number, 1 });
    else
        model_bytes_print(out, "$2\r\n%u\r\n", database);
    effects->database = (int)database;
}

void model_effects_add(model_server *server, unsigned database, const model_text *argv, size_t argc)
{
    model_effects *effects = server->effects;

    if (effects->is_silent)
        return;
    select_database(server, database);
    model_write_head(&effects->pending, '*', (int64_t)argc);
    for (size_t i = 0; i < argc; i++)
        model_write_bulk(&effects->pending, argv[i]);
    effects->pending_count++;
}

void model_effects_add_own(model_server *server, unsigned database)
{
    model_effects *effects = server->effects;

    if (effects->is_silent)
        return;
    select_database(server, database);
    model_bytes_add(&effects->pending, effects->own.at, effects->own.size);
    effects->pending_count++;
}

void model_effects_end(model_server *server)
{
    model_effects *effects = server->effects;

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

void model_effects_silence(model_server *server, bool is_silent)
{
    server->effects->is_silent = is_silent;
}

void model_effects_copy(model_server *server, model_text log)
{
    model_bytes_add(&server->effects->log, log.at, log.size);
}

/* ---- of a call ------------------------------------------------------------------------------- */

void model_effect_begin(model_call *call, size_t count)
{
    call->has_effect                = true;
    call->server->effects->own.size = 0;
    model_write_head(&call->server->effects->own, '*', (int64_t)count);
}

void model_effect_add(model_call *call, model_text text)
{
    model_write_bulk(&call->server->effects->own, text);
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
    return server->effects->begin + server->effects->log.size;
}

bool model_server_effects(const model_server *server, uint64_t from, const char **ret_bytes,
                          size_t *ret_size)
{
    const model_effects *effects = server->effects;

    if (from < effects->trimmed || from > model_server_offset(server))
        return false;
    size_t skipped = (size_t)(from - effects->begin);
    *ret_size      = effects->log.size - skipped;
    *ret_bytes     = *ret_size != 0 ? effects->log.at + skipped : "";
    return true;
}

void model_server_trim(model_server *server, uint64_t before)
{
    model_effects *effects = server->effects;
    uint64_t       end     = model_server_offset(server);

    if (before > end)
        before = end;
    if (before <= effects->trimmed)
        return;
    effects->trimmed = before;
    size_t unused    = (size_t)(before - effects->begin);
    if (unused < effects->log.size / 2) /* a move of a long log for each command would take long */
        return;
    model_bytes_drop(&effects->log, unused);
    effects->begin = before;
}
