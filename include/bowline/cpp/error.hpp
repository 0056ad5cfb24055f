/*
 * error.hpp -- what goes wrong is thrown.
 */
#ifndef BOWLINE_CPP_ERROR_HPP
#define BOWLINE_CPP_ERROR_HPP

#include <bowline/bowline.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace bowline {

/* what() is for people: one sentence, without a secret in it. */
class error : public std::runtime_error {
  public:
    error(int status, const std::string &text) : std::runtime_error(text), status_(status)
    {
    }

    /* BOWLINE_BUSY and so on.  Treat a number that you do not know as a failure.  Any thread. */
    [[nodiscard]] int status() const noexcept
    {
        return status_;
    }

    /* "BUSY".  Any thread. */
    [[nodiscard]] const char *name() const noexcept
    {
        return bowline_status_name(status_);
    }

  private:
    int status_;
};

namespace detail {

using client_ptr = std::shared_ptr<bowline_client>;

inline void check(int status, const bowline_error &e)
{
    if (status < 0)
        throw error(status, e.text[0] != '\0' ? e.text : bowline_status_words(status));
}

inline void need(bool holds, const char *otherwise)
{
    if (!holds)
        throw error(BOWLINE_USAGE, otherwise);
}

inline const char *c_string(const std::string &text)
{
    need(text.find('\0') == std::string::npos, "there is a NUL inside of a name or a URL");
    return text.c_str();
}

} /* namespace detail */

} /* namespace bowline */

#endif
