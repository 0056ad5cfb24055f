/*
 * sentinel_poll.c -- see sentinel_poll.h.
 *
 * A sentinel that is cut off from the others names the primary that it knew.  The configuration
 * epoch tells which answer is the newest: each failover has a higher one.  The rules:
 *
 *  1. Of several answers, the one with the highest epoch counts.
 *  2. A primary of a lower epoch than the highest one that was ever seen is not used.
 *  3. Epochs are not eternal: a service that is set up again (SENTINEL REMOVE and MONITOR, or new
 *     configuration files) starts at 0.  So the lower epoch is accepted when a majority of the
 *     sentinels in the URL has said only lower epochs for LOWER_MS, and no sentinel that answers
 *     has said another one.  A majority alone is not enough: until a new primary is known to all,
 *     only the sentinel that carried out the failover has its epoch, and that one may fail just
 *     then.  The others learn of it within about two seconds, and a sentinel that sees two
 *     primaries waits eight seconds before it decides.  LOWER_MS is longer.
 *  4. With the same epoch, sentinels may name one server differently (announce-hostnames).  Then
 *     the current name stays.
 *  5. A primary that a quorum of the sentinels does not reach (o_down) is not used for a new
 *     connection: it is about to be replaced.
 *
 * The answers of one sentinel do not make a majority.  So a client that has seen a higher epoch and
 * reaches only one of three sentinels, which has a lower one, is not connected.
 */
#include "engine/redis/topology/sentinel_poll.h"

#include "base/fault.h"

void bwl_sentinel_poll_begin(bwl_sentinel_poll *poll)
{
    for (unsigned i = 0; i < poll->count; i++) {
        poll->voices[i].is_due    = true;
        poll->voices[i].was_tried = false;
    }
}

void bwl_sentinel_poll_answer(bwl_sentinel_poll *poll, unsigned i,
                              const bwl_sentinel_answer *answer)
{
    bwl_sentinel_voice *voice = &poll->voices[i];
    bool is_same = voice->has_answer && bwl_primary_is(&voice->answer.primary, &answer->primary);

    assert(i < poll->count);
    *voice = (bwl_sentinel_voice){ .has_answer = true,
                                   .was_tried  = voice->was_tried && is_same,
                                   .answer     = *answer };
}

void bwl_sentinel_poll_fail(bwl_sentinel_poll *poll, unsigned i)
{
    assert(i < poll->count);
    poll->voices[i].is_due     = false;
    poll->voices[i].has_answer = false;
}

static bool has_answered(const bwl_sentinel_voice *voice)
{
    return voice->has_answer && !voice->is_due;
}

unsigned bwl_sentinel_poll_answered(const bwl_sentinel_poll *poll)
{
    unsigned count = 0;

    for (unsigned i = 0; i < poll->count; i++)
        count += has_answered(&poll->voices[i]);
    return count;
}

unsigned bwl_sentinel_poll_due(const bwl_sentinel_poll *poll)
{
    unsigned count = 0;

    for (unsigned i = 0; i < poll->count; i++)
        count += poll->voices[i].is_due;
    return count;
}

static bool is_majority(const bwl_sentinel_poll *poll, unsigned count)
{
    return 2 * count > poll->count;
}

bool bwl_sentinel_poll_is_majority(const bwl_sentinel_poll *poll)
{
    return is_majority(poll, bwl_sentinel_poll_answered(poll));
}

uint64_t bwl_sentinel_poll_epoch(bwl_sentinel_poll *poll, uint64_t known, bwl_ms now)
{
    uint64_t highest = 0;
    unsigned count   = 0;

    for (unsigned i = 0; i < poll->count; i++) {
        const bwl_sentinel_voice *voice = &poll->voices[i];
        if (!voice->has_answer)
            continue;
        count++;
        highest = voice->answer.epoch > highest ? voice->answer.epoch : highest;
    }
    if (highest >= known || !is_majority(poll, count)) {
        poll->lower_since = 0;
        return highest > known ? highest : known;
    }
    if (poll->lower_since == 0)
        poll->lower_since = now;
    if (now - poll->lower_since < BWL_SENTINEL_LOWER_MS)
        return known;
    poll->lower_since = 0;
    return highest;
}

static bool is_tried(const bwl_sentinel_poll *poll, const bwl_primary *server)
{
    for (unsigned i = 0; i < poll->count; i++)
        if (poll->voices[i].was_tried && bwl_primary_is(&poll->voices[i].answer.primary, server))
            return true;
    return false;
}

const bwl_sentinel_answer *bwl_sentinel_poll_choose(const bwl_sentinel_poll *poll, uint64_t epoch,
                                                    const bwl_primary *current)
{
    const bwl_sentinel_answer *best = NULL;

    for (unsigned i = 0; i < poll->count; i++) {
        const bwl_sentinel_answer *answer = &poll->voices[i].answer;
        if (!has_answered(&poll->voices[i]) || answer->epoch != epoch ||
            is_tried(poll, &answer->primary))
            continue;
        bool is_current = current != NULL && bwl_primary_is(&answer->primary, current);
        if (best == NULL || (best->is_down && !answer->is_down) ||
            (best->is_down == answer->is_down && is_current))
            best = answer;
    }
    return best;
}

void bwl_sentinel_poll_tried(bwl_sentinel_poll *poll, const bwl_primary *server)
{
    for (unsigned i = 0; i < poll->count; i++) {
        bwl_sentinel_voice *voice = &poll->voices[i];
        if (bwl_primary_is(&voice->answer.primary, server))
            voice->was_tried = true;
    }
}

bool bwl_sentinel_poll_names(const bwl_sentinel_poll *poll, uint64_t epoch,
                             const bwl_primary *server)
{
    for (unsigned i = 0; i < poll->count; i++) {
        const bwl_sentinel_voice *voice = &poll->voices[i];
        if (voice->has_answer && voice->answer.epoch == epoch &&
            bwl_primary_is(&voice->answer.primary, server))
            return true;
    }
    return false;
}
