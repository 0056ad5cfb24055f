/*
 * several.hpp -- several locks at once, all or none.
 */
#ifndef BOWLINE_CPP_SEVERAL_HPP
#define BOWLINE_CPP_SEVERAL_HPP

#include <bowline/cpp/client.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace bowline {

class several {
    static std::vector<hold> acquired(client &from, const std::vector<std::string> &names,
                                      const bowline_acquire_options &options)
    {
        std::vector<const char *>   texts;
        std::vector<bowline_hold *> won(names.size() + 1); /* so its data is not null */
        std::vector<hold>           holds;

        for (const std::string &name : names)
            texts.push_back(detail::c_string(name));
        texts.push_back(nullptr);
        holds.reserve(names.size()); /* nothing can fail once they are held */
        detail::call(bowline_acquire_all, won.data(), from.opened(), texts.data(), names.size(),
                     &options);
        for (std::size_t i = 0; i < names.size(); i++)
            holds.push_back(hold(from.client_, won[i]));
        return holds;
    }

    friend std::vector<hold> acquire_all(client &from, const std::vector<std::string> &names,
                                         wait_time wait, const terms &asked);
};

/* Takes all these locks or none: hold i is that of name i.  Throws as client::acquire; USAGE also
 * for no name, more than BOWLINE_NAMES_MAX, or one that is there twice.  Any thread. */
[[nodiscard]] inline std::vector<hold> acquire_all(client                         &from,
                                                   const std::vector<std::string> &names,
                                                   wait_time    wait  = wait_time(),
                                                   const terms &asked = terms())
{
    return several::acquired(from, names, detail::c_options(wait, asked));
}

} /* namespace bowline */

#endif
