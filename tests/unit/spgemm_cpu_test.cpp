// The CPU's SpGEMM kernels through their operators: every entry of the table against sums in higher precision, for any
// number of threads, panels, masks, new values, and within the bytes that it promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/backends.hpp"

namespace tulle {
namespace {

/// A host matrix that the tests can build row by row.
template <class T, class O>
struct host_csr {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<O> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;

  explicit host_csr(index_t columns = 0) : cols(columns) {}
  void add_row(const std::vector<index_t>& columns, std::mt19937& random) {
    std::uniform_real_distribution<T> in(-1, 1);
    for (const index_t c : columns) {
      colind.push_back(c);
      values.push_back(in(random));
    }
    rowptr.push_back(static_cast<O>(colind.size()));
    ++rows;
  }
  [[nodiscard]] csr_ref ref() const { return panel(0, rows); }
  [[nodiscard]] csr_ref panel(index_t begin, index_t end) const {
    return csr_ref::of(csr_view<T, O>{end - begin, cols, static_cast<O>(rowptr[end] - rowptr[begin]),
                                      rowptr.data() + begin, colind.data(), values.data(), memory_space::host});
  }
};

/// `count` different columns in order (all of them when count passes cols).
std::vector<index_t> some_columns(index_t cols, index_t count, std::mt19937& random) {
  std::set<index_t> columns;
  if (2 * std::int64_t{count} >= cols) {
    std::vector<index_t> all(static_cast<std::size_t>(cols));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::shuffle(all, random);
    all.resize(static_cast<std::size_t>(std::min(count, cols)));
    std::ranges::sort(all);
    return all;
  }
  while (static_cast<index_t>(columns.size()) < count)
    columns.insert(std::uniform_int_distribution<index_t>(0, cols - 1)(random));
  return {columns.begin(), columns.end()};
}

template <class T, class O>
host_csr<T, O> random_matrix(index_t rows, index_t cols, index_t row_entries, unsigned seed) {
  std::mt19937 random(seed);
  host_csr<T, O> m(cols);
  for (index_t i = 0; i < rows; ++i) m.add_row(some_columns(cols, cols == 0 ? 0 : row_entries, random), random);
  return m;
}

/// Row i has lengths[i] entries.
template <class T, class O>
host_csr<T, O> matrix_of_lengths(index_t cols, const std::vector<index_t>& lengths, unsigned seed) {
  std::mt19937 random(seed);
  host_csr<T, O> m(cols);
  for (const index_t length : lengths) m.add_row(some_columns(cols, length, random), random);
  return m;
}

/// Counts what is live and what was most; refuses past `limit`.
class counting_memory final : public memory_resource {
 public:
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> live = 0, most = 0, allocations = 0;

