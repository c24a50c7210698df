#include "spmv_families.hpp"

#include "spmv_patterns.hpp"

namespace tulle::bench {

void pattern::add_row(std::vector<index_t>& columns) {
  if (!std::ranges::is_sorted(columns)) std::ranges::sort(columns);
  const auto last = std::unique(columns.begin(), columns.end());
  colind.insert(colind.end(), columns.begin(), last);
  rowptr.push_back(static_cast<std::int32_t>(colind.size()));
  columns.clear();
}

namespace {

std::vector<family> regular() {
  return {
      {"5 points", true, [](double n, int, std::string& l) { return grid(2, false, n, l); }},
      {"7 points", false, [](double n, int, std::string& l) { return grid(3, false, n, l); }},
      {"9 points", true, [](double n, int, std::string& l) { return grid(2, true, n, l); }},
      {"27 points", false, [](double n, int, std::string& l) { return grid(3, true, n, l); }},
      {"band", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({2, 3, 5, 8, 12, 20, 40, 80}, v), rows = count(n / k);
         l += fmt::format("{} wide", k);
         return rows_of(
             rows, rows, [=](index_t) { return k; }, [=](index_t r, index_t i) { return std::int64_t{r} + i - k / 2; });
       }},
      {"scattered diagonals", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({3, 4, 6, 10, 16, 25, 50}, v), rows = count(n / k);
         engine random(7);
         column_list at;
         for (index_t i = 0; i < k; ++i) at.push_back(below(random, rows));
         l += fmt::format("{} of them", k);
         return rows_of(
             rows, rows, [=](index_t) { return k; }, [=](index_t r, index_t i) { return std::int64_t{r} + at[i]; });
       }},
      {"blocks in a cube", true,
       [](double n, int v, std::string& l) {
         const index_t b = pick({3, 2, 5, 4, 6}, v);
         l += fmt::format("{} unknowns ", b);
         return in_blocks(grid(3, v % 2 == 0, n / (b * b), l), b);
       }},
      {"blocks near the diagonal", false,
       [](double n, int v, std::string& l) {
         const index_t b = pick({2, 6, 3, 4}, v), k = pick({4, 7, 12}, v), rows = count(n / (k * b * b));
         const int reach = pick({20, 400, 5000}, v);
         engine random(3);
         l += fmt::format("{} unknowns, {} blocks within {}", b, k, reach);
         return in_blocks(
             rows_of(
                 rows, rows, [=](index_t) { return k; },
                 [&](index_t r, index_t i) { return i == 0 ? r : std::int64_t{r} + below(random, 2 * reach) - reach; }),
             b);
       }},
      {"dense blocks", true,
       [](double n, int v, std::string& l) {
         const index_t b = pick({4, 8, 16, 32, 64, 10, 25}, v);
         l += fmt::format("of {}", b);
         return diagonal_blocks(n, [=] { return b; });
       }},
      {"dense blocks of many sizes", false,
       [](double n, int v, std::string& l) {
         const int most = pick({6, 20, 60, 120}, v);
         engine random(9);
         l += fmt::format("of 1 to {}", most);
         return diagonal_blocks(n, [&random, most] { return 1 + below(random, most); });
       }},
      {"dense", true,
       [](double n, int v, std::string& l) {
         const double wide = pick({1, 4, 16}, v);
         const index_t rows = count(std::sqrt(n / wide)), cols = count(n / rows);
         l += fmt::format("{} x {}", rows, cols);
         return rows_of(
             rows, cols, [=](index_t) { return cols; }, [](index_t, index_t i) { return i; });
       }},
      {"triangle", false,
       [](double n, int v, std::string& l) {
         const index_t step = pick({1, 2, 5}, v), rows = count(std::sqrt(2 * n * step));
         l += fmt::format("every {}", step);
         return rows_of(
             rows, rows, [=](index_t r) { return r / step + 1; },
             [=](index_t r, index_t i) { return r - std::int64_t{i} * step; });
       }},
      {"skyline", true,
       [](double n, int v, std::string& l) {
         const int most = pick({10, 40, 100, 300}, v);
         const index_t rows = count(2 * n / most);
         l += fmt::format("up to {}", most);
         return rows_of(
             rows, rows, [=](index_t r) { return 1 + static_cast<index_t>(most * (0.5 + 0.5 * std::sin(r * 0.02))); },
             [](index_t r, index_t i) { return std::int64_t{r} - i; });
       }},
      {"bordered band", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({3, 5, 9, 17}, v), border = pick({1, 3, 10}, v), rows = count(n / (k + 2 * border));
         l += fmt::format("{} wide, {} full", k, border);
         return rows_of(
             rows, rows, [=](index_t r) { return r < rows - border ? k + border : rows; },
             [=](index_t r, index_t i) {
               return r >= rows - border ? i : i < k ? std::int64_t{r} + i - k / 2 : std::int64_t{rows} - 1 - (i - k);
             });
       }},
  };
}

