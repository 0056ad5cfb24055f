#include "sim/load/calm.h"

#include <string.h>

typedef enum check_class { CHECK_SEVERE, CHECK_MILD, CHECK_CLASSES } check_class;

/* The faults of a class that can disturb a client. */
typedef struct check_faults {
    unsigned present;
    int64_t  ended_at; /* the last one */
} check_faults;

static struct {
    int64_t      grace_ns;
    check_faults faults[CHECK_CLASSES][CHECK_CLIENTS_MAX + 1];
    check_faults name_faults[CHECK_NAMES_MAX];
    int64_t      silent_since;
} w;

void check_calm_begin(int64_t grace_ns)
{
    memset(&w, 0, sizeof w);
    w.grace_ns     = grace_ns;
    w.silent_since = SIM_NEVER;
}

static void count_fault(check_faults *faults, bool begins)
{
    if (begins)
        faults->present++;
    else
        faults->present--;
    faults->ended_at = sim_now();
}

void check_fault(unsigned client, bool is_mild, bool begins)
{
    count_fault(&w.faults[is_mild ? CHECK_MILD : CHECK_SEVERE][client], begins);
}

void check_fault_of_name(unsigned name, bool begins)
{
    count_fault(&w.name_faults[name], begins);
}

void check_server(bool answers)
{
    if (answers)
        w.silent_since = SIM_NEVER;
    else if (w.silent_since == SIM_NEVER)
        w.silent_since = sim_now();
}

int64_t check_silent_since(void)
{
    return w.silent_since;
}

static bool is_over(const check_faults *faults, int64_t since)
{
    return faults->present == 0 && since - faults->ended_at >= w.grace_ns;
}

bool check_is_name_calm(unsigned name, int64_t since)
{
    for (unsigned i = 0; i < CHECK_NAMES_MAX; i++) {
        const check_faults *faults = &w.name_faults[i];
        if ((name == i || name == CHECK_EVERY_NAME) && faults->ended_at != 0 &&
            !is_over(faults, since))
            return false;
    }
    return true;
}

bool check_is_calm(unsigned client, int64_t since, bool mild)
{
    if (w.grace_ns == SIM_NEVER)
        return false;
    for (check_class class = CHECK_SEVERE; class <= (mild ? CHECK_MILD : CHECK_SEVERE); class ++) {
        const check_faults *faults = w.faults[class];
        if (!is_over(&faults[client], since) || !is_over(&faults[CHECK_EVERY_CLIENT], since))
            return false;
    }
    return true;
}