  void* allocate(std::size_t bytes, stream_view stream) override {
    if (live + bytes > limit) throw error(status::out_of_memory, "the test's limit");
    ++allocations;
    live += bytes;
    most = std::max<std::size_t>(most, live);
    return host_memory()->allocate(bytes, stream);
  }
  void deallocate(void* p, std::size_t bytes, stream_view stream) noexcept override {
    live -= bytes;
    host_memory()->deallocate(p, bytes, stream);
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }
};

template <class T>
struct product {
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colind;
  std::vector<T> values;
  friend bool operator==(const product& x, const product& y) {
    return x.rowptr == y.rowptr && x.colind == y.colind && x.values.size() == y.values.size() &&
           (x.values.empty() || std::memcmp(x.values.data(), y.values.data(), x.values.size() * sizeof(T)) == 0);
  }
};

template <class T>
void run_numeric(spgemm_operator& op, double alpha, const spgemm_problem& p, csr_sink sink, product<T>& c) {
  std::vector<T> again(c.values.size() + 1, std::numeric_limits<T>::quiet_NaN());
  sink.values = again.data();
  op.numeric(alpha, p.a.values, p.b.values, sink);
  again.pop_back();
  EXPECT_TRUE(again.empty() || std::memcmp(again.data(), c.values.data(), again.size() * sizeof(T)) == 0)
      << "numeric gives other bits than fill";
}

/// C by one operator, with a `numeric` that must give the same and must not allocate, within its bound.
template <class T>
product<T> multiply(const spgemm_kernel& kernel, const context& base, const spgemm_problem& p, double alpha = 1) {
  const auto memory = std::make_shared<counting_memory>();
  const context ctx = base.with_memory(memory);
  const spgemm_work work = count_products(base, p);
  product<T> c;
  {
    const auto op = kernel.make(ctx, p);
    const std::int64_t nnz = op->symbolic();
    EXPECT_LE(nnz, work.nnz_bound);
    c.rowptr.assign(static_cast<std::size_t>(p.a.rows) + 1, -1);
    c.colind.assign(static_cast<std::size_t>(nnz), -1);
    c.values.assign(static_cast<std::size_t>(nnz), std::numeric_limits<T>::quiet_NaN());
    const csr_sink sink{offset_type::i64, 0, c.rowptr.data(), c.colind.data(), c.values.data()};
    op->fill(alpha, sink);
    const std::size_t before = memory->allocations;
    run_numeric(*op, alpha, p, sink, c);
    EXPECT_EQ(memory->allocations, before);
    EXPECT_EQ(op->workspace_bytes(), memory->live);
  }
  EXPECT_EQ(memory->live, 0U);
  return c;
}

/// Entry by entry: the sum in long double and gamma(n + 2) sum |alpha a b|.
template <class T, class O>
void expect_right(const spgemm_problem& p, double alpha, const product<T>& c) {
  const csr_view<T, O> a = p.a.as<T, O>(), b = p.b.as<T, O>();
  struct entry {
    long double sum = 0, magnitude = 0;
    std::int64_t terms = 0;
  };
  ASSERT_EQ(c.rowptr.front(), 0);
  for (index_t i = 0; i < a.rows; ++i) {
    std::map<index_t, entry> row;
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      for (O l = b.rowptr[a.colind[k]]; l < b.rowptr[a.colind[k] + 1]; ++l) {
        const long double term = static_cast<long double>(alpha) * a.values[k] * b.values[l];
        entry& e = row[b.colind[l]];
        e.sum += term;
        e.magnitude += std::fabs(term);
        ++e.terms;
      }
    }
    if (p.mask) {
      const csr_view<T, O> m = p.mask->as<T, O>();
      std::erase_if(row, [&](const auto& e) {
        return !std::binary_search(m.colind + m.rowptr[i], m.colind + m.rowptr[i + 1], e.first);
      });
    }
    ASSERT_EQ(c.rowptr[i + 1] - c.rowptr[i], static_cast<std::int64_t>(row.size())) << "row " << i;
    std::int64_t at = c.rowptr[i];
    for (const auto& [column, e] : row) {
      ASSERT_EQ(c.colind[at], column) << "row " << i;
      const long double k = static_cast<long double>(e.terms + 2) * (std::numeric_limits<T>::epsilon() / 2);
      if (std::isnan(e.sum)) {
        ASSERT_TRUE(std::isnan(c.values[at])) << "row " << i << " column " << column;
      } else if (std::isinf(e.sum)) {
        ASSERT_EQ(static_cast<long double>(c.values[at]), e.sum) << "row " << i << " column " << column;
      } else {
        ASSERT_LE(std::fabs(c.values[at] - e.sum), k / (1 - k) * e.magnitude) << "row " << i << " column " << column;
      }
      ++at;
    }
  }
}

/// Every kernel on 1, 2 and 16 threads: right, and the same bits.
template <class T, class O>
void check_all(const std::string& what, const spgemm_problem& p, double alpha = 1) {
  for (const spgemm_kernel& kernel : spgemm_kernels(backend_kind::cpu)) {
    SCOPED_TRACE(what + ", " + std::string(kernel.name));
    if (p.mask && !kernel.takes_mask) continue;
    const product<T> one = multiply<T>(kernel, context::cpu(1), p, alpha);
    expect_right<T, O>(p, alpha, one);
    for (const int threads : {2, 16})
      EXPECT_TRUE(multiply<T>(kernel, context::cpu(threads), p, alpha) == one) << threads;
  }
}

template <class Types>
class spgemm_cpu : public testing::Test {
 public:
  using value = typename Types::first_type;
  using offset = typename Types::second_type;
};
using all_types = testing::Types<std::pair<float, std::int32_t>, std::pair<float, std::int64_t>,
                                 std::pair<double, std::int32_t>, std::pair<double, std::int64_t>>;
TYPED_TEST_SUITE(spgemm_cpu, all_types);

TYPED_TEST(spgemm_cpu, shapes) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  struct {
    index_t rows, inner, cols, in_a, in_b;
  } const shapes[] = {{0, 0, 0, 0, 0},       {0, 5, 5, 2, 2},      {5, 0, 5, 0, 0},          {5, 5, 0, 2, 0},
                      {1, 1, 1, 1, 1},       {1, 300, 7, 300, 3},  {300, 1, 7, 1, 7},        {30, 20, 40, 3, 4},
                      {70, 90, 600, 10, 60}, {40, 40, 40, 40, 40}, {3000, 3000, 3000, 6, 6}, {200, 50, 70000, 8, 50}};
  for (const auto& s : shapes) {
    const auto a = random_matrix<T, O>(s.rows, s.inner, s.in_a, 1);
    const auto b = random_matrix<T, O>(s.inner, s.cols, s.in_b, 2);
    check_all<T, O>(std::to_string(s.rows) + "x" + std::to_string(s.inner) + "x" + std::to_string(s.cols),
                    {a.ref(), b.ref()}, 2.5);
  }
}

