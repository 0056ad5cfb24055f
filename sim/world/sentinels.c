#include "sim/world/sentinels.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/say.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LOOK_MS     = 500,
    VOTE_MS     = 10000, /* no second vote before: failover-timeout */
    ELECTION_MS = 1000,  /* a candidate waits so long at most */
    TELLS_IN    = 3,     /* a server with another primary is told at one look of so many */
};

typedef struct sentinel {
    sim_sentinels *owner;
    unsigned       node;
    unsigned       primary;
    uint64_t       epoch;
    int64_t        reached_at; /* the primary, last */
    int64_t        looked_at;
    int64_t        voted_at;
    bool           is_down; /* the primary, as it announces */
    sim_event     *look;
    sim_event     *promotes;
} sentinel;

struct sim_sentinels {
    sim_node *const       *nodes;
    sim_replication       *replication;
    sim_sentinels_settings settings;
    uint64_t               seed;
    sentinel              *all;
    uint64_t              *epochs;   /* of each server, as a primary */
    uint64_t               known;    /* the highest epoch that most of the sentinels know */
    int64_t                known_at; /* since then */
};

static uint64_t draw(sim_sentinels *s, uint64_t below)
{
    return bwl_dice_draw(&s->seed) % below;
}

static bool reaches(const sentinel *one, unsigned node)
{
    return sim_nodes_reach(one->owner->nodes, one->node, node);
}

/* ---- what a sentinel announces --------------------------------------------------------------- */

static model_peer peer_of(const sim_sentinels *s, unsigned node)
{
    model_peer     peer = { .port = sim_node_port(s->nodes[node]) };
    struct in_addr ip   = { sim_host_address(node) };

    (void)inet_ntop(AF_INET, &ip, peer.host, sizeof peer.host);
    return peer;
}

static void announce(const sentinel *one)
{
    const sim_sentinels *s       = one->owner;
    model_sentinel_view  view    = { .services_count = 1 };
    model_service       *service = &view.services[0];

    (void)snprintf(service->name, sizeof service->name, SIM_SERVICE_NAME);
    service->primary = peer_of(s, one->primary);
    service->epoch   = one->epoch;
    service->is_down = one->is_down;
    service->quorum  = s->settings.count / 2 + 1;
    for (unsigned i = 0; i < s->settings.servers; i++) {
        if (i != one->primary)
            service->replicas[service->replicas_count++] = peer_of(s, i);
    }
    for (unsigned i = 0; i < s->settings.count; i++) {
        if (&s->all[i] != one)
            service->sentinels[service->sentinels_count++] = peer_of(s, s->all[i].node);
    }
    sim_node_set_services(s->nodes[one->node], &view);
}

static unsigned count_knowing(const sim_sentinels *s, uint64_t epoch)
{
    unsigned count = 0;

    for (unsigned i = 0; i < s->settings.count; i++)
        count += s->all[i].epoch >= epoch;
    return count;
}

