/*
 * test_tls_context.c -- the files of TLS: an error names the file, and no context is made.
 */
#include "tls_fixture.h"
#include "tests/lib/suite.h"

#include <sys/wait.h>

/* ---- the TLS policy of the machine ----------------------------------------------------------- */

#define POLICY(version)           \
    "openssl_conf = all\n"        \
    "[all]\nssl_conf = modules\n" \
    "[modules]\nsystem_default = ours\n[ours]\nMinProtocol = " version "\n"

static const struct {
    const char *policy;
    int         least;
} policies[] = {
    { POLICY("TLSv1"), TLS1_2_VERSION },
    { POLICY("TLSv1.2"), TLS1_2_VERSION },
    { POLICY("TLSv1.3"), TLS1_3_VERSION },
    { "# nothing\n", TLS1_2_VERSION },
};

enum { POLICIES = COUNT_OF(policies) };
static int least_found[POLICIES];

/* In children, before this process uses OpenSSL: OpenSSL reads its policy once per process. */
static void try_policies(void)
{
    for (size_t i = 0; i < POLICIES; i++) {
        int status = 0;
        write_text("openssl.cnf", policies[i].policy);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bwl_tls_context *context = NULL;
            (void)setenv("OPENSSL_CONF", path_of("openssl.cnf"), 1);
            if (bwl_tls_context_new(&context, &(bwl_tls_options){ 0 }, NULL) < 0)
                _exit(99);
            _exit((int)SSL_CTX_get_min_proto_version(context->ctx) & 0xff);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        least_found[i] = 0x300 + WEXITSTATUS(status);
    }
}

TEST(context_policy_of_the_machine_may_be_stricter_and_not_looser)
{
    for (size_t i = 0; i < POLICIES; i++)
        assert_int_equal(least_found[i], policies[i].least);
}

/* ---- the files ------------------------------------------------------------------------------- */

static identity authority;
static identity ours;
static identity other;

static int make_all(void **state)
{
    make_directory();
    /* The more than a hundred authorities of the system would only take time. */
    assert_int_equal(setenv("SSL_CERT_FILE", path_of("none.pem"), 1), 0);
    assert_int_equal(setenv("SSL_CERT_DIR", path_of("none"), 1), 0);
    try_policies();
    authority = make_identity(&(recipe){ .common_name = "test authority", .is_authority = true });
    ours      = make_identity(&(recipe){ .common_name = "we", .issuer = &authority });
    other     = make_identity(&(recipe){ .common_name = "somebody else" });
    write_certificates("ca.pem", &authority, NULL);
    write_certificates("cert.pem", &ours, &authority);
    write_key("key.pem", &ours, 0600);
    write_key("other.pem", &other, 0600);
    write_text("text.pem", "this is no certificate\n");
    write_text("empty.pem", "");
    return 0;
}

static int remove_all(void **state)
{
    free_identity(&authority);
    free_identity(&ours);
    free_identity(&other);
    remove_directory();
    return 0;
}

static void assert_refused(const bwl_tls_options *options, int status, const char *part)
{
    bwl_tls_context *context = NULL;
    bwl_fault        fault   = { 0 };

    assert_int_equal(bwl_tls_context_new(&context, options, &fault), status);
    assert_fault(&fault, status, part);
    assert_null(context);
    assert_int_equal(ERR_peek_error(), 0);
    assert_int_equal(bwl_tls_context_new(&context, options, NULL), status);
}

/* ---- authorities ----------------------------------------------------------------------------- */

TEST(context_needs_no_files)
{
    bwl_tls_context_free(must_make_context(&(bwl_tls_options){ 0 }));
    bwl_tls_context_free(NULL);
}

TEST(context_has_no_compression_and_no_renegotiation)
{
    bwl_tls_context *context = must_make_context(&(bwl_tls_options){ 0 });
    uint64_t         options = SSL_CTX_get_options(context->ctx);

    assert_true((options & SSL_OP_NO_COMPRESSION) != 0);
    assert_true((options & SSL_OP_NO_RENEGOTIATION) != 0);
    assert_int_equal(SSL_CTX_get_verify_mode(context->ctx), SSL_VERIFY_PEER);
    bwl_tls_context_free(context);
}

TEST(context_invalid_ca_file_is_refused)
{
    assert_refused(&(bwl_tls_options){ .ca_file = path_of("no.pem") }, BWL_STATUS_SYSTEM,
                   "no.pem: No such file or directory");
    assert_refused(&(bwl_tls_options){ .ca_file = directory }, BWL_STATUS_REFUSED,
                   "is no regular file");
    assert_int_equal(mkfifo(path_of("pipe.pem"), 0600), 0);
    assert_refused(&(bwl_tls_options){ .ca_file = path_of("pipe.pem") }, BWL_STATUS_REFUSED,
                   "pipe.pem is no regular file");
    assert_refused(&(bwl_tls_options){ .ca_file = path_of("text.pem") }, BWL_STATUS_REFUSED,
                   "text.pem: no certificate");
    assert_refused(&(bwl_tls_options){ .ca_file = path_of("empty.pem") }, BWL_STATUS_REFUSED,
                   "empty.pem: no certificate");
    assert_refused(&(bwl_tls_options){ .ca_file = path_of("key.pem") }, BWL_STATUS_REFUSED,
                   "key.pem: no certificate");
}