TYPED_TEST(spgemm_cpu, lengths_at_the_edges) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  const std::vector<index_t> lengths{0,  1,  2,  3,   7,   8,   9,   15,  16,  17,  31,  32,  33,   0,    47,   48,  49,
                                     63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2048};
  const auto a_one = matrix_of_lengths<T, O>(33, std::vector<index_t>(33, 1), 3);
  for (const index_t cols : {2048, 70001}) {
    const auto b = matrix_of_lengths<T, O>(cols, lengths, 4);
    check_all<T, O>("one entry a row of A", {a_one.ref(), b.ref()});
    const auto a = matrix_of_lengths<T, O>(33, {0, 1, 2, 3, 4, 5, 8, 16, 32, 33}, 5);
    check_all<T, O>("several", {a.ref(), b.ref()});
  }
  const auto a = matrix_of_lengths<T, O>(2100, lengths, 6);
  const auto b = random_matrix<T, O>(2100, 100, 1, 7);
  check_all<T, O>("one entry a row of B", {a.ref(), b.ref()});
}

TYPED_TEST(spgemm_cpu, wide_spans) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  const index_t cols = 5'000'000;
  const auto b = matrix_of_lengths<T, O>(cols, {1, 2, 3, 10, 40, 100, 1000, 5000, 60'000, 60'000}, 8);
  host_csr<T, O> a(10);
  std::mt19937 random(9);
  for (const auto& row : std::vector<std::vector<index_t>>{
           {}, {0, 1}, {2, 1, 3}, {4, 4}, {5, 6}, {7}, {8, 9}, {7, 6, 5}, {9, 0, 8, 9}, {8, 9, 8, 9, 8, 9, 8, 9,
                                                                                         8, 9, 8, 9, 8, 9, 8, 9,
                                                                                         8, 9, 8, 9, 8, 9}}) {
    a.add_row(row, random);
  }
  for (const spgemm_kernel& kernel : spgemm_kernels(backend_kind::cpu)) {
    SCOPED_TRACE(std::string(kernel.name));
    spgemm_problem p{a.ref(), b.ref()};
    p.tile_size = 1 << 20;
    const product<T> one = multiply<T>(kernel, context::cpu(1), p);
    expect_right<T, O>(p, 1, one);
    EXPECT_TRUE(multiply<T>(kernel, context::cpu(16), p) == one);
    const auto mask = matrix_of_lengths<T, O>(cols, {5, 5, 1, 1000, 100, 600, 330'000, 1, 30'000, 1000}, 10);
    p.mask = mask.ref();
    const product<T> masked = multiply<T>(kernel, context::cpu(1), p);
    expect_right<T, O>(p, 1, masked);
    EXPECT_TRUE(multiply<T>(kernel, context::cpu(16), p) == masked);
  }
}

