/*
 * foreign_locks.c -- detects other lock libraries that use the server, by their scripts.
 *
 * A server keeps scripts by the SHA-1 of their text, and SCRIPT EXISTS looks for them. So a library
 * is detected if it has locked since the server started, but not if it builds its scripts at run
 * time. Each sum was computed from the source of the library.
 */
#include "doctor/visit.h"
#include "engine/redis/profile.h"

#include <stdio.h>
#include <string.h>

typedef struct foreign_script {
    const char *program;
    const char *profile; /* profile for its locks; NULL: none */
    const char *script;
    const char *sha1;
} foreign_script;

static const foreign_script foreign_scripts[] = {
    { "redis-py", "redis-py", "release", "c3f8721cbb97f72bc19e972846bd7aaf91901658" },
    { "redis-py", "redis-py", "extend", "a4e8783852e6b949f9ef3a97212805108459a890" },
    { "redis-py", "redis-py", "reacquire", "1cac51482acf5858da00f6d685d68f886cd6b6b2" },
    { "python-redis-lock", "python-redis-lock", "unlock",
      "90da91872223f85eb1376a17e3c4df21ace8c54b" },
    { "python-redis-lock", "python-redis-lock", "extend",
      "fed16109024d968d9496e4140fe1355bac05ebff" },
    { "python-redis-lock", "python-redis-lock", "reset",
      "afbc8014508f92e446b56567e8ba600e811c1bd5" },
    { "walrus", "walrus", "acquire", "d893d8da0844b834c9c5a41fb79b469749e6f442" },
    { "walrus", "walrus", "release", "758ee2fc57c84a93a25cd712f592a1b4898d6c03" },
    { "sherlock", "sherlock", "acquire", "7bcdefae3714859f68f1f2377bddae74a1af9391" },
    { "sherlock", "sherlock", "release", "bfb9f817b2e860fe4fc58656b2bf657d3fdc2be1" },
    { "redlock-py", "redlock-py", "unlock", "4e92fdc63815b3a0a2dd1c1df3694de73607c88d" },
    { "aioredlock", "aioredlock", "lock", "c75a9bf1538efcdb1f383acc3e273c5089d57e58" },
    { "aioredlock", "aioredlock", "unlock", "241e4ca540a1cc4ec1f32d9eb9f879e607d7e6e5" },
    { "pottery", "pottery", "acquired", "f5f7bd3a3aa4a63c507c1155c5ea1219b350d992" },
    { "pottery", "pottery", "extend", "ba015a80261b616e7a62d35df0b8e3edbe6c9414" },
    { "pottery", "pottery", "release", "a4aada0b36710970eedaaaeec4a6b7d8c78c4f80" },
    { "node-redlock", "node-redlock", "acquire", "96da70f7716f27d278a5218544df37fd8b0a5e4c" },
    { "node-redlock", "node-redlock", "extend", "aed6f382e410db8ba7926d4e5e9aab410bf2a78a" },
    { "node-redlock", "node-redlock", "release", "e4612211c9f8f51c257e26e056b0a654b3187242" },
    { "node-redlock", "node-redlock", "lock (4)", "e5a322e2634ef59a516e8ea150cb085afafee684" },
    { "node-redlock", "node-redlock", "unlock (4)", "0f0f23b9048b36752b5be114f357ba083449f908" },
    { "warlock", "warlock", "delete", "5cc368fb92acd8fee3a986dc8e971d6cf28c3b44" },
    { "warlock", "warlock", "relock", "78d3bb55c589f1b2edf66f3527f5017f8dfcd6bb" },
    { "redis-semaphore", "redis-semaphore", "release", "7157921a7cc7cfba979acf6d63f073151df17d12" },
    { "redis-semaphore", "redis-semaphore", "refresh", "594683e49a64ebaf975caf5f8079a1d097c438f1" },
    { "redis-semaphore", NULL, "semaphore", "43ebdb49120d170e08af560cb4e46e36f8585936" },
    { "ioredis-lock", "ioredis-lock", "delete", "da225123b2af4a41136fdba7ffac1e045e344da1" },
    { "ioredis-lock", "ioredis-lock", "expire", "bf3108245472c550b02852e1e425128e5eb399c4" },
    { "redsync", "redsync", "delete", "e950836ed1e694540c503ef9972b8de518044d3b" },
    { "redsync", "redsync", "touch", "d75bb8b5bd13532ddedd17762e772346e39b321e" },
    { "redsync", "redsync", "touch, or set", "b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79" },
    { "bsm/redislock", "bsm-redislock", "obtain", "eb0c00d98f6f33b4262419a509002884540f30be" },
    { "bsm/redislock", "bsm-redislock", "release", "9470c810040e272ee6c579d8d4331aaf6332a7b1" },
    { "bsm/redislock", "bsm-redislock", "obtain (0.9.4)",
      "80a1b5f2cfccec3b7119ba7721d2127682b691a7" },
    { "bsm/redislock", "bsm-redislock", "release (0.9.4)",
      "cf0e94b2e9ffc7e04395cf88f7583fc309985910" },
    { "bsm/redislock", "bsm-redislock", "refresh", "5a22d7e8431313862816d4416b5e46dd70fc340d" },
    { "rueidislock", "rueidislock", "delete", "9eb62214c9af87ae5f9a9f12bb4520281c0d2ae1" },
    { "rueidislock", "rueidislock", "extend", "852ba6ec6104340ced36643283c856d4698569e4" },
    { "rueidislock", "rueidislock", "acquire", "fa3d1aaa7e4145457755016a3d5daf72fa7a11bf" },
    { "rueidislock", "rueidislock", "acquire until", "3875d208d9e377969d2022550302cc83ad17b584" },
    { "Spring Integration", "spring", "obtain", "175897a4e379e99e79a54937be09226f76cdcfe5" },
    { "Spring Integration", "spring", "unlock", "7a71e9443a2a41539fb115a5a27d5a748a871aed" },
    { "ShedLock (safeUpdate)", "shedlock", "delete", "194f3902b2dd08557818d09fc2e7682d91480e53" },
    { "ShedLock (safeUpdate)", "shedlock", "extend", "67256370c2d1c87e2250898075542b1a7fa5b917" },
    { "redlock-rb", NULL, "unlock", "8e4905cee18e7c3188d10f2b8b170e403baed34f" },
    { "redlock-rb", NULL, "lock", "ceb2b2062e40c51a2b3963fd078bc71f11bdc65c" },
    { "Laravel", "laravel", "add", "a08c9c69b7c07ae2485190873b90d128a23e502d" },
    { "Laravel", "laravel", "refresh", "d5f94f1848f0c54fff99d99dbc4d54184a157c02" },
    { "Laravel", "laravel", "release", "647c65a442733a1aa440f99908d249d13b4d6c4a" },
    { "rslock", NULL, "unlock", "daf86bbf8740dd3ca86733367a016364b2110627" },
    { "rslock", NULL, "extend", "17a49af0c4b1a9034503fa84f3570f5ca76c4cbf" },
    { "RedLock.net", "redlock-net", "extend", "9f614a785a5f9ae8c6396c6b4bf94d2087342603" },
    { "RedLock.net", "redlock-net", "unlock", "18b2a577dbe847b16bebde190d69a1613d68e60e" },
    { "redis++", "redis-plus-plus", "extend", "d9558fccdcd78dcea082d72df1b67924077deac2" },
    { "redis++", "redis-plus-plus", "unlock", "764ece7daa93da82f4fbf4e82e0ade7067dfec70" },
    { "Lock4j", "lock4j", "lock", "7ea1efbea425b62e6593f238a6c18bf25907dbd9" },
    { "Lock4j", "lock4j", "unlock", "8346c71009ae4c895ff1757a6743ec825a38b42d" },
    { "Lock4j", "lock4j", "renew", "86b4fe869d9cbdd1d98fbd1a558026fd419f7ce5" },
    { "Redisson (RLock)", "redisson", "lock", "149c5a8bf18676fd99e9e6e24923bd64d9b62f94" },
    { "Redisson (RFencedLock)", "redisson-fenced", "lock",
      "46b5551ba403d6152a7a6eca122e08728d6c8c66" },
    { "Redisson (RFencedLock)", "redisson-fenced", "lock and token",
      "49babb5a1e6a0c5f188c2ae62b93b51cdfd63e45" },
    { "Symfony Lock", "symfony", "save", "6fdee501a3714553b74c0d67687b921b90b05d18" },
    { "Symfony Lock", "symfony", "save for reading", "b5745b5be27d9033eb5d3eb254df2faf502b88df" },
    { "Symfony Lock", "symfony", "put off expiration", "63be12a3515941092212f15c08327d60916de9fa" },
    { "Symfony Lock", "symfony", "delete", "a70f7f5087a0cb2c2c9ca50d1f64e234c2628f0c" },
    { "Symfony Lock", "symfony", "exists", "3b6bdbbe16f821f49177b16c7707f331f015a779" },
    { "phpredis (sessions)", NULL, "release", "b70c2384248f88e6b75b9f89241a180f856ad852" },
};
enum { FOREIGN_SCRIPTS = sizeof foreign_scripts / sizeof foreign_scripts[0] };

