/*
 * clocks.c -- compares the clocks of several servers. See visit.h.
 */
#include "doctor/visit.h"

#include <inttypes.h>

enum { SKEW_MAX_US = 2000000, US_PER_SECOND = 1000000, US_PER_MS = 1000 };

void visit_clocks(visit *v, const visit_facts *of, const char *const *where, unsigned count,
                  const char *why)
{
    int      first = -1, last = -1;
    unsigned telling = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!of[i].tells_time)
            continue;
        telling++;
        if (first < 0 || of[i].ahead_us < of[first].ahead_us)
            first = (int)i;
        if (last < 0 || of[i].ahead_us > of[last].ahead_us)
            last = (int)i;
    }
    if (telling < 2)
        return;
    int64_t         apart = of[last].ahead_us - of[first].ahead_us;
    doctor_finding *f     = visit_find(v, "clocks", DOCTOR_FINE);
    if (apart < SKEW_MAX_US) {
        visit_what(f, "the clocks of the servers are %" PRId64 "ms apart", apart / US_PER_MS);
        return;
    }
    f->grade = DOCTOR_WARNING;
    visit_what(f, "the clock of %.120s is %" PRId64 "s ahead of the clock of %.120s", where[last],
               apart / US_PER_SECOND, where[first]);
    visit_why(f, "%s", why);
    visit_type(f, "on each machine: timedatectl, chronyc tracking; slew the clocks, do not step "
                  "them");
}
