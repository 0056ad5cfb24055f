#include "lab/scenario/subject.h"
#include "core/nearest.h"
#include "lab/scenario/as_written.h"
#include "lab/base/grow.h"
#include "lab/mutant/token.h"
#include "lab/scenario/own.h"
#include "lab/scenario/table.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/protocol.h"
#include "protocol/articles.h"
#include "protocol/framework_lock.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MS_NS = 1000000, SECONDS_LEASE_MS = 2000 };

#define SECOND_NS INT64_C(1000000000)

/* As in src/protocol/protocols.c, with the tokens that the lab hands out. */
static const bwl_compat_rules uuid    = { .value = BWL_VALUE_TOKEN, .lease_in_seconds = true };
static const bwl_compat_rules seconds = { .value   = BWL_VALUE_DECIMAL,
                                          .unit_ns = SECOND_NS,
                                          .clock   = BWL_CLOCK_OF_CLIENT };
static const bwl_compat_rules ms      = {
         .value    = BWL_VALUE_DECIMAL,
         .unit_ns  = MS_NS,
         .extra_ns = MS_NS,
         .clock    = BWL_CLOCK_OF_CLIENT,
};
static const bwl_compat_rules rlock   = { .value = BWL_VALUE_TOKEN };
static const bwl_compat_rules zset    = { .value = BWL_VALUE_TOKEN };
static const bwl_compat_rules literal = { .value = BWL_VALUE_LITERAL, .literal = "1" };

/* A lease in seconds is at least two. */
#define IN_SECONDS(NAME, RULES)         \
    .world = { .protocol = &bwl_##NAME, \
               .terms    = { .rules = (RULES), .lease_ms = SECONDS_LEASE_MS } }
#define IN_MS(NAME, RULES) .world = { .protocol = &bwl_##NAME, .terms = { .rules = (RULES) } }

static const bwl_subject table[] = {
    { .name     = "token",
      .story    = "bowline's own: SET NX PX, a new token each time, compare and delete",
      .is_sound = true,
      .world    = { .protocol = &bwl_token } },

    { .name     = "queue",
      .story    = "bowline's own: who waits stands in line, and is told when it is its turn",
      .is_sound = true,
      .world    = { .protocol = &bwl_queue } },

    { .name     = "redisson",
      .story    = "Redisson's RLock: a hash with one field for its holder",
      .is_sound = true,
      IN_MS(redisson, &rlock) },

    { .name     = "symfony",
      .story    = "Symfony's RedisStore: a sorted set of holders, scored by when they end",
      .is_sound = true,
      IN_MS(symfony, &zset) },

    /* As their articles mean them. */
    { .name = "setnx-del", .story = "SETNX; DEL", IN_MS(setnx_del, &literal) },
    { .name  = "setnx-del-expire",
      .story = "SETNX; DEL, and EXPIRE 0 when that did not succeed",
      IN_MS(setnx_del_expire, &literal) },
    { .name  = "setnx-stamp-del",
      .story = "SETNX of a stamp; when it is over, DEL and SETNX again",
      IN_SECONDS(setnx_stamp_del, NULL) },
    { .name  = "setnx-getset",
      .story = "SETNX of a stamp in seconds; when it is over, GETSET",
      IN_SECONDS(setnx_getset, &bwl_compat_rules_seconds) },
    { .name  = "setnx-getset-buffers",
      .story = "the same in milliseconds, with buffers of 1 and 3 ms",
      IN_MS(setnx_getset, &bwl_compat_rules_buffers) },
    { .name  = "setnx-getset-jedis",
      .story = "the same in milliseconds, and won if GETSET finds what GET has shown",
      IN_MS(setnx_getset, &bwl_compat_rules_jedis) },
    { .name  = "setnx-getset-lock-foo",
      .story = "the same in milliseconds, and won if what GETSET finds is over",
      IN_MS(setnx_getset, &bwl_compat_rules_lock_foo) },
    { .name  = "setnx-getset-server",
      .story = "setnx-getset as one script by the server's clock: bowline's safe variant",
      IN_SECONDS(setnx_getset, &bwl_compat_rules_server) },
    { .name = "set-nx-ex", .story = "SET NX EX of a literal; DEL", IN_SECONDS(set_nx_ex, NULL) },
    { .name  = "setnx-expire-watch",
      .story = "SETNX, then EXPIRE; DEL under WATCH",
      IN_SECONDS(setnx_expire_watch, &uuid) },

    /* Listings that differ from their text. */
    { .name  = "written-guard",
      .story = "setnx-getset-buffers as listed: a buffer in seconds compared with milliseconds",
      IN_MS(written_guard, &ms) },
    { .name  = "written-way-3",
      .story = "setnx-stamp-del as listed: a key that is gone counts as over",
      IN_SECONDS(written_way_3, &seconds) },
    { .name  = "written-watch-ttl",
      .story = "setnx-expire-watch as listed: TTL compared with -2, so nothing is repaired",
      IN_SECONDS(written_watch_ttl, &uuid) },
    { .name  = "written-watch-queued",
      .story = "setnx-expire-watch as listed: GET after MULTI, and QUEUED is no uuid",
      IN_SECONDS(written_watch_queued, &uuid) },
    { .name  = "written-watch-exec-first",
      .story = "setnx-expire-watch as listed: DEL after EXEC, when nothing is watched",
      IN_SECONDS(written_watch_exec_first, &uuid) },
    { .name  = "written-watch-del",
      .story = "setnx-expire-watch with DEL as its repair",
      IN_SECONDS(written_watch_del, &uuid) },

    /* Mistakes that were planted. */
    { .name  = "token-delete-blind",
      .story = "as token, but it deletes without comparing",
      .world = { .mutations = BWL_MUTATION_DELETE_BLIND } },
    { .name  = "token-extend-blind",
      .story = "as token, but it extends without comparing",
      .world = { .mutations = BWL_MUTATION_EXTEND_BLIND } },
    { .name  = "token-reused",
      .story = "as token, but every attempt of a client has the same token",
      .world = { .mutations = BWL_MUTATION_ONE_TOKEN, .rounds = 2 } },
    { .name  = "token-resends",
      .story = "as token, but a new connection repeats what had no answer",
      .world = { .mutations = BWL_MUTATION_RESENDS } },
    { .name  = "token-from-answer",
      .story = "as token, but the lease is counted from the answer",
      .world = { .protocol = &bwl_mutant_from_answer } },
    { .name  = "token-down-is-no",
      .story = "as token, but an acquire without an answer is taken for a no",
      .world = { .protocol = &bwl_mutant_down_is_no } },
};

