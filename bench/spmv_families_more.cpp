// Classes that the first families leave thin: long rows of scattered columns, rows of two lengths, tall matrices with a
// small x, columns by Zipf's law, blocks with holes.
#include "spmv_families.hpp"
#include "spmv_patterns.hpp"

namespace tulle::bench {
namespace {

/// The same with some of its entries.
pattern thinned(const pattern& of, double share, engine& random) {
  pattern p{of.cols};
  column_list row;
  for (index_t r = 0; r < of.rows(); ++r) {
    for (auto k = of.rowptr[r]; k < of.rowptr[r + 1]; ++k) {
      if (real(random) < share) row.push_back(of.colind[k]);
    }
    p.add_row(row);
  }
  return p;
}

}  // namespace

std::vector<family> spmv_families_more() {
  return {
      {"long rows anywhere", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({300, 1500, 700, 5000}, v), rows = count(n / k);
         const index_t cols = std::max<index_t>(4 * k, pick({100'000, 2'000'000, 400'000}, v));
         engine random(31);
         l += fmt::format("k={}, {} columns", k, cols);
         return rows_of(
             rows, cols, [=](index_t) { return k; }, [&, cols](index_t, index_t) { return below(random, cols); });
       }},
      {"long rows by turns", true,
       [](double n, int v, std::string& l) {
         const index_t less = pick({2, 5, 3, 10}, v), more = pick({40, 300, 1200}, v),
                       every = pick({4, 32, 10, 100, 500}, v);
         const index_t rows = count(n / (less + static_cast<double>(more) / every));
         engine random(32);
         l += fmt::format("{}, every {}th {}", less, every, more);
         return rows_of(
             rows, rows, [=](index_t r) { return r % every == 0 ? more : less; },
             [&](index_t, index_t) { return below(random, rows); });
       }},
      {"blocks with holes", true,
       [](double n, int v, std::string& l) {
         const index_t b = pick({3, 4, 2, 6, 5, 8}, v);
         const double share = pick({70, 90, 50, 80}, v) / 100.0;
         engine random(33);
         l += fmt::format("{} unknowns {:.0f}% ", b, 100 * share);
         return thinned(in_blocks(grid(v % 2 == 0 ? 3 : 2, v % 3 != 0, n / (b * b * share), l), b), share, random);
       }},
      {"tall with a small x", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({9, 3, 30, 6, 15}, v), rows = count(n / k);
         const index_t cols = std::max<index_t>(2 * k, std::min(rows / 2, pick({50'000, 1000, 200'000, 10'000}, v)));
         engine random(34);
         l += fmt::format("{} of {} columns", k, cols);
         return rows_of(
             rows, cols, [=](index_t) { return k; }, [&, cols](index_t, index_t) { return below(random, cols); });
       }},
      {"rows and columns by power laws", true,
       [](double n, int v, std::string& l) {
         const index_t mean = pick({8, 30, 4, 15}, v), rows = count(n / mean);
         const double s = pick({60, 95, 130}, v) / 100.0 + 0.001;
         engine random(35);
         l += fmt::format("mean {}, columns {:.2f}", mean, s);
         return rows_of(
             rows, std::max(rows, 4 * mean),
             [&, mean](index_t) {
               return static_cast<index_t>(std::min(mean * 0.5 * std::pow(real(random), -0.5), 0.02 * rows + 1));
             },
             [&, s](index_t, index_t) { return zipf(random, rows, s); });
       }},
      {"k near the diagonal", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({40, 12, 25, 100, 7}, v), w = k * pick({15, 8, 100, 2}, v), rows = count(n / k);
         engine random(36);
         l += fmt::format("k={}, w={}", k, w);
         return rows_of(
             rows, std::max(rows, 2 * w), [=](index_t) { return k; },
             [&, w](index_t r, index_t) { return std::int64_t{r} + below(random, w) - w / 2; });
       }},
      {"wide", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({12, 40, 5}, v), rows = count(n / k), cols = rows * pick({4, 16, 2}, v);
         engine random(37);
         l += fmt::format("{} of {} columns", k, cols);
         return rows_of(
             rows, std::max(cols, 2 * k), [&, k](index_t) { return 1 + below(random, 2 * std::int64_t{k} - 1); },
             [&, cols](index_t, index_t) { return below(random, cols); });
       }},
      {"shuffled blocks", true,
       [](double n, int v, std::string& l) {
         const index_t b = pick({2, 3, 5, 4}, v);
         engine random(38);
         l += fmt::format("{} unknowns ", b);
         return in_blocks(shuffled(grid(v % 2 == 0 ? 2 : 3, v % 3 == 0, n / (b * b), l), random), b);
       }},
      {"rows of a band in random order", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({5, 20, 9, 50}, v), rows = count(n / k);
         engine random(39);
         column_list order(static_cast<std::size_t>(rows));
         std::iota(order.begin(), order.end(), 0);
         std::ranges::shuffle(order, random);
         l += fmt::format("{} wide", k);
         return rows_of(
             rows, std::max(rows, 2 * k), [=](index_t) { return k; },
             [&, k](index_t r, index_t i) { return std::int64_t{order[static_cast<std::size_t>(r)]} + i - k / 2; });
       }},
  };
}

}  // namespace tulle::bench
