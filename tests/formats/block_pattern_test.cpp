// Block patterns and what is assembled from them, against a map of blocks.
#include <map>
#include <numeric>

#include "support/on_battery.hpp"
#include "support/random.hpp"

namespace tulle::test {
namespace {

struct pair_list {
  index_t rows = 0, cols = 0;
  std::vector<index_t> rowind, colind;
};

/// `count` pairs, a third of them twice or more; every fourth row and the last columns have none.
pair_list random_pairs(index_t rows, index_t cols, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  pair_list out{rows, cols, {}, {}};
  while (out.rowind.size() < count && rows > 0 && cols > 0) {
    const bool again = !out.rowind.empty() && random() % 3 == 0;
    const std::size_t of = again ? random() % out.rowind.size() : 0;
    const auto r = static_cast<index_t>(random() % static_cast<std::uint64_t>(rows));
    const auto c = static_cast<index_t>(random() % static_cast<std::uint64_t>(cols));
    if (!again && r % 4 == 3 && rows > 4) continue;
    out.rowind.push_back(again ? out.rowind[of] : r);
    out.colind.push_back(again ? out.colind[of] : c - (cols > 8 && c >= cols - 2 ? 2 : 0));
  }
  return out;
}

/// Blocks by row and column: their terms in order.
using block_map = std::map<std::pair<index_t, index_t>, std::vector<std::int64_t>>;

block_map blocks_of(const pair_list& p, const block_pattern_options& o) {
  block_map out;
  const auto n = static_cast<std::int64_t>(p.rowind.size());
  for (std::int64_t k = 0; k < n; ++k) out[{p.rowind[k], p.colind[k]}].push_back(2 * k);
  for (std::int64_t k = 0; o.symmetric && k < n; ++k) {
    if (p.rowind[k] != p.colind[k]) out[{p.colind[k], p.rowind[k]}].push_back(2 * k + 1);
  }
  for (index_t i = 0; o.diagonal && i < std::min(p.rows, p.cols); ++i) out[{i, i}].push_back(-1);
  return out;
}

template <class T>
std::vector<T> assembled(const block_map& blocks, const std::vector<T>& values, index_t b) {
  std::vector<T> out;
  for (const auto& [place, terms] : blocks) {
    for (index_t i = 0; i < b; ++i) {
      for (index_t j = 0; j < b; ++j) {
        T sum{0};
        for (const std::int64_t t : terms) {
          if (t >= 0) sum += values[static_cast<std::size_t>((t >> 1) * b * b + (t % 2 != 0 ? j * b + i : i * b + j))];
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

class patterns : public on_backend {
 protected:
  block_pattern find(const pair_list& p, const block_pattern_options& o) const {
    const buffer<index_t> rowind = to_buffer(ctx(), p.rowind), colind = to_buffer(ctx(), p.colind);
    return find_block_pattern(
        ctx(),
        {p.rows, p.cols, static_cast<std::int64_t>(p.rowind.size()), rowind.data(), colind.data(), ctx().space()}, o);
  }

  void check(const pair_list& p, const block_pattern_options& o) const {
    const block_map want = blocks_of(p, o);
    const block_pattern got = find(p, o);
    ASSERT_EQ(got.blocks(), static_cast<std::int64_t>(want.size()));
    std::vector<std::int64_t> rowptr(static_cast<std::size_t>(p.rows) + 1), termptr{0}, terms;
    std::vector<index_t> colind;
    for (const auto& [place, of] : want) {
      ++rowptr[static_cast<std::size_t>(place.first) + 1];
      colind.push_back(place.second);
      terms.insert(terms.end(), of.begin(), of.end());
      termptr.push_back(static_cast<std::int64_t>(terms.size()));
    }
    std::partial_sum(rowptr.begin(), rowptr.end(), rowptr.begin());
    EXPECT_EQ(to_vector(ctx(), got.rowptr), rowptr);
    EXPECT_EQ(to_vector(ctx(), got.colind), colind);
    EXPECT_EQ(to_vector(ctx(), got.termptr), termptr);
    std::vector<std::int64_t> all = to_vector(ctx(), got.terms);
    ASSERT_GE(all.size(), terms.size());
    terms.resize(all.size(), -1);  // what made no block is set too
    EXPECT_EQ(all, terms);
    check_values<double>(got, want);
    check_values<float>(got, want);
  }

  /// Twice, with other values: the pattern stays.
  template <class T>
  void check_values(const block_pattern& p, const block_map& blocks) const {
    const auto count = static_cast<std::size_t>(p.pairs) * static_cast<std::size_t>(p.block * p.block);
    bin_bsr<T> bins = make_bin_bsr<T>(ctx(), p);
    EXPECT_TRUE(validate(ctx(), bins.view()).ok());
    for (const std::uint64_t seed : {1, 2}) {
      const std::vector<T> values = values_as<T>(random_numbers(count, seed));
      const buffer<T> given = to_buffer(ctx(), values);
      const std::vector<T> want = assembled(blocks, values, p.block);
      assemble(ctx(), p, given.data(), bins);
      if (p.block == 1) {
        const csr<T> a = to_csr(ctx(), bins.view());
        EXPECT_EQ(to_vector(ctx(), a.values), want);
        continue;
      }
      bsr<T, std::int32_t> made = make_bsr<T, std::int32_t>(ctx(), p);
      assemble(ctx(), p, given.data(), made);
      EXPECT_EQ(to_vector(ctx(), made.values), want);
      EXPECT_EQ(to_vector(ctx(), to_bsr(ctx(), bins.view()).values), want);
      const bin_bsr<T> from_blocks = to_bin_bsr(ctx(), made.view());
      EXPECT_EQ(to_vector(ctx(), bins.rowptr), to_vector(ctx(), from_blocks.rowptr));
      EXPECT_EQ(to_vector(ctx(), bins.colptr), to_vector(ctx(), from_blocks.colptr));
      EXPECT_EQ(to_vector(ctx(), bins.values), to_vector(ctx(), from_blocks.values));
    }
  }
};
TULLE_ON_BACKENDS(patterns, "cpu1", "cpu2", "cuda");

TEST_P(patterns, have_every_block_once_and_its_terms_in_order) {
  for (const index_t block : {1, 2, 3, 6, 8}) {
    for (const bool symmetric : {false, true}) {
      for (const bool diagonal : {false, true}) {
        SCOPED_TRACE(testing::Message() << block << (symmetric ? " symmetric" : "") << (diagonal ? " diagonal" : ""));
        const block_pattern_options o{block, symmetric, diagonal};
        check(random_pairs(1, 1, 3, 1), o);
        check(random_pairs(37, 37, 100, 2), o);
        check(random_pairs(300, 300, 2000, 3), o);
        check(random_pairs(5, 5, 0, 4), o);
        check({}, o);
        if (!symmetric) check(random_pairs(40, 9, 200, 5), o);
        if (!symmetric) check(random_pairs(9, 40, 200, 6), o);
      }
    }
  }
}

/// Rows longer than a warp, and more rows than one block scans: a device has ways of its own for either.
TEST_P(patterns, of_long_rows_and_of_many) {
  check(random_pairs(5, 300, 700, 7), {.block = 2});
  check(random_pairs(7, 7, 1000, 8), {.block = 2, .symmetric = true});
  check(random_pairs(20'000, 20'000, 3000, 9), {.block = 2, .symmetric = true, .diagonal = true});
}

TEST_P(patterns, are_found_where_rows_columns_and_numbers_do_not_fit_one_word) {
  pair_list p{1 << 27, (1 << 30) - 1, {}, {}};                 // 28 and 30 bits; 6 are left
  if (ctx().backend() == backend_kind::cpu) p.rows = 100'000;  // a histogram of rows is the method there
  for (int k = 0; k < 200; ++k) {
    p.rowind.push_back(p.rows - 1 - k % 7 * 1000);
    p.colind.push_back(p.cols - 1 - k % 11 * 77);
  }
  const block_pattern found = find(p, {.block = 1});
  const block_map want = blocks_of(p, {.block = 1});
  ASSERT_EQ(found.blocks(), static_cast<std::int64_t>(want.size()));
  std::vector<index_t> colind;
  std::vector<std::int64_t> terms;
  for (const auto& [place, of] : want) {
    colind.push_back(place.second);
    terms.insert(terms.end(), of.begin(), of.end());
  }
  EXPECT_EQ(to_vector(ctx(), found.colind), colind);
  EXPECT_EQ(to_vector(ctx(), found.terms), terms);
}

TEST_P(patterns, are_refused_with_the_pair_named) {
  const pair_list outside[] = {
      {3, 3, {0, 3, 7}, {0, 0, 0}}, {3, 3, {0, -1}, {0, 0}}, {3, 3, {0, 1}, {0, 3}}, {3, 3, {0, 1}, {0, -5}}};
  for (const pair_list& p : outside) {
    expect_error(status::invalid_structure, "pair 1 is (", [&] { find(p, {.symmetric = true}); });
  }
  const pair_list sound{3, 4, {0}, {0}};
  EXPECT_EQ(status_of([&] { find(sound, {.block = 9}); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { find(sound, {.block = 0}); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { find(sound, {.symmetric = true}); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { find({1 << 30, 1, {0}, {0}}, {.block = 2}); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { find({-1, 1, {}, {}}, {}); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] {
              find_block_pattern(ctx(), {1, 1, 1, nullptr, nullptr, ctx().space()});
            }),
            status::null_pointer);
  const block_pattern found = find(sound, {.block = 2});
  bsr<double> other = make_bsr<double>(ctx(), find({3, 5, {0, 0}, {0, 1}}, {.block = 2}));
  const buffer<double> values(ctx(), 4);
  EXPECT_EQ(status_of([&] { assemble(ctx(), found, values.data(), other); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { make_bsr<double>(ctx(), find(sound, {.block = 1})); }), status::invalid_argument);
}

}  // namespace
}  // namespace tulle::test
