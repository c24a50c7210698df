// Families that no rule was fitted on or thought of with: they judge the choice on a GPU.
#include "spmv_families.hpp"
#include "spmv_patterns.hpp"

namespace tulle::bench {
namespace {

std::vector<family> meshes_left_out() {
  return {
      {"points of a Moebius band", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({5, 9, 13, 21}, v), rows = count(n / k), wide = pick({40, 700, 9000}, v);
         l += fmt::format("{} points, {} wide", k, wide);
         return rows_of(
             rows, std::max(rows, 2 * k), [=](index_t) { return k; },
             [=](index_t r, index_t i) {
               return std::int64_t{r} + (i % 3 - 1) + std::int64_t{wide} * (i / 3 - k / 6);
             });
       }},
      {"mesh refined in places", false,
       [](double n, int v, std::string& l) {
         const index_t least = pick({4, 6, 12}, v), rows = count(n / (1.7 * least));
         const int side = std::max(2, static_cast<int>(std::sqrt(rows)));
         engine random(51);
         l += fmt::format("from {}", least);
         return rows_of(
             rows, rows, [=](index_t r) { return r % 4096 < 512 ? 5 * least : least + r % 3; },
             [&, side](index_t r, index_t i) {
               return i < 3
                          ? std::int64_t{r} + i - 1
                          : std::int64_t{r} + (below(random, 2) == 0 ? side : -side) + below(random, 5 * i + 1) - 2 * i;
             });
       }},
      {"unknowns one kind after another", false,
       [](double n, int v, std::string& l) {
         const index_t kinds = pick({3, 2, 5}, v);
         const pattern g = grid(v % 2 == 0 ? 3 : 2, v % 3 == 0, n / (kinds * kinds), l);
         l += fmt::format(" {} kinds", kinds);
         pattern p{g.cols * kinds};
         column_list row;
         for (index_t kind = 0; kind < kinds; ++kind) {
           for (index_t r = 0; r < g.rows(); ++r) {
             for (index_t other = 0; other < kinds; ++other) {
               for (auto k = g.rowptr[r]; k < g.rowptr[r + 1]; ++k) row.push_back(other * g.cols + g.colind[k]);
             }
             p.add_row(row);
           }
         }
         return p;
       }},
      {"mesh in strips of random order", false,
       [](double n, int v, std::string& l) {
         const index_t strip = pick({64, 1000, 16}, v);
         const pattern g = grid(v % 2 == 0 ? 2 : 3, v % 3 != 0, n, l);
         engine random(52);
         column_list order(static_cast<std::size_t>(g.rows()));
         std::iota(order.begin(), order.end(), 0);
         for (std::size_t first = 0; first + strip <= order.size(); first += static_cast<std::size_t>(strip)) {
           std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(first),
                        order.begin() + static_cast<std::ptrdiff_t>(first) + strip, random);
         }
         l += fmt::format(" strips of {}", strip);
         column_list place(order.size()), row;
         for (std::size_t i = 0; i < order.size(); ++i)
           place[static_cast<std::size_t>(order[i])] = static_cast<index_t>(i);
         pattern p{g.cols};
         for (const index_t r : order) {
           for (auto k = g.rowptr[r]; k < g.rowptr[r + 1]; ++k)
             row.push_back(place[static_cast<std::size_t>(g.colind[k])]);
           p.add_row(row);
         }
         return p;
       }},
      {"dense bands far apart", false,
       [](double n, int v, std::string& l) {
         const index_t wide = pick({4, 16, 8}, v), bands = pick({3, 2, 7}, v), k = wide * bands, rows = count(n / k);
         l += fmt::format("{} of {}", bands, wide);
         return rows_of(
             rows, std::max(rows, 2 * k), [=](index_t) { return k; },
             [=](index_t r, index_t i) {
               return std::int64_t{r} + i % wide + std::int64_t{rows} / bands * (i / wide);
             });
       }},
      {"arrow of blocks", false,
       [](double n, int v, std::string& l) {
         const index_t b = pick({20, 7, 50}, v), border = pick({30, 5, 100}, v), rows = count(n / (b + 2.0 * border));
         l += fmt::format("blocks of {}, {} full", b, border);
         return rows_of(
             rows, rows, [=](index_t r) { return r < rows - border ? b + border : rows; },
             [=](index_t r, index_t i) {
               return r >= rows - border ? i : i < b ? std::int64_t{r / b} * b + i : std::int64_t{rows} - 1 - (i - b);
             });
       }},
  };
}

