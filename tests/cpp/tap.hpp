/*
 * tap.hpp -- the tests of one program in C++, each run on every engine that needs no server; TAP.
 *
 * A failed check throws, so that the objects of the test are destroyed in order: cmocka jumps.
 */
#pragma once

#include <bowline/bowline.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tap {

struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* The engine of a test, and the name of a lock that no other test uses. */
struct place {
    std::string url;
    std::string name;

    [[nodiscard]] std::string with(const char *options) const
    {
        return url + "?" + options;
    }
};

struct test_case {
    const char *name;
    void (*body)(const place &at);
};

inline std::vector<test_case> cases;

struct added {
    added(const char *name, void (*body)(const place &at))
    {
        cases.push_back({ name, body });
    }
};

/* A test that adds itself to the list of its program. */
#define TEST(name)                                                    \
    static void             test_##name(const tap::place &at);        \
    static const tap::added added_##name("test_" #name, test_##name); \
    static void             test_##name([[maybe_unused]] const tap::place &at)

inline void check(bool holds, const char *what, int line)
{
    if (!holds)
        throw failure("line " + std::to_string(line) + ": " + what);
}

#define CHECK(holds) tap::check(static_cast<bool>(holds), #holds, __LINE__)

/* Expects that the call throws a bowline::error of this status; returns that error. */
template <class Call> bowline::error thrown_at(int status, Call call, int line)
{
    try {
        call();
    } catch (const bowline::error &e) {
        if (e.status() == status)
            return e;
        throw failure("line " + std::to_string(line) + ": it threw " + e.name() + ": " + e.what());
    }
    throw failure("line " + std::to_string(line) + ": it did not throw");
}

#define THROWN(status, call) tap::thrown_at((status), [&] { (void)(call); }, __LINE__)

/* Asserts that the lock is free, as seen through another client. */
inline bool is_free(const place &at)
{
    return bowline::client(at.url).try_acquire(at.name).has_value();
}

/* Of a hold, or of a mutex. */
template <class Held> void wait_until_lost(const Held &held)
{
    while (!held.lost())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/* Runs every test.  Returns the exit status. */
inline int run()
{
    std::string directory =
        (std::filesystem::temp_directory_path() / "bowline-cpp-XXXXXX").string();
    unsigned number = 0;
    unsigned failed = 0;

    if (mkdtemp(directory.data()) == nullptr) {
        std::printf("Bail out! no directory for the locks\n");
        return 1;
    }
    std::printf("1..%zu\n", 2 * cases.size());
    for (const std::string &url : { std::string("thread:"), "file:" + directory }) {
        for (const test_case &each : cases) {
            const std::string engine = url.substr(0, url.find(':'));
            std::string       why;

            number++;
            try {
                each.body(place{ url, "case-" + std::to_string(number) });
            } catch (const std::exception &e) {
                why = e.what();
                failed++;
            }
            std::printf("%s %u - %s: %s\n", why.empty() ? "ok" : "not ok", number, engine.c_str(),
                        each.name);
            if (!why.empty())
                std::printf("# %s\n", why.c_str());
            (void)std::fflush(stdout);
        }
    }
    std::filesystem::remove_all(directory);
    return failed == 0 ? 0 : 1;
}

} /* namespace tap */

int main()
{
    return tap::run();
}
