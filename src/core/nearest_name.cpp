#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <tulle/core/nearest_name.hpp>
#include <vector>

namespace tulle {
namespace {

constexpr std::size_t longest_word = 64;  // nobody means anything by more
constexpr std::size_t telling_part = 3;   // letters of a name that say which is meant

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Letters to insert, delete, replace or swap with the next (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::size_t most_errors(std::size_t letters) { return letters <= 3 ? 1 : letters <= 7 ? 2 : 3; }

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names) {
  if (word.empty() || word.size() > longest_word) return {};
  const std::string given = lower(word);
  std::string_view nearest;
  std::size_t least = most_errors(given.size()) + 1;
  for (const std::string_view name : names) {
    const std::string candidate = lower(name);
    const bool holds_it = given.size() >= telling_part && candidate.find(given) != candidate.npos;
    const std::size_t errors = std::min<std::size_t>(distance(given, candidate), holds_it ? 1 : least);
    if (errors < least && errors < name.size()) {
      least = errors;
      nearest = name;
    }
  }
  return nearest;
}

std::string alternatives(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(word, names);
  const std::string there_are = fmt::format("here are: {}", fmt::join(names, ", "));
  return nearest.empty() ? "; t" + there_are : fmt::format("; did you mean '{}'? T{}", nearest, there_are);
}

}  // namespace tulle