/// Rows of B with neighbouring columns, used often: counted by words, added by blocks of 8 columns.
TYPED_TEST(spgemm_cpu, neighbours) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  for (const index_t start : {0, 61, 523'000}) {
    std::mt19937 random(25);
    host_csr<T, O> b(start + 600'000);
    for (index_t r = 0; r < 40; ++r) {
      std::vector<index_t> columns;
      for (index_t run = 0; run < 6; ++run) {
        for (index_t j = 0; j < 3 + (r + run) % 15; ++j) columns.push_back(start + 70 * run + 3 * (r % 7) + j);
      }
      if (r == 39) columns.push_back(start + 599'999);
      b.add_row(columns, random);
    }
    b.values[5] = std::numeric_limits<T>::infinity();
    b.values[9] = std::numeric_limits<T>::quiet_NaN();
    b.values[12] = T{-0.0};
    host_csr<T, O> a(40);
    for (index_t i = 0; i < 60; ++i) {
      std::vector<index_t> columns(static_cast<std::size_t>(2 + i % 60));
      for (index_t& c : columns)
        c = std::uniform_int_distribution<index_t>(i < 40 ? 1 : 0, i % 50 == 49 ? 39 : 38)(random);
      a.add_row(columns, random);
    }
    a.values[20] = -std::numeric_limits<T>::infinity();
    spgemm_problem p{a.ref(), b.ref()};
    p.tile_size = 1 << 19;
    check_all<T, O>("from column " + std::to_string(start), p);
  }
}

/// Rows of A with the columns of the row before: one alone, several at once, and more than are added together.
TYPED_TEST(spgemm_cpu, repeated_rows) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  for (const index_t apart : {10, 6'000, 90'000}) {
    for (const index_t run : {1, 9}) {
      std::mt19937 random(26);
      host_csr<T, O> b(6 * apart + 1023);
      for (index_t r = 0; r < 40; ++r) {
        std::vector<index_t> columns;
        for (index_t j = 0; j < 7 * run; ++j) columns.push_back(1003 + apart * (j / run) + r % 5 + j % run);
        b.add_row(r % 13 == 5 ? std::vector<index_t>{} : columns, random);
      }
      b.values[5] = std::numeric_limits<T>::infinity();
      host_csr<T, O> a(40);
      for (index_t group = 0; group < 90; ++group) {
        const std::vector<index_t> columns = some_columns(40, group % 12, random);
        for (index_t i = 0; i <= group % 7; ++i) a.add_row(columns, random);
      }
      spgemm_problem p{a.ref(), b.ref()};
      p.tile_size = 1 << 19;
      check_all<T, O>("runs of " + std::to_string(run) + ", " + std::to_string(apart) + " apart", p, -1.5);
    }
  }
}

TYPED_TEST(spgemm_cpu, repeated_rows_at_the_widest_span) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  const index_t first = 1007;  // the last of eight neighbours
  for (const index_t span : {32'767, 32'768, 32'769}) {
    std::mt19937 random(27);
    host_csr<T, O> b(first + span);
    for (index_t r = 0; r < 20; ++r) {
      std::vector<index_t> columns;
      for (const index_t begin : {first, 5'000 + 9 * (r % 5), first + span - 9}) {
        for (index_t j = 0; j < 9; ++j) columns.push_back(begin + j);
      }
      b.add_row(columns, random);
    }
    host_csr<T, O> a(20);
    for (index_t group = 0; group < 30; ++group) {
      const std::vector<index_t> columns = some_columns(20, 1 + group % 8, random);
      for (index_t i = 0; i <= group % 6; ++i) a.add_row(columns, random);
    }
    spgemm_problem p{a.ref(), b.ref()};
    p.tile_size = 1 << 16;
    check_all<T, O>("a span of " + std::to_string(span), p, -1.5);
  }
}

TYPED_TEST(spgemm_cpu, masks) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  for (const index_t in_mask : {0, 1, 5, 100, 400}) {
    const auto a = random_matrix<T, O>(300, 200, 7, 11);
    const auto b = random_matrix<T, O>(200, 400, 9, 12);
    const auto m = random_matrix<T, O>(300, 400, in_mask, 13);
    spgemm_problem p{a.ref(), b.ref()};
    p.mask = m.ref();
    check_all<T, O>("mask of " + std::to_string(in_mask), p, -1);
  }
}

TYPED_TEST(spgemm_cpu, unsorted_rows_duplicates_and_special_values) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  std::mt19937 random(14);
  host_csr<T, O> a(60);
  for (index_t i = 0; i < 200; ++i) {
    std::vector<index_t> columns(static_cast<std::size_t>(i % 23));
    for (index_t& c : columns) c = std::uniform_int_distribution<index_t>(0, 59)(random);
    a.add_row(columns, random);
  }
  auto b = random_matrix<T, O>(60, 500, 20, 15);
  a.values[30] = std::numeric_limits<T>::infinity();
  a.values[300] = std::numeric_limits<T>::quiet_NaN();
  b.values[100] = -std::numeric_limits<T>::infinity();
  b.values[200] = 0;
  check_all<T, O>("special", {a.ref(), b.ref()});
}

TYPED_TEST(spgemm_cpu, cancellation_keeps_the_entry) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  for (const index_t width : {1, 20, 40, 3000}) {
    std::mt19937 random(16);
    std::vector<index_t> columns(static_cast<std::size_t>(width));
    std::iota(columns.begin(), columns.end(), 3);
    host_csr<T, O> b(width + 10), a(1);
    b.add_row(columns, random);
    a.add_row({0, 0}, random);
    a.values = {1, -1};
    check_all<T, O>("cancels", {a.ref(), b.ref()});
    const auto c = multiply<T>(spgemm_kernels(backend_kind::cpu).back(), context::cpu(2), {a.ref(), b.ref()});
    EXPECT_EQ(c.rowptr[1], width);
    for (const T sum : c.values) EXPECT_EQ(sum, T{0});
  }
}

