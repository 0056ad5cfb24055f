/*
 * url_query.h -- the common part of the commands that answer a question about a URL: caps, doctor
 * and acl.
 *
 * The URL is the operand, or else the URL that `bowline run` would use.  A URL with a password is
 * refused as an operand, because every user can read the arguments of a process.
 */
#pragma once

#include "cli/settings/config.h"
#include "cli/settings/option_table.h"

/* The command line.  NULL where an option was not given. */
typedef struct url_query {
    const option_table *table;
    const char         *feature;
    const char         *user;
    const char         *key;
    const char         *url;
    const char         *url_file;
    bool                wants_json;
} url_query;

/* Writes the answer to standard output.  Returns the exit code, or below 0 with *reterr. */
typedef int url_answer(const settings *s, const url_query *q, failure *reterr);

/* Runs the command: parses, shows the help or answers, reports errors.  Returns the exit code. */
int url_query_main(const option_table *table, void (*help)(FILE *out), url_answer *answer, int argc,
                   char **argv);
