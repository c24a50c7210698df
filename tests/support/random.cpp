#include "support/random.hpp"

#include <set>

namespace tulle::test {

std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out(count);
  for (double& v : out) v = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return out;
}

columns random_columns(std::mt19937_64& random, index_t count, index_t first, index_t last) {
  std::set<index_t> out;
  for (index_t top = last - std::min(count, last - first); top < last; ++top) {  // Floyd (CACM 30(9), 1987)
    const auto choices = static_cast<std::uint64_t>(top - first) + 1;
    const auto column = first + static_cast<index_t>(random() % choices);
    if (!out.insert(column).second) out.insert(top);
  }
  return {out.begin(), out.end()};
}

columns range(index_t first, index_t last) {
  columns out(static_cast<std::size_t>(std::max(last - first, 0)));
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace tulle::test
