/*
 * local_group.c -- see local_group.h.
 */
#include "lock/local_group.h"

enum { NOBODY = 0, WORTH_HALF = 2 /* the part of his lease that a turn has at least */ };

void bwl_cohort_init(bwl_cohort *c, unsigned turns_max, bwl_ms turns_ms)
{
    assert(turns_max >= 1 && turns_max <= BWL_TURNS_MAX);
    assert(turns_ms > 0);
    *c = (bwl_cohort){ .turns_max = turns_max, .turns_ms = turns_ms };
}

/* ---- what is to be told ---------------------------------------------------------------------- */

/* Instead of what was to be told to him before. */
static void tell(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, bwl_outcome out)
{
    bool is_listed = seats[n].tell.kind != BWL_PENDING;

    assert(n != NOBODY && out.kind != BWL_PENDING);
    seats[n].tell = out;
    if (is_listed)
        return;
    seats[n].next_told = NOBODY;
    if (c->last_told != NOBODY)
        seats[c->last_told].next_told = n;
    else
        c->first_told = n;
    c->last_told = n;
}

static bwl_deed take_told(bwl_cohort *c, bwl_seat *seats)
{
    bwl_seat_number n    = c->first_told;
    bwl_deed        deed = {
               .kind = BWL_DEED_TELL, .seat = n, .tag = seats[n].tag, .outcome = seats[n].tell
    };

    c->first_told = seats[n].next_told;
    if (c->first_told == NOBODY)
        c->last_told = NOBODY;
    seats[n].next_told = NOBODY;
    seats[n].tell      = (bwl_outcome){ .kind = BWL_PENDING };
    seats[n].tag       = 0;
    return deed;
}

/* ---- the line -------------------------------------------------------------------------------- */

static void stand_last(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n)
{
    seats[n].next     = NOBODY;
    seats[n].previous = c->last;
    if (c->last != NOBODY)
        seats[c->last].next = n;
    else
        c->first = n;
    c->last = n;
}

static void step_out(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n)
{
    bwl_seat *s = &seats[n];

    assert(s->state == BWL_SEAT_WAITS);
    if (s->previous != NOBODY)
        seats[s->previous].next = s->next;
    else
        c->first = s->next;
    if (s->next != NOBODY)
        seats[s->next].previous = s->previous;
    else
        c->last = s->previous;
    s->next     = NOBODY;
    s->previous = NOBODY;
}

static void end_seat(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, bwl_outcome_kind kind)
{
    seats[n].state = BWL_SEAT_EMPTY;
    tell(c, seats, n, (bwl_outcome){ .kind = kind });
}

static void end_all(bwl_cohort *c, bwl_seat *seats, bwl_outcome_kind kind)
{
    while (c->first != NOBODY) {
        bwl_seat_number n = c->first;
        step_out(c, seats, n);
        end_seat(c, seats, n, kind);
    }
}

/* ---- from above ------------------------------------------------------------------------------ */

void bwl_cohort_sit(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, uint32_t tag,
                    bwl_ms lease_ms)
{
    assert(n != NOBODY && seats[n].state == BWL_SEAT_EMPTY);
    assert(tag != 0 && lease_ms > 0);
    seats[n].state    = BWL_SEAT_WAITS;
    seats[n].tag      = tag;
    seats[n].lease_ms = lease_ms;
    stand_last(c, seats, n);
    tell(c, seats, n, (bwl_outcome){ .kind = BWL_QUEUED });
}

void bwl_cohort_extend(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, uint32_t tag,
                       bwl_ms lease_ms)
{
    assert(n != NOBODY && tag != 0);
    seats[n].tag = tag;
    if (seats[n].state != BWL_SEAT_HAS_TURN) {
        tell(c, seats, n, (bwl_outcome){ .kind = BWL_LOST });
        return;
    }
    assert(c->turn_of == n);
    seats[n].lease_ms = lease_ms;
    c->extends        = n;
}

void bwl_cohort_leave(bwl_cohort *c, bwl_seat *seats, bwl_seat_number n, uint32_t tag)
{
    assert(n != NOBODY && tag != 0);
    seats[n].tag = tag;
    if (c->extends == n)
        c->extends = NOBODY;
    switch (seats[n].state) {
    case BWL_SEAT_WAITS:
        step_out(c, seats, n);
        end_seat(c, seats, n, BWL_RELEASED);
        return;
    case BWL_SEAT_HAS_TURN:
        assert(c->turn_of == n && c->leaver == NOBODY);
        c->turn_of     = NOBODY;
        c->leaver      = n;
        seats[n].state = BWL_SEAT_LEAVES;
        return;
    case BWL_SEAT_LEAVES: return; /* he will hear */
    case BWL_SEAT_EMPTY: tell(c, seats, n, (bwl_outcome){ .kind = BWL_LOST }); return;
    }
}