/* laravel and laravel-11, spring and spring-6 are the same locks; redis-py-2.7 is another one. */
static bool is_same_lock(const char *ours, const char *theirs)
{
    const bwl_profile *a = bwl_profile_named(ours);
    const bwl_profile *b = bwl_profile_named(theirs);

    assert(a != NULL && b != NULL);
    return strncmp(ours, theirs, strlen(theirs)) == 0 && strcmp(a->protocol, b->protocol) == 0;
}

static void report_program(visit *v, const foreign_script *s)
{
    const char     *ours = v->target->profile;
    doctor_finding *f    = visit_find(v, "foreign-locks", DOCTOR_NOTE);

    visit_what(f, "%s has locked on this server: its %s script is known here", s->program,
               s->script);
    if (s->profile == NULL) {
        visit_why(f, "bowline has no profile for its locks, so they do not exclude locks of "
                     "bowline");
    } else if (ours != NULL && is_same_lock(ours, s->profile)) {
        visit_why(f, "bowline takes part in its locks by the profile of this URL");
    } else {
        const bwl_profile *profile = bwl_profile_named(s->profile);
        assert(profile != NULL);
        bool wants_key = bwl_profile_template_fault(profile, NULL) != NULL;
        visit_why(f,
                  "its locks and those of this URL are independent, unless the keys are the same");
        visit_type(f, "?profile=%s%s, to take part in its locks", s->profile,
                   wants_key ? " with its key=" : "");
    }
}

