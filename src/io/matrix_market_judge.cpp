// Whether text that arrives can still be a matrix.
#include <fmt/format.h>

#include <algorithm>

#include "io/matrix_market_lines.hpp"
#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::size_t always_allowed = std::size_t{64} << 20;  // for comments, blank lines and long numbers
constexpr std::size_t longest_entry = 256;                     // above that
constexpr std::size_t longest_banner = 4096;

}  // namespace

void text_judge::operator()(std::string_view text) {
  const source file{text, name_};
  if (!header_) {
    if (text.size() < next_try_) return;
    next_try_ = std::clamp(4 * text.size(), longest_banner, always_allowed + 1);
    header_ = find_header(file);
    if (!header_ && text.size() > always_allowed) {
      fail(status::invalid_format, file, line_of(text, text.size() - 1),
           fmt::format("no size line in the first {} bytes of text", text.size()));
    }
    if (!header_) return;
    counted_ = header_->data;
  }
  entries_ += count_entry_starts(text.substr(counted_ - 1));
  counted_ = text.size();
  const std::size_t follows = text.size() - header_->data;
  const std::int64_t claimed = header_->entries;
  const auto wanted = static_cast<std::size_t>(std::min(entries_, claimed));
  if (follows <= always_allowed + longest_entry * wanted) return;
  fail(status::invalid_format, file, header_->size_line,
       fmt::format(
           "the size line claims {} {}, but {} bytes of text with {} lines that may be entries follow: more than "
           "{} bytes per entry and {} for comments",
           claimed, claimed == 1 ? "entry" : "entries", follows, entries_, longest_entry, always_allowed));
}

}  // namespace tulle::matrix_market
