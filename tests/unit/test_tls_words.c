/*
 * test_tls_words.c -- every server with a wrong certificate is refused, with its reason.
 *
 * The TLS policy of this machine is set as loose as OpenSSL allows (old versions, ciphers without
 * certificates), so our own code refuses and not Debian's openssl.cnf.
 */
#include "tls_fixture.h"
#include "tests/lib/suite.h"

static identity authority;
static identity between;  /* an authority below it */
static identity other_ca; /* an authority that nobody trusts */
static identity ours;
static identity theirs; /* of the unknown authority */

static bwl_tls_context *trusting; /* the authority */
static bwl_tls_context *anybody;  /* no file: the system's authorities */

static const char loose[] = "openssl_conf = all\n"
                            "[all]\nssl_conf = modules\n"
                            "[modules]\nsystem_default = loose\n"
                            "[loose]\nMinProtocol = TLSv1\nCipherString = ALL:aNULL:@SECLEVEL=0\n";

static int make_all(void **state)
{
    make_directory();
    write_text("openssl.cnf", loose);
    assert_int_equal(setenv("OPENSSL_CONF", path_of("openssl.cnf"), 1), 0);
    assert_int_equal(setenv("SSL_CERT_FILE", path_of("none.pem"), 1), 0);
    assert_int_equal(setenv("SSL_CERT_DIR", path_of("none"), 1), 0);
    authority = make_identity(&(recipe){ .common_name = "test authority", .is_authority = true });
    between   = make_identity(
          &(recipe){ .common_name = "in between", .issuer = &authority, .is_authority = true });
    other_ca = make_identity(&(recipe){ .common_name = "another CA", .is_authority = true });
    ours     = make_identity(&(recipe){ .common_name = "we", .issuer = &authority });
    theirs   = make_identity(&(recipe){ .common_name = "they", .issuer = &other_ca });
    write_certificates("ca.pem", &authority, NULL);
    trusting = must_make_context(&(bwl_tls_options){ .ca_file = path_of("ca.pem") });
    anybody  = must_make_context(&(bwl_tls_options){ 0 });
    return 0;
}

static int remove_all(void **state)
{
    bwl_tls_context_free(trusting);
    bwl_tls_context_free(anybody);
    free_identity(&authority);
    free_identity(&between);
    free_identity(&other_ca);
    free_identity(&ours);
    free_identity(&theirs);
    remove_directory();
    return 0;
}

/* The result of a session with such a server: a handshake, then the server sends some bytes. */
typedef struct connection {
    const char            *host;
    const bwl_tls_context *context; /* NULL: accepted */
    server_terms           terms;
} connection;

static int connect_with(const connection *how, bwl_fault *fault)
{
    const bwl_tls_context *context = how->context != NULL ? how->context : trusting;
    server                 s       = start_server(&how->terms);
    bwl_tls               *tls     = must_start(context, how->host);
    bwl_fault              again   = { 0 };
    char                   text[64];

    *fault     = (bwl_fault){ 0 };
    int status = do_handshake(tls, &s, SIZE_MAX, fault);
    if (status == BWL_OK) {
        assert_true(bwl_tls_is_open(tls));
        if (SSL_is_init_finished(s.ssl))
            server_sends(&s, "+OK");
        while (carry_to_client(tls, &s, SIZE_MAX, fault) > 0)
            continue;
        status = read_all(tls, text, sizeof text, fault);
        if (status == BWL_OK)
            assert_string_equal(text, "+OK");
        else
            assert_string_equal(text, "");
    } else {
        assert_false(bwl_tls_is_open(tls));
        assert_string_equal(server_receives(&s), "");
    }
    if (status < 0) { /* for good, and the same every time */
        assert_int_equal(bwl_tls_read(tls, text, sizeof text, &again), status);
        assert_string_equal(again.text, fault->text);
        assert_int_equal(bwl_tls_write(tls, "x", 1, &again), status);
        assert_int_equal(bwl_tls_step(tls, NULL), status);
        assert_int_equal(bwl_tls_feed(tls, "x", 1, NULL), status);
    }
    assert_int_equal(ERR_peek_error(), 0);
    bwl_tls_free(tls);
    free_server(&s);
    return status;
}

static void assert_accepts(const connection *how)
{
    bwl_fault fault;

    if (connect_with(how, &fault) != BWL_OK)
        fail_msg("%s: %s", how->host, fault.text);
}

static void assert_refuses(const connection *how, const char *part)
{
    bwl_fault fault;

    if (connect_with(how, &fault) == BWL_OK)
        fail_msg("%s was believed, in spite of: %s", how->host, part);
    assert_fault(&fault, BWL_STATUS_REFUSED, part);
}

