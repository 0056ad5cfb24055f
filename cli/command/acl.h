/*
 * acl.h -- `bowline acl`: the rule for a user of Redis who does this and nothing else.
 */
#ifndef BOWLINE_CLI_COMMAND_ACL_H
#define BOWLINE_CLI_COMMAND_ACL_H

#include <stdio.h>

/* argv[0] is "acl".  Returns the exit code. */
int acl_main(int argc, char **argv);

void acl_help(FILE *out);

#endif
