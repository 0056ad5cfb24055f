/*
 * subject.c -- see subject.h.
 */
#include "lab/subject.h"
#include "lab/grow.h"
#include "lab/mutant.h"
#include "lab/own.h"
#include "protocol/protocol.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const bwl_subject table[] = {
    { .name     = "token",
      .story    = "bowline's own: SET NX PX, a new token each time, compare and delete",
      .is_sound = true,
      .world    = { .protocol = &bwl_token } },
    { .name  = "token-delete-blind",
      .story = "as token, but it deletes without comparing",
      .world = { .twists = BWL_TWIST_DELETE_BLIND } },
    { .name  = "token-extend-blind",
      .story = "as token, but it extends without comparing",
      .world = { .twists = BWL_TWIST_EXTEND_BLIND } },
    { .name  = "token-reused",
      .story = "as token, but every attempt of a client has the same token",
      .world = { .twists = BWL_TWIST_ONE_TOKEN, .rounds = 2 } },
    { .name  = "token-resends",
      .story = "as token, but a new connection repeats what had no answer",
      .world = { .twists = BWL_TWIST_RESENDS } },
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

/* ---- a protocol of the reader's own ---------------------------------------------------------- */

static bool is_file(const char *name)
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

/* It stays loaded until the program ends: machines of it may be anywhere. */
static bool load_own(const char *name, bwl_scenario *ret_world, bwl_text reterr[3])
{
    /* Without a slash it would be looked for where libraries are. */
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

/* ---- by name --------------------------------------------------------------------------------- */

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

/* The laws that can be asked of any lock; a protocol that cannot tell its own value from another's
 * takes nothing back. */
static void complete(bwl_scenario *world)
{
    if (world->protocol == NULL)
        world->protocol = &bwl_token;
    world->never_renews = world->never_renews || !world->protocol->extends;
    *world              = bwl_scenario_complete(*world);
    world->laws         = (BWL_LAWS_USUAL & ~(unsigned)BWL_LAWS_BACKWARDS) | BWL_LAW_NO_OVERLAP;
    if (!world->protocol->settles)
        world->laws &= ~(unsigned)BWL_LAW_TAKEN_BACK;
    if (world->jump_ms == 0)
        world->jump_ms = world->terms.lease_ms;
}

bool bwl_subject_find(const char *name, bwl_scenario *ret_world, bwl_text reterr[3])
{
    bwl_scenario world;
    const char  *meant;

    if (is_file(name)) {
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
