/*
 * names.h -- names of hosts that lead where the test says: a program that uses this has a
 * getaddrinfo(3) of its own, in front of the system's, which knows of them.
 */
#ifndef TEST_NAMES_H
#define TEST_NAMES_H

/* From now on, for whoever asks.  An address of NULL: it is not known.  Any thread. */
void name_leads_to(const char *name, const char *address);

/* How often it was looked up.  Any thread. */
unsigned name_lookups(const char *name);

#endif
