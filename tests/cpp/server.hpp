/*
 * server.hpp -- a redis-server of one test, if there is one.
 */
#pragma once

#include "tap.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tap {

class server {
  public:
    server()
    {
        std::string directory =
            (std::filesystem::temp_directory_path() / "bowline-cpp-redis-XXXXXX").string();

        CHECK(mkdtemp(directory.data()) != nullptr);
        directory_ = directory;
        socket_    = directory + "/s";
        pid_       = fork();
        CHECK(pid_ >= 0);
        if (pid_ == 0) {
            const int quiet = ::open("/dev/null", O_WRONLY);
            (void)dup2(quiet, 1);
            (void)dup2(quiet, 2);                   /* the reader of our pipe waits for its end */
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if a test is aborted */
            (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
                         socket_.c_str(), "--save", "", "--dir", directory_.c_str(), nullptr);
            _exit(127);
        }
    }

    server(const server &)            = delete;
    server &operator=(const server &) = delete;

    ~server()
    {
        if (pid_ > 0) {
            (void)kill(pid_, SIGKILL);
            (void)waitpid(pid_, nullptr, 0);
        }
        std::filesystem::remove_all(directory_);
    }

    /* Returns false if there is none. */
    bool is_up()
    {
        bowline::client client(url());

        while (waitpid(pid_, nullptr, WNOHANG) == 0) {
            try {
                client.ping();
                return true;
            } catch (const bowline::error &) {
                std::this_thread::sleep_for(
                    std::chrono::milliseconds(1)); /* the socket exists before the server listens */
            }
        }
        pid_ = 0;
        return false;
    }

    [[nodiscard]] std::string url() const
    {
        return "unix://" + socket_;
    }

  private:
    pid_t       pid_ = 0;
    std::string directory_;
    std::string socket_;
};

} /* namespace tap */
