/*
 * test_redis_rules.c -- which protocol a URL asks for, whose bytes, and what must be accepted.
 *
 * Nothing is sent and nothing is connected.
 */
#include "engine/redis/redis.h"
#include "api/engines.h"
#include "runtime/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bwl_shard   *client;
static bwl_session *store;
static bwl_fault    fault;

static int close_client(void **state)
{
    (void)state;
    if (client != NULL)
        bwl_shard_close(client);
    client = NULL;
    return 0;
}

static int open_with(const char *options)
{
    static const bwl_settings nothing;
    char                      url[400];

    (void)close_client(NULL);
    fault = (bwl_fault){ 0 };
    (void)snprintf(url, sizeof url, "redis://127.0.0.1%s%s", options[0] != '\0' ? "?" : "",
                   options);
    print_message("# %s\n", url);
    int status = bwl_shard_open(&client, bwl_engines, &nothing, false, url, &fault);
    store      = status == BWL_OK ? bwl_redis_of(&client->host)->router.sessions : NULL;
    return status;
}

static void good(const char *options)
{
    assert_int_equal(open_with(options), BWL_OK);
}

static void bad(const char *options, bwl_status status, const char *words)
{
    assert_int_equal(open_with(options), status);
    print_message("# %s\n", fault.text);
    assert_non_null(strstr(fault.text, words));
    assert_true(strlen(fault.text) < sizeof fault.text - 1); /* nothing was cut off */
}

static void assert_risk(const char *begins)
{
    assert_int_equal(strncmp(client->host.settings.risk, begins, strlen(begins)), 0);
    assert_int_equal(begins[0] == '\0', client->host.settings.risk[0] == '\0');
}

/* ---- protocol= ------------------------------------------------------------------------------- */

static void test_rules_nothing_said_is_token_by_its_own_rules(void **state)
{
    (void)state;
    good("");
    assert_null(client->host.settings.rules);
    assert_null(store->config->profile);
    assert_null(store->config->key_template);
    assert_true(client->host.settings.renews);
    assert_risk("");
    good("protocol=token");
    assert_ptr_equal(client->host.settings.protocol, &bwl_token);
    assert_null(client->host.settings.rules);
    assert_risk("");
}

static void test_rules_of_an_article_are_taken_with_their_lease_and_wait(void **state)
{
    (void)state;
    good("protocol=setnx-expire-watch&accept-risk=1");
    assert_ptr_equal(client->host.settings.protocol, bwl_protocol_named("setnx-expire-watch"));
    assert_ptr_equal(client->host.settings.rules,
                     bwl_protocol_rules(client->host.settings.protocol));
    assert_int_equal(client->host.settings.lease_ms, 50000);
    assert_int_equal(client->host.settings.wait_ms, 50000);
    assert_risk("protocol setnx-expire-watch is not safe: ");
    good("protocol=setnx-expire-watch&accept-risk=1&lease=7s&wait=3s");
    assert_int_equal(client->host.settings.lease_ms, 7000);
    assert_int_equal(client->host.settings.wait_ms, 3000);
    good("protocol=setnx-expire-watch&accept-risk=1&wait=0s");
    assert_int_equal(client->host.settings.wait_ms, 0);
    good("protocol=setnx-expire-watch&accept-risk=1&wait=forever");
    assert_true(client->host.settings.wait_ms == BWL_NEVER);
}

static void test_rules_are_changed_by_the_url(void **state)
{
    (void)state;
    good("profile=php-pidlock&accept-risk=1&retry=3&pause=20ms&buffer=2ms&guard=1s");
    assert_int_equal(client->host.settings.rules->tries_max, 4);
    assert_int_equal(client->host.settings.rules->pause_ms, 20);
    assert_int_equal(client->host.settings.rules->extra_ns, 2000000);
    assert_int_equal(client->host.settings.rules->guard_ms, 1000);
    assert_int_equal(client->host.settings.rules->unit_ns, 1000000); /* the others stay */
    assert_true(client->host.settings.wait_ms == BWL_NEVER);
    assert_int_equal(bwl_rules_buffers.tries_max, 0); /* and so does the table */
    good("profile=php-pidlock&accept-risk=1&retry=0&pause=0s&buffer=0ms&guard=0s");
    assert_int_equal(client->host.settings.rules->tries_max, 1);
    assert_int_equal(client->host.settings.rules->pause_ms, 1); /* never without a pause */
    assert_int_equal(client->host.settings.rules->extra_ns, 0);
    assert_int_equal(client->host.settings.rules->guard_ms, 0);
    assert_int_equal(client->host.settings.wait_ms, 0);
    good("profile=php-pidlock&accept-risk=1&retry=3&wait=2s");
    assert_int_equal(client->host.settings.wait_ms, 2000);
    good("protocol=setnx-del&accept-risk=1&retry=1000000&pause=1h");
    assert_int_equal(client->host.settings.rules->tries_max, 1000001);
    good("profile=distributedlock&retry=2&pause=1s"); /* whose rules are of this host as well */
    assert_int_equal(client->host.settings.rules->tries_max, 3);
    assert_non_null(client->host.settings.rules->prefix);
    good("profile=php-pidlock&accept-risk=1");
    assert_ptr_equal(client->host.settings.rules, &bwl_rules_buffers);
}

