/*
 * A fuzz target for the files that the command reads: a config file, and a file with a URL.
 *
 * The first byte chooses: odd, a file with a URL; even, a config file.  It checks for any bytes:
 * - reading is a function: the same bytes give the same settings, or the same error;
 * - an error has a text;
 * - accepted settings are within their limits;
 * - accepted settings can be wiped, and then have no data.
 *
 * The file is in memory; its usual path is a link to it.  The seeds are in corpus/config.
 */
#include "fuzz.h"

#include "cli/settings/config.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int  fd          = -1;
static char directory[] = "/tmp/bowline-fuzz-XXXXXX";
static char path[64];
static char config[96];

static void clean_up(void)
{
    (void)unlink(config);
    (void)rmdir(directory);
}

static void begin(void)
{
    fd = memfd_create("config", MFD_CLOEXEC);
    require(fd >= 0 && fchmod(fd, 0600) == 0);
    require(mkdtemp(directory) != NULL);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)snprintf(config, sizeof config, "%s/bowline.conf", directory);
    require(symlink(path, config) == 0 && atexit(clean_up) == 0);
    require(setenv("XDG_CONFIG_HOME", directory, 1) == 0);
    (void)unsetenv("BOWLINE_URL");
}

static void require_within_limits(const settings *s)
{
    require(s->url[0] != '\0' && strlen(s->url) <= URL_MAX);
    require(s->wait_ms >= BOWLINE_DEFAULT && s->wait_ms <= BOWLINE_WAIT_MAX_MS);
    require(s->lease_ms == 0 ||
            (s->lease_ms >= BOWLINE_LEASE_MIN_MS && s->lease_ms <= BOWLINE_LEASE_MAX_MS));
    require(s->max_hold_ms >= 0);
    require(s->kill_after_ms >= 0);
}

static int read_it(settings *ret_settings, bool as_url, failure *reterr)
{
    run_options options = { .url_file      = as_url ? path : NULL,
                            .wait_ms       = BOWLINE_DEFAULT,
                            .kill_after_ms = -1 };

    *reterr = (failure){ 0 };
    require(lseek(fd, 0, SEEK_SET) == 0);
    return settings_find(ret_settings, &options, reterr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static settings one, two;
    failure         first, second;

    if (size == 0)
        return 0;
    if (fd < 0)
        begin();
    bool as_url = data[0] % 2 == 1;
    require(ftruncate(fd, 0) == 0);
    require(pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1);
    int status = read_it(&one, as_url, &first);
    require(status == read_it(&two, as_url, &second));
    if (status < 0) {
        require(first.code == second.code && first.code != 0);
        require(first.what.text[0] != '\0' && strcmp(first.what.text, second.what.text) == 0);
        require(strcmp(first.why.text, second.why.text) == 0);
        return 0;
    }
    require_within_limits(&one);
    require(strcmp(one.url, two.url) == 0 && one.wait_ms == two.wait_ms);
    require(one.lease_ms == two.lease_ms && one.max_hold_ms == two.max_hold_ms);
    settings_wipe(&one);
    require(one.url[0] == '\0');
    return 0;
}