/* ---- from below ------------------------------------------------------------------------------ */

static void end_leaver(bwl_cohort *c, bwl_seat *seats, bwl_outcome_kind kind)
{
    if (c->leaver != NOBODY)
        end_seat(c, seats, c->leaver, kind);
    c->leaver = NOBODY;
}

static void lost(bwl_cohort *c, bwl_seat *seats)
{
    c->state = BWL_COHORT_NONE;
    end_leaver(c, seats, BWL_LOST);
    if (c->turn_of != NOBODY)
        end_seat(c, seats, c->turn_of, BWL_LOST);
    c->turn_of = NOBODY;
    c->extends = NOBODY;
}

static void given(bwl_cohort *c, const bwl_outcome *out, bwl_ms now)
{
    c->state       = BWL_COHORT_OURS;
    c->given_at    = now;
    c->turns       = 0;
    c->is_fresh    = true;
    c->was_in_vain = false;
    c->until       = out->until;
    c->fence       = out->fence;
    c->trouble     = BWL_PENDING;
}

static void extended(bwl_cohort *c, bwl_seat *seats, const bwl_outcome *out)
{
    c->state = BWL_COHORT_OURS;
    if (out->kind == BWL_HELD) {
        c->is_fresh    = true;
        c->was_in_vain = false;
        c->until       = out->until;
    } else {
        c->was_in_vain = true;
    }
    if (c->extends == NOBODY)
        return;
    assert(c->extends == c->turn_of);
    bwl_outcome his = { .kind = out->kind, .until = c->until, .fence = c->fence + c->turns - 1 };
    tell(c, seats, c->extends, his);
    c->told_until = c->until;
    c->extends    = NOBODY;
}

void bwl_cohort_told(bwl_cohort *c, bwl_seat *seats, const bwl_outcome *out, bwl_ms now)
{
    switch (c->state) {
    case BWL_COHORT_SEEKING:
        if (out->kind == BWL_HELD) {
            given(c, out, now);
            return;
        }
        c->state = BWL_COHORT_NONE; /* LOST: while it was yielded; it is sought again */
        if (out->kind != BWL_LOST)
            end_all(c, seats, out->kind);
        return;
    case BWL_COHORT_OURS:
        if (out->kind == BWL_LOST)
            lost(c, seats);
        return;
    case BWL_COHORT_EXTENDING:
        if (out->kind == BWL_LOST)
            lost(c, seats);
        else
            extended(c, seats, out);
        return;
    case BWL_COHORT_RELEASING:
        c->state = BWL_COHORT_NONE;
        end_leaver(c, seats, out->kind);
        return;
    case BWL_COHORT_NONE: return; /* about one that is not wanted any more */
    }
}

void bwl_cohort_seen(bwl_cohort *c, bwl_ms until, bwl_outcome_kind trouble)
{
    if (c->state != BWL_COHORT_OURS && c->state != BWL_COHORT_EXTENDING)
        return;
    if (until > c->until)
        c->until = until;
    c->trouble = trouble;
}

/* ---- what is to be done ---------------------------------------------------------------------- */

static bwl_deed ask_store(bwl_cohort *c, bwl_cohort_state next, bwl_deed_kind kind, bwl_ms lease_ms)
{
    c->state = next;
    if (lease_ms != 0)
        c->lease_ms = lease_ms;
    return (bwl_deed){ .kind = kind, .lease_ms = lease_ms };
}

static bwl_deed give_back(bwl_cohort *c)
{
    return ask_store(c, BWL_COHORT_RELEASING, BWL_DEED_RELEASE, 0);
}

/* Who has his turn learns what the store's hold says by itself: not while he waits for an answer,
 * which says it too. */
static bool has_news(bwl_cohort *c, const bwl_seat *seats, bwl_deed *ret_deed)
{
    bwl_seat_number n   = c->turn_of;
    bwl_outcome     out = { .kind = BWL_PENDING };

    if (n == NOBODY || seats[n].tag != 0)
        return false;
    if (c->until > c->told_until) {
        out             = (bwl_outcome){ BWL_HELD, c->until, c->fence + c->turns - 1, 0 };
        c->told_until   = c->until;
        c->told_trouble = BWL_PENDING;
    } else if (c->trouble != c->told_trouble) {
        out.kind        = c->trouble;
        c->told_trouble = c->trouble;
    }
    *ret_deed = (bwl_deed){ .kind = BWL_DEED_TELL, .seat = n, .outcome = out };
    return out.kind != BWL_PENDING;
}

