#include "cli/settings/url_query.h"

#include <string.h>

/* Implements option_store.  The tables differ by command, so an option is known by its name. */
static int store(void *arg, unsigned row, const char *value, failure *reterr)
{
    url_query  *q    = arg;
    const char *name = q->table->rows[row].name;

    (void)reterr;
    if (strcmp(name, "json") == 0)
        q->wants_json = true;
    else if (strcmp(name, "url-file") == 0)
        q->url_file = value;
    else if (strcmp(name, "feature") == 0)
        q->feature = value;
    else if (strcmp(name, "user") == 0)
        q->user = value;
    else if (strcmp(name, "key") == 0)
        q->key = value;
    return 0;
}

static int find_settings(settings *ret_settings, const url_query *q, failure *reterr)
{
    const run_options options = {
        .url           = q->url,
        .url_file      = q->url_file,
        .kill_after_ms = -1,
    };
    int status = settings_find(ret_settings, &options, reterr);

    /* The messages of settings_find mention --url, which these commands do not have. */
    if (status < 0 && q->url != NULL && url_has_password(q->url))
        return options_fail(
            q->table, reterr, words_of("the URL contains a password"),
            words_of("every user of this machine can read the arguments of a process: write the "
                     "URL into a FILE of mode 600 and use --url-file FILE"));
    if (status == 0 && q->url != NULL)
        ret_settings->url_from = words_of("the command line");
    return status;
}

int url_query_main(const option_table *table, void (*help)(FILE *out), url_answer *answer, int argc,
                   char **argv)
{
    url_query q  = { .table = table };
    settings  s  = { .url = "" };
    failure   is = { .code = EXIT_FAILED };
    int       at = options_parse(table, argc, argv, store, &q, &is);
    int       code;

    if (at == 0) {
        help(stdout);
        return say_done();
    }
    if (at > 0 && at < argc)
        q.url = argv[at++];
    if (at < 0)
        code = -1;
    else if (at < argc)
        code = options_fail(table, &is, words_of("too many arguments"),
                            words_of("usage: %s", table->usage));
    else
        code = find_settings(&s, &q, &is);
    if (code == 0)
        code = answer(&s, &q, &is);
    settings_wipe(&s);
    if (code < 0) {
        say_failure(&is);
        return is.code;
    }
    int done = say_done();
    return done != 0 ? done : code;
}
