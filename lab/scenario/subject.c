/*
 * subject.c -- the subjects of `try`.  See table.h.
 */
#include "core/nearest.h"
#include "lab/base/memory.h"
#include "lab/mutant/mutant.h"
#include "lab/scenario/lock_file.h"
#include "lab/scenario/own.h"
#include "lab/scenario/table.h"
#include "lab/scenario/tables.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/protocol.h"
#include "protocol/articles.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS_LEASE_MS = 2000 };

/* A lease in seconds is at least two. */
#define IN_SECONDS(NAME, RULES) \
    .protocol = &bwl_##NAME, .options.rules = (RULES), .terms.lease_ms = SECONDS_LEASE_MS
#define IN_MS(NAME, RULES) .protocol = &bwl_##NAME, .options.rules = (RULES)

static const bwl_scenario table[] = {
    ROW("token", "bowline's own: SET NX PX, a new token each time, compare and delete",
        .protocol = &bwl_token),
    ROW("queue",
        "bowline's own: waiters queue on the server, and a push tells the next one "
        "that it holds the lock",
        .protocol = &bwl_queue),
    ROW("redisson", "Redisson's RLock: a hash with one field for its holder",
        IN_MS(redisson, &bwl_lab_rules_token)),
    ROW("symfony", "Symfony's RedisStore: a sorted set of holders, scored by when they end",
        IN_MS(symfony, &bwl_lab_rules_token)),

    /* As their articles mean them. */
    ROW("setnx-del", "SETNX; DEL", IN_MS(setnx_del, &bwl_lab_rules_literal)),
    ROW("setnx-del-expire", "SETNX; DEL, and EXPIRE 0 when that did not succeed",
        IN_MS(setnx_del_expire, &bwl_lab_rules_literal)),
    ROW("setnx-stamp-del", "SETNX of a stamp; when it is over, DEL and SETNX again",
        IN_SECONDS(setnx_stamp_del, NULL)),
    ROW("setnx-getset", "SETNX of a stamp in seconds; when it is over, GETSET",
        IN_SECONDS(setnx_getset, &bwl_compat_rules_seconds)),
    ROW("setnx-getset-buffers", "the same in milliseconds, with buffers of 1 and 3 ms",
        IN_MS(setnx_getset, &bwl_compat_rules_buffers)),
    ROW("setnx-getset-jedis",
        "the same in milliseconds, and won if GETSET finds what GET has shown",
        IN_MS(setnx_getset, &bwl_compat_rules_jedis)),
    ROW("setnx-getset-lock-foo", "the same in milliseconds, and won if what GETSET finds is over",
        IN_MS(setnx_getset, &bwl_compat_rules_lock_foo)),
    ROW("setnx-getset-server",
        "setnx-getset as one script by the server's clock: bowline's safe variant",
        IN_SECONDS(setnx_getset, &bwl_compat_rules_server)),
    ROW("set-nx-ex", "SET NX EX of a literal; DEL", IN_SECONDS(set_nx_ex, NULL)),
    ROW("setnx-expire-watch", "SETNX, then EXPIRE; DEL under WATCH",
        IN_SECONDS(setnx_expire_watch, &bwl_lab_rules_token_s)),

    ROW("token-chosen", "as token, but every client has the same value: ?token=",
        IN_MS(token_chosen, &bwl_lab_rules_literal)),

    /* Mistakes that were planted. */
    ROW("token-delete-blind", "as token, but it deletes without comparing", PLANTED(DELETE_BLIND)),
    ROW("token-extend-blind", "as token, but it extends without comparing", PLANTED(EXTEND_BLIND)),
    ROW("token-reused", "as token, but every attempt of a client has the same token",
        PLANTED(ONE_TOKEN), .rounds = 2),
    ROW("token-resends", "as token, but a new connection repeats what had no answer",
        PLANTED(RESENDS)),
    ROW("token-from-answer", "as token, but the lease is counted from the answer",
        .protocol = &bwl_mutant_from_answer),
    ROW("token-down-is-no", "as token, but an acquire without an answer is taken for a no",
        .protocol = &bwl_mutant_down_is_no),
};

size_t bwl_subjects_count(void)
{
    return sizeof table / sizeof table[0];
}

const bwl_scenario *bwl_subject_at(size_t i)
{
    assert(i < bwl_subjects_count());
    return &table[i];
}

bool bwl_subject_is_file(const char *name)
{
    size_t size = strlen(name);

    return bwl_names_lock_file(name) || strchr(name, '/') != NULL ||
           (size > 3 && strcmp(name + size - 3, ".so") == 0);
}

