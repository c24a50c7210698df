#include "cpu/spmv/row_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "kernels/autotune_cache.hpp"
#include "kernels/processor.hpp"

namespace tulle::cpu {
namespace {

constexpr std::array<index_t, 4> lengths{2, 6, 16, 48};
constexpr std::array paths{row_path::avx2, row_path::avx2_masked, row_path::avx512};
/// Of a path: its number, for f64 and f32, rows of one length and of several, and `lengths`.
char letter(row_path path) { return static_cast<char>('0' + static_cast<int>(path)); }
constexpr std::size_t letters = 4 * lengths.size();
/// What the processor has.
std::span<const row_path> candidates() {
  const std::size_t count = best_isa() == isa::avx512 ? 3 : best_isa() == isa::avx2 ? 2 : 0;
  return std::span(paths).first(count);
}

std::size_t place(scalar_type vectors, bool alike, std::size_t length) {
  return ((vectors == scalar_type::f64 ? 0 : 2) + (alike ? 0 : 1)) * lengths.size() + length;
}

/// A matrix whose rows have so many entries, or from none to twice as many.
template <scalar T>
class subject {
 public:
  subject(index_t length, bool alike) {
    constexpr index_t entries = 1 << 15, cols = 1 << 10;
    std::mt19937 random(1);
    for (index_t row = 0; row < entries / length; ++row) {
      const index_t n = alike ? length : static_cast<index_t>(random() % static_cast<unsigned>(2 * length + 1));
      for (index_t k = 0; k < n; ++k) colind_.push_back(static_cast<index_t>(random() % cols));
      rowptr_.push_back(static_cast<std::int32_t>(colind_.size()));
    }
    values_.assign(colind_.size(), T{1});
    x_.assign(cols, T{1});
    y_.assign(rowptr_.size() - 1, T{0});
    a_ = {static_cast<index_t>(y_.size()),
          cols,
          static_cast<std::int32_t>(values_.size()),
          rowptr_.data(),
          colind_.data(),
          values_.data()};
  }
  /// Nanoseconds of one product.
  double measure(row_path path) {
    const auto begin = std::chrono::steady_clock::now();
    scaled<T> out{{1, 0}, y_.data()};
    multiply_rows(path, a_, 0, a_.rows, x_.data(), out);
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
char fastest(index_t length, bool alike) {
  constexpr int turns = 5;
  subject<T> rows(length, alike);
  std::array<double, paths.size()> least;
  least.fill(std::numeric_limits<double>::infinity());
  for (int i = 0; i < turns; ++i) {
    for (std::size_t p = 0; p < candidates().size(); ++p) least[p] = std::min(least[p], rows.measure(paths[p]));
  }
  return letter(paths[static_cast<std::size_t>(std::ranges::min_element(least) - least.begin())]);
}

std::string measure() {
  std::string found(letters, letter(row_path::avx2));
  for (const bool alike : {true, false}) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      found[place(scalar_type::f64, alike, i)] = fastest<double>(lengths[i], alike);
      found[place(scalar_type::f32, alike, i)] = fastest<float>(lengths[i], alike);
    }
  }
  return found;
}

bool is_sound(const std::string& found) {
  const auto is_one = [](char c) {
    return std::ranges::any_of(candidates(), [c](row_path p) { return letter(p) == c; });
  };
  return found.size() == letters && std::ranges::all_of(found, is_one);
}

const std::string& found_by_time() {
  static const std::string found = [] {
    const std::string key = fmt::format("paths of rows/{}", context::cpu(1).info().name);
    if (const auto known = cached_winner(key, "processor"); known && is_sound(*known)) return *known;
    const std::string measured = measure();
    remember_winner(key, measured, "processor");
    return measured;
  }();
  return found;
}

}  // namespace

row_path fastest_row_path(scalar_type vectors, double mean, bool foreseen) {
  if (candidates().empty() || vectors == scalar_type::i32) return path_of(best_isa());
  std::size_t nearest = 0;  // between two lengths their geometric mean decides
  while (nearest + 1 < lengths.size() && mean * mean > static_cast<double>(lengths[nearest]) * lengths[nearest + 1])
    ++nearest;
  return static_cast<row_path>(found_by_time()[place(vectors, foreseen, nearest)] - '0');
}

std::string describe_row_paths() {
  if (candidates().empty()) return std::string(name(row_path::plain));
  std::string out;
  for (const row_path path : candidates()) {
    std::string those;
    for (const scalar_type t : {scalar_type::f64, scalar_type::f32}) {
      for (const bool alike : {true, false}) {
        for (std::size_t i = 0; i < lengths.size(); ++i) {
          if (found_by_time()[place(t, alike, i)] != letter(path)) continue;
          those += fmt::format("{}{}{}{}", those.empty() ? "" : ", ", name(t), alike ? " " : " ~", lengths[i]);
        }
      }
    }
    if (!those.empty()) out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", name(path), those);
  }
  return out;
}

}  // namespace tulle::cpu

bool tulle::gathers_pay() { return cpu::fastest_row_path(scalar_type::f64, 16, false) == cpu::row_path::avx512; }
