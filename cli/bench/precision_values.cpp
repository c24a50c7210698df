#include "precision_values.hpp"

#include <algorithm>
#include <bit>
#include <thread>

namespace tulle::cli::bench {
namespace {

/// The same on every machine (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
std::uint64_t hash(std::int64_t n) {
  std::uint64_t h = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

/// One group of every five that follow one another stays as it is.
double graded(double given, std::int64_t group) {
  const auto kept = static_cast<std::int64_t>(hash(group / 5) % 5);
  return group % 5 == kept ? given : given * 0x1p-12;
}

double one_of(std::int64_t entry, int count) {
  const int half = count / 2;
  return (static_cast<double>(hash(entry) % static_cast<unsigned>(count)) - half + 0.5) / (3 * half);
}

double upper_half(double v) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffff0000u);
}

}  // namespace

const value_kind whole_values{"lowest bits random", [](double v, std::int64_t e, index_t, index_t) {
                                return v * (1 + 0x1p-40 * static_cast<double>(hash(e) >> 12) * 0x1p-52);
                              }};

const std::array<value_kind, 2> graded_values{{
    {"80% of regions small", [](double v, std::int64_t, index_t row, index_t) { return graded(v, row / 4096); }},
    {"80% of rows small", [](double v, std::int64_t, index_t row, index_t) { return graded(v, row); }},
}};

const std::array<value_kind, 5> lossless_values{{
    {"floats", [](double v, std::int64_t, index_t, index_t) -> double { return static_cast<float>(v); }},
    {"bf16", [](double v, std::int64_t, index_t, index_t) { return upper_half(v); }},
    {"256 different", [](double, std::int64_t e, index_t, index_t) { return one_of(e, 256); }},
    {"16 different", [](double, std::int64_t e, index_t, index_t) { return one_of(e, 16); }},
    {"constant coefficients",
     [](double, std::int64_t, index_t row, index_t column) { return row == column ? 26.1 : -0.9; }},
}};

void make_values(const matrix_ref& a, const double* given, const value_kind& kind, int threads,
                 std::vector<double>& into) {
  const auto view = a.as<double, std::int64_t>();
  into.resize(static_cast<std::size_t>(a.nnz));
  const auto rows = [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      for (std::int64_t k = view.rowptr[r]; k < view.rowptr[r + 1]; ++k)
        into[static_cast<std::size_t>(k)] = kind.make(given[k], k, r, view.colind[k]);
    }
  };
  std::vector<std::jthread> running;
  const auto part = [&](int i) { return static_cast<index_t>(std::int64_t{a.rows} * i / threads); };
  for (int i = 1; i < threads; ++i) running.emplace_back(rows, part(i), part(i + 1));
  rows(0, part(1));
}

}  // namespace tulle::cli::bench
