/*
 * describe.h -- who holds a name, for the caller who did not get it.
 */
#ifndef BWL_DESCRIBE_H
#define BWL_DESCRIBE_H

#include "api/handles.h"

/* locked: adds to the text of BUSY or TIMEOUT who holds the name, if the store knows. */
void bwl_describe_holder(bwl_client *client, const char *name, bowline_error *error);

#endif
