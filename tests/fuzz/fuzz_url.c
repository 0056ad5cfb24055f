/*
 * A fuzz target for URLs: the URL itself, the settings in it, and the key template.
 *
 * It checks for any bytes:
 * - a part lies inside the url, ends with its one NUL, and overlaps no other;
 * - parsing is a function: the same text gives the same parts, or the same error;
 * - a parsed URL can be encoded from its parts, and parses to the same parts;
 * - an error does not depend on the password: with another password it is the same;
 * - accepted settings are within their limits;
 * - an accepted key template makes a key that fits and has the name in it.
 *
 * No host is resolved and no file is opened.  The text ends at the first NUL.  The seeds are in
 * corpus/url.
 */
#include "fuzz.h"

#include "core/text.h"
#include "engine/settings.h"
#include "base/url.h"
#include "engine/redis/wire/key.h"

#include <stdio.h>

enum { TEXT_MAX = BWL_URL_MAX + 16, AGAIN_MAX = 4 * BWL_URL_MAX };

static bool is_same(const char *one, const char *two)
{
    return one == NULL || two == NULL ? one == two : strcmp(one, two) == 0;
}

static void require_same(const bwl_url *one, const bwl_url *two)
{
    require(strcmp(one->scheme, two->scheme) == 0);
    require(is_same(one->user, two->user));
    require(is_same(one->password, two->password));
    require(is_same(one->path, two->path));
    require(one->hosts_count == two->hosts_count);
    for (unsigned i = 0; i < one->hosts_count; i++) {
        require(is_same(one->hosts[i].name, two->hosts[i].name));
        require(one->hosts[i].port == two->hosts[i].port);
    }
    require(one->options_count == two->options_count);
    for (unsigned i = 0; i < one->options_count; i++) {
        require(is_same(one->options[i].name, two->options[i].name));
        require(is_same(one->options[i].value, two->options[i].value));
    }
}

/* ---- position of the parts ------------------------------------------------------------------- */

/* The bytes of a part, its NUL with them. */
static size_t measure(const bwl_url *url, const char *part)
{
    if (part == NULL)
        return 0;
    require(part >= url->text && part < url->text + url->used);
    size_t size = strlen(part) + 1;
    require(part + size <= url->text + url->used);
    return size;
}

static void check_parts(const bwl_url *url)
{
    size_t size = measure(url, url->user) + measure(url, url->password) + measure(url, url->path);

    require(url->used <= sizeof url->text);
    require(url->hosts_count <= BWL_URL_HOSTS_MAX);
    for (unsigned i = 0; i < url->hosts_count; i++) {
        require(url->hosts[i].name != NULL);
        require(url->hosts_count == 1 || url->hosts[i].name[0] != '\0');
        size += measure(url, url->hosts[i].name);
    }
    require((url->host != NULL) == (url->hosts_count > 0));
    require(url->host == NULL ||
            (url->host == url->hosts[0].name && url->port == url->hosts[0].port));
    require(url->options_count <= BWL_URL_OPTIONS_MAX);
    for (unsigned i = 0; i < url->options_count; i++) {
        require(url->options[i].name[0] != '\0');
        size += measure(url, url->options[i].name) + measure(url, url->options[i].value);
        require(bwl_url_find(url, url->options[i].name) != NULL);
    }
    require(size == url->used); /* no gap between them, no overlap */
    require(url->scheme[0] >= 'a' && url->scheme[0] <= 'z');
    require(url->password == NULL || url->user != NULL);
    require(url->user == NULL || url->host != NULL);
}

/* ---- encoding -------------------------------------------------------------------------------- */

typedef struct paper {
    char   text[AGAIN_MAX];
    size_t size;
} paper;

static void add(paper *p, const char *text)
{
    int size = snprintf(p->text + p->size, sizeof p->text - p->size, "%s", text);

    require(size >= 0 && p->size + (size_t)size < sizeof p->text);
    p->size += (size_t)size;
}

static void add_encoded(paper *p, const char *text, const char *also)
{
    size_t room = sizeof p->text - p->size;
    size_t size = bwl_percent_encode(p->text + p->size, room, text, strlen(text), also);

    require(size > 0 || text[0] == '\0');
    p->size += size;
}

static void add_host(paper *p, const bwl_url_host *host)
{
    char port[16];

    add_encoded(p, host->name, "");
    (void)snprintf(port, sizeof port, ":%u", (unsigned)host->port);
    if (host->port != 0)
        add(p, port);
}

static void add_authority(paper *p, const bwl_url *url)
{
    add(p, "//");
    if (url->user != NULL) {
        add_encoded(p, url->user, "");
        if (url->password != NULL) {
            add(p, ":");
            add_encoded(p, url->password, "");
        }
        add(p, "@");
    }
    for (unsigned i = 0; i < url->hosts_count; i++) {
        add(p, i > 0 ? "," : "");
        add_host(p, &url->hosts[i]);
    }
}