TYPED_TEST(spgemm_cpu, panels_make_the_whole) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  const auto a = random_matrix<T, O>(500, 300, 9, 17);
  const auto b = random_matrix<T, O>(300, 1000, 11, 18);
  const auto m = random_matrix<T, O>(500, 1000, 50, 19);
  for (const bool with_mask : {false, true}) {
    for (const spgemm_kernel& kernel : spgemm_kernels(backend_kind::cpu)) {
      SCOPED_TRACE(std::string(kernel.name));
      spgemm_problem p{a.ref(), b.ref()};
      if (with_mask) p.mask = m.ref();
      const product<T> whole = multiply<T>(kernel, context::cpu(2), p, 3);
      product<T> c = whole;
      std::ranges::fill(c.rowptr, -1);
      std::ranges::fill(c.colind, -1);
      std::ranges::fill(c.values, std::numeric_limits<T>::quiet_NaN());
      std::int64_t first = 0;
      std::vector<std::int32_t> narrow(501);
      for (index_t begin = 0, end = 1; begin < 500; begin = end, end = std::min(500, 3 * end)) {
        p.a = a.panel(begin, end);
        if (with_mask) p.mask = m.panel(begin, end);
        const auto op = kernel.make(context::cpu(2), p);
        const std::int64_t nnz = op->symbolic();
        csr_sink sink{offset_type::i64, first, c.rowptr.data() + begin, c.colind.data(), c.values.data()};
        op->fill(3, sink);
        sink = {offset_type::i32, first, narrow.data() + begin, c.colind.data(), c.values.data()};
        op->fill(3, sink);
        std::fill_n(c.values.data() + first, nnz, std::numeric_limits<T>::quiet_NaN());
        op->numeric(3, p.a.values, p.b.values, sink);
        first += nnz;
      }
      EXPECT_TRUE(c == whole);
      EXPECT_TRUE(std::ranges::equal(narrow, whole.rowptr));
    }
  }
}

TYPED_TEST(spgemm_cpu, numeric_takes_other_values) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  const auto a = random_matrix<T, O>(400, 300, 9, 20);
  const auto b = random_matrix<T, O>(300, 5000, 30, 21);
  auto a_new = a, b_new = b;
  for (T& v : a_new.values) v = T{1} - v;
  for (T& v : b_new.values) v = v * 3;
  for (const spgemm_kernel& kernel : spgemm_kernels(backend_kind::cpu)) {
    SCOPED_TRACE(std::string(kernel.name));
    const spgemm_problem p{a.ref(), b.ref()};
    product<T> c = multiply<T>(kernel, context::cpu(2), p);
    const auto op = kernel.make(context::cpu(2), p);
    op->symbolic();
    const csr_sink sink{offset_type::i64, 0, c.rowptr.data(), c.colind.data(), c.values.data()};
    op->fill(1, sink);
    op->numeric(0.5, a_new.values.data(), b_new.values.data(), sink);
    EXPECT_TRUE(c == multiply<T>(kernel, context::cpu(2), {a_new.ref(), b_new.ref()}, 0.5));
  }
}

TYPED_TEST(spgemm_cpu, refused_memory_is_typed_and_nothing_leaks) {
  using T = typename TestFixture::value;
  using O = typename TestFixture::offset;
  const auto a = random_matrix<T, O>(100, 300, 9, 22);
  const auto b = random_matrix<T, O>(300, 1'000'000, 30, 23);
  const auto m = random_matrix<T, O>(100, 1'000'000, 30, 24);
  for (const bool with_mask : {false, true}) {
    spgemm_problem p{a.ref(), b.ref()};
    p.tile_size = 1 << 20;
    if (with_mask) p.mask = m.ref();
    for (const spgemm_kernel& kernel : spgemm_kernels(backend_kind::cpu)) {
      SCOPED_TRACE(std::string(kernel.name));
      const auto memory = std::make_shared<counting_memory>();
      const context ctx = context::cpu(2).with_memory(memory);
      for (std::size_t limit = 0; limit < (std::size_t{64} << 20); limit = 2 * limit + 1000) {
        memory->limit = limit;
        try {
          kernel.make(ctx, p)->symbolic();
        } catch (const error& e) {
          EXPECT_EQ(e.code(), status::out_of_memory);
        }
        EXPECT_EQ(memory->live, 0U);
      }
    }
  }
}

}  // namespace
}  // namespace tulle
