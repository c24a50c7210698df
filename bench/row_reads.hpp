// How many different rows of X entries of a matrix read, among those that lie together: counted exactly, on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "spmv_families.hpp"

namespace tulle::bench {

/// Different columns an entry, among windows of so many rows, or so many entries, at equal distances.
class row_reads {
 public:
  explicit row_reads(const pattern& p) : p_(p), seen_(static_cast<std::size_t>(p.cols), -1) {}

  nlohmann::ordered_json operator()() {
    nlohmann::ordered_json rows, entries;
    for (const std::int64_t n : {32, 128, 1024, 16384}) rows.push_back(among(p_.rows(), n, true));
    for (const std::int64_t n : {1024, 8192, 65536, 1048576})
      entries.push_back(among(static_cast<std::int64_t>(p_.colind.size()), n, false));
    return {{"rows", rows}, {"entries", entries}};
  }

 private:
  double among(std::int64_t all, std::int64_t window, bool of_rows) {
    constexpr std::int64_t most_windows = 64, most_entries = 4'000'000;
    const std::int64_t windows = (all + window - 1) / window, looked = std::min(windows, most_windows);
    std::int64_t entries = 0, different = 0;
    for (std::int64_t i = 0; i < looked && entries < most_entries; ++i) {
      const std::int64_t first = windows * i / looked * window, end = std::min(first + window, all);
      const std::int64_t from = of_rows ? p_.rowptr[static_cast<std::size_t>(first)] : first,
                         to = of_rows ? p_.rowptr[static_cast<std::size_t>(end)] : end;
      ++mark_;
      for (std::int64_t k = from; k < to; ++k) {
        std::int32_t& seen = seen_[static_cast<std::size_t>(p_.colind[static_cast<std::size_t>(k)])];
        if (seen != mark_) ++different;
        seen = mark_;
      }
      entries += to - from;
    }
    return entries == 0 ? 0 : std::round(1e4 * static_cast<double>(different) / static_cast<double>(entries)) / 1e4;
  }

  const pattern& p_;
  std::vector<std::int32_t> seen_;
  std::int32_t mark_ = 0;
};

}  // namespace tulle::bench