std::vector<family> others_left_out() {
  return {
      {"groups of friends", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({10, 40, 20}, v), rows = count(n / k), group = pick({60, 500, 5000}, v);
         engine random(53);
         l += fmt::format("k={}, groups of {}", k, group);
         return rows_of(
             rows, std::max(rows, 2 * k),
             [&, k](index_t) { return 1 + static_cast<index_t>(-0.9 * k * std::log(real(random) + 1e-12)); },
             [&, group](index_t r, index_t) {
               return below(random, 10) < 8 ? std::int64_t{r / group} * group + below(random, group)
                                            : std::int64_t{below(random, rows)};
             });
       }},
      {"words in texts", false,
       [](double n, int v, std::string& l) {
         const index_t mean = pick({80, 25, 200}, v), rows = count(n / mean), words = pick({30'000, 300'000, 5'000}, v);
         engine random(54);
         l += fmt::format("about {} of {} words", mean, words);
         return rows_of(
             rows, words, [&, mean](index_t) { return mean / 2 + below(random, mean + 1); },
             [&, words](index_t, index_t) { return zipf(random, words, 0.93); });
       }},
      {"letters to everyone", false,
       [](double n, int v, std::string& l) {
         const index_t less = pick({2, 4}, v), more = pick({2000, 500, 10'000}, v), rows = count(n / (less + 2.0));
         engine random(55);
         l += fmt::format("{} or {}", less, more);
         return rows_of(
             rows, rows, [&, less, more](index_t) { return real(random) < 2.0 / more ? more : less; },
             [&](index_t r, index_t) { return below(random, 3) == 0 ? std::int64_t{r} : below(random, rows); });
       }},
      {"interpolation", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({2, 4, 8, 3}, v), ratio = pick({2, 8, 27}, v), rows = count(n / k);
         const index_t cols = std::max<index_t>(rows / ratio, 4 * k);
         engine random(56);
         l += fmt::format("{} of every {}th", k, ratio);
         return rows_of(
             rows, cols, [&, k](index_t r) { return r % ratio == 0 ? 1 : k; },
             [&, ratio](index_t r, index_t i) { return std::int64_t{r / ratio} + i * (1 + below(random, 4)); });
       }},
      {"restriction", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({8, 27, 15}, v), ratio = pick({8, 27, 4}, v), rows = count(n / k);
         const index_t cols = std::max<index_t>(rows * ratio, 4 * k);
         l += fmt::format("{} of {} times as many", k, ratio);
         return rows_of(
             rows, cols, [=](index_t) { return k; },
             [=](index_t r, index_t i) { return std::int64_t{r} * ratio + i % 3 + i / 3 * 40; });
       }},
      {"stages of an optimisation", false,
       [](double n, int v, std::string& l) {
         const index_t b = pick({6, 15, 40}, v), rows = count(n / (1.5 * b));
         engine random(57);
         l += fmt::format("stages of {}", b);
         return rows_of(
             rows, rows, [&, b](index_t) { return b + below(random, b + 1); },
             [&, b](index_t r, index_t) { return std::int64_t{r / b} * b + below(random, 3 * b); });
       }},
      {"few columns hold half", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({14, 5, 33}, v), rows = count(n / k), hubs = pick({100, 20'000, 2000}, v);
         engine random(58);
         l += fmt::format("k={}, {} hubs", k, hubs);
         return rows_of(
             rows, std::max(rows, 2 * k), [&, k](index_t) { return 1 + below(random, 2 * k - 1); },
             [&, hubs](index_t, index_t) {
               return below(random, 2) == 0 ? std::int64_t{below(random, hubs)} * (rows / hubs + 1)
                                            : below(random, rows);
             });
       }},
      {"samples of a signal", false,
       [](double n, int v, std::string& l) {
         const index_t k = pick({64, 256, 24, 1000}, v), rows = count(n / k);
         const index_t cols = std::max<index_t>(4 * k, count(rows * pick({1, 30, 6}, v) / 3.0));
         engine random(59);
         l += fmt::format("runs of {} in {}", k, cols);
         index_t begin = 0;
         return rows_of(
             rows, cols, [=](index_t) { return k; },
             [&, cols, k](index_t, index_t i) {
               if (i == 0) begin = below(random, cols - k);
               return std::int64_t{begin} + i;
             });
       }},
  };
}

}  // namespace

std::vector<family> spmv_families_left_out() {
  std::vector<family> all = meshes_left_out();
  for (family& f : others_left_out()) all.push_back(std::move(f));
  return all;
}

}  // namespace tulle::bench