TEST(context_ignores_stale_errors_of_other_code)
{
    bwl_tls_options options = { .ca_file   = path_of("ca.pem"),
                                .cert_file = path_of("cert.pem"),
                                .key_file  = path_of("key.pem") };

    ERR_raise(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH);
    bwl_tls_context_free(must_make_context(&options));
    assert_int_equal(ERR_peek_error(), 0);
    bwl_tls_context *context = NULL;
    bwl_fault        fault   = { 0 };
    ERR_raise(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH);
    assert_int_equal(
        bwl_tls_context_new(&context, &(bwl_tls_options){ .ca_file = path_of("text.pem") }, &fault),
        BWL_STATUS_REFUSED);
    assert_fault(&fault, BWL_STATUS_REFUSED, "text.pem: no certificate");
    ERR_raise(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH);
    options.key_file = path_of("text.pem");
    assert_int_equal(chmod(options.key_file, 0600), 0);
    assert_int_equal(bwl_tls_context_new(&context, &options, &fault), BWL_STATUS_REFUSED);
    assert_null(strstr(fault.text, "does not belong"));
}

/* ---- our certificate ------------------------------------------------------------------------- */

TEST(context_certificate_and_key_are_loaded)
{
    FILE *both = open_file("both.pem");

    assert_int_equal(PEM_write_X509(both, ours.certificate), 1);
    assert_int_equal(PEM_write_PrivateKey(both, ours.key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(both), 0);
    assert_int_equal(chmod(path_of("both.pem"), 0640), 0); /* readable by the group */
    bwl_tls_context_free(must_make_context(&(bwl_tls_options){ .cert_file = path_of("both.pem") }));
    bwl_tls_context_free(must_make_context(
        &(bwl_tls_options){ .cert_file = path_of("cert.pem"), .key_file = path_of("key.pem") }));
}

TEST(context_invalid_certificate_file_is_refused)
{
    assert_refused(&(bwl_tls_options){ .cert_file = path_of("no.pem") }, BWL_STATUS_SYSTEM,
                   "cannot read the certificate file ");
    assert_refused(&(bwl_tls_options){ .cert_file = path_of("text.pem") }, BWL_STATUS_REFUSED,
                   "text.pem: there is nothing in PEM form in it");
    assert_refused(&(bwl_tls_options){ .key_file = path_of("key.pem") }, BWL_STATUS_USAGE,
                   "a key (cert-key=) and no certificate that it belongs to (cert=)");
}

TEST(context_invalid_key_is_refused)
{
    bwl_tls_options options = { .cert_file = path_of("cert.pem") };

    options.key_file = path_of("no.pem");
    assert_refused(&options, BWL_STATUS_SYSTEM, "cannot read the key file ");
    options.key_file = path_of("text.pem");
    assert_int_equal(chmod(options.key_file, 0600), 0);
    assert_refused(&options, BWL_STATUS_REFUSED, "cannot use the key file ");
    options.key_file = NULL; /* then it should be in the certificate file */
    assert_int_equal(chmod(options.cert_file, 0600), 0);
    assert_refused(&options, BWL_STATUS_REFUSED, "cannot use the key file ");
    options.key_file = path_of("other.pem");
    assert_refused(&options, BWL_STATUS_REFUSED,
                   "other.pem does not belong to the certificate in ");
}

TEST(context_key_that_everybody_can_read_is_refused)
{
    bwl_tls_options options = { .cert_file = path_of("cert.pem"), .key_file = path_of("key.pem") };

    assert_int_equal(chmod(options.key_file, 0604), 0);
    assert_refused(&options, BWL_STATUS_REFUSED,
                   "everybody can read it (mode 0604): chmod g-w,o= it");
    assert_int_equal(chmod(options.key_file, 0600), 0);
}

/* OpenSSL would ask on the terminal, and would wait for ever on a terminal without a user. */
TEST(context_key_with_a_passphrase_is_refused_without_asking)
{
    bwl_tls_options options = { .cert_file = path_of("cert.pem"),
                                .key_file  = path_of("locked.pem") };
    FILE           *file    = open_file("locked.pem");

    assert_int_equal(PEM_write_PrivateKey(file, ours.key, EVP_aes_128_cbc(),
                                          (const unsigned char *)"secret", 6, NULL, NULL),
                     1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(options.key_file, 0600), 0);
    assert_refused(&options, BWL_STATUS_REFUSED, "locked.pem has a passphrase");
}

AROUND(make_all, remove_all)
