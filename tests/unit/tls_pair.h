/*
 * tls_pair.h -- a client of ours and a server that it accepts, for the tests of the stream itself.
 */
#pragma once

#include "tls_fixture.h"

static identity         authority;
static identity         who;
static identity         ours;
static bwl_tls_context *context; /* with a certificate of ours */

static inline int make_ends(void **state)
{
    make_directory();
    authority = make_identity(&(recipe){ .common_name = "test authority", .is_authority = true });
    who       = make_host("DNS:redis.test", &authority);
    ours      = make_identity(&(recipe){ .common_name = "we", .issuer = &authority });
    write_certificates("ca.pem", &authority, NULL);
    write_certificates("cert.pem", &ours, NULL);
    write_key("key.pem", &ours, 0600);
    context = must_make_context(&(bwl_tls_options){ .ca_file   = path_of("ca.pem"),
                                                    .cert_file = path_of("cert.pem"),
                                                    .key_file  = path_of("key.pem") });
    return 0;
}

static inline int remove_ends(void **state)
{
    bwl_tls_context_free(context);
    free_identity(&authority);
    free_identity(&who);
    free_identity(&ours);
    remove_directory();
    return 0;
}

/* The two ends, and the last status of the client. */
typedef struct pair {
    bwl_tls  *tls;
    server    s;
    bwl_fault fault;
    char      text[40000];
} pair;

static inline pair *new_pair(int version)
{
    pair *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->s   = start_server(&(server_terms){ .who = &who, .version = version });
    p->tls = must_start(context, "redis.test");
    return p;
}

static inline pair *new_open_pair(int version)
{
    pair *p = new_pair(version);

    if (do_handshake(p->tls, &p->s, SIZE_MAX, &p->fault) < 0 || !bwl_tls_is_open(p->tls))
        fail_msg("no handshake: %s", p->fault.text);
    assert_int_equal(SSL_is_init_finished(p->s.ssl), 1);
    (void)read_all(p->tls, p->text, sizeof p->text, &p->fault);
    return p;
}

static inline void free_pair(pair *p)
{
    assert_int_equal(ERR_peek_error(), 0);
    bwl_tls_free(p->tls);
    free_server(&p->s);
    free(p);
}

static inline int client_receives(pair *p)
{
    while (carry_to_client(p->tls, &p->s, SIZE_MAX, &p->fault) > 0)
        continue;
    return read_all(p->tls, p->text, sizeof p->text, &p->fault);
}

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
