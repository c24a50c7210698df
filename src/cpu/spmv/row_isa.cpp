#include "cpu/spmv/row_isa.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cpu/spmv/rows.hpp"
#include "kernels/autotune_cache.hpp"
#include "kernels/processor.hpp"

namespace tulle::cpu {
namespace {

constexpr std::array<index_t, 4> lengths{2, 6, 16, 48};
constexpr char wide = '5', narrow = '2';
/// A letter for each of f64 and f32, rows of one length and of several, and `lengths`.
constexpr std::size_t letters = 4 * lengths.size();

std::size_t place(scalar_type vectors, bool alike, std::size_t length) {
  return ((vectors == scalar_type::f64 ? 0 : 2) + (alike ? 0 : 1)) * lengths.size() + length;
}

/// A matrix whose rows have so many entries, or from none to twice as many.
template <scalar T>
class subject {
 public:
  subject(index_t length, bool alike) {
    constexpr index_t entries = 1 << 14, cols = 1 << 10;
    std::mt19937 random(1);
    for (index_t row = 0; row < entries / length; ++row) {
      const index_t n = alike ? length : static_cast<index_t>(random() % static_cast<unsigned>(2 * length + 1));
      for (index_t k = 0; k < n; ++k) colind_.push_back(static_cast<index_t>(random() % cols));
      rowptr_.push_back(static_cast<std::int32_t>(colind_.size()));
    }
    values_.assign(colind_.size(), T{1});
    x_.assign(cols, T{1});
    y_.assign(rowptr_.size() - 1, T{0});
    a_ = {static_cast<index_t>(y_.size()), cols, static_cast<std::int32_t>(values_.size()), rowptr_.data(), colind_.data(), values_.data()};
  }
  /// Nanoseconds of one product.
  double measure(isa level) {
    const auto begin = std::chrono::steady_clock::now();
    scaled<T> out{{1, 0}, y_.data()};
    multiply_rows(level, a_, 0, a_.rows, x_.data(), out);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  std::vector<std::int32_t> rowptr_{0};
  std::vector<index_t> colind_;
  std::vector<T> values_, x_, y_;
  csr_view<T, std::int32_t> a_;
};

/// The shortest of some products of each, by turns: what takes the core away slows but some of them.
template <scalar T>
char faster(index_t length, bool alike) {
  constexpr int turns = 7;
  subject<T> rows(length, alike);
  double of_wide = std::numeric_limits<double>::infinity(), of_narrow = of_wide;
  for (int i = 0; i < turns; ++i) {
    of_wide = std::min(of_wide, rows.measure(isa::avx512));
    of_narrow = std::min(of_narrow, rows.measure(isa::avx2));
  }
  return of_wide < of_narrow ? wide : narrow;
}

std::string measure() {
  std::string found(letters, wide);
  for (const bool alike : {true, false}) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      found[place(scalar_type::f64, alike, i)] = faster<double>(lengths[i], alike);
      found[place(scalar_type::f32, alike, i)] = faster<float>(lengths[i], alike);
    }
  }
  return found;
}

bool is_sound(const std::string& found) {
  return found.size() == letters && std::ranges::all_of(found, [](char c) { return c == wide || c == narrow; });
}

const std::string& found_by_time() {
  static const std::string found = [] {
    const std::string key = fmt::format("sums of rows/{}", context::cpu(1).info().name);
    if (const auto known = cached_winner(key, "processor"); known && is_sound(*known)) return *known;
    const std::string measured = measure();
    remember_winner(key, measured, "processor");
    return measured;
  }();
  return found;
}

}  // namespace

isa row_isa(scalar_type vectors, const csr_stats& stats) {
  const isa best = best_isa();
  if (best != isa::avx512 || vectors == scalar_type::i32) return best;
  const double mean = stats.rows == 0 ? 0 : static_cast<double>(stats.nnz) / stats.rows;
  const bool alike = stats.max > 0 && stats.max <= 1.25 * mean;
  std::size_t nearest = 0;  // between two lengths their geometric mean decides
  while (nearest + 1 < lengths.size() && mean * mean > static_cast<double>(lengths[nearest]) * lengths[nearest + 1]) ++nearest;
  return found_by_time()[place(vectors, alike, nearest)] == wide ? isa::avx512 : isa::avx2;
}

std::string describe_row_isa() {
  const isa best = best_isa();
  if (best != isa::avx512) return std::string(name(best));
  std::string out;
  for (const scalar_type t : {scalar_type::f64, scalar_type::f32}) {
    for (const bool alike : {true, false}) {
      std::string of_avx2;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (found_by_time()[place(t, alike, i)] == narrow) of_avx2 += fmt::format("{}{}", of_avx2.empty() ? "" : ", ", lengths[i]);
      }
      if (of_avx2.empty()) continue;
      out += fmt::format("{}{} rows of {}{}", out.empty() ? "avx2 for " : ", ", name(t), alike ? "" : "about ", of_avx2);
    }
  }
  return out.empty() ? "avx512" : out + "; else avx512";
}

}  // namespace tulle::cpu

bool tulle::gathers_pay() {
  csr_stats usual;
  usual.rows = 1, usual.nnz = 16;
  return cpu::row_isa(scalar_type::f64, usual) == cpu::isa::avx512;
}
