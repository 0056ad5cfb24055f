/*
 * test_url.c -- parsing the URL of a store: which texts are accepted, and which are refused.
 *
 * A table of good URLs with all of their parts, a table of bad ones, and the usual mistakes: an '@'
 * or a '/' that was not encoded in a password.  An error about a bad URL must never quote what
 * might be the password.  Then properties of random bytes that are the same on every run: the parts
 * of a URL are found in it again, and no text does harm.
 */
#include "base/url.h"
#include "tests/lib/chance.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { ROUNDS = 20000 };

static bwl_url   url;
static bwl_fault fault;

static int parse(const char *text)
{
    fault = (bwl_fault){ 0 };
    return bwl_url_parse(&url, text, &fault);
}

/* ---- good ones ------------------------------------------------------------------------------- */

typedef struct example {
    const char *text;
    const char *scheme;
    const char *user;
    const char *password;
    const char *host;
    uint16_t    port;
    const char *path;
    unsigned    options;
} example;

static const example examples[] = {
    { "thread:", "thread", NULL, NULL, NULL, 0, "", 0 },
    { "thread:?wait=5s", "thread", NULL, NULL, NULL, 0, "", 1 },
    { "file:", "file", NULL, NULL, NULL, 0, "", 0 },
    { "file:/var/lock/x", "file", NULL, NULL, NULL, 0, "/var/lock/x", 0 },
    { "file:a%20b", "file", NULL, NULL, NULL, 0, "a b", 0 },
    { "file:///var/lock", "file", NULL, NULL, "", 0, "/var/lock", 0 },
    { "unix:///run/redis.sock?db=2", "unix", NULL, NULL, "", 0, "/run/redis.sock", 1 },
    { "redis://h", "redis", NULL, NULL, "h", 0, "", 0 },
    { "redis://h/", "redis", NULL, NULL, "h", 0, "/", 0 },
    { "redis://h:1", "redis", NULL, NULL, "h", 1, "", 0 },
    { "redis://h:65535/3", "redis", NULL, NULL, "h", 65535, "/3", 0 },
    { "redis://u@h", "redis", "u", NULL, "h", 0, "", 0 },
    { "redis://u:@h", "redis", "u", "", "h", 0, "", 0 },
    { "redis://:p@h", "redis", "", "p", "h", 0, "", 0 },
    { "redis://u:p@h:7/0?a=1&b=2", "redis", "u", "p", "h", 7, "/0", 2 },
    { "redis://u:p:q@h", "redis", "u", "p:q", "h", 0, "", 0 },
    { "redis://%75:p%40%2F@h", "redis", "u", "p@/", "h", 0, "", 0 },
    { "redis://[::1]", "redis", NULL, NULL, "::1", 0, "", 0 },
    { "redis://[::1]:6380/1", "redis", NULL, NULL, "::1", 6380, "/1", 0 },
    { "redis://u:p@[fe80::1%25eth0]", "redis", "u", "p", "fe80::1%eth0", 0, "", 0 },
    { "git+ssh-2://h", "git+ssh-2", NULL, NULL, "h", 0, "", 0 },
    { "a:b:c", "a", NULL, NULL, NULL, 0, "b:c", 0 },
};

static void assert_part(const char *is, const char *wanted)
{
    assert_int_equal(is == NULL, wanted == NULL);
    if (wanted != NULL)
        assert_string_equal(is, wanted);
}

TEST(url_is_parsed_into_its_parts)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        const example *e = &examples[i];
        print_message("# %s\n", e->text);
        assert_int_equal(parse(e->text), BWL_OK);
        assert_string_equal(url.scheme, e->scheme);
        assert_part(url.user, e->user);
        assert_part(url.password, e->password);
        assert_part(url.host, e->host);
        assert_int_equal(url.port, e->port);
        assert_string_equal(url.path, e->path);
        assert_int_equal(url.options_count, e->options);
    }
}