/* ---- the host of a certificate --------------------------------------------------------------- */

typedef struct host_case {
    const char *alternatives;
    const char *host;
    const char *refusal; /* NULL: this is the right host */
} host_case;

static const host_case host_cases[] = {
    { "DNS:redis.test", "redis.test", NULL },
    { "DNS:redis.test", "REDIS.Test", NULL },
    { "DNS:redis.test", "redis.test.", NULL }, /* the same host, as the DNS writes it */
    { "DNS:a.test,DNS:redis.test,IP:10.0.0.1", "redis.test", NULL },
    { "DNS:other.test", "redis.test", "the certificate of redis.test is for other.test" },
    { "DNS:a.test,DNS:b.test,IP:10.0.0.1,IP:::1", "redis.test",
      "is for a.test, b.test, 10.0.0.1, ::1" },
    { "DNS:redis.test.evil.test", "redis.test", "is for redis.test.evil.test" },
    { "DNS:evil-redis.test", "redis.test", "is for evil-redis.test" },
    { "DNS:redis.test", "db.redis.test", "is for redis.test" },
    { "email:root@redis.test", "redis.test", "names no host: it needs a subjectAltName" },
    { NULL, "redis.test", "names no host: it needs a subjectAltName" }, /* only a common name */

    { "DNS:*.lab.test", "redis.lab.test", NULL },
    { "DNS:*.lab.test", "lab.test", "is for *.lab.test" },
    { "DNS:*.lab.test", "a.b.lab.test", "is for *.lab.test" },
    { "DNS:r*.lab.test", "redis.lab.test", "is for r*.lab.test" },
    { "DNS:*s.lab.test", "redis.lab.test", "is for *s.lab.test" },
    { "DNS:redis.*.test", "redis.lab.test", "is for redis.*.test" },
    { "DNS:*.test", "redis.test", "is for *.test" },
    { "DNS:*", "redis", "is for *" },

    { "IP:127.0.0.1", "127.0.0.1", NULL },
    { "IP:::1", "::1", NULL },
    { "IP:::1", "0:0:0:0:0:0:0:1", NULL },
    { "IP:fe80::1", "fe80::1%eth0", NULL }, /* the interface is ours, not the host's */
    { "IP:127.0.0.1", "127.0.0.2", "the certificate of 127.0.0.2 is for 127.0.0.1" },
    { "IP:::1", "::2", "the certificate of ::2 is for ::1" },
    { "DNS:127.0.0.1", "127.0.0.1", "is for 127.0.0.1" }, /* a name that looks like an address */
    { "DNS:*.0.0.1", "127.0.0.1", "is for *.0.0.1" },
    { "DNS:redis.test", "127.0.0.1", "is for redis.test" },
    { "IP:127.0.0.1", "localhost", "the certificate of localhost is for 127.0.0.1" },
    { "IP:127.0.0.1", "127.1", "is for 127.0.0.1" },
};

TEST(verify_certificate_must_be_for_the_host)
{
    for (size_t i = 0; i < COUNT_OF(host_cases); i++) {
        const host_case *c        = &host_cases[i];
        recipe           how_made = { .alternatives = c->alternatives, .issuer = &authority };
        how_made.common_name      = c->host; /* which does not count */
        identity   who            = make_identity(&how_made);
        connection how            = { .host = c->host, .terms = { .who = &who } };
        if (c->refusal == NULL)
            assert_accepts(&how);
        else
            assert_refuses(&how, c->refusal);
        free_identity(&who);
    }
}

TEST(verify_names_of_a_certificate_are_cut_and_harmless)
{
    char      many[1200] = "DNS:first.test";
    bwl_fault fault;

    for (int i = 0; i < 40; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",DNS:number-%d.test", i);
    identity   who = make_host(many, &authority);
    connection how = { .host = "redis.test", .terms = { .who = &who } };
    assert_refuses(&how, "is for first.test, number-0.test, ");
    (void)connect_with(&how, &fault);
    assert_non_null(strstr(fault.text, " more"));
    free_identity(&who);

    who = make_host("DNS:\x1b[31mred\n.test", &authority);
    assert_refuses(&how, "is for ?[31mred?.test");
    free_identity(&who);
}

/* ---- the issuer, and the dates --------------------------------------------------------------- */

