/*
 * error.hpp -- the exception of every failing call.
 */
#ifndef BOWLINE_CPP_ERROR_HPP
#define BOWLINE_CPP_ERROR_HPP

#include <bowline/bowline.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace bowline {

/* what() is one sentence without a password. */
class error : public std::runtime_error {
  public:
    error(int status, const std::string &text) : std::runtime_error(text), status_(status)
    {
    }

    error(int status, const bowline_error &e)
        : std::runtime_error(e.text[0] != '\0' ? e.text : bowline_status_words(status)),
          status_(status), system_errno_(e.system_errno), loss_(e.loss)
    {
        std::memcpy(server_code_, e.server_code, sizeof server_code_);
    }

    /* BOWLINE_BUSY and so on.  Treat an unknown number as a failure.  Any thread. */
    [[nodiscard]] int status() const noexcept
    {
        return status_;
    }

    /* "BUSY".  Any thread. */
    [[nodiscard]] const char *name() const noexcept
    {
        return bowline_status_name(status_);
    }

    /* errno of the system call that failed; 0: the cause is not a system call.  Any thread. */
    [[nodiscard]] int system_errno() const noexcept
    {
        return system_errno_;
    }

    /* The first word of the server's error reply, "NOPERM" for example; "": no such reply.  Any
     * thread. */
    [[nodiscard]] const char *server_code() const noexcept
    {
        return server_code_;
    }

    /* Of LOST: BOWLINE_LOSS_GONE or BOWLINE_LOSS_TAKEN, what the server had instead of the lock;
     * else BOWLINE_LOSS_UNKNOWN.  Any thread. */
    [[nodiscard]] int loss() const noexcept
    {
        return loss_;
    }

  private:
    int  status_;
    int  system_errno_                         = 0;
    int  loss_                                 = BOWLINE_LOSS_UNKNOWN;
    char server_code_[BOWLINE_SERVER_CODE_MAX] = "";
};

namespace detail {

using client_ptr = std::shared_ptr<bowline_client>;

inline void check(int status, const bowline_error &e)
{
    if (status < 0)
        throw error(status, e);
}

/* Calls a function of bowline.h whose last argument is the error, and returns its status.  Throws a
 * status below 0 except `allowed`. */
template <class Function, class... Arguments>
int call_except(int allowed, Function *function, Arguments... arguments)
{
    bowline_error e{};
    const int     status = function(arguments..., &e);

    if (status != allowed)
        check(status, e);
    return status;
}

template <class Function, class... Arguments> int call(Function *function, Arguments... arguments)
{
    return call_except(BOWLINE_OK, function, arguments...);
}

inline void need(bool holds, const char *otherwise)
{
    if (!holds)
        throw error(BOWLINE_USAGE, otherwise);
}

inline const char *c_string(const std::string &text)
{
    need(text.find('\0') == std::string::npos, "a name or a URL contains a NUL");
    return text.c_str();
}

} /* namespace detail */

} /* namespace bowline */

#endif