std::vector<family> random_rows() {
  return {
      {"k a row", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({4, 16, 2, 64, 8, 32, 128}, v), rows = count(n / k);
         engine random(1);
         l += fmt::format("k={}", k);
         return rows_of(
             rows, std::max(rows, 2 * k), [=](index_t) { return k; },
             [&](index_t, index_t) { return below(random, rows); });
       }},
      {"k/2 to 3k/2 a row", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({6, 24, 3, 96, 12, 48}, v), rows = count(n / k);
         engine random(2);
         l += fmt::format("k={}", k);
         return rows_of(
             rows, std::max(rows, 2 * k), [&, k](index_t) { return k / 2 + below(random, k + 1); },
             [&](index_t, index_t) { return below(random, rows); });
       }},
      {"1 to 4 a row", true,
       [](double n, int v, std::string& l) {
         const index_t rows = count(n / 2.5), reach = v % 2 == 0 ? rows : std::min<index_t>(rows, 100);
         engine random(4);
         l += fmt::format("within {}", reach);
         return rows_of(
             rows, rows, [&](index_t) { return 1 + below(random, 4); },
             [&, reach](index_t r, index_t) { return std::int64_t{r} + below(random, reach); });
       }},
      {"1 or 9 a row", false,
       [](double n, int v, std::string& l) {
         const index_t rows = count(n / 5), reach = pick({50, 1000, 1 << 30}, v);
         engine random(5);
         l += fmt::format("within {}", reach);
         return rows_of(
             rows, rows, [&](index_t) { return below(random, 2) == 0 ? 1 : 9; },
             [&, reach](index_t r, index_t) { return std::int64_t{r} + below(random, reach); });
       }},
      {"k within w", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({10, 5, 40, 20, 80}, v), w = k * pick({4, 50, 1000}, v), rows = count(n / k);
         engine random(6);
         l += fmt::format("k={}, w={}", k, w);
         return rows_of(
             rows, std::max(rows, 2 * k), [=](index_t) { return k; },
             [&, w](index_t r, index_t) { return std::int64_t{r} + below(random, w) - w / 2; });
       }},
      {"k/2 to 2k within w", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({8, 30, 4, 100}, v), w = k * pick({3, 30, 500}, v), rows = count(n / (1.25 * k));
         engine random(7);
         l += fmt::format("k={}, w={}", k, w);
         return rows_of(
             rows, std::max(rows, 2 * k), [&, k](index_t) { return k / 2 + below(random, 3 * k / 2 + 1); },
             [&, w](index_t r, index_t) { return std::int64_t{r} + below(random, w) - w / 2; });
       }},
      {"short or long rows", true,
       [](double n, int v, std::string& l) {
         const index_t less = pick({3, 1, 8}, v), more = pick({60, 600, 200}, v);
         const double share = pick({1, 5}, v) / 100.0;
         const index_t rows = count(n / (less + share * more));
         engine random(8);
         l += fmt::format("{} or {} ({:.0f}%)", less, more, 100 * share);
         return rows_of(
             rows, rows, [&, less, more, share](index_t) { return real(random) < share ? more : less; },
             [&](index_t, index_t) { return below(random, rows); });
       }},
      {"a dense row and column", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({1, 3}, v), rows = count(n / (k + 2));
         l += fmt::format("and {} diagonals", k);
         return rows_of(
             rows, rows, [=](index_t r) { return r == rows / 2 ? rows : k + 1; },
             [=](index_t r, index_t i) { return r == rows / 2 ? i
                                                : i == k      ? 0
                                                              : std::int64_t{r} + i; });
       }},
      {"few long rows", true,
       [](double n, int v, std::string& l) {
         const index_t rows = std::min(count(std::sqrt(n)), pick({25, 100, 400, 10}, v)), k = count(n / rows);
         engine random(10);
         l += fmt::format("{} rows", rows);
         return rows_of(
             rows, 4 * k, [=](index_t) { return k; },
             [&, k](index_t, index_t) { return below(random, 4 * std::int64_t{k}); });
       }},
      {"tall", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({9, 4, 20}, v), rows = count(n / k), cols = std::min(rows, pick({100, 3000, 50000}, v));
         engine random(11);
         l += fmt::format("{} of {} columns", k, cols);
         return rows_of(
             rows, cols, [=](index_t) { return k; }, [&, cols](index_t, index_t) { return below(random, cols); });
       }},
      {"half the rows empty", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({3, 10, 30}, v), rows = count(2 * n / k);
         engine random(12);
         l += fmt::format("else {}", k);
         return rows_of(
             rows, rows, [&, k](index_t) { return below(random, 2) == 0 ? 0 : k; },
             [&](index_t r, index_t) { return std::int64_t{r} + below(random, 1000); });
       }},
  };
}