static void begin_turn(bwl_cohort *c, bwl_seat *seats)
{
    bwl_seat_number n = c->first;

    assert(c->turn_of == NOBODY);
    assert(c->turns < c->turns_max);
    step_out(c, seats, n);
    seats[n].state  = BWL_SEAT_HAS_TURN;
    c->turn_of      = n;
    c->is_fresh     = false;
    c->was_in_vain  = false;
    c->told_until   = c->until;
    c->told_trouble = BWL_PENDING;
    tell(c, seats, n, (bwl_outcome){ BWL_HELD, c->until, c->fence + c->turns, 0 });
    c->turns++;
}

static bool is_enough(const bwl_cohort *c, const bwl_seat *s, bwl_ms now)
{
    bwl_ms left_ms = c->until > now ? c->until - now : 0;

    return s->lease_ms == c->lease_ms && left_ms > 0 &&
           (c->is_fresh || left_ms >= s->lease_ms / WORTH_HALF);
}

static bool others_come(const bwl_cohort *c, bwl_ms now)
{
    return c->turns >= c->turns_max || (c->turns > 0 && now >= bwl_later(c->given_at, c->turns_ms));
}

/* It is ours, and nobody's turn. */
static bwl_deed between_turns(bwl_cohort *c, bwl_seat *seats, bwl_ms now)
{
    bwl_seat *next = &seats[c->first];

    if (c->first == NOBODY)
        return give_back(c);
    if (now < c->until && others_come(c, now))
        return ask_store(c, BWL_COHORT_SEEKING, BWL_DEED_YIELD, 0);
    if (!is_enough(c, next, now))
        return c->was_in_vain ? give_back(c)
                              : ask_store(c, BWL_COHORT_EXTENDING, BWL_DEED_EXTEND, next->lease_ms);
    begin_turn(c, seats);
    return take_told(c, seats);
}

static bool ours(bwl_cohort *c, bwl_seat *seats, bwl_ms now, bwl_deed *ret_deed)
{
    if (c->turn_of == NOBODY)
        *ret_deed = between_turns(c, seats, now);
    else if (c->extends != NOBODY)
        *ret_deed = ask_store(c, BWL_COHORT_EXTENDING, BWL_DEED_EXTEND, seats[c->extends].lease_ms);
    else
        return has_news(c, seats, ret_deed);
    return true;
}

/* Somebody sits here who may have it next: the store need not be asked. */
static bool passes_on(const bwl_cohort *c)
{
    return c->leaver != NOBODY && c->first != NOBODY &&
           (c->state == BWL_COHORT_OURS || c->state == BWL_COHORT_EXTENDING);
}

bool bwl_cohort_next(bwl_cohort *c, bwl_seat *seats, bwl_ms now, bwl_deed *ret_deed)
{
    bool nobody_sits = c->first == NOBODY && c->turn_of == NOBODY;

    if (passes_on(c))
        end_leaver(c, seats, BWL_RELEASED);
    if (c->first_told != NOBODY) {
        *ret_deed = take_told(c, seats);
        return true;
    }
    switch (c->state) {
    case BWL_COHORT_NONE:
        if (nobody_sits)
            return false;
        *ret_deed = ask_store(c, BWL_COHORT_SEEKING, BWL_DEED_ACQUIRE, seats[c->first].lease_ms);
        return true;
    case BWL_COHORT_SEEKING:
        if (!nobody_sits)
            return false;
        *ret_deed = ask_store(c, BWL_COHORT_NONE, BWL_DEED_CANCEL, 0);
        return true;
    case BWL_COHORT_OURS: return ours(c, seats, now, ret_deed);
    case BWL_COHORT_EXTENDING:
        if (!nobody_sits)
            return has_news(c, seats, ret_deed);
        *ret_deed = give_back(c);
        return true;
    case BWL_COHORT_RELEASING: return false;
    }
    bwl_unreachable("a state outside of its enum");
}

bool bwl_cohort_is_over(const bwl_cohort *c)
{
    return c->state == BWL_COHORT_NONE && c->first == NOBODY && c->turn_of == NOBODY &&
           c->leaver == NOBODY && c->first_told == NOBODY;
}

bwl_event bwl_deed_event(const bwl_deed *deed)
{
    const bwl_outcome *out    = &deed->outcome;
    bool               is_yes = out->kind == BWL_HELD || out->kind == BWL_RELEASED;

    assert(deed->kind == BWL_DEED_TELL);
    return (bwl_event){
        .kind   = deed->tag != 0 ? BWL_REPLY : BWL_PUSH,
        .tag    = deed->tag,
        .answer = is_yes ? BWL_YES : BWL_NO,
        .number = is_yes ? out->fence : (uint64_t)out->kind,
        .until  = out->until,
    };
}
