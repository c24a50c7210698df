#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "spgemm/operands.hpp"

namespace tulle::test {
namespace {

/// Every n-th of the columns from the `first` on.
columns every(std::size_t n, const columns& all, std::size_t first = 0) {
  columns some;
  for (std::size_t i = first; i < all.size(); i += n) some.push_back(all[i]);
  return some;
}

/// Collects the rows of A and B of a product.
struct builder {
  std::vector<columns> a;
  std::vector<columns> b;

  index_t add_b(columns c) {
    b.push_back(std::move(c));
    return static_cast<index_t>(b.size()) - 1;
  }
  operands finish(index_t cols) const {
    const auto inner = static_cast<index_t>(b.size());
    const auto row = [](const std::vector<columns>& rows) {
      return [&rows](index_t i) { return rows[static_cast<std::size_t>(i)]; };
    };
    return {matrix_of(static_cast<index_t>(a.size()), inner, row(a)), matrix_of(inner, cols, row(b))};
  }
};

/// Rows of A with k products: from one row of B; all in one column; each in a column of its own; and about sqrt(k) rows
/// of B of about sqrt(k) entries that overlap.
void add_rows_of_products(builder& m, index_t k, index_t cols) {
  std::mt19937_64 random(static_cast<std::uint64_t>(k));
  m.a.push_back({m.add_b(random_columns(random, k, 0, cols))});
  columns one_column, own_columns, square;
  for (index_t i = 0; i < k; ++i) one_column.push_back(m.add_b({cols / 2}));
  m.a.push_back(one_column);
  columns scattered = random_columns(random, k, 0, cols);
  std::shuffle(scattered.begin(), scattered.end(), random);
  for (const index_t column : scattered) own_columns.push_back(m.add_b({column}));
  m.a.push_back(own_columns);
  m.a.push_back({});
  const auto side = static_cast<index_t>(std::ceil(std::sqrt(k)));
  for (index_t left = k; left > 0; left -= std::min(side, left)) {
    square.push_back(m.add_b(random_columns(random, std::min(side, left), 0, std::min(cols, 3 * side))));
  }
  m.a.push_back(square);
}

operands products_per_row(index_t k) {
  builder m;
  const index_t cols = 2 * k + 100;
  add_rows_of_products(m, k, cols);
  return m.finish(cols);
}

/// Rows of A with k entries in C from about 1.8 k and from 3 k products.
operands entries_per_row(index_t k) {
  builder m;
  std::mt19937_64 random(static_cast<std::uint64_t>(k) + 1);
  for (const index_t cols : {k, 2 * k + 3, 4 * k + 50}) {
    const columns all = random_columns(random, k, 0, cols);
    const index_t first = m.add_b(all);
    m.a.push_back({first, m.add_b(every(2, all, 1)), m.add_b(every(3, all, 1))});
    m.a.push_back({first, m.add_b(all), m.add_b(all)});
  }
  return m.finish(4 * k + 50);
}

/// Rows of A whose columns in C span exactly k, here and there, with few entries and with many.
operands span_per_row(index_t k) {
  builder m;
  const index_t cols = k + 5000;
  std::mt19937_64 random(static_cast<std::uint64_t>(k) + 2);
  for (const index_t first : {0, 1, 31, 64, 4093, 5000}) {
    for (const index_t count : {1, 4, 40}) {
      columns named;
      for (index_t i = 0; i < count; ++i) named.push_back(m.add_b(random_columns(random, 9, first, first + k)));
      named.push_back(m.add_b({first}));
      named.push_back(m.add_b({first + k - 1}));
      m.a.push_back(named);
    }
  }
  return m.finish(cols);
}

/// All the rows of products_per_row side by side, so that one call has every class, and so many more: where they are
/// thousands the kernels look at their numbers first.
operands products_mixed(const std::vector<index_t>& counts, index_t more) {
  builder m;
  for (const index_t k : counts) {
    if (k <= 2049) add_rows_of_products(m, k, 5000);
  }
  for (index_t i = 0; i < more; ++i) m.a.push_back({i % static_cast<index_t>(m.b.size())});
  return m.finish(5000);
}

/// Runs of neighbouring columns, asked for by rows of A of 3 entries, some dozens, and thousands.
operands runs_of_columns(index_t rows) {
  const auto run = [](index_t i) {
    columns c;
    for (index_t j = 0; j < 40; ++j) c.push_back(37 * (i % 90) + j);
    return c;
  };
  const auto named = [rows](index_t i) {
    const index_t entries = i == 0 ? rows : i == 1 ? 2049 : i == 2 ? 1025 : i % 50 == 3 ? 65 : 3;
    columns c;
    for (index_t j = 0; j < std::min(entries, rows); ++j) c.push_back(j);
    return c;
  };
  return {matrix_of(rows, rows, named), matrix_of(rows, 3500, run)};
}

/// k columns in so many words of 32.
columns columns_in_words(index_t k, index_t words, index_t first) {
  columns c;
  for (index_t i = 0; i < k; ++i) {
    const index_t word = static_cast<index_t>(std::int64_t{i} * words / k);
    const auto first_of_word = static_cast<index_t>((std::int64_t{word} * k + words - 1) / words);
    c.push_back(first + 32 * 3 * word + (first + i - first_of_word) % 32);
  }
  std::sort(c.begin(), c.end());
  return c;
}

/// Rows of C with so many entries in so many words, among enough others that B is looked at by words.
operands entries_in_words() {
  builder m;
  for (const index_t words : {1, 8, 9, 12, 16, 63, 64, 65, 127, 128, 129}) {
    for (const index_t k : {32, 100, 130, 170, 255, 256, 257, 375, 376, 377, 479, 480, 481, 600}) {
      if (k < (k < 200 ? words : 2 * words) || k > 32 * words) continue;
      const columns all = columns_in_words(k, words, 96 * (k % 7));
      const columns some = every(3, all);
      const index_t whole = m.add_b(all);
      m.a.push_back({whole, m.add_b(some), m.add_b(all)});
      m.a.push_back({m.add_b(some), whole, whole, whole, whole, whole, whole});  // duplicates
    }
  }
  constexpr index_t cols = 13000;
  columns at_end = columns_in_words(200, 25, 0);
  for (const index_t by = cols - 1 - at_end.back(); index_t & column : at_end) column += by;
  m.a.push_back(columns(3, m.add_b(at_end)));
  const index_t last = m.add_b({7, 8, 9, 10});
  while (m.a.size() < 4200) m.a.push_back({last});
  return m.finish(cols);
}

/// Rows of A that ask for one to six of forty long rows of B: rows of C with 1150 to some 4800 entries, far apart, and
/// more than half a million in all. `others`: rows of B with one entry, which nobody asks for.
operands long_rows(index_t others) {
  std::mt19937_64 random(static_cast<std::uint64_t>(others) + 3);
  const index_t longs = 40, cols = 9000;
  const auto a = matrix_of(230, longs + others, [&](index_t i) { return random_columns(random, 1 + i % 6, 0, longs); });
  return {a, matrix_of(longs + others, cols,
                       [&](index_t i) { return random_columns(random, i < longs ? 1150 : 1, 0, cols); })};
}

/// Rows of C that reach over one pass of the bitmap of a wide row (48 K words), one column more, two passes, and all
/// columns; among `others` rows of one product.
operands wide_spans(index_t others) {
  constexpr index_t pass = 48 * 1024 * 32, cols = 2 * pass + 5000;
  builder m;
  std::mt19937_64 random(static_cast<std::uint64_t>(others) + 6);
  for (const index_t span : {pass - 1, pass, pass + 1, 2 * pass, 2 * pass + 1, cols}) {
    for (const index_t first : {0, 31, 1000}) {
      const index_t end = std::min(first + span, cols);
      columns named = {m.add_b({first}), m.add_b({end - 1})};
      for (index_t i = 0; i < 5; ++i) named.push_back(m.add_b(random_columns(random, 300, first, end)));
      m.a.push_back(named);
    }
  }
  for (index_t i = 0; i < others; ++i) m.a.push_back({0});
  return m.finish(cols);
}

/// So many rows of C with 4095 to 8193 entries that a block makes 4096 of them at a time. `others`: rows of B with one
/// entry, which nobody asks for.
operands rows_of_4096(index_t others) {
  constexpr index_t rows = 420, cols = 40000;
  std::mt19937_64 random(static_cast<std::uint64_t>(others) + 7);
  std::vector<columns> all;
  for (const index_t k : {4095, 4096, 4097, 8191, 8192, 8193}) {
    all.push_back(random_columns(random, k, 0, cols));
    all.push_back(every(7, all.back()));
  }
  const auto b = [&](index_t i) {
    return i < static_cast<index_t>(all.size()) ? all[static_cast<std::size_t>(i)] : columns{i % cols};
  };
  const auto inner = static_cast<index_t>(all.size()) + others;
  return {matrix_of(rows, inner,
                    [](index_t i) {
                      return columns{i % 6 * 2, i % 6 * 2 + 1};
                    }),
          matrix_of(inner, cols, b)};
}

/// Rows of as many products as kernels put in buckets of columns at a time, and one more and less, of a B whose columns
/// share no words: columns anywhere; crowded in two places, so that most buckets are empty; the same column again and
/// again. Among so many others that all are looked at by their numbers.
operands scattered_products(index_t longest) {
  constexpr index_t cols = 1'000'000;
  builder m;
  std::mt19937_64 random(8);
  const auto add_row = [&](index_t k, const std::function<columns(index_t)>& part) {
    const auto side = static_cast<index_t>(std::ceil(std::sqrt(k)));
    columns named;
    for (index_t left = k; left > 0; left -= std::min(side, left)) named.push_back(m.add_b(part(std::min(side, left))));
    m.a.push_back(named);
  };
  for (const index_t most : {512, 768, 1024, 2048, 4096}) {
    for (const index_t k : {most - 1, most, most + 1}) {
      if (k > longest) continue;
      add_row(k, [&](index_t n) { return random_columns(random, n, 0, cols); });
      add_row(k, [&](index_t n) {
        columns c{0};
        for (index_t i = 1; i < n; ++i) c.push_back(400'000 + 17 * (2 * i + static_cast<index_t>(random() % 2)));
        return c;
      });
      add_row(k, [&](index_t n) { return random_columns(random, n, 40, 40 + 3 * n); });
    }
  }
  for (index_t i = 0; i < 5000; ++i) m.add_b({i * 200});
  while (m.a.size() < 4200) m.a.push_back({static_cast<index_t>(m.b.size()) - 1 - static_cast<index_t>(m.a.size())});
  return m.finish(cols);
}

/// Rows of C with a few products, with some hundreds, and hubs, with columns anywhere: rows of A with up to 700
/// entries, 300 of which may ask for rows of B that are `longest` long.
operands hubs_beside_scattered(index_t longest, index_t cols) {
  constexpr index_t rows = 5000;
  std::mt19937_64 random(static_cast<std::uint64_t>(longest) + 9);
  const auto length = [longest](index_t i) { return i < 300 ? longest : i < 330 ? 40 + i % 90 : i % 10; };
  const auto named = [&](index_t i) {
    if (i % 500 == 7) return random_columns(random, 700, 0, rows);
    if (i % 500 == 8) return random_columns(random, 300, 0, 310);
    if (i % 500 == 9) return columns{0, 1, 305, 2000};
    return random_columns(random, i % 50 == 3 ? 150 : 2, 300, rows);
  };
  return {matrix_of(rows, rows, named),
          matrix_of(rows, cols, [&](index_t i) { return random_columns(random, length(i), 0, cols); })};
}

/// Rows of A with k entries, among others with one. Rows of B have two neighbours, or none.
operands many_short_rows(index_t k, index_t rows) {
  const index_t inner = 5000, cols = 3000;
  std::mt19937_64 random(static_cast<std::uint64_t>(k) + 4);
  const auto a =
      matrix_of(rows, inner, [&](index_t i) { return random_columns(random, i % (rows / 20) == 0 ? k : 1, 0, inner); });
  return {a, matrix_of(inner, cols, [&](index_t i) {
            const auto first = static_cast<index_t>(random() % 1500) * 2;
            return i % 7 == 0 ? columns{} : columns{first, first + 1};
          })};
}

/// Rows of A with `entries` entries, and some hubs.
operands hubs_of_a(index_t rows, index_t entries) {
  const index_t inner = 3500, cols = 4000;
  std::mt19937_64 random(static_cast<std::uint64_t>(rows) + 5);
  const auto entries_of = [&](index_t i) -> index_t {
    if (i % (rows / 11) != 5) return entries;
    const index_t hubs[] = {64, 65, 512, 513, 1025, 3000};
    return hubs[i / (rows / 11) % 6];
  };
  const auto a = matrix_of(rows, inner, [&](index_t i) { return random_columns(random, entries_of(i), 0, inner); });
  return {a, matrix_of(inner, cols, [&](index_t i) { return random_columns(random, i % 3, 0, cols); })};
}

}  // namespace

void add_boundary_products(std::vector<product_recipe>& all) {
  std::vector<index_t> counts = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  for (index_t power = 128; power <= 8192; power *= 2) {
    for (const index_t k : {power - 1, power, power + 1}) counts.push_back(k);
  }
  const auto add = [&](std::string name, std::function<operands()> make, bool quick = true) {
    all.push_back({std::move(name), std::move(make), quick, true});
  };
  for (const index_t k : counts) {
    const bool quick = k == 1 || k == 8 || k == 33 || k == 257 || k == 1025;
    for (const auto& [what, make] :
         {std::pair{"products", &products_per_row}, {"entries", &entries_per_row}, {"span", &span_per_row}}) {
      add(fmt::format("{}_{}", what, k), std::bind_front(make, k), quick);
    }
  }
  add("products_mixed", [counts] { return products_mixed(counts, 0); });
  add("products_among_many", [counts] { return products_mixed(counts, 4200); });
  add("entries_in_words", entries_in_words);
  for (const index_t longest : {4096, 4097}) {  // all in buckets, and too long for them
    add(fmt::format("scattered_products_{}", longest), [longest] { return scattered_products(longest); });
  }
  for (const index_t longest : {65, 300, 900}) {
    add(
        fmt::format("hubs_beside_scattered_{}", longest), [longest] { return hubs_beside_scattered(longest, 300'000); },
        longest == 65);
  }
  add("hubs_beside_few_columns", [] { return hubs_beside_scattered(300, 100'000); });
  for (const index_t others : {0, 2000}) {  // on average long rows, and short ones
    add(fmt::format("long_rows_beside_{}", others), [others] { return long_rows(others); });
    add(
        fmt::format("rows_of_4096_beside_{}", others), [others] { return rows_of_4096(others); }, false);
  }
  for (const index_t others : {0, 700}) {  // few rows, and more than a list of each class is kept for
    add(fmt::format("wide_spans_among_{}", others), [others] { return wide_spans(others); });
  }
  for (const index_t k : {64, 65, 160, 161, 512, 513, 1100}) {
    for (const index_t rows : {40, 4200}) {
      add(
          fmt::format("many_short_rows_{}_of_{}", k, rows), [=] { return many_short_rows(k, rows); },
          k >= 512 || (k > 65 && rows > 40));
    }
  }
  for (const auto& [rows, entries] : {std::pair{8193, 1}, {32769, 1}, {32769, 5}}) {
    add(fmt::format("hubs_of_{}_{}", rows, entries),
        [rows = rows, entries = entries] { return hubs_of_a(rows, entries); });
  }
  for (const index_t rows : {4096, 4097}) {
    add(fmt::format("runs_of_columns_{}", rows), [rows] { return runs_of_columns(rows); });
  }
}

}  // namespace tulle::test