static void test_rules_are_not_changed_where_that_means_nothing(void **state)
{
    static const char *const own[] = { "", "protocol=queue&", "protocol=token&" };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        char options[64];
        (void)snprintf(options, sizeof options, "%sretry=3", own[i]);
        bad(options, BWL_STATUS_USAGE, "in the URL, retry=: only the locks of articles");
        (void)snprintf(options, sizeof options, "%spause=3s", own[i]);
        bad(options, BWL_STATUS_USAGE, "in the URL, pause=: only the locks of articles");
        (void)snprintf(options, sizeof options, "%sbuffer=3s", own[i]);
        bad(options, BWL_STATUS_USAGE, "in the URL, buffer=: only a lock whose value");
        (void)snprintf(options, sizeof options, "%sguard=3s", own[i]);
        bad(options, BWL_STATUS_USAGE, "in the URL, guard=: only profile=php-pidlock");
    }
    bad("protocol=setnx-del&accept-risk=1&buffer=1ms", BWL_STATUS_USAGE, "buffer=: only a lock");
    bad("protocol=set-nx-ex&accept-risk=1&buffer=1ms", BWL_STATUS_USAGE, "buffer=: only a lock");
    bad("profile=redis-py&buffer=1ms", BWL_STATUS_USAGE, "buffer=: only a lock");
    bad("protocol=setnx-getset&accept-risk=1&guard=1ms", BWL_STATUS_USAGE, "guard=: only profile");
    bad("profile=jedis-lock-1&accept-risk=1&guard=1ms", BWL_STATUS_USAGE, "guard=: only profile");
    bad("profile=php-pidlock&accept-risk=1&retry=-1", BWL_STATUS_USAGE, "retry= is a number");
    bad("profile=php-pidlock&accept-risk=1&retry=1000001", BWL_STATUS_USAGE, "retry= is a number");
    bad("profile=php-pidlock&accept-risk=1&pause=soon", BWL_STATUS_USAGE, "pause= is a duration");
    bad("profile=php-pidlock&accept-risk=1&pause=61m", BWL_STATUS_USAGE, "pause= is a duration");
    bad("profile=php-pidlock&accept-risk=1&buffer=1", BWL_STATUS_USAGE, "buffer= is a duration");
    bad("profile=php-pidlock&accept-risk=1&guard=x", BWL_STATUS_USAGE, "guard= is a duration");
}

static void test_rules_unknown_words_are_answered_with_the_nearest(void **state)
{
    (void)state;
    bad("protocol=tokne", BWL_STATUS_UNSUPPORTED, "did you mean token?");
    bad("protocol=setnx_del", BWL_STATUS_UNSUPPORTED, "did you mean setnx-del?");
    bad("protocol=redlock", BWL_STATUS_UNSUPPORTED, "there is no protocol \"redlock\"");
    bad("protocol=ticket", BWL_STATUS_UNSUPPORTED, "there is no protocol \"ticket\"");
    bad("protocol=", BWL_STATUS_UNSUPPORTED, "there is no protocol \"\"");
    bad("profile=redispy", BWL_STATUS_UNSUPPORTED, "did you mean redis-py?");
    bad("profile=larvel", BWL_STATUS_UNSUPPORTED, "did you mean laravel?");
    bad("profile=token", BWL_STATUS_UNSUPPORTED, "there is no profile \"token\"");
    bad("profil=redis-py", BWL_STATUS_USAGE, "has no option \"profil\"");
}

static void test_rules_that_never_renew_say_so_to_who_insists(void **state)
{
    (void)state;
    good("protocol=set-nx-ex&accept-risk=1");
    good("protocol=set-nx-ex&accept-risk=1&renew=off");
    bad("protocol=set-nx-ex&accept-risk=1&renew=on", BWL_STATUS_USAGE, "renew=on");
    good("protocol=token&renew=on");
}

