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

#include "cpu/spmv/row_order.hpp"
#include "cpu/spmv/rows_by_length.hpp"
#include "kernels/autotune_cache.hpp"
#include "kernels/processor.hpp"

namespace tulle::cpu {
namespace {

constexpr std::array<index_t, 4> lengths{2, 6, 16, 48};
constexpr std::array paths{row_path::avx2, row_path::avx2_masked, row_path::avx2_by_length, row_path::avx512};
constexpr std::array all_ends{row_ends::foreseen, row_ends::not_many, row_ends::many};
/// Of a path: its number, for rows in order and rows that may be sorted, f64 and f32, each of `all_ends`, and
/// `lengths`.
char letter(row_path path) { return static_cast<char>('0' + static_cast<int>(path)); }
constexpr std::size_t letters = 2 * 2 * all_ends.size() * lengths.size();
/// What the processor has.
std::span<const row_path> candidates() {
  const std::size_t count = best_isa() == isa::avx512 ? 4 : best_isa() == isa::avx2 ? 3 : 0;
  return std::span(paths).first(count);
}

std::size_t place(bool sorts, scalar_type vectors, row_ends ends, std::size_t length) {
  const std::size_t types = (sorts ? 2 : 0) + (vectors == scalar_type::f64 ? 0 : 1);
  return (types * all_ends.size() + static_cast<std::size_t>(ends)) * lengths.size() + length;
}

/// How large a matrix that is measured is.
struct extent {
  index_t rows, cols;
};

/// Of one that stays in caches, and x in the first level's.
extent near_extent(index_t length, row_ends ends) {
  constexpr index_t cols = 1 << 10;
  if (ends == row_ends::not_many) return {not_many_rows * 3 / 4, cols};
  return {(ends == row_ends::foreseen ? 1 << 15 : 1 << 17) / length, cols};
}

/// Of one that comes out of memory, and x out of the third level's: values and columns of 32 MB, x of 4.
template <scalar T>
extent far_extent(index_t length) {
  constexpr std::size_t entries = (std::size_t{32} << 20) / (sizeof(T) + sizeof(index_t));
  return {static_cast<index_t>(entries) / length, static_cast<index_t>((std::size_t{4} << 20) / sizeof(T))};
}

/// A matrix whose rows are alike and have so many entries, three less where so many fill vectors, as few matrices' do;
/// or from none to twice as many.
template <scalar T>
class subject {
 public:
  subject(index_t length, row_ends ends, extent size) {
    const auto [rows, cols] = size;
    const bool alike = ends == row_ends::foreseen;
    const index_t same = length % 8 == 0 ? length - 3 : length;
    std::mt19937 random(1);
    for (index_t row = 0; row < rows; ++row) {
      const index_t n = alike ? same : static_cast<index_t>(random() % static_cast<unsigned>(2 * length + 1));
      for (index_t k = 0; k < n; ++k) colind_.push_back(static_cast<index_t>(random() % static_cast<unsigned>(cols)));
      rowptr_.push_back(static_cast<std::int32_t>(colind_.size()));
    }
    values_.assign(colind_.size(), T{1});
    x_.assign(static_cast<std::size_t>(cols), T{1});
    y_.assign(rowptr_.size() - 1, T{0});
    a_ = {static_cast<index_t>(y_.size()),
          cols,
          static_cast<std::int32_t>(values_.size()),
          rowptr_.data(),
          colind_.data(),
          values_.data()};
    if (!alike) order_ = row_order(a_.rowptr, 0, a_.rows);
  }
  /// Nanoseconds of one product.
  double measure(row_path path) {
    const auto begin = std::chrono::steady_clock::now();
    scaled<T> out{{1, 0}, y_.data()};
    if (path == row_path::avx2_by_length) {
      multiply_rows_by_length(a_, order_, 0, x_.data(), out);
    } else {
      multiply_rows(path, a_, 0, a_.rows, x_.data(), out);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  std::vector<std::int32_t> rowptr_{0};
  std::vector<index_t> colind_;
  std::vector<T> values_, x_, y_;
  csr_view<T, std::int32_t> a_;
  row_order order_;
};

/// The letters of what is fastest of rows in order, and of all: by the shortest of some products of each, by turns, as
/// what takes the core away slows but some of them. A product is repeated where a processor may learn where rows end.
template <scalar T>
std::array<char, 2> fastest(index_t length, row_ends ends, extent size, int turns) {
  constexpr std::size_t by_length = 2;
  static_assert(paths[by_length] == row_path::avx2_by_length);
  const int times = ends == row_ends::not_many ? 3 : 1;
  subject<T> rows(length, ends, size);
  std::array<double, paths.size()> least;
  least.fill(std::numeric_limits<double>::infinity());
  for (int i = 0; i < turns; ++i) {
    for (std::size_t p = 0; p < candidates().size(); ++p) {
      if (p == by_length && (ends == row_ends::foreseen || length > most_by_length)) continue;
      for (int k = 0; k < times; ++k) least[p] = std::min(least[p], rows.measure(paths[p]));
    }
  }
  // What a processor remembers of rows in a measurement it forgets where other work comes between.
  constexpr double steady = 0.87;
  least[by_length] *= steady;
  const auto best = [&] {
    return letter(paths[static_cast<std::size_t>(std::ranges::min_element(least) - least.begin())]);
  };
  const char of_all = best();
  least[by_length] = std::numeric_limits<double>::infinity();
  return {best(), of_all};
}

std::string measure() {
  constexpr int turns = 5;
  std::string found(letters, letter(row_path::avx2));
  for (const row_ends ends : all_ends) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const extent size = near_extent(lengths[i], ends);
      const auto f64 = fastest<double>(lengths[i], ends, size, turns), f32 = fastest<float>(lengths[i], ends, size, turns);
      for (const bool sorts : {false, true}) {
        found[place(sorts, scalar_type::f64, ends, i)] = f64[sorts ? 1 : 0];
        found[place(sorts, scalar_type::f32, ends, i)] = f32[sorts ? 1 : 0];
      }
    }
  }
  return found;
}

/// The letter of what is fastest where x is far: how long rows are, and how well their ends are foreseen, matters less.
template <scalar T>
std::string measure_far() {
  constexpr index_t length = 24;
  constexpr int turns = 3;
  return std::string(1, fastest<T>(length, row_ends::many, far_extent<T>(length), turns)[0]);
}

bool is_sound(const std::string& found, std::size_t wanted) {
  const auto is_one = [](char c) {
    return std::ranges::any_of(candidates(), [c](row_path p) { return letter(p) == c; });
  };
  return found.size() == wanted && std::ranges::all_of(found, is_one);
}

/// `wanted` letters that were remembered as `what`, else what `measure` finds.
template <class Measure>
std::string remembered(std::string_view what, std::size_t wanted, const Measure& measure) {
  const std::string key = fmt::format("{}/{}", what, context::cpu(1).info().name);
  if (const auto known = cached_winner(key, "processor"); known && is_sound(*known, wanted)) return *known;
  const std::string measured = measure();
  remember_winner(key, measured, "processor");
  return measured;
}

const std::string& found_by_time() {
  static const std::string found = remembered("paths of rows, masks of eight", letters, measure);
  return found;
}

template <scalar T>
const std::string& found_far() {
  static const std::string found =
      remembered(fmt::format("path of rows, x far, {}", name(scalar_type_of<T>)), 1, measure_far<T>);
  return found;
}

}  // namespace

row_path fastest_row_path(scalar_type vectors, double mean, row_ends ends, bool sorts) {
  if (candidates().empty() || vectors == scalar_type::i32) return path_of(best_isa());
  std::size_t nearest = 0;  // between two lengths their geometric mean decides
  if (mean > most_by_length) sorts = false;
  while (nearest + 1 < lengths.size() && mean * mean > static_cast<double>(lengths[nearest]) * lengths[nearest + 1])
    ++nearest;
  return static_cast<row_path>(found_by_time()[place(sorts, vectors, ends, nearest)] - '0');
}

row_path fastest_far_row_path(scalar_type vectors) {
  if (candidates().empty() || vectors == scalar_type::i32) return path_of(best_isa());
  return static_cast<row_path>((vectors == scalar_type::f64 ? found_far<double>() : found_far<float>())[0] - '0');
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
          if (found_by_time()[place(true, t, ends, i)] != letter(path)) continue;
          those +=
              fmt::format("{}{}{}{}", those.empty() ? "" : ", ", name(t), signs[static_cast<int>(ends)], lengths[i]);
        }
      }
    }
    if (!those.empty()) out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", name(path), those);
  }
  return out;
}

}  // namespace tulle::cpu

tulle::processor_class tulle::this_processor() {
  if (cpu::best_isa() != cpu::isa::avx512) return processor_class::narrow;
  const bool pays = cpu::fastest_row_path(scalar_type::f64, 16, cpu::row_ends::many) == cpu::row_path::avx512;
  return pays ? processor_class::gathers : processor_class::loads;
}
