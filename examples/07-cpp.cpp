/*
 * 07-cpp.cpp -- C++: locks that are released at the end of their scope.
 *
 *      07-cpp [URL]
 */
#include <bowline/bowline.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

/* A hold can be moved, and is released at the end of its scope, here by the exception. */
static void work(bowline::hold hold)
{
    std::cout << hold.name() << " is ours\n";
    throw std::runtime_error("the work went wrong");
}

static void take_one(bowline::client &client)
{
    try {
        work(client.acquire("nightly", 5s));
    } catch (const std::runtime_error &e) {
        std::cout << e.what() << "\n";
    }
    const std::optional<bowline::hold> hold = client.try_acquire("nightly");
    std::cout << "nightly is " << (hold ? "free again" : "still taken") << "\n";
    try {
        const bowline::hold second = client.acquire("nightly");
    } catch (const bowline::error &e) {
        std::cout << "a second time it is " << e.name() << "\n";
    }
}

/* Two threads take two locks in opposite order: std::scoped_lock avoids the deadlock. */
static void take_two(bowline::client &client)
{
    bowline::named_mutex debit(client, "account-1");
    bowline::named_mutex credit(client, "account-2");
    int                  transfers = 0;

    const auto transfer = [&transfers](bowline::named_mutex &from, bowline::named_mutex &to) {
        for (int i = 0; i < 10; i++) {
            const std::scoped_lock both(from, to);
            transfers++;
        }
    };
    std::thread other([&] { transfer(credit, debit); });
    transfer(debit, credit);
    other.join();
    std::cout << transfers << " transfers\n";
}

/* A guard does not report that its lock was lost: the program must ask. */
static void lose_one(bowline::client &client)
{
    bowline::terms terms;
    terms.max_hold = 100ms;
    bowline::named_mutex mutex(client, "slow", terms);
    {
        const std::lock_guard<bowline::named_mutex> guard(mutex);
        while (!mutex.lost())
            std::this_thread::sleep_for(10ms); /* too long */
    }
    std::cout << "the slow one is " << bowline_status_name(mutex.last_unlock()) << "\n";
}

/* Started now, finished later: the thread works meanwhile. */
static void take_later(bowline::client &client)
{
    std::optional<bowline::hold>      theirs  = client.acquire("report");
    bowline::operation<bowline::hold> waiting = client.start_acquire("report", bowline::forever);

    std::cout << "report is " << (waiting.wait(10ms) ? "ours" : "held by another") << "\n";
    theirs.reset();
    const bowline::hold hold = waiting.finish();
    std::cout << hold.name() << " is ours\n";
}

int main(int argc, char **argv)
{
    try {
        bowline::client client(argc > 1 ? argv[1] : "file:");
        take_one(client);
        take_two(client);
        lose_one(client);
        take_later(client);
        return 0;
    } catch (const bowline::error &e) {
        std::cerr << "07-cpp: " << e.name() << ": " << e.what() << "\n";
        return 1;
    }
}
