/*
 * config.c -- finds the URL and the times for a run.
 *
 * A file must belong to this user or root and not be writable by others; with a password in it,
 * others must not read it (doctor/trust.h). The check uses the open descriptor, so it applies to
 * the bytes that are read.
 */
#include "cli/settings/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/trust.h"

enum { CONFIG_FILE_MAX = 16384 };

static const char system_config[] = "/etc/bowline.conf";

static const char *const keys[] = { "url",      "wait",       "lease",
                                    "max-hold", "kill-after", "wait-for-server",
                                    NULL };

/* The contents of a file. */
typedef struct text_file {
    char        text[CONFIG_FILE_MAX + 1];
    bool        is_private;
    trust_fault why_not; /* if not private */
} text_file;

static int refuse_public(const char *path, const text_file *file, failure *reterr)
{
    return failed(reterr, words_of("%s is not private", path),
                  words_of("its URL may have a password, and %s", file->why_not.why),
                  words_of("%s", file->why_not.type));
}

/* Retries after EINTR, which a network file system can return. */
static int open_to_read(const char *path)
{
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd >= 0 || errno != EINTR)
            return fd;
    }
}

static int read_failed(const char *path, failure *reterr)
{
    return failed(reterr, words_of("%s cannot be read", path), words_of("%s", strerror(errno)),
                  words_of("type: ls -l %s", path));
}

/* Checks that the file may decide which locks are taken. A file with a secret must be private. */
static int check_trust(text_file *file, int fd, const char *path, bool is_secret, failure *reterr)
{
    trust_fault fault;

    file->is_private = trust_is_private(fd, path, &file->why_not);
    if (file->is_private)
        return 0;
    if (is_secret)
        return refuse_public(path, file, reterr);
    if (trust_may_steer(fd, path, &fault))
        return 0;
    return failed(reterr, words_of("%s is not trusted", path),
                  words_of("it decides which locks bowline takes, and %s", fault.why),
                  words_of("%s", fault.type));
}

/* Reads all of it. Returns -1 with *reterr. */
static int read_text(text_file *ret_file, int fd, const char *path, failure *reterr)
{
    size_t size = 0;

    for (;;) {
        ssize_t got = read(fd, ret_file->text + size, CONFIG_FILE_MAX - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return read_failed(path, reterr);
        if (got == 0)
            break;
        size += (size_t)got;
    }
    ret_file->text[size] = '\0';
    if (size == CONFIG_FILE_MAX || strlen(ret_file->text) != size)
        return failed(reterr, words_of("%s is not a text file for bowline", path),
                      words_of("it is too long or contains a NUL byte"),
                      words_of("type: ls -l %s", path));
    return 0;
}

/* Returns 1 if there is no such file, 0 with the file, -1 with *reterr.  The caller wipes it,
 * because it may contain a password. */
static int read_file(text_file *ret_file, const char *path, bool is_secret, failure *reterr)
{
    int fd = open_to_read(path);

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 1 : read_failed(path, reterr);
    int status = check_trust(ret_file, fd, path, is_secret, reterr);
    if (status == 0)
        status = read_text(ret_file, fd, path, reterr);
    (void)close(fd); /* (void): nothing was written */
    return status;
}

static int take_url(settings *s, const char *url, words from, failure *reterr)
{
    size_t size = strlen(url);

    if (size == 0)
        return failed(reterr, words_of("the URL in %s is empty", from.text),
                      words_of("an empty URL names no locks"),
                      words_of("give a URL, or file: for the locks of this user on this machine"));
    if (size > URL_MAX)
        return failed(reterr, words_of("the URL in %s is too long", from.text),
                      words_of("it has %zu bytes, %d at most", size, URL_MAX), words_of("%s", ""));
    memcpy(s->url, url, size + 1);
    s->url_from = from;
    return 0;
}

/* ---- the config file ------------------------------------------------------------------------- */

static char *trimmed(char *text)
{
    static const char blanks[] = " \t\r\n";

    assert(text != NULL);
    text += strspn(text, blanks);
    size_t size = strlen(text);
    while (size > 0 && strchr(blanks, text[size - 1]) != NULL)
        size--;
    text[size] = '\0';
    return text;
}

static int take_time(settings *s, const char *key, const char *value, words where, failure *reterr)
{
    words    what     = words_of("%s: %s", where.text, key);
    int64_t  lease_ms = s->lease_ms;
    int64_t *to       = &lease_ms;

    if (strcmp(key, "wait") == 0)
        to = &s->wait_ms;
    else if (strcmp(key, "max-hold") == 0)
        to = &s->max_hold_ms;
    else if (strcmp(key, "kill-after") == 0)
        to = &s->kill_after_ms;
    if (options_time(to, key, what.text, value, reterr) < 0) {
        reterr->hint = words_of("type: bowline help %s", run_table.command);
        return -1;
    }
    if (to == &s->wait_ms)
        s->wait_is_default = false;
    s->lease_ms = (uint32_t)lease_ms;
    return 0;
}

static int take_switch(bool *ret_is_on, const char *key, const char *value, words where,
                       failure *reterr)
{
    *ret_is_on = strcmp(value, "yes") == 0;
    if (*ret_is_on || strcmp(value, "no") == 0)
        return 0;
    return failed(
        reterr, words_of("%s: %s: \"%s\" is not yes or no", where.text, key, url_shown(value).text),
        words_of("it is a switch"), words_of("write %s = yes", key));
}

static bool *is_given(bool given[], const char *key)
{
    for (unsigned i = 0; keys[i] != NULL; i++)
        if (strcmp(keys[i], key) == 0)
            return &given[i];
    return NULL;
}

static int take_line(settings *s, char *line, words where, bool given[], failure *reterr)
{
    words type = words_of(
        "write KEY = VALUE; keys: url, wait, lease, max-hold, kill-after, wait-for-server");

    line = trimmed(line);
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    char *equal = strchr(line, '=');
    if (equal == NULL)
        /* Do not quote the line: it may be a URL with a password. */
        return failed(reterr, words_of("%s: the line has no '='", where.text),
                      words_of("it would set nothing"), type);
    *equal       = '\0';
    char *key    = trimmed(line);
    char *value  = trimmed(equal + 1);
    bool *before = is_given(given, key);
    if (before == NULL)
        return failed(reterr,
                      words_of("%s: there is no key \"%s\"", where.text, url_shown(key).text),
                      say_suggestion(key, keys, "", "an unknown key would set nothing"), type);
    if (*before)
        return failed(reterr, words_of("%s: %s is set twice", where.text, key),
                      words_of("it is not clear which one applies"), type);
    *before = true;
    if (strcmp(key, "url") == 0)
        return take_url(s, value, where, reterr);
    if (strcmp(key, "wait-for-server") == 0)
        return take_switch(&s->waits_for_server, key, value, where, reterr);
    return take_time(s, key, value, where, reterr);
}

static int take_config(settings *s, text_file *file, const char *path, failure *reterr)
{
    bool  given[sizeof keys / sizeof keys[0]] = { false };
    char *line                                = file->text;

    for (unsigned number = 1; line != NULL; number++) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (take_line(s, line, words_of("%s:%u", path, number), given, reterr) < 0)
            return -1;
        line = end;
    }
    if (!file->is_private && url_has_password(s->url))
        return refuse_public(path, file, reterr);
    return 0;
}