/* ---- accept-risk= ---------------------------------------------------------------------------- */

static void test_rules_with_a_fault_are_refused_until_the_risk_is_accepted(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = bwl_protocol_name_at(i)) != NULL; i++) {
        const bwl_protocol *protocol = bwl_protocol_named(name);
        const char         *wrong    = bwl_protocol_fault(protocol, bwl_protocol_rules(protocol));
        char                options[100];
        (void)snprintf(options, sizeof options, "protocol=%s", name);
        if (wrong == NULL) {
            good(options);
            continue;
        }
        bad(options, BWL_STATUS_USAGE, wrong);
        assert_non_null(strstr(fault.text, "add accept-risk=1"));
        assert_non_null(strstr(fault.text, name));
        (void)snprintf(options, sizeof options, "protocol=%s&accept-risk=1", name);
        good(options);
        assert_non_null(strstr(client->host.settings.risk, wrong));
    }
}

static void test_rules_every_profile_opens_and_says_its_risk(void **state)
{
    const bwl_profile *profile;

    (void)state;
    for (size_t i = 0; (profile = bwl_profile_at(i)) != NULL; i++) {
        const char *wrong = profile->fault;
        char        options[160];
        if (wrong == NULL)
            wrong = bwl_protocol_fault(bwl_protocol_named(profile->protocol), profile->rules);
        (void)snprintf(options, sizeof options, "profile=%s%s", profile->name,
                       profile->takes_prefix || profile->wants_key != NULL ? "&key=x:%25s" : "");
        if (wrong != NULL)
            bad(options, BWL_STATUS_USAGE, "add accept-risk=1");
        else
            good(options);
        (void)snprintf(options, sizeof options, "profile=%s&accept-risk=1%s", profile->name,
                       profile->takes_prefix || profile->wants_key != NULL ? "&key=x:%25s" : "");
        good(options);
        assert_ptr_equal(store->config->profile, profile);
        assert_ptr_equal(client->host.settings.protocol, bwl_protocol_named(profile->protocol));
        assert_int_equal(client->host.settings.risk[0] != '\0', wrong != NULL);
        if (profile->rules->lease_ms != 0)
            assert_int_equal(client->host.settings.lease_ms, profile->rules->lease_ms);
        else
            assert_int_equal(client->host.settings.lease_ms, BWL_LEASE_DEFAULT_MS);
        assert_int_equal(client->host.settings.wait_ms, profile->rules->wait_ms);
    }
}

static void test_rules_risk_is_accepted_by_one_word_only(void **state)
{
    (void)state;
    bad("protocol=setnx-del&accept-risk=yes", BWL_STATUS_USAGE, "accept-risk=");
    bad("protocol=setnx-del&accept-risk=0", BWL_STATUS_USAGE, "accept-risk=");
    bad("protocol=setnx-del&accept-risk=", BWL_STATUS_USAGE, "accept-risk=");
    bad("accept-risk=2", BWL_STATUS_USAGE, "accept-risk=");
    good("accept-risk=1"); /* where there is none */
    assert_risk("");
}

/* ---- profile= -------------------------------------------------------------------------------- */

static void test_rules_profile_and_protocol_must_agree(void **state)
{
    (void)state;
    good("profile=redis-py&protocol=token");
    bad("profile=redis-py&protocol=set-nx-ex&accept-risk=1", BWL_STATUS_USAGE,
        "profile=redis-py, which is token");
    bad("profile=redis-py&protocol=nonsense", BWL_STATUS_USAGE, "protocol=nonsense");
}

static void test_rules_profile_brings_its_keys_unless_told_otherwise(void **state)
{
    (void)state;
    good("profile=lock4j");
    assert_string_equal(store->config->key_template, "lock4j:%s");
    bad("profile=laravel", BWL_STATUS_USAGE, "as in: key=laravel-database-laravel-cache-%s");
    bad("profile=laravel-11", BWL_STATUS_USAGE, "key=laravel_database_laravel_cache_%s");
    bad("profile=laravel-10", BWL_STATUS_USAGE, "key=laravel_database_laravel_cache_:%s");
    bad("profile=rueidislock&accept-risk=1", BWL_STATUS_USAGE, "KeyMajority 1: key=rueidislock:0:");
    good("profile=rueidislock&accept-risk=1&key=rueidislock:%25s");
    good("profile=laravel&key=%25s");
    good("profile=laravel&key=shop:%25s");
    assert_string_equal(store->config->key_template, "shop:%s");
    bad("profile=laravel&key=shop", BWL_STATUS_USAGE, "key=");
    bad("profile=spring", BWL_STATUS_USAGE, "key=WORD:%s");
    good("profile=spring&key=locks:%25s");
    bad("profile=walrus&key=%25s", BWL_STATUS_USAGE, "key=lock:%s");
    good("profile=walrus&key=app:lock:%25s");
}

