/*
 * test_cluster_rights.c -- the rules of `bowline acl` on a cluster are sufficient at every node;
 * and the items that only a cluster needs, or uses in another way than a single server
 * (test_redis_rights.c), are necessary.
 *
 * A user with exactly one rule uses a lock, whose slot moves while it is held.  Then the test
 * removes one item: either a result differs, or a node has refused a command.
 */
#include "rights_story.h"
#include "tests/lib/cluster.h"

#include <stdio.h>
#include <stdlib.h>

static cluster *c;
static unsigned owner; /* the node that has the slot */

static int begin(void **state)
{
    c = cluster_start(false);
    return 0;
}

static int end(void **state)
{
    cluster_stop(c);
    return 0;
}

/* ---- use of a lock --------------------------------------------------------------------------- */

static const char *url_with(const char *options)
{
    static char url[300];

    (void)snprintf(url, sizeof url, "redis+cluster://few:right@%s%s",
                   c->url + strlen("redis+cluster://"), options);
    return url;
}

/* Extends the hold when its keys are on the new node and the slot is still on the old one. */
static void extend_half_way(bowline_hold *hold, int slot)
{
    unsigned to = (owner + 1) % CLUSTER_PRIMARIES;

    cluster_begin_move(c, slot, owner, to);
    cluster_move_keys(c, slot, owner, to);
    note_status("extend half-way", bowline_extend(hold, 60000, NULL));
    cluster_end_move(c, slot, owner, to);
    owner = to;
    note_status("extend there", bowline_extend(hold, 60000, NULL));
}

static void use_lock(const char *options, int slot)
{
    bool            waits  = strstr(options, "token") == NULL;
    bowline_client *first  = must_open(url_with(options));
    bowline_client *second = must_open(url_with(options));
    bowline_hold   *hold   = NULL;
    waiter          w;

    note_status("acquire", acquire_within(&hold, first, "life", BOWLINE_NO_WAIT, NULL));
    if (hold != NULL) {
        note("fence %d; ", bowline_hold_fence(hold) > 0);
        note_status("busy", try_once(second, "life"));
        extend_half_way(hold, slot);
        note_status("busy", try_once(second, "life"));
        if (waits)
            waiter_start(&w, second, "life", 500);
        note_status("release", bowline_release(hold, NULL));
        if (waits) {
            note_status("second", waiter_join(&w));
            if (w.hold != NULL)
                note_status("release", bowline_release(w.hold, NULL));
        }
    }
    bowline_close(second);
    bowline_close(first);
}

static void use_lock_without(const char *options, int slot, const rights *r, unsigned but)
{
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        allow(c->nodes[i], r, but);
    forget_story();
    use_lock(options, slot);
}

static unsigned note_refusals(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        count += note_refusals_of(c->nodes[i]);
    return count;
}

/* Every item that the rule of a single server does not have is in `items`. */
static void check_items(const char *options, const rights *r, const char *const *items)
{
    static rights base;
    char          why[RIGHTS_TEXT_MAX];
    char          url[100];
    rights_wanted wanted = { .url = url };

    (void)snprintf(url, sizeof url, "redis://host%s", options);
    assert_int_equal(rights_find(&base, &wanted, why), 0);
    for (unsigned i = 0; i < r->count; i++) {
        bool known = has(&base, r->items[i]);
        for (const char *const *at = items; *at != NULL && !known; at++)
            known = strcmp(*at, r->items[i]) == 0;
        if (!known)
            fail_msg("only clusters need %s, and it is not tested here", r->items[i]);
    }
}

static void check_minimal(const char *options, int slot, const char *const *items)
{
    static rights r;
    char          why[RIGHTS_TEXT_MAX];
    char          whole[sizeof story];
    rights_wanted wanted = { .url = url_with(options) };

    if (rights_find(&r, &wanted, why) < 0)
        fail_msg("%s: %s", options, why);
    while (cluster_owner(c, 0, slot) != owner)
        owner = (owner + 1) % CLUSTER_PRIMARIES;
    use_lock_without(options, slot, &r, r.count);
    print_message("# %s: %s\n", options, story);
    assert_null(strstr(story, "REFUSED"));
    assert_null(strstr(story, "UNKNOWN"));
    assert_non_null(strstr(story, "extend half-way OK; extend there OK;"));
    if (note_refusals() != 0)
        fail_msg("the rule is not sufficient: %s", story);
    (void)snprintf(whole, sizeof whole, "%s", story);
    check_items(options, &r, items);
    for (; *items != NULL; items++) {
        unsigned at = 0;
        while (at < r.count && strcmp(r.items[at], *items) != 0)
            at++;
        if (at == r.count)
            fail_msg("%s is not in the rule", *items);
        use_lock_without(options, slot, &r, at);
        bool differs = strcmp(story, whole) != 0;
        if (note_refusals() == 0 && !differs)
            fail_msg("nothing fails without %s: %s", *items, story);
    }
}

TEST(cluster_rights_of_a_queue)
{
    static const char *const items[] = { "+asking", "+ssubscribe", "+spublish", "&bowline:i:*",
                                         NULL };

    cluster_queue_needed();
    check_minimal("", cluster_slot_of(c, "life"), items);
}

/* The fence counter has another key prefix than the lock. */
TEST(cluster_rights_of_a_queue_elsewhere)
{
    static const char *const items[] = { "+asking", "~bowline:f:*", "~bowline:who:*",
                                         "~{lock:*}:bwl.?", NULL };

    cluster_queue_needed();
    check_minimal("?key=lock:%25s", atoi(server_ask(c->nodes[0], "CLUSTER KEYSLOT lock:life")),
                  items);
}

TEST(cluster_rights_of_a_token)
{
    static const char *const items[] = { "+asking", "~bowline:*", NULL };

    check_minimal("?protocol=token", cluster_slot_of(c, "life"), items);
}

AROUND(begin, end)
