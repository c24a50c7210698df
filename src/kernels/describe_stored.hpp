// Rows, entries and bytes of each storage, for stored_values and in words.
#pragma once

#include <string>
#include <tulle/ops/stored_values.hpp>

#include "kernels/value_bound.hpp"

namespace tulle {

inline stored_values described(const form_findings& found) {
  const form_counts& counts = found.counts;
  stored_values out{{}, found.lost};
  const std::string_view names[] = {"f64", "f32", "f16"};
  for (std::size_t k = 0; k < 3; ++k) {
    if (counts.rows[k] > 0) out.shares.push_back({names[k], counts.rows[k], counts.entries[k], counts.bytes[k]});
  }
  return out;
}

/// " f64_rows=2 f64_entries=9 f64_bytes=72 f32_rows=..."
inline std::string parameters_of(const stored_values& stored) {
  std::string out;
  for (const stored_share& s : stored.shares) {
    const auto add = [&](const char* what, std::int64_t number) {
      out += ' ' + std::string(s.storage) + what + std::to_string(number);
    };
    add("_rows=", s.rows);
    add("_entries=", s.entries);
    add("_bytes=", s.bytes);
  }
  return out;
}

}  // namespace tulle