/* The path of the config file of this user. False: unknown. */
static bool find_own_config(words *ret_path)
{
    const char *config = secure_getenv("XDG_CONFIG_HOME");
    const char *home   = secure_getenv("HOME");

    /* The XDG specification ignores a relative path. */
    if (config != NULL && config[0] == '/') {
        *ret_path = words_of("%s/bowline.conf", config);
        return true;
    }
    if (home == NULL || home[0] != '/') {
        const struct passwd *entry = getpwuid(geteuid());
        home                       = entry != NULL ? entry->pw_dir : NULL;
    }
    if (home == NULL || home[0] != '/')
        return false;
    *ret_path = words_of("%s/.config/bowline.conf", home);
    return true;
}

/* Only the first file that exists counts. */
static int find_config(settings *s, failure *reterr)
{
    text_file file;
    words     path;
    int       status = find_own_config(&path) ? read_file(&file, path.text, false, reterr) : 1;

    if (status > 0) {
        path   = words_of("%s", system_config);
        status = read_file(&file, path.text, false, reterr);
    }
    if (status > 0)
        return 0;
    if (status == 0)
        status = take_config(s, &file, path.text, reterr);
    explicit_bzero(&file, sizeof file);
    return status;
}

/* ---- the URL --------------------------------------------------------------------------------- */

static int take_url_option(settings *s, const run_options *o, failure *reterr)
{
    if (url_has_password(o->url))
        return failed(
            reterr, words_of("--url contains a password"),
            words_of("every user of this machine can read the arguments of a process with ps"),
            words_of("write the URL into a FILE of mode 600, and type: bowline run --url-file FILE "
                     "..."));
    return take_url(s, o->url, words_of("--url"), reterr);
}

