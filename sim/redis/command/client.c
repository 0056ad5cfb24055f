/*
 * client.c -- CLIENT: names, lists, the end of other links, tracking.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/output.h"
#include "sim/redis/core/pubsub.h"
#include "sim/redis/core/tracking.h"

#include <stdlib.h>
#include <string.h>

enum { LIBRARY_NAME = 0, LIBRARY_VERSION = 1 };

static void client_id(model_call *call)
{
    model_reply_integer(call, (int64_t)call->link->id);
}

static void client_getname(model_call *call)
{
    if (call->link->name != NULL)
        model_reply_text(call, call->link->name);
    else
        model_reply_null(call);
}

static void replace_text(char **text, model_text by)
{
    free(*text);
    *text = by.size != 0 ? model_text_copy(by) : NULL;
}

static bool is_client_name(model_text name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.at[i] < '!' || name.at[i] > '~')
            return false;
    return true;
}

bool model_client_set_name(model_call *call, model_text name)
{
    if (!is_client_name(name)) {
        model_reply_error(
            call, "ERR Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    replace_text(&call->link->name, name);
    return true;
}

static void client_setname(model_call *call)
{
    if (model_client_set_name(call, call->argv[2]))
        model_reply_ok(call);
}

static void client_setinfo(model_call *call)
{
    bool is_name = model_arg_is(call, 2, "LIB-NAME");

    if (!is_name && !model_arg_is(call, 2, "LIB-VER")) {
        model_reply_error(call, "ERR Unrecognized option '%.*s'", (int)call->argv[2].size,
                          call->argv[2].at);
        return;
    }
    if (!is_client_name(call->argv[3])) {
        model_reply_error(call, "ERR %s cannot contain spaces, newlines or special characters.",
                          is_name ? "lib-name" : "lib-ver");
        return;
    }
    replace_text(&call->link->library[is_name ? LIBRARY_NAME : LIBRARY_VERSION], call->argv[3]);
    model_reply_ok(call);
}

/* ---- CLIENT LIST ----------------------------------------------------------------------------- */

static void describe(model_bytes *out, const model_link *link)
{
    const model_server *server = link->server;
    int64_t             age    = (server->now_us - link->opened_us) / MODEL_S_IN_US;
    char                flags[8];
    size_t              count = 0;

    if (model_subscriptions(link) != 0)
        flags[count++] = 'P';
    if (link->transaction.is_open)
        flags[count++] = 'x';
    if (link->wait.is_waiting)
        flags[count++] = 'b';
    if ((link->flags & LINK_TRACKS) != 0)
        flags[count++] = 't';
    if (count == 0)
        flags[count++] = 'N';
    flags[count] = '\0';
    model_bytes_print(out,
                      "id=%llu addr=%s laddr=%s:%u fd=%llu name=%s age=%lld idle=0 flags=%s db=%u "
                      "sub=%u psub=%u ssub=%u multi=%d qbuf=0 cmd=client user=%s resp=%u "
                      "lib-name=%s lib-ver=%s\n",
                      (unsigned long long)link->id, link->address, server->host, server->port,
                      (unsigned long long)link->id + 7, link->name != NULL ? link->name : "",
                      (long long)age, flags, link->database,
                      model_channels_of(link, MODEL_CHANNEL)->count,
                      model_channels_of(link, MODEL_PATTERN)->count,
                      model_channels_of(link, MODEL_SHARD_CHANNEL)->count,
                      link->transaction.is_open ? (int)link->transaction.count : -1,
                      link->user != NULL ? model_acl_name(link->user) : "(superuser)", link->resp,
                      link->library[LIBRARY_NAME] != NULL ? link->library[LIBRARY_NAME] : "",
                      link->library[LIBRARY_VERSION] != NULL ? link->library[LIBRARY_VERSION] : "");
}

static void client_list(model_call *call)
{
    model_bytes out = { .size = 0 };

    for (size_t i = 0; i < call->server->links.count; i++)
        if ((call->server->links.at[i]->flags & (LINK_DEAD | LINK_IS_PRIMARY)) == 0)
            describe(&out, call->server->links.at[i]);
    model_reply_verbatim(call, model_bytes_text(&out));
    model_bytes_free(&out);
}

static void client_info(model_call *call)
{
    model_bytes out = { .size = 0 };

    describe(&out, call->link);
    model_reply_verbatim(call, model_bytes_text(&out));
    model_bytes_free(&out);
}

/* ---- CLIENT KILL ----------------------------------------------------------------------------- */

typedef struct kill_filter {
    model_text address;
    model_text user;
    model_text type;
    int64_t    id; /* 0: any */
    bool       spares_self;
} kill_filter;

/* False: an error was replied. */
static bool read_filter(model_call *call, kill_filter *f)
{
    for (size_t i = 2; i < call->argc; i += 2) {
        if (i + 1 == call->argc) {
            model_reply_syntax_error(call);
            return false;
        }
        if (model_arg_is(call, i, "ID")) {
            if (!model_text_integer(call->argv[i + 1], &f->id) || f->id < 1) {
                model_reply_error(call, "ERR client-id should be greater than 0");
                return false;
            }
        } else if (model_arg_is(call, i, "ADDR")) {
            f->address = call->argv[i + 1];
        } else if (model_arg_is(call, i, "USER")) {
            f->user = call->argv[i + 1];
            if (model_acl_find(call->server, f->user) == NULL) {
                model_reply_error(call, "ERR No such user '%.*s'", (int)f->user.size, f->user.at);
                return false;
            }
        } else if (model_arg_is(call, i, "TYPE")) {
            f->type = call->argv[i + 1];
        } else if (model_arg_is(call, i, "SKIPME")) {
            f->spares_self = !model_arg_is(call, i + 1, "no");
        } else {
            model_reply_syntax_error(call);
            return false;
        }
    }
    return true;
}

