#include "doctor/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool info_text(char ret_value[INFO_VALUE_MAX], const char *info, const char *name)
{
    size_t size = strlen(name);

    for (const char *line = info; line != NULL; line = strchr(line, '\n')) {
        line += line[0] == '\n';
        if (strncmp(line, name, size) != 0 || line[size] != ':')
            continue;
        const char *value = line + size + 1;
        size_t      end   = strcspn(value, "\r\n");
        (void)snprintf(ret_value, INFO_VALUE_MAX, "%.*s",
                       end < INFO_VALUE_MAX ? (int)end : INFO_VALUE_MAX, value);
        return true;
    }
    ret_value[0] = '\0';
    return false;
}

int64_t info_number(const char *info, const char *name, int64_t otherwise)
{
    char  value[INFO_VALUE_MAX];
    char *end;

    if (!info_text(value, info, name))
        return otherwise;
    long long number = strtoll(value, &end, 10);
    return end != value ? number : otherwise;
}