std::vector<family> graphs() {
  return {
      {"R-MAT", true,
       [](double n, int v, std::string& l) {
         const int degree = pick({8, 16, 4, 48}, v);
         engine random(13);
         l += fmt::format("degree {}", degree);
         return rmat(n, degree, random);
       }},
      {"rows by a power law", false,
       [](double n, int v, std::string& l) {
         const index_t mean = pick({5, 20, 10}, v), rows = count(n / mean);
         const double s = v % 2 == 0 ? 0.6 : 0.4;
         engine random(14);
         l += fmt::format("mean {}, {:.1f}", mean, s);
         return rows_of(
             rows, rows,
             [&, s, mean](index_t) {
               return static_cast<index_t>(std::min(mean * (1 - s) * std::pow(real(random), -s), 0.1 * rows + 1));
             },
             [&](index_t, index_t) { return below(random, rows); });
       }},
      {"columns by Zipf", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({12, 3, 30, 6}, v), rows = count(n / k);
         const double s = v % 2 == 0 ? 0.8 : 1.1;
         engine random(15);
         l += fmt::format("k={}, {}", k, s);
         return rows_of(
             rows, std::max(rows, 2 * k), [=](index_t) { return k; },
             [&, s](index_t, index_t) { return zipf(random, rows, s); });
       }},
      {"preferential attachment", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({3, 8, 20}, v), rows = count(n / k);
         engine random(16);
         column_list ends{0};
         l += fmt::format("k={}", k);
         return rows_of(
             rows, rows, [=](index_t) { return k; },
             [&](index_t r, index_t i) {
               const index_t to =
                   i == 0 ? r : ends[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(ends.size())))];
               ends.push_back(to);
               return to;
             });
       }},
      {"shuffled mesh", true,
       [](double n, int v, std::string& l) {
         engine random(17);
         l += v % 2 == 0 ? "2D " : "3D ";
         return shuffled(grid(v % 2 == 0 ? 2 : 3, v % 4 > 1, n, l), random);
       }},
      {"points in a plane", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({6, 15, 40}, v), rows = count(n / k);
         const auto side = static_cast<index_t>(std::sqrt(rows)) + 1;
         engine random(18);
         l += fmt::format("about {} near", k);
         const auto reach = static_cast<index_t>(std::sqrt(k)) + 1;
         return rows_of(
             rows, rows, [&, k](index_t) { return k / 2 + below(random, k); },
             [&, reach, side](index_t r, index_t) {
               return std::int64_t{r} + std::int64_t{side} * (below(random, reach) - reach / 2) + below(random, reach) -
                      reach / 2;
             });
       }},
      {"users and items", true,
       [](double n, int v, std::string& l) {
         const index_t mean = pick({12, 40, 5}, v), rows = count(n / mean),
                       cols = count(rows * pick({2, 1, 4}, v) / 2.0);
         engine random(19);
         std::normal_distribution<double> normal;
         l += fmt::format("mean {}, {} items", mean, cols);
         return rows_of(
             rows, cols, [&, mean](index_t) { return 1 + static_cast<index_t>(0.6 * mean * std::exp(normal(random))); },
             [&, cols](index_t, index_t) { return zipf(random, cols, 0.7); });
       }},
      {"web pages", false,
       [](double n, int v, std::string& l) {
         const index_t mean = pick({10, 30}, v), rows = count(n / mean);
         engine random(20);
         l += fmt::format("mean {}", mean);
         return rows_of(
             rows, rows,
             [&, mean](index_t) {
               return static_cast<index_t>(std::min(mean * 0.5 * std::pow(real(random), -0.5), 2000.0));
             },
             [&](index_t r, index_t i) {
               return i % 8 == 0 ? zipf(random, rows, 0.9) : std::int64_t{r} + below(random, 60) - 30 + i;
             });
       }},
      {"nets of a circuit", true,
       [](double n, int v, std::string& l) {
         const index_t rows = count(n / 3.6), reach = pick({200, 3000}, v);
         engine random(21);
         l += fmt::format("within {}", reach);
         return rows_of(
             rows, rows,
             [&](index_t) {
               return real(random) < 0.001 ? 20 + below(random, 500)
                                           : 2 + static_cast<index_t>(-1.5 * std::log(real(random) + 1e-9));
             },
             [&, reach](index_t r, index_t i) {
               return i == 0 ? r : std::int64_t{r} + below(random, reach) - reach / 2;
             });
       }},
      {"roads", false,
       [](double n, int v, std::string& l) {
         const index_t rows = count(n / 2.6), reach = pick({4, 60, 2000}, v);
         engine random(22);
         l += fmt::format("within {}", reach);
         return rows_of(
             rows, rows,
             [&](index_t) { return 1 + below(random, 3) + (below(random, 8) == 0 ? 1 : 0) + (below(random, 2)); },
             [&, reach](index_t r, index_t i) {
               return i == 0 ? r + 1 : i == 1 ? r - 1 : std::int64_t{r} + below(random, reach);
             });
       }},
      {"linear programs", true,
       [](double n, int v, std::string& l) {
         const index_t k = pick({6, 25}, v), rows = count(n / k), coupling = rows / 50 + 1;
         engine random(23);
         l += fmt::format("k={}", k);
         return rows_of(
             rows, 2 * rows, [&, k, coupling](index_t r) { return r < coupling ? 4 * k : k / 2 + below(random, k); },
             [&, coupling](index_t r, index_t) {
               return r < coupling ? below(random, 2 * rows) : r / 40 * 80 + below(random, 80);
             });
       }},
  };
}

}  // namespace

std::vector<family> spmv_families() {
  std::vector<family> all = regular();
  for (auto& part : {random_rows(), graphs()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace tulle::bench