static int take_url_file(settings *s, const char *path, failure *reterr)
{
    text_file file;
    words     from = words_of("--url-file %s", url_shown(path).text);

    if (url_has_password(path))
        return failed(
            reterr, words_of("--url-file: a URL is in the place of FILE"),
            words_of("every user of this machine can read the arguments of a process with ps"),
            words_of("write the URL into a FILE of mode 600, and type: --url-file FILE"));
    int status = read_file(&file, path, true, reterr);
    if (status > 0)
        return failed(reterr, words_of("%s cannot be read", from.text),
                      words_of("%s", strerror(ENOENT)), words_of("type: ls -l %s", path));
    if (status == 0) {
        char *end = strchr(file.text, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (end != NULL && *trimmed(end) != '\0')
            status = failed(reterr, words_of("%s has more than one line", path),
                            words_of("it must hold one URL and nothing else"),
                            words_of("type: wc -l %s", path));
        else
            status = take_url(s, trimmed(file.text), from, reterr);
    }
    explicit_bzero(&file, sizeof file);
    return status;
}

static int find_url(settings *s, const run_options *o, failure *reterr)
{
    const char *url = secure_getenv("BOWLINE_URL");

    if (o->url != NULL && o->url_file != NULL)
        return failed(reterr, words_of("both --url and --url-file were given"),
                      words_of("it is not clear which one applies"),
                      words_of("type: bowline run --help"));
    if (o->url != NULL)
        return take_url_option(s, o, reterr);
    if (o->url_file != NULL)
        return take_url_file(s, o->url_file, reterr);
    if (url != NULL)
        return take_url(s, url, words_of("BOWLINE_URL"), reterr);
    if (s->url[0] == '\0')
        return take_url(s, "file:", words_of("the default"), reterr);
    return 0;
}

int settings_find(settings *ret_settings, const run_options *options, failure *reterr)
{
    settings *s = ret_settings;

    *s = (settings){ .kill_after_ms = 5000, .wait_ms = BOWLINE_FOREVER, .wait_is_default = true };
    if (find_config(s, reterr) < 0 || find_url(s, options, reterr) < 0)
        return -1;
    /* The URL takes precedence over the config file. */
    if (url_says(s->url, "wait"))
        s->wait_ms = BOWLINE_DEFAULT;
    if (url_says(s->url, "lease"))
        s->lease_ms = 0;
    s->url_ends_hold = url_says(s->url, "max-hold");
    if (s->url_ends_hold)
        s->max_hold_ms = 0;
    if (options->wait_ms != BOWLINE_DEFAULT)
        s->wait_ms = options->wait_ms;
    s->wait_is_default =
        s->wait_is_default && s->wait_ms == BOWLINE_FOREVER && options->wait_ms == BOWLINE_DEFAULT;
    if (options->lease_ms != 0)
        s->lease_ms = options->lease_ms;
    if (options->max_hold_ms != 0)
        s->max_hold_ms = options->max_hold_ms;
    s->waits_for_server = s->waits_for_server || options->waits_for_server;
    if (options->kill_after_ms >= 0)
        s->kill_after_ms = options->kill_after_ms;
    return 0;
}

int settings_fail(const settings *s, words what, const char *text, failure *reterr)
{
    failure is = { .code = EXIT_FAILED, .what = what };

    failure_explain(&is, text, words_of("check the URL, from %s", s->url_from.text));
    return failed_with(reterr, is);
}

void settings_wipe(settings *s)
{
    explicit_bzero(s, sizeof *s);
}

/* ---- questions about a URL ------------------------------------------------------------------- */

static int find_settings(settings *ret_settings, const option_table *t, const run_options *o,
                         failure *reterr)
{
    int status = settings_find(ret_settings, o, reterr);

    /* The messages of settings_find mention --url, which these commands do not have. */
    if (status < 0 && o->url != NULL && url_has_password(o->url))
        return options_fail(
            t, reterr, words_of("the URL contains a password"),
            words_of("every user of this machine can read the arguments of a process: write the "
                     "URL into a FILE of mode 600 and use --url-file FILE"));
    if (status == 0 && o->url != NULL)
        ret_settings->url_from = words_of("the command line");
    return status;
}

int url_query_main(const option_table *t, url_answer *answer, int argc, char **argv)
{
    run_options o;
    settings    s    = { .url = "" };
    failure     is   = { .code = EXIT_FAILED };
    int         at   = options_parse(&o, t, argc, argv, &is);
    int         code = -1;

    if (at == 0) {
        options_write(t, false);
        return say_done();
    }
    if (at > 0 && at < argc)
        o.url = argv[at++];
    if (at > 0 && at < argc)
        code =
            options_fail(t, &is, words_of("too many arguments"), words_of("usage: %s", t->usage));
    else if (at > 0)
        code = find_settings(&s, t, &o, &is);
    if (code == 0)
        code = answer(&s, &o, &is);
    settings_wipe(&s);
    if (code < 0) {
        say_failure(&is);
        return is.code;
    }
    int done = say_done();
    return done != 0 ? done : code;
}
