// Is this C the C = M o (alpha A B) + beta D that was asked for?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/formats/views.hpp>

namespace tulle::cli {

/// What C is held against: host matrices, as they multiply (transposes taken).
template <scalar T>
struct spgemm_expectation {
  csr_view<T, std::int64_t> a;
  csr_view<T, std::int64_t> b;
  std::optional<csr_view<T, std::int64_t>> mask = {};
  std::optional<csr_view<T, std::int64_t>> d = {};
  T alpha = 1;
  T beta = 0;
};

struct spgemm_verdict {
  double error_ratio = 0;  // the largest error over its bound; infinite for a wrong pattern
  std::int64_t checked_rows = 0;
  std::string wrong;  // "row 3: column 7 is missing", of the first such row; empty where the pattern is right
  [[nodiscard]] bool ok() const { return error_ratio <= 1; }
};

/// Computes rows of C anew in higher precision (double-double for f64, double for f32) and holds C's entries to
/// gamma(n + 2) (|alpha| |A| |B| + |beta| |D|), n the terms of an entry, and its columns to the pattern, ascending.
/// Looks at all rows where that takes at most `most_products` multiplications, else at evenly spread ones. C is on the
/// host.
template <scalar T>
spgemm_verdict check_spgemm(const context& host, const spgemm_expectation<T>& expected, csr_view<T, std::int64_t> c,
                            std::int64_t most_products = std::int64_t{1} << 28);

/// Whether every row's columns ascend.
template <scalar T>
bool has_sorted_rows(const context& host, csr_view<T, std::int64_t> c);

}  // namespace tulle::cli