/* Reports the first script of each program. */
static void report_programs(visit *v)
{
    bwl_resp_cursor cursor = bwl_resp_begin(v->link.frame, v->link.frame_size);
    bwl_resp_value  value;
    const char     *said     = "";
    unsigned        reported = 0;

    if (!bwl_resp_next_bare(&cursor, &value) || value.count != FOREIGN_SCRIPTS) {
        visit_cannot(v, "foreign-locks", "locks of other libraries", "+script|exists");
        return;
    }
    for (unsigned i = 0; i < FOREIGN_SCRIPTS && bwl_resp_next_bare(&cursor, &value); i++) {
        if (value.type != ':' || value.integer != 1 ||
            strcmp(said, foreign_scripts[i].program) == 0)
            continue;
        said = foreign_scripts[i].program;
        reported++;
        report_program(v, &foreign_scripts[i]);
    }
    if (reported == 0)
        visit_what(visit_find(v, "foreign-locks", DOCTOR_FINE),
                   "the server knows no script of another lock library");
}

void visit_foreign_locks(visit *v)
{
    char   command[8192];
    size_t size = (size_t)snprintf(command, sizeof command, "SCRIPT EXISTS");

    if (v->is_dead)
        return;
    _Static_assert(FOREIGN_SCRIPTS + 2 <= LINK_WORDS_MAX, "they are asked for in one command");
    for (unsigned i = 0; i < FOREIGN_SCRIPTS; i++)
        size +=
            (size_t)snprintf(command + size, sizeof command - size, " %s", foreign_scripts[i].sha1);
    assert(size < sizeof command);
    if (visit_ask(v, command) == NULL)
        visit_cannot(v, "foreign-locks", "locks of other libraries", "+script|exists");
    else
        report_programs(v);
}