TEST(verify_chain_must_end_at_a_trusted_authority)
{
    recipe   right     = { .common_name = "x", .alternatives = "DNS:redis.test" };
    identity by_itself = make_identity(&right);
    right.issuer       = &other_ca;
    identity foreign   = make_identity(&right);
    right.issuer       = &between;
    identity deep      = make_identity(&right);
    right.issuer       = &ours; /* which is no authority */
    identity usurped   = make_identity(&right);
    identity below     = make_identity(
            &(recipe){ .common_name = "below it", .issuer = &other_ca, .is_authority = true });
    right.issuer      = &below;
    identity   beyond = make_identity(&right);
    connection how    = { .host = "redis.test", .terms = { .who = &by_itself } };

    assert_refuses(&how, "the certificate of redis.test is signed by itself, not of ");
    how.context = anybody;
    assert_refuses(&how, "is signed by itself, unknown here: if it is yours, give ca=FILE");
    how.terms.who = &foreign;
    assert_refuses(&how, "is of the authority \"another CA\", unknown here: if it is yours");
    how.terms.above = &other_ca;
    assert_refuses(&how, "is of the authority \"another CA\", unknown here: if it is yours");
    how.context = trusting;
    assert_refuses(&how, "is of the authority \"another CA\", not of ");
    how.terms = (server_terms){ .who = &deep };
    assert_refuses(&how, "is of the authority \"in between\", not of ");
    how.terms.above = &between;
    assert_accepts(&how);
    how.terms = (server_terms){ .who = &beyond, .above = &below };
    assert_refuses(&how, "is of the authority \"another CA\", not of ");
    how.terms = (server_terms){ .who = &usurped, .above = &ours };
    assert_refuses(&how, "certificate of redis.test is not trusted: invalid CA certificate");
    free_identity(&by_itself);
    free_identity(&foreign);
    free_identity(&deep);
    free_identity(&usurped);
    free_identity(&below);
    free_identity(&beyond);
}

TEST(verify_certificate_has_its_time_and_its_use)
{
    recipe how_made = { .common_name  = "x",
                        .alternatives = "DNS:redis.test",
                        .issuer       = &authority };
    char   ended[64];
    char   begins[64];
    time_t before = time(NULL) - 3 * DAY;
    time_t after  = time(NULL) + 3 * DAY;

    (void)strftime(ended, sizeof ended, "has expired: it ended on %Y-%m-%d", gmtime(&before));
    (void)strftime(begins, sizeof begins, "begins on %Y-%m-%d: is this machine's", gmtime(&after));
    how_made.from_day = -9;
    how_made.to_day   = -3;
    identity expired  = make_identity(&how_made);
    assert_refuses(&(connection){ .host = "redis.test", .terms = { .who = &expired } }, ended);
    how_made.from_day = 3;
    how_made.to_day   = 9;
    identity early    = make_identity(&how_made);
    assert_refuses(&(connection){ .host = "redis.test", .terms = { .who = &early } }, begins);
    how_made     = (recipe){ .common_name  = "x",
                             .alternatives = "DNS:redis.test",
                             .issuer       = &authority,
                             .use          = "clientAuth" };
    identity odd = make_identity(&how_made);
    assert_refuses(&(connection){ .host = "redis.test", .terms = { .who = &odd } },
                   "the certificate of redis.test is not for servers");
    free_identity(&expired);
    free_identity(&early);
    free_identity(&odd);
}

TEST(verify_authority_has_its_time_as_well)
{
    identity old = make_identity(&(recipe){ .common_name  = "the old one",
                                            .issuer       = &authority,
                                            .is_authority = true,
                                            .from_day     = -9,
                                            .to_day       = -3 });
    identity who = make_host("DNS:redis.test", &old);

    assert_refuses(&(connection){ .host = "redis.test", .terms = { .who = &who, .above = &old } },
                   "the authority behind the certificate of redis.test has expired");
    free_identity(&old);
    free_identity(&who);
}

/* ---- versions and ciphers in common ---------------------------------------------------------- */

TEST(verify_nothing_below_tls_1_2)
{
    identity   who = make_host("DNS:redis.test", &authority);
    connection how = { .host = "redis.test", .terms = { .who = &who } };

    how.terms.version = TLS1_VERSION;
    assert_refuses(&how, "speaks no version of TLS that we do, which are 1.2 and newer");
    how.terms.version = TLS1_1_VERSION;
    assert_refuses(&how, "speaks no version of TLS that we do, which are 1.2 and newer");
    how.terms.version = TLS1_2_VERSION;
    assert_accepts(&how);
    how.terms.version = TLS1_3_VERSION;
    assert_accepts(&how);
    free_identity(&who);
}

