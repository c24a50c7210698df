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
constexpr std::array all_ends{row_ends::alike, row_ends::not_many, row_ends::many};
/// Of a path: its number, for f64 and f32, each of `all_ends`, and `lengths`.
char letter(row_path path) { return static_cast<char>('0' + static_cast<int>(path)); }
constexpr std::size_t letters = 2 * all_ends.size() * lengths.size();
/// What the processor has.
std::span<const row_path> candidates() {
  const std::size_t count = best_isa() == isa::avx512 ? 3 : best_isa() == isa::avx2 ? 2 : 0;
  return std::span(paths).first(count);
}

std::size_t place(scalar_type vectors, row_ends ends, std::size_t length) {
  return ((vectors == scalar_type::f64 ? 0 : all_ends.size()) + static_cast<std::size_t>(ends)) * lengths.size() + length;
}

/// A matrix whose rows have so many entries, or from none to twice as many.
template <scalar T>
class subject {
 public:
  subject(index_t length, row_ends ends) {
    constexpr index_t cols = 1 << 10;
    const bool alike = ends == row_ends::alike;
    const index_t entries = ends == row_ends::not_many ? 1 << 14 : 1 << 15;
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

/// The shortest of some products of each, by turns: what takes the core away slows but some of them. A product is
/// repeated where a processor may learn where rows end.
template <scalar T>
char fastest(index_t length, row_ends ends) {
  constexpr int turns = 5;
  const int times = ends == row_ends::not_many ? 3 : 1;
  subject<T> rows(length, ends);
  std::array<double, paths.size()> least;
  least.fill(std::numeric_limits<double>::infinity());
  for (int i = 0; i < turns; ++i) {
    for (std::size_t p = 0; p < candidates().size(); ++p) {
      for (int k = 0; k < times; ++k) least[p] = std::min(least[p], rows.measure(paths[p]));
    }
  }
  return letter(paths[static_cast<std::size_t>(std::ranges::min_element(least) - least.begin())]);
}

std::string measure() {
  std::string found(letters, letter(row_path::avx2));
  for (const row_ends ends : all_ends) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      found[place(scalar_type::f64, ends, i)] = fastest<double>(lengths[i], ends);
      found[place(scalar_type::f32, ends, i)] = fastest<float>(lengths[i], ends);
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

row_path fastest_row_path(scalar_type vectors, double mean, row_ends ends) {
  if (candidates().empty() || vectors == scalar_type::i32) return path_of(best_isa());
  std::size_t nearest = 0;  // between two lengths their geometric mean decides
  while (nearest + 1 < lengths.size() && mean * mean > static_cast<double>(lengths[nearest]) * lengths[nearest + 1])
    ++nearest;
  return static_cast<row_path>(found_by_time()[place(vectors, ends, nearest)] - '0');
}

std::string describe_row_paths() {
  if (candidates().empty()) return std::string(name(row_path::plain));
  std::string out;
  for (const row_path path : candidates()) {
    std::string those;
    for (const scalar_type t : {scalar_type::f64, scalar_type::f32}) {
      for (const row_ends ends : all_ends) {
        constexpr const char* signs[] = {" ", " ~", " ~~"};
        for (std::size_t i = 0; i < lengths.size(); ++i) {
          if (found_by_time()[place(t, ends, i)] != letter(path)) continue;
          those += fmt::format("{}{}{}{}", those.empty() ? "" : ", ", name(t), signs[static_cast<int>(ends)], lengths[i]);
        }
      }
    }
    if (!those.empty()) out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", name(path), those);
  }
  return out;
}

}  // namespace tulle::cpu

bool tulle::gathers_pay() { return cpu::fastest_row_path(scalar_type::f64, 16, cpu::row_ends::many) == cpu::row_path::avx512; }