/* The reason why it is not valid, or NULL. */
static const char *fault_of(const bwl_own *own)
{
    const bwl_protocol *p = &own->protocol;

    if (own->layout != BWL_OWN_LAYOUT)
        return "it was compiled with the headers of another version of bowline";
    if (p->name == NULL || p->init == NULL || p->command == NULL || p->event == NULL)
        return "its protocol has no name, init, command or event";
    if (p->state_size > BWL_PROTOCOL_STATE_MAX)
        return "its state is larger than a hold has room for";
    return NULL;
}

/* It stays loaded: machines may refer to it. */
static bool load_own(const char *name, bwl_scenario *ret_world, bwl_text reterr[3])
{
    /* Without a slash, dlopen would search the library path. */
    bwl_text       path    = bwl_say(strchr(name, '/') != NULL ? "%s" : "./%s", name);
    void          *library = dlopen(path.of, RTLD_NOW | RTLD_LOCAL);
    const bwl_own *own     = library != NULL ? dlsym(library, "bowline_lab_own") : NULL;
    const char    *why;

    if (own == NULL)
        return bwl_refuse(reterr, bwl_say("%s cannot be loaded as a protocol", bwl_shown(name).of),
                          bwl_shown(dlerror()),
                          "type: cc -shared -fPIC -I include -o mine.so mine.c  "
                          "(docs/how-to/lab.md)");
    why = fault_of(own);
    if (why != NULL)
        return bwl_refuse(reterr,
                          bwl_say("%s is no protocol that this lab can run", bwl_shown(name).of),
                          bwl_say("%s", why), "docs/how-to/lab.md walks through one");
    *ret_world          = (bwl_scenario){ .name = name, .story = own->story };
    ret_world->protocol = &own->protocol;
    return true;
}

static bool find_known(const char *name, bwl_scenario *ret_world)
{
    size_t i;

    for (i = 0; i < bwl_subjects_count(); i++)
        if (strcmp(name, table[i].name) == 0) {
            *ret_world = table[i];
            return true;
        }
    if (!bwl_scenario_find(name, &i))
        return false;
    *ret_world        = bwl_scenario_at(i);
    ret_world->breaks = ret_world->steps = 0;
    memset(ret_world->budget, 0, sizeof ret_world->budget);
    return true;
}

static const char *nearest_name(const char *name)
{
    size_t       count = bwl_subjects_count() + bwl_scenarios_count();
    const char **names = bwl_room_for(count, sizeof names[0]);
    const char  *found;

    for (size_t i = 0; i < bwl_subjects_count(); i++)
        names[i] = table[i].name;
    for (size_t i = 0; i < bwl_scenarios_count(); i++)
        names[bwl_subjects_count() + i] = bwl_scenario_at(i).name;
    found = bwl_nearest(name, names, count);
    free(names);
    return found;
}

/* The invariants for any lock; a protocol that cannot identify its own value removes nothing. */
static void complete(bwl_scenario *world)
{
    if (world->protocol == NULL)
        world->protocol = &bwl_token;
    if (world->options.rules == NULL)
        world->options.rules = bwl_protocol_compat_rules(world->protocol);
    world->never_renews = world->never_renews || !world->protocol->extends;
    *world              = bwl_scenario_complete(*world);
    world->invariants =
        (BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS) | BWL_INVARIANT_NO_OVERLAP;
    if (!world->protocol->can_verify_owner)
        world->invariants &= ~(unsigned)BWL_INVARIANT_TAKEN_BACK;
    if (world->options.program != NULL)
        world->invariants = INVARIANTS_FILE;
    if (world->clocks.jump_ms == 0)
        world->clocks.jump_ms = world->terms.lease_ms;
}

bool bwl_lock_world_find(const char *path, unsigned which, bwl_scenario *ret_world,
                         bwl_text reterr[3])
{
    if (!bwl_lock_file_load(path, which, ret_world, reterr))
        return false;
    complete(ret_world);
    return true;
}

bool bwl_subject_find(const char *name, bwl_scenario *ret_world, bwl_text reterr[3])
{
    bwl_scenario world;
    const char  *meant;

    if (bwl_names_lock_file(name))
        return bwl_lock_world_find(name, 0, ret_world, reterr);
    if (bwl_subject_is_file(name)) {
        if (!load_own(name, &world, reterr))
            return false;
    } else if (!find_known(name, &world)) {
        meant = nearest_name(name);
        return bwl_refuse(
            reterr, bwl_say("no protocol is called %s", bwl_shown(name).of), bwl_say("%s", ""),
            meant != NULL ? bwl_say("did you mean %s?", meant).of : "type: bowline lab list");
    }
    complete(&world);
    *ret_world = world;
    return true;
}
