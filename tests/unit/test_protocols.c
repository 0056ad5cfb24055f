/*
 * test_protocols.c -- the table: every protocol is found by its name, and has the defaults of its
 * article.
 */
#include "protocol/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_every_name_finds_its_protocol(void **state)
{
    static const char *const names[] = { "queue",           "token",
                                         "redisson",        "symfony",
                                         "setnx-del",       "setnx-del-expire",
                                         "setnx-stamp-del", "setnx-getset",
                                         "set-nx-ex",       "setnx-expire-watch" };
    size_t                   count   = 0;

    (void)state;
    while (bwl_protocol_name_at(count) != NULL)
        count++;
    assert_int_equal(count, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(bwl_protocol_name_at(i), names[i]);
        assert_string_equal(bwl_protocol_named(names[i])->name, names[i]);
    }
    assert_null(bwl_protocol_name_at(count + 1));
}

static void test_every_protocol_has_its_number(void **state)
{
    static const struct {
        const bwl_protocol *protocol;
        bwl_protocol_id     id;
    } list[] = {
        { &bwl_token, BWL_PROTOCOL_TOKEN },
        { &bwl_synced_token, BWL_PROTOCOL_TOKEN },
        { &bwl_queue, BWL_PROTOCOL_QUEUE },
        { &bwl_synced_queue, BWL_PROTOCOL_QUEUE },
        { &bwl_setnx_del, BWL_PROTOCOL_SETNX_DEL },
        { &bwl_setnx_expire_watch, BWL_PROTOCOL_SETNX_EXPIRE_WATCH },
        { &bwl_redlock, BWL_PROTOCOL_NONE },
        { &bwl_ticket, BWL_PROTOCOL_NONE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        assert_int_equal(bwl_protocol_id_of(list[i].protocol), list[i].id);
    for (size_t i = 0; bwl_protocol_name_at(i) != NULL; i++)
        assert_int_equal(bwl_protocol_id_of(bwl_protocol_named(bwl_protocol_name_at(i))), i + 1);
}

static void test_other_names_find_nothing(void **state)
{
    static const char *const names[] = { "", "tok", "tokens", "ticket", "setnx", "TOKEN" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(bwl_protocol_named(names[i]));
}

static void test_only_our_own_are_sound_and_have_no_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; bwl_protocol_name_at(i) != NULL; i++) {
        const bwl_protocol *protocol = bwl_protocol_named(bwl_protocol_name_at(i));
        const bwl_rules    *rules    = bwl_protocol_rules(protocol);
        bool                is_ours  = protocol == &bwl_token || protocol == &bwl_queue;
        if (protocol == &bwl_redisson || protocol == &bwl_symfony)
            continue; /* sound, and another program's */
        assert_int_equal(bwl_protocol_fault(protocol, rules) == NULL, is_ours);
        assert_int_equal(rules == NULL, is_ours);
        assert_int_equal(protocol->extends, is_ours);
        if (!is_ours)
            assert_true(strlen(protocol->fault) < 150);
    }
    assert_null(bwl_protocol_rules(&bwl_ticket));
    assert_null(bwl_protocol_fault(&bwl_redisson, bwl_protocol_rules(&bwl_redisson)));
    assert_true(bwl_redisson.extends);
    assert_null(bwl_protocol_fault(&bwl_symfony, bwl_protocol_rules(&bwl_symfony)));
    assert_true(bwl_symfony.extends);
    assert_null(bwl_protocol_fault(&bwl_setnx_getset, &bwl_rules_server));
    assert_non_null(bwl_protocol_fault(&bwl_setnx_getset, NULL));
}

static void test_defaults_are_those_of_the_articles(void **state)
{
    (void)state;
    assert_int_equal(bwl_protocol_rules(&bwl_redisson)->lease_ms, 30000);
    assert_int_equal(bwl_protocol_rules(&bwl_symfony)->lease_ms, 300000);
    assert_false(bwl_protocol_rules(&bwl_redisson)->counts_fences);
    assert_int_equal(bwl_protocol_rules(&bwl_setnx_del)->lease_ms, 10000);
    assert_int_equal(bwl_protocol_rules(&bwl_set_nx_ex)->lease_ms, 10000);
    assert_string_equal(bwl_protocol_rules(&bwl_set_nx_ex)->literal, "1");
    assert_ptr_equal(bwl_protocol_rules(&bwl_setnx_getset), &bwl_rules_seconds);
    assert_int_equal(bwl_protocol_rules(&bwl_setnx_expire_watch)->lease_ms, 50000);
    assert_int_equal(bwl_protocol_rules(&bwl_setnx_expire_watch)->wait_ms, 50000);
    assert_int_equal(bwl_protocol_rules(&bwl_setnx_expire_watch)->pause_ms, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_finds_its_protocol),
        cmocka_unit_test(test_every_protocol_has_its_number),
        cmocka_unit_test(test_other_names_find_nothing),
        cmocka_unit_test(test_only_our_own_are_sound_and_have_no_parameters),
        cmocka_unit_test(test_defaults_are_those_of_the_articles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
