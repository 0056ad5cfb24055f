#include "base/copy.h"

#include "base/fault.h"

#include <string.h>

int bwl_copy(char **ret_copy, const char *text, bwl_fault *fault)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *ret_copy = copy;
    return BWL_OK;
}

char *bwl_copy_of(const char *text, bool *all)
{
    char *copy = text != NULL ? strdup(text) : NULL;

    *all = *all && (text == NULL || copy != NULL);
    return copy;
}