static bool is_meant(const model_link *link, const model_link *self, const kill_filter *f)
{
    bool is_pubsub = model_subscriptions(link) != 0;

    return (link->flags & (LINK_CLOSING | LINK_IS_PRIMARY)) == 0 &&
           (f->id == 0 || link->id == (uint64_t)f->id) &&
           (f->address.at == NULL || model_text_equal(model_text_of(link->address), f->address)) &&
           (f->user.at == NULL ||
            (link->user != NULL && model_text_is(f->user, model_acl_name(link->user)))) &&
           (f->type.at == NULL || model_text_is(f->type, is_pubsub ? "pubsub" : "normal")) &&
           !(f->spares_self && link == self);
}

/* By a number, a client kills connections of its own host only. */
static void compare_hosts(const model_link *killer, const model_link *killed)
{
    const model_owner *owner = &killer->server->owner;
    size_t             host  = strcspn(killer->address, ":") + 1;

    if (owner->complain == NULL || strncmp(killer->address, killed->address, host) == 0)
        return;
    model_bytes text = { .size = 0 };
    model_bytes_print(&text, "kill: %s has killed the connection of %s", killer->address,
                      killed->address);
    owner->complain(owner->arg, text.at);
    model_bytes_free(&text);
}

static void client_kill(model_call *call)
{
    kill_filter f      = { .spares_self = true };
    bool        is_old = call->argc == 3;
    int64_t     killed = 0;

    if (is_old) {
        f.address     = call->argv[2];
        f.spares_self = false;
    } else if (!read_filter(call, &f)) {
        return;
    }
    for (size_t i = 0; i < call->server->links.count; i++) {
        model_link *link = call->server->links.at[i];
        if (!is_meant(link, call->link, &f))
            continue;
        if (f.id != 0)
            compare_hosts(call->link, link);
        if (link != call->link)
            model_link_output(link)->size = 0;
        model_link_end(link);
        killed++;
    }
    if (!is_old)
        model_reply_integer(call, killed);
    else if (killed != 0)
        model_reply_ok(call);
    else
        model_reply_error(call, "ERR No such client");
}

/* ---- the others ------------------------------------------------------------------------------ */

static void client_reply(model_call *call)
{
    model_link *link = call->link;

    if (model_arg_is(call, 2, "ON")) {
        link->flags &= ~(unsigned)(LINK_REPLY_OFF | LINK_REPLY_SKIP | LINK_SKIP_NEXT);
        model_reply_ok(call);
    } else if (model_arg_is(call, 2, "OFF")) {
        link->flags |= LINK_REPLY_OFF;
    } else if (model_arg_is(call, 2, "SKIP")) {
        if ((link->flags & LINK_REPLY_OFF) == 0)
            link->flags |= LINK_SKIP_NEXT;
    } else {
        model_reply_syntax_error(call);
    }
}

static void client_tracking(model_call *call)
{
    bool no_loop = false;
    bool opts_in = false;

    for (size_t i = 3; i < call->argc; i++) {
        if (model_arg_is(call, i, "NOLOOP")) {
            no_loop = true;
        } else if (model_arg_is(call, i, "OPTIN")) {
            opts_in = true;
        } else {
            model_reply_syntax_error(call);
            return;
        }
    }
    if (model_arg_is(call, 2, "ON")) {
        model_tracking_begin(call->link, no_loop, opts_in);
    } else if (model_arg_is(call, 2, "OFF")) {
        model_untrack(call->link);
    } else {
        model_reply_syntax_error(call);
        return;
    }
    model_reply_ok(call);
}

static void client_caching(model_call *call)
{
    unsigned flags = call->link->flags;

    if ((flags & LINK_TRACKS) == 0) {
        model_reply_error(call, "ERR CLIENT CACHING can be called only when the client is in "
                                "tracking mode with OPTIN or OPTOUT mode enabled");
    } else if (model_arg_is(call, 2, "YES") && (flags & LINK_OPTS_IN) == 0) {
        model_reply_error(call, "ERR CLIENT CACHING YES is only valid when tracking is enabled in "
                                "OPTIN mode.");
    } else if (model_arg_is(call, 2, "YES")) {
        call->link->flags |= LINK_CACHES;
        model_reply_ok(call);
    } else if (model_arg_is(call, 2, "NO")) {
        model_reply_error(call, "ERR CLIENT CACHING NO is only valid when tracking is enabled in "
                                "OPTOUT mode.");
    } else {
        model_reply_syntax_error(call);
    }
}

static void client_ok(model_call *call)
{
    model_reply_ok(call);
}

static void client_getredir(model_call *call)
{
    model_reply_integer(call, (call->link->flags & LINK_TRACKS) != 0 ? 0 : -1);
}

static const model_sub subs_client[] = {
    { "id", 2, client_id, false, false },
    { "getname", 2, client_getname, false, false },
    { "setname", 3, client_setname, false, false },
    { "setinfo", 4, client_setinfo, true, true },
    { "list", -2, client_list, false, false },
    { "info", 2, client_info, false, false },
    { "kill", -3, client_kill, false, false },
    { "reply", 3, client_reply, false, false },
    { "tracking", -3, client_tracking, false, false },
    { "caching", 3, client_caching, false, false },
    { "getredir", 2, client_getredir, false, false },
    { "no-evict", 3, client_ok, true, false },
    { "no-touch", 3, client_ok, true, true },
    { .name = NULL },
};

const model_command model_commands_client[] = {
    { "client", model_run_sub, -2, 0, 0, 0,
      CMD(SENTINEL) | CMD(NOSCRIPT) | CMD(SUB) | CMD(STALE) | CAT(CONNECTION), subs_client },
    { .name = NULL },
};