static void test_rules_values_that_name_us_have_host_and_pid(void **state)
{
    char host[65] = "";
    char expected[BWL_AFFIX_MAX + 1];

    (void)state;
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    (void)snprintf(expected, sizeof expected, "%.16s_%ld_", host, (long)getpid());
    good("profile=distributedlock");
    assert_string_equal(client->host.settings.rules->prefix, expected);
    assert_null(store->config->profile->rules->prefix); /* the table is for all */
}

static void test_rules_are_shared_by_the_lanes(void **state)
{
    bwl_shard *lane;

    (void)state;
    good("profile=distributedlock");
    assert_int_equal(bwl_shard_share(&lane, client), BWL_OK);
    assert_ptr_equal(bwl_redis_of(&lane->host)->router.config->profile, store->config->profile);
    assert_ptr_equal(lane->host.settings.rules, client->host.settings.rules);
    assert_ptr_equal(lane->host.settings.protocol, client->host.settings.protocol);
    bwl_shard_close(lane);
}

static void test_rules_are_no_option_of_other_engines(void **state)
{
    static const char *const  urls[] = { "thread:?profile=redis-py", "thread:?protocol=token",
                                         "thread:?accept-risk=1",    "file:/tmp?profile=redis-py",
                                         "file:/tmp?protocol=token", "file:/tmp?accept-risk=1" };
    static const bwl_settings nothing;

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        print_message("# %s\n", urls[i]);
        assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, urls[i], &fault),
                         BWL_STATUS_USAGE);
        assert_non_null(strstr(fault.text, "has no option"));
    }
}

static void test_rules_replicas_are_asked_by_our_own_protocols(void **state)
{
    (void)state;
    good("");
    assert_int_equal(client->host.settings.replicas, 0);
    assert_ptr_equal(client->host.settings.protocol, NULL);
    good("sync=1");
    assert_int_equal(client->host.settings.replicas, 1);
    assert_ptr_equal(client->host.settings.protocol, &bwl_synced_queue);
    good("sync=100&protocol=token");
    assert_int_equal(client->host.settings.replicas, 100);
    assert_ptr_equal(client->host.settings.protocol, &bwl_synced_token);
    bad("sync=0", BWL_STATUS_USAGE, "from 1 to 100");
    bad("sync=101", BWL_STATUS_USAGE, "from 1 to 100");
    bad("sync=", BWL_STATUS_USAGE, "from 1 to 100");
    bad("sync=all", BWL_STATUS_USAGE, "from 1 to 100");
    bad("sync=1&profile=symfony", BWL_STATUS_USAGE, "only queue and token");
    bad("sync=1&protocol=set-nx-ex&accept-risk=1", BWL_STATUS_USAGE, "only queue and token");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_nothing_said_is_token_by_its_own_rules),
        cmocka_unit_test(test_rules_of_an_article_are_taken_with_their_lease_and_wait),
        cmocka_unit_test(test_rules_are_changed_by_the_url),
        cmocka_unit_test(test_rules_are_not_changed_where_that_means_nothing),
        cmocka_unit_test(test_rules_unknown_words_are_answered_with_the_nearest),
        cmocka_unit_test(test_rules_that_never_renew_say_so_to_who_insists),
        cmocka_unit_test(test_rules_with_a_fault_are_refused_until_the_risk_is_accepted),
        cmocka_unit_test(test_rules_every_profile_opens_and_says_its_risk),
        cmocka_unit_test(test_rules_risk_is_accepted_by_one_word_only),
        cmocka_unit_test(test_rules_profile_and_protocol_must_agree),
        cmocka_unit_test(test_rules_profile_brings_its_keys_unless_told_otherwise),
        cmocka_unit_test(test_rules_values_that_name_us_have_host_and_pid),
        cmocka_unit_test(test_rules_are_shared_by_the_lanes),
        cmocka_unit_test(test_rules_are_no_option_of_other_engines),
        cmocka_unit_test(test_rules_replicas_are_asked_by_our_own_protocols),
    };

    return cmocka_run_group_tests(tests, NULL, close_client);
}
