/*
 * listing.hpp -- the held names of a store, read step by step.
 *
 *      for (const bowline_holder &holder : client.list("report-*"))
 *          std::cout << holder.name << ' ' << holder.user << '\n';
 */
#ifndef BOWLINE_CPP_LISTING_HPP
#define BOWLINE_CPP_LISTING_HPP

#include <bowline/cpp/error.hpp>

#include <bowline/bowline.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace bowline {

namespace detail {

struct list_free {
    client_ptr client;

    void operator()(bowline_list *handle) const noexcept
    {
        bowline_list_free(handle);
    }
};

} /* namespace detail */

/* A snapshot, in no order; each name once.  It can be read once.  Every member: "One thread.". */
class [[nodiscard]] listing {
  public:
    /* The next holder; nothing: the end.  Throws as bowline_list_next: TIMEOUT at the limit, to go
     * on with a higher one; UNREACHABLE, UNKNOWN, REFUSED, SYSTEM: the next call repeats the step;
     * USAGE (moved from), NOMEM, FORKED. */
    [[nodiscard]] std::optional<bowline_holder> next()
    {
        bowline_holder holder{};

        holder.size = sizeof holder;
        if (detail::call(bowline_list_next, &holder, opened()) == 0)
            return std::nullopt;
        return holder;
    }

    /* Stops before a step if `keys` keys or more were looked at; 0: no limit. */
    void limit(std::uint64_t keys)
    {
        bowline_list_limit(opened(), keys);
    }

    /* How many keys were looked at; moved from: 0. */
    [[nodiscard]] std::uint64_t looked_at() const noexcept
    {
        return bowline_list_progress(handle_.get(), nullptr);
    }

    /* For a range-based for: each step throws as next(). */
    class iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type        = bowline_holder;
        using difference_type   = std::ptrdiff_t;
        using pointer           = const bowline_holder *;
        using reference         = const bowline_holder &;

        iterator() noexcept = default; /* the end */

        explicit iterator(listing &of) : of_(&of), now_(of.next())
        {
        }

        reference operator*() const
        {
            return *now_;
        }

        pointer operator->() const
        {
            return &*now_;
        }

        iterator &operator++()
        {
            now_ = of_->next();
            return *this;
        }

        void operator++(int)
        {
            ++*this;
        }

        /* Equal if both are at the end. */
        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.now_.has_value() == b.now_.has_value();
        }

        friend bool operator!=(const iterator &a, const iterator &b) noexcept
        {
            return !(a == b);
        }

      private:
        listing                      *of_ = nullptr;
        std::optional<bowline_holder> now_;
    };

    [[nodiscard]] iterator begin()
    {
        return iterator(*this);
    }

    [[nodiscard]] static iterator end() noexcept
    {
        return {};
    }

  private:
    friend class client;

    listing(detail::client_ptr client, bowline_list *handle) noexcept
        : handle_(handle, { std::move(client) })
    {
    }

    [[nodiscard]] bowline_list *opened() const
    {
        detail::need(handle_ != nullptr, "this list was moved from");
        return handle_.get();
    }

    std::unique_ptr<bowline_list, detail::list_free> handle_;
};

} /* namespace bowline */

#endif