static void believe(sentinel *one, unsigned primary, uint64_t epoch)
{
    sim_sentinels *s = one->owner;

    sim_say("sentinel %u: the primary is %u, epoch %u", one->node, primary, (unsigned)epoch);
    one->primary    = primary;
    one->epoch      = epoch;
    one->is_down    = false;
    one->reached_at = sim_now();
    announce(one);
    s->epochs[primary] = epoch;
    if (epoch > s->known && count_knowing(s, epoch) > s->settings.count / 2) {
        s->known    = epoch;
        s->known_at = sim_now();
    }
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* With CLIENT KILL, as a sentinel does it. */
static void tell_role(sim_sentinels *s, unsigned node, int primary)
{
    sim_replication_follow(s->replication, node, primary);
    sim_node_command(s->nodes[node], "CLIENT KILL TYPE normal");
    sim_node_command(s->nodes[node], "CLIENT KILL TYPE pubsub");
}

static uint64_t newest_epoch(const sim_sentinels *s)
{
    uint64_t newest = 0;

    for (unsigned i = 0; i < s->settings.count; i++)
        newest = s->all[i].epoch > newest ? s->all[i].epoch : newest;
    return newest;
}

static void tell_servers(sentinel *one)
{
    sim_sentinels *s = one->owner;

    if (one->epoch < newest_epoch(s) || !reaches(one, one->primary))
        return;
    for (unsigned i = 0; i < s->settings.servers; i++) {
        if (i != one->primary && reaches(one, i) && draw(s, TELLS_IN) == 0 &&
            sim_replication_primary_of(s->replication, i) != (int)one->primary)
            tell_role(s, i, (int)one->primary);
    }
}

/* ---- a failover ------------------------------------------------------------------------------ */

static bool may_be_promoted(void *arg, unsigned node)
{
    return reaches(arg, node);
}

static void promote(void *arg)
{
    sentinel      *one = arg;
    sim_sentinels *s   = one->owner;

    one->promotes = NULL;
    if (!sim_node_answers(s->nodes[one->node]))
        return;
    int best = sim_replication_best(s->replication, one->primary, may_be_promoted, one);
    if (best == SIM_NO_PRIMARY)
        return;
    sim_say("sentinel %u promotes %d", one->node, best);
    tell_role(s, (unsigned)best, SIM_NO_PRIMARY);
    believe(one, (unsigned)best, newest_epoch(s) + 1);
}

static void plan_promotion(sentinel *one)
{
    if (one->promotes == NULL)
        one->promotes =
            sim_at(sim_now() + (int64_t)draw(one->owner, ELECTION_MS) * SIM_MS, promote, one);
}

static bool is_down_for(const sentinel *one)
{
    return sim_now() - one->reached_at > one->owner->settings.down_after_ns;
}

static bool has_vote(const sentinel *one)
{
    return one->voted_at == 0 || sim_now() - one->voted_at > VOTE_MS * SIM_MS;
}

/* It is one of a majority that has a vote, and of a quorum that agrees. */
static void stand_for_election(sentinel *one)
{
    sim_sentinels *s        = one->owner;
    unsigned       majority = s->settings.count / 2 + 1;
    unsigned       agree    = 0;
    unsigned       votes    = 0;

    for (unsigned i = 0; i < s->settings.count; i++) {
        const sentinel *other = &s->all[i];
        if (other != one && (!reaches(one, other->node) || other->epoch > one->epoch))
            continue;
        agree += other->primary == one->primary && is_down_for(other);
        votes += has_vote(other);
    }
    if (!has_vote(one) || agree < majority || votes < majority)
        return;
    for (unsigned i = 0; i < s->settings.count; i++) {
        if (&s->all[i] == one || reaches(one, s->all[i].node))
            s->all[i].voted_at = sim_now();
    }
    plan_promotion(one);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static bool hears(const sentinel *one, const sentinel *other)
{
    if (reaches(one, other->node))
        return true;
    for (unsigned i = 0; i < one->owner->settings.servers; i++) {
        if (reaches(one, i) && reaches(other, i))
            return true;
    }
    return false;
}

static void take_over(sentinel *one)
{
    sim_sentinels *s = one->owner;

    for (unsigned i = 0; i < s->settings.count; i++) {
        const sentinel *other = &s->all[i];
        if (other->epoch > one->epoch && hears(one, other) && draw(s, 2) == 0)
            believe(one, other->primary, other->epoch);
    }
}

static void look(void *arg)
{
    sentinel      *one = arg;
    sim_sentinels *s   = one->owner;
    int64_t        now = sim_now();

    one->look = sim_at(now + LOOK_MS * SIM_MS, look, one);
    if (!sim_node_answers(s->nodes[one->node]))
        return;
    /* After a pause it knows nothing. */
    if (now - one->looked_at > 2 * LOOK_MS * SIM_MS || reaches(one, one->primary))
        one->reached_at = now;
    one->looked_at = now;
    take_over(one);
    if (one->is_down != is_down_for(one)) {
        one->is_down = is_down_for(one);
        announce(one);
    }
    if (one->is_down)
        stand_for_election(one);
    tell_servers(one);
}

/* ---- from outside ---------------------------------------------------------------------------- */

void sim_sentinels_started(sim_sentinels *s, unsigned node)
{
    if (node >= s->settings.servers)
        announce(&s->all[node - s->settings.servers]);
}

uint64_t sim_sentinels_epoch_of(const sim_sentinels *s, unsigned server)
{
    return s->epochs[server];
}

int64_t sim_sentinels_know_since(const sim_sentinels *s, uint64_t epoch)
{
    return s->known >= epoch ? s->known_at : SIM_NEVER;
}

void sim_sentinels_failover(sim_sentinels *s)
{
    for (unsigned i = 0; i < s->settings.count; i++) {
        sentinel *one = &s->all[i];
        if (one->epoch == newest_epoch(s) && sim_node_answers(s->nodes[one->node])) {
            plan_promotion(one);
            return;
        }
    }
}

sim_sentinels *sim_sentinels_new(sim_node *const *nodes, sim_replication *replication,
                                 const sim_sentinels_settings *settings)
{
    sim_sentinels *s = bwl_room_for(1, sizeof *s);

    *s = (sim_sentinels){
        .nodes       = nodes,
        .replication = replication,
        .settings    = *settings,
        .seed        = settings->seed,
        .all         = bwl_room_for(settings->count, sizeof(sentinel)),
        .epochs      = bwl_room_for(settings->servers, sizeof(uint64_t)),
        .known       = 1,
    };
    s->epochs[0] = 1;
    for (unsigned i = 0; i < settings->count; i++) {
        sentinel *one = &s->all[i];
        *one          = (sentinel){ .owner = s, .node = settings->servers + i, .epoch = 1 };
        one->look     = sim_at(sim_now() + (int64_t)draw(s, LOOK_MS) * SIM_MS, look, one);
        announce(one);
    }
    return s;
}

void sim_sentinels_free(sim_sentinels *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < s->settings.count; i++) {
        sim_cancel(&s->all[i].look);
        sim_cancel(&s->all[i].promotes);
    }
    free(s->epochs);
    free(s->all);
    free(s);
}
