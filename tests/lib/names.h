/*
 * names.h -- host names that resolve as the test sets: it replaces getaddrinfo(3) of the system in
 * this program.
 */
#ifndef TEST_NAMES_H
#define TEST_NAMES_H

/* Resolves `name` to `address` from now on.  NULL: not found.  Any thread. */
void name_leads_to(const char *name, const char *address);

/* The number of lookups.  Any thread. */
unsigned name_lookups(const char *name);

#endif