TEST(url_may_have_several_hosts)
{
    char   text[BWL_URL_MAX];
    size_t size;

    assert_int_equal(parse("redlock://u:p@a:1,b,[::1]:3,%64:4/x?y=1,2"), BWL_OK);
    assert_int_equal(url.hosts_count, 4);
    assert_string_equal(url.host, "a");
    assert_int_equal(url.port, 1);
    assert_string_equal(url.hosts[1].name, "b");
    assert_int_equal(url.hosts[1].port, 0);
    assert_string_equal(url.hosts[2].name, "::1");
    assert_int_equal(url.hosts[2].port, 3);
    assert_string_equal(url.hosts[3].name, "d");
    assert_string_equal(url.path, "/x");
    assert_int_equal(parse("redis://a"), BWL_OK);
    assert_int_equal(url.hosts_count, 1);
    assert_int_equal(parse("thread:"), BWL_OK);
    assert_int_equal(url.hosts_count, 0);

    static const char *const bad[] = { "redis://,",    "redis://a,",   "redis://,a",
                                       "redis://a,,b", "redis://a,:1", "redis://a:1,b:0",
                                       "redis://a,[b" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(parse(bad[i]), BWL_STATUS_USAGE);

    size = (size_t)snprintf(text, sizeof text, "redis://a");
    for (unsigned i = 1; i < BWL_URL_HOSTS_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, ",h%u:%u", i, i);
    assert_int_equal(parse(text), BWL_OK);
    assert_int_equal(url.hosts_count, BWL_URL_HOSTS_MAX);
    (void)snprintf(text + size, sizeof text - size, ",z");
    assert_int_equal(parse(text), BWL_STATUS_USAGE);
}

TEST(url_password_ends_at_the_last_at_sign)
{
    assert_int_equal(parse("redis://u:a@b@h:1"), BWL_OK);
    assert_string_equal(url.user, "u");
    assert_string_equal(url.password, "a@b");
    assert_string_equal(url.host, "h");
    assert_int_equal(parse("redis://@@h"), BWL_OK);
    assert_string_equal(url.user, "@");
}

TEST(url_at_sign_after_the_host_ends_no_password)
{
    assert_int_equal(parse("unix:///run/a@b?note=c@d"), BWL_OK);
    assert_null(url.user);
    assert_string_equal(url.path, "/run/a@b");
    assert_string_equal(bwl_url_find(&url, "note"), "c@d");
}

/* ---- options --------------------------------------------------------------------------------- */

TEST(url_option_is_found_by_its_whole_name_and_decoded)
{
    assert_int_equal(parse("thread:?le=1&lease=30s&k%65y=a%26b%3Dc&last=&x=1=2"), BWL_OK);
    assert_string_equal(bwl_url_find(&url, "le"), "1");
    assert_string_equal(bwl_url_find(&url, "lease"), "30s");
    assert_string_equal(bwl_url_find(&url, "key"), "a&b=c");
    assert_string_equal(bwl_url_find(&url, "last"), "");
    assert_string_equal(bwl_url_find(&url, "x"), "1=2");
    assert_null(bwl_url_find(&url, "lea"));
    assert_null(bwl_url_find(&url, "leases"));
    assert_null(bwl_url_find(&url, ""));
}

TEST(url_has_at_most_24_options)
{
    char   text[BWL_URL_MAX] = "thread:?";
    size_t size              = strlen(text);

    for (unsigned i = 0; i < BWL_URL_OPTIONS_MAX; i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%so%u=v%u", i > 0 ? "&" : "", i, i);
    assert_int_equal(parse(text), BWL_OK);
    assert_int_equal(url.options_count, BWL_URL_OPTIONS_MAX);
    assert_string_equal(bwl_url_find(&url, "o0"), "v0");
    assert_string_equal(bwl_url_find(&url, "o23"), "v23");
    (void)snprintf(text + size, sizeof text - size, "&o24=v24");
    assert_int_equal(parse(text), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, "24 options"));
}

TEST(url_unknown_option_is_named)
{
    static const char *const known[] = { "lease", "wait", NULL };

    assert_int_equal(parse("thread:?wait=1s&lease=1s"), BWL_OK);
    assert_int_equal(bwl_url_check_options(&url, known, &fault), BWL_OK);
    assert_int_equal(parse("thread:?wait=1s&leas=1s"), BWL_OK);
    assert_int_equal(bwl_url_check_options(&url, known, &fault), BWL_STATUS_USAGE);
    assert_string_equal(fault.text, "thread: has no option \"leas\": did you mean lease=?");
    assert_int_equal(parse("thread:?frob=1s"), BWL_OK);
    assert_int_equal(bwl_url_check_options(&url, known, &fault), BWL_STATUS_USAGE);
    assert_string_equal(fault.text, "thread: has no option \"frob\": man 7 bowline lists those "
                                    "that there are");
}

TEST(url_option_may_occur_once)
{
    static const char *const known[] = { "lease", "wait", "key", NULL };

    assert_int_equal(parse("thread:?wait=1s&key=k&wait=1s"), BWL_OK);
    assert_int_equal(bwl_url_check_options(&url, known, &fault), BWL_STATUS_USAGE);
    assert_string_equal(fault.text, "in the URL, wait= occurs twice");
    assert_int_equal(bwl_url_check_options(&url, known, NULL), BWL_STATUS_USAGE);
}

/* ---- bad ones -------------------------------------------------------------------------------- */

/* The text in place of the password. */
#define SECRET "hunter2"

static const struct {
    const char *reason;
    const char *texts[12]; /* up to NULL */
} bad[] = {
    { "not a URL",
      { "", "redis", "nightly", ":", "://h", "9p:", "re dis://h", "re_dis://h",
        "+x:", "/var/lock:x", "abcdefghijklmnopqrstuvwx:" } },
    { "small letters", { "Redis://h" } },
    { "port",
      { "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:06379", "redis://h:x",
        "redis://h: 1", "redis://h:-1", "redis://[::1]:", "redis://::1", "redis://u:" SECRET "/x@h",
        "redis://u:1@" SECRET ":x@h:y" } },
    { "']'", { "redis://[::1" } },
    { "':'", { "redis://[::1]x" } },
    { "host", { "redis://%zz", "redis://[%zz]" } },
    { "path", { "redis://h/%2", "file:%00" } },
    { "user or the password",
      { "redis://%:" SECRET "@h", "redis://u:" SECRET "%@h", "redis://u:" SECRET "%00@h" } },
    { "%3F", { "redis://u:1?" SECRET "=x@h", "redis://u:1?x=" SECRET "@h" } },
    { "NAME=VALUE", { "thread:?wait", "thread:?=1", "thread:?a=1&&b=2", "thread:?&" } },
    { "option", { "thread:?%zz=1", "thread:?a=%00" } },
};

TEST(url_bad_address_is_refused_with_its_reason)
{
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        for (const char *const *text = bad[i].texts; *text != NULL; text++) {
            print_message("# %s\n", *text);
            assert_int_equal(parse(*text), BWL_STATUS_USAGE);
            assert_int_equal(fault.status, BWL_STATUS_USAGE);
            assert_non_null(strstr(fault.text, bad[i].reason));
            assert_null(strstr(fault.text, SECRET));
        }
}

TEST(url_has_at_most_2048_bytes)
{
    static char text[BWL_URL_MAX + 2];

    memset(text, 'x', BWL_URL_MAX);
    memcpy(text, "file:", 5);
    assert_int_equal(parse(text), BWL_OK);
    assert_int_equal(strlen(url.path), BWL_URL_MAX - 5);
    text[BWL_URL_MAX] = 'x';
    assert_int_equal(parse(text), BWL_STATUS_USAGE);
    assert_non_null(strstr(fault.text, "2048"));
}

TEST(url_fault_is_optional)
{
    assert_int_equal(bwl_url_parse(&url, "nonsense", NULL), BWL_STATUS_USAGE);
}

TEST(url_wiped_has_no_byte_of_the_password)
{
    static const bwl_url nothing;

    assert_int_equal(parse("redis://u:" SECRET "@h"), BWL_OK);
    bwl_url_wipe(&url);
    assert_memory_equal(&url, &nothing, sizeof url);
}

/* ---- properties ------------------------------------------------------------------------------ */

FIXTURE(same_chance, NULL)

/* The bytes of which URLs are made occur more often than others. */
TEST(url_random_text_does_no_harm)
{
    static const char busy[] = "redis:file:////@@@::::??&&==%%%2%40[]01";
    static bwl_url    again;
    char              text[80];
    unsigned          good = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = chance(sizeof text);
        for (size_t i = 0; i < size; i++)
            text[i] = chance(8) > 0 ? busy[chance(sizeof busy - 1)] : (char)(1 + chance(255));
        text[size] = '\0';
        if (chance(2) == 0 && size > 8)
            memcpy(text, "redis://", 8);
        int status = parse(text);
        assert_true(status == BWL_OK || status == BWL_STATUS_USAGE);
        assert_int_equal(bwl_url_parse(&again, text, NULL), status);
        good += status == BWL_OK;
        if (status == BWL_OK) {
            assert_int_equal(again.used, url.used);
            assert_memory_equal(again.text, url.text, url.used);
        }
    }
    assert_in_range(good, 100, ROUNDS - 100); /* else the test shows nothing */
}