/* With such a cipher OpenSSL accepts a server without a certificate, even with SSL_VERIFY_PEER. */
TEST(verify_server_without_a_certificate_is_not_believed)
{
    connection how = { .host  = "redis.test",
                       .terms = { .version = TLS1_2_VERSION, .ciphers = "aNULL:@SECLEVEL=0" } };

    assert_refuses(&how, "the server has not proved its identity: it sent no certificate");
}

TEST(verify_no_encryption_in_common)
{
    identity   who = make_host("DNS:redis.test", &authority);
    connection how = {
        .host  = "redis.test",
        .terms = { .who = &who, .version = TLS1_2_VERSION, .ciphers = "AES256-SHA" }
    }; /* which is for RSA keys only */

    assert_refuses(&how, "no cipher in common");
    free_identity(&who);
}

/* ---- server name indication ------------------------------------------------------------------ */

static int see_name(SSL *ssl, int *alert, void *arg)
{
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

    (void)snprintf(arg, 64, "%s", name != NULL ? name : "none");
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return name != NULL && strcmp(name, "unknown.test") == 0 ? SSL_TLSEXT_ERR_ALERT_FATAL
                                                             : SSL_TLSEXT_ERR_OK;
}

TEST(verify_names_are_sent_and_addresses_are_not)
{
    char       seen[64] = "";
    identity   who = make_host("DNS:redis.test,DNS:unknown.test,IP:127.0.0.1,IP:::1", &authority);
    connection how = { .terms = { .who = &who, .sees_name = see_name, .sees_name_arg = seen } };

    how.host = "redis.test.";
    assert_accepts(&how);
    assert_string_equal(seen, "redis.test");
    how.host = "127.0.0.1";
    assert_accepts(&how);
    assert_string_equal(seen, "none");
    how.host = "::1";
    assert_accepts(&how);
    assert_string_equal(seen, "none");
    how.host = "unknown.test";
    assert_refuses(&how, "the server has no certificate for the host that we asked for");
    free_identity(&who);
}

/* ---- our certificate ------------------------------------------------------------------------- */

static bwl_tls_context *context_of(const identity *whose)
{
    write_certificates("cert.pem", whose, NULL);
    write_key("key.pem", whose, 0600);
    return must_make_context(&(bwl_tls_options){ .ca_file   = path_of("ca.pem"),
                                                 .cert_file = path_of("cert.pem"),
                                                 .key_file  = path_of("key.pem") });
}

TEST(verify_server_may_want_a_certificate_of_ours)
{
    static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    bwl_tls_context *right      = context_of(&ours);
    bwl_tls_context *wrong      = context_of(&theirs);
    identity         who        = make_host("DNS:redis.test", &authority);

    for (int i = 0; i < 2; i++) {
        connection how = { .host  = "redis.test",
                           .terms = {
                               .who = &who, .asks_for = &authority, .version = versions[i] } };
        assert_refuses(&how, "requires a client certificate: give cert=FILE and cert-key=FILE");
        how.context = right;
        assert_accepts(&how);
        how.context = wrong;
        assert_refuses(&how, "the server does not know the authority of our certificate");
    }
    bwl_tls_context_free(right);
    bwl_tls_context_free(wrong);
    free_identity(&who);
}

/* ---- hosts that no certificate can name ------------------------------------------------------ */

TEST(verify_host_that_cannot_be_checked_is_refused)
{
    static const char *const bad[] = {
        ".redis.test",        "*.test", "a b", "a/b", ".", "..", "::1::", "1.2.3.4:5", "%eth0",
        "b\303\274cher.test", "[::1]"
    };
    char      host[BWL_TLS_HOST_MAX + 3];
    bwl_tls  *tls   = NULL;
    bwl_fault fault = { 0 };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (bwl_tls_start(&tls, trusting, bad[i], &fault) != BWL_STATUS_USAGE)
            fail_msg("taken for a host: %s", bad[i]);
        assert_fault(&fault, BWL_STATUS_USAGE, "no certificate can be checked against the host");
    }
    assert_int_equal(bwl_tls_start(&tls, trusting, "", &fault), BWL_STATUS_USAGE);
    assert_fault(&fault, BWL_STATUS_USAGE, "TLS needs the name of the host");
    memset(host, 'a', sizeof host);
    host[BWL_TLS_HOST_MAX + 1] = '\0';
    assert_int_equal(bwl_tls_start(&tls, trusting, host, &fault), BWL_STATUS_USAGE);
    assert_null(tls);
    host[BWL_TLS_HOST_MAX] = '\0';
    host[60] = host[120] = host[180] = host[240] = '.';
    bwl_tls_free(must_start(trusting, host));
    bwl_tls_free(NULL);
}

AROUND(make_all, remove_all)