static void check_again(const bwl_url *url)
{
    static paper   p;
    static bwl_url back;

    p.size = 0;
    add(&p, url->scheme);
    add(&p, ":");
    if (url->host != NULL)
        add_authority(&p, url);
    add_encoded(&p, url->path, url->host != NULL ? "/" : "");
    for (unsigned i = 0; i < url->options_count; i++) {
        add(&p, i == 0 ? "?" : "&");
        add_encoded(&p, url->options[i].name, "");
        add(&p, "=");
        add_encoded(&p, url->options[i].value, "");
    }
    if (p.size > BWL_URL_MAX)
        return;
    require(bwl_url_parse(&back, p.text, NULL) == BWL_OK);
    require_same(url, &back);
}

/* ---- secrets --------------------------------------------------------------------------------- */

/* The position of the password, from the grammar in url.h only. */
static char *password_in(char *text, size_t *ret_size)
{
    char *from = strstr(text, "://");
    char *colon;
    char *at = NULL;

    if (from == NULL || strcspn(text, ":?") != (size_t)(from - text))
        return NULL;
    from += 3;
    for (char *c = from; *c != '\0' && *c != '/' && *c != '?'; c++)
        if (*c == '@')
            at = c;
    colon = strchr(from, ':');
    if (at == NULL || colon == NULL || colon > at)
        return NULL;
    *ret_size = (size_t)(at - colon - 1);
    return colon + 1;
}

static void check_silence(const char *text, const bwl_fault *fault)
{
    static bwl_url other;
    bwl_fault      other_fault = { 0 };
    char           copy[TEXT_MAX + 1];
    size_t         size;

    memcpy(copy, text, strlen(text) + 1);
    char *password = password_in(copy, &size);
    if (password == NULL)
        return;
    memset(password, 'p', size);
    if (bwl_url_parse(&other, copy, &other_fault) < 0)
        require(strcmp(fault->text, other_fault.text) == 0 ||
                strstr(fault->text, "the user or the password is badly") != NULL);
    else
        require(strcmp(fault->text,
                       "in the URL, the user or the password is badly percent-encoded") == 0);
}

/* ---- settings and keys ----------------------------------------------------------------------- */

static void check_settings(const bwl_url *url)
{
    static const bwl_settings nothing;
    static const char *const  known[] = { BWL_SETTINGS_OPTIONS, "protocol", "key",
                                          "password-file",      "db",       NULL };
    bwl_settings              s;
    bwl_fault                 fault = { 0 };

    int status = bwl_url_check_options(url, known, &fault);
    require(status == BWL_OK ? fault.text[0] == '\0' : fault.text[0] != '\0');
    if (bwl_settings_from(&s, &nothing, false, url, &fault) < 0) {
        require(fault.status == BWL_STATUS_USAGE && fault.text[0] != '\0');
        return;
    }
    require(s.lease_ms >= BWL_LEASE_MIN_MS && s.lease_ms <= BWL_LEASE_MAX_MS);
    require(s.answer_ms >= BWL_ANSWER_MIN_MS && s.answer_ms <= s.lease_ms);
    require(s.wait_ms == BWL_NEVER || (s.wait_ms >= 0 && s.wait_ms <= BWL_WAIT_MAX_MS));
    require(s.max_hold_ms > 0);
}

static void check_key(const bwl_url *url)
{
    const char *template = bwl_url_find(url, "key");
    size_t size          = strnlen(url->path, BWL_NAME_MAX);
    char   key[BWL_KEY_MAX];

    if (template != NULL && bwl_key_template_fault(template) == NULL) {
        size_t key_size = bwl_key_write(key, template, url->path, size);
        require(key_size >= size && key_size <= size + strlen(template) - 2);
        require(memmem(key, key_size, url->path, size) != NULL);
    }
    size_t plain = bwl_key_write(key, NULL, url->path, size);
    require(plain >= size + 10 && plain <= 3 * size + 10);
    require(memchr(key, '}', plain) == key + plain - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bwl_url url, twin;
    bwl_fault      fault      = { 0 };
    bwl_fault      twin_fault = { 0 };
    char           text[TEXT_MAX + 1];

    if (size > TEXT_MAX)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';

    int status = bwl_url_parse(&url, text, &fault);
    require(bwl_url_parse(&twin, text, &twin_fault) == status);
    require(memcmp(&fault, &twin_fault, sizeof fault) == 0);
    if (status == BWL_OK) {
        require_same(&url, &twin);
        check_parts(&url);
        check_again(&url);
        check_settings(&url);
        check_key(&url);
    } else {
        require(status == BWL_STATUS_USAGE && fault.status == status);
        check_silence(text, &fault);
    }
    bwl_url_wipe(&url);
    return 0;
}
