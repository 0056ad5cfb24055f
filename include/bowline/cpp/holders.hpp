/*
 * holders.hpp -- all who hold a name.
 */
#ifndef BOWLINE_CPP_HOLDERS_HPP
#define BOWLINE_CPP_HOLDERS_HPP

#include <bowline/cpp/client.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace bowline {

/* Those that share the lock, in the order in which their leases end; or the one who has it alone;
 * none: it is free.  A snapshot.  Throws as bowline_holders. */
inline std::vector<bowline_holder> client::holders(const std::string &name)
{
    std::vector<bowline_holder> all(8);

    for (;;) {
        all.front().size        = sizeof(bowline_holder);
        const std::size_t count = static_cast<std::size_t>(detail::call(
            bowline_holders, opened(), detail::c_string(name), all.data(), all.size()));
        const bool        fits  = count <= all.size();
        all.resize(count); /* with more than there was room for, read them again */
        if (fits)
            return all;
    }
}

} /* namespace bowline */

#endif