size_t bwl_subjects_count(void)
{
    return sizeof table / sizeof table[0];
}

const bwl_subject *bwl_subject_at(size_t i)
{
    assert(i < bwl_subjects_count());
    return &table[i];
}

bool bwl_subject_is_file(const char *name)
{
    size_t size = strlen(name);

    return strchr(name, '/') != NULL || (size > 3 && strcmp(name + size - 3, ".so") == 0);
}

/* What is wrong with it, or NULL. */
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

    if (own == NULL) {
        reterr[0] = bwl_say("%s cannot be loaded as a protocol", bwl_shown(name).of);
        reterr[1] = bwl_shown(dlerror());
        reterr[2] = bwl_say("type: cc -shared -fPIC -I include -o mine.so mine.c  (docs/lab.md)");
        return false;
    }
    why = fault_of(own);
    if (why != NULL) {
        reterr[0] = bwl_say("%s is no protocol that this lab can run", bwl_shown(name).of);
        reterr[1] = bwl_say("%s", why);
        reterr[2] = bwl_say("docs/lab.md walks through one");
        return false;
    }
    *ret_world          = (bwl_scenario){ .name = name, .story = own->story };
    ret_world->protocol = &own->protocol;
    return true;
}

static bool find_known(const char *name, bwl_scenario *ret_world)
{
    size_t i;

    for (i = 0; i < bwl_subjects_count(); i++)
        if (strcmp(name, table[i].name) == 0) {
            *ret_world       = table[i].world;
            ret_world->name  = table[i].name;
            ret_world->story = table[i].story;
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
    if (world->terms.rules == NULL)
        world->terms.rules = bwl_protocol_compat_rules(world->protocol);
    world->never_renews = world->never_renews || !world->protocol->extends;
    *world              = bwl_scenario_complete(*world);
    world->invariants =
        (BWL_INVARIANTS_USUAL & ~(unsigned)BWL_INVARIANTS_BACKWARDS) | BWL_INVARIANT_NO_OVERLAP;
    if (!world->protocol->can_verify_owner)
        world->invariants &= ~(unsigned)BWL_INVARIANT_TAKEN_BACK;
    if (world->clocks.jump_ms == 0)
        world->clocks.jump_ms = world->terms.lease_ms;
}

bool bwl_subject_find(const char *name, bwl_scenario *ret_world, bwl_text reterr[3])
{
    bwl_scenario world;
    const char  *meant;

    if (bwl_subject_is_file(name)) {
        if (!load_own(name, &world, reterr))
            return false;
    } else if (!find_known(name, &world)) {
        meant     = nearest_name(name);
        reterr[0] = bwl_say("no protocol is called %s", bwl_shown(name).of);
        reterr[1] = bwl_say("%s", "");
        reterr[2] =
            meant != NULL ? bwl_say("did you mean %s?", meant) : bwl_say("type: bowline lab list");
        return false;
    }
    complete(&world);
    *ret_world = world;
    return true;
}
