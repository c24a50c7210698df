// Products at once of coordinates, diagonals and blocks, for every type of values, against dense sums. Values are small
// whole numbers, so that every type is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle::test {
namespace {

template <scalar T>
T number(std::mt19937_64& random) {
  const auto small = [&] { return static_cast<int>(random() % 9) - 4; };
  if constexpr (complex_scalar<T>) {
    const auto re = static_cast<typename T::value_type>(small()), im = static_cast<typename T::value_type>(small());
    return {re, im};
  } else if constexpr (std::same_as<T, bool>) {
    return random() % 3 == 0;
  } else {
    return static_cast<T>(small());
  }
}

/// std::vector<bool> has no array.
template <scalar T>
struct numbers {
  std::unique_ptr<T[]> data;
  std::size_t size;

  explicit numbers(std::size_t n) : data(new T[n]()), size(n) {}
  numbers(std::size_t n, std::mt19937_64& random) : numbers(n) {
    std::generate_n(data.get(), n, [&] { return number<T>(random); });
  }
  T& operator[](std::int64_t i) { return data[static_cast<std::size_t>(i)]; }
};

template <scalar T>
void add_product(T& sum, T a, T b) {
  if constexpr (std::same_as<T, bool>) {
    sum = sum || (a && b);
  } else {
    sum += a * b;
  }
}

/// rows x cols, by rows.
template <scalar T>
struct dense {
  index_t rows, cols;
  numbers<T> values;

  dense(index_t r, index_t c) : rows(r), cols(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  dense(index_t r, index_t c, std::mt19937_64& random) : dense(r, c) { values = numbers<T>(values.size, random); }
  T& operator()(std::int64_t i, std::int64_t j) { return values[i * cols + j]; }

  dense operator*(dense& x) {
    dense y(rows, x.cols);
    for (index_t i = 0; i < rows; ++i) {
      for (index_t k = 0; k < cols; ++k) {
        for (index_t j = 0; j < x.cols; ++j) add_product(y(i, j), (*this)(i, k), x(k, j));
      }
    }
    return y;
  }
};

template <scalar T>
void expect_equal(dense<T>& got, dense<T>& expected, const std::string& what) {
  ASSERT_EQ(got.values.size, expected.values.size) << what;
  for (std::size_t k = 0; k < got.values.size; ++k)
    ASSERT_EQ(got.values.data[k], expected.values.data[k]) << what << " " << k;
}

template <scalar T>
multivector_ref many(dense<T>& x) {
  return {scalar_type_of<T>, x.rows, x.cols, std::max<index_t>(x.cols, 1), vector_order::row_major, x.values.data.get(),
          memory_space::host};
}

/// A X by apply_once, for several numbers of columns, on one thread and on three.
template <scalar T, class Matrix>
void expect_products(const Matrix& a, dense<T>& whole, std::mt19937_64& random, const std::string& what) {
  for (const index_t columns : {1, 2, 5, 0}) {
    dense<T> x(whole.cols, columns, random), expected = whole * x;
    for (const int threads : {1, 3}) {
      dense<T> y(whole.rows, columns, random);
      apply_once(context::cpu(threads), a, many(x), many(y));
      expect_equal(y, expected, what + " " + std::to_string(columns));
    }
  }
}

template <scalar T>
class once : public testing::Test {
 protected:
  std::mt19937_64 random{11};
};
using types =
    testing::Types<float, double, std::int32_t, std::int64_t, std::complex<float>, std::complex<double>, bool>;
TYPED_TEST_SUITE(once, types);

TYPED_TEST(once, coordinates_in_any_order_with_duplicates) {
  using T = TypeParam;
  dense<T> whole(40, 30);
  constexpr int nnz = 300;
  std::vector<index_t> row, col;
  numbers<T> values(nnz, this->random);
  for (int k = 0; k < nnz; ++k) {
    row.push_back(static_cast<index_t>(this->random() % 40));
    col.push_back(static_cast<index_t>(this->random() % 30));
    add_product(whole(row.back(), col.back()), values[k], static_cast<T>(1));
  }
  const coo_view<T> a{40, 30, nnz, row.data(), col.data(), values.data.get()};
  expect_products<T>(matrix_ref(a), whole, this->random, "coo");
}

template <scalar T>
struct diagonal_case {
  std::vector<std::int32_t> offsets;
  numbers<T> values;
  diagonals_ref ref;
  dense<T> whole;

  diagonal_case(index_t rows, index_t cols, std::vector<std::int32_t> o, std::int64_t length, std::mt19937_64& random)
      : offsets(std::move(o)),
        values(offsets.size() * static_cast<std::size_t>(length), random),
        ref{scalar_type_of<T>, rows, cols, static_cast<std::int64_t>(offsets.size()), length, offsets.data(),
            values.data.get()},
        whole(rows > 50 ? 0 : rows, cols) {  // large ones have no dense form
    for (std::size_t d = 0; d < offsets.size() && whole.rows > 0; ++d) {
      for (std::int64_t j = 0; j < std::min<std::int64_t>(length, cols); ++j) {
        const std::int64_t i = j - offsets[d];
        if (i < 0 || i >= rows) continue;
        add_product(whole(i, j), values[static_cast<std::int64_t>(d) * length + j], static_cast<T>(1));
      }
    }
  }
};

TYPED_TEST(once, diagonals) {
  using T = TypeParam;
  for (const auto& [rows, cols, length] :
       {std::tuple(30, 30, 30), {5000, 4990, 5000}, {20, 50, 33}, {50, 20, 60}, {1, 1, 1}, {7, 3, 0}}) {
    diagonal_case<T> a(rows, cols, {0, 3, -2, 25, -40, 3, 100}, length, this->random);
    if (rows <= 50) {
      expect_products<T>(a.ref, a.whole, this->random, "dia " + std::to_string(rows));
      continue;
    }
    dense<T> x(cols, 1, this->random), y(rows, 1), expected(rows, 1);  // several tiles
    for (std::size_t d = 0; d < a.offsets.size(); ++d) {
      for (std::int64_t j = 0; j < cols; ++j) {
        const std::int64_t i = j - a.offsets[d];
        if (i >= 0 && i < rows)
          add_product(expected(i, 0), a.values[static_cast<std::int64_t>(d) * length + j], x(j, 0));
      }
    }
    apply_once(context::cpu(3), a.ref, many(x), many(y));
    expect_equal(y, expected, "tiles");
  }
}

TYPED_TEST(once, products_of_diagonals) {
  using T = TypeParam;
  for (const auto& [rows, inner, cols] : {std::tuple(30, 30, 30), {12, 40, 25}, {40, 9, 33}}) {
    diagonal_case<T> a(rows, inner, {0, 4, -3, 50}, inner, this->random),
        b(inner, cols, {2, -1, 0, -30}, cols - 2, this->random);
    const diagonal_matrix c = multiply_diagonals(context::cpu(2), a.ref, b.ref);
    EXPECT_TRUE(std::is_sorted(c.offsets.data(), c.offsets.data() + c.offsets.size()));
    dense<T> got(rows, cols), expected = a.whole * b.whole;
    for (std::size_t d = 0; d < c.offsets.size(); ++d) {
      for (std::int64_t j = 0; j < c.length; ++j) {
        const std::int64_t i = j - c.offsets.data()[d];
        const T value = reinterpret_cast<const T*>(c.values.data())[static_cast<std::int64_t>(d) * c.length + j];
        if (i >= 0 && i < rows && j < cols) got(i, j) = value;
      }
    }
    expect_equal(got, expected, "C of " + std::to_string(inner));
  }
}

template <scalar T, offset O>
struct block_case {
  std::vector<O> rowptr{0};
  std::vector<index_t> colind;
  numbers<T> values{0};
  dense<T> whole;
  blocks_ref ref;

  block_case(index_t block_rows, index_t block_cols, index_t height, index_t width, std::mt19937_64& random)
      : whole(block_rows * height, block_cols * width) {
    for (index_t r = 0; r < block_rows; ++r) {
      for (index_t k = 0; k < static_cast<index_t>(random() % 5) && block_cols > 0; ++k) {
        colind.push_back(static_cast<index_t>(random() % static_cast<unsigned>(block_cols)));  // unsorted, some twice
      }
      rowptr.push_back(static_cast<O>(colind.size()));
    }
    const std::int64_t size = std::int64_t{height} * width;
    values = numbers<T>(colind.size() * static_cast<std::size_t>(size), random);
    for (index_t r = 0; r < block_rows; ++r) {
      for (O k = rowptr[static_cast<std::size_t>(r)]; k < rowptr[static_cast<std::size_t>(r) + 1]; ++k) {
        for (std::int64_t at = 0; at < size; ++at) {
          add_product(whole(r * height + at / width, colind[static_cast<std::size_t>(k)] * width + at % width),
                      values[k * size + at], static_cast<T>(1));
        }
      }
    }
    ref = {{scalar_type_of<T>, offset_type_of<O>},
           whole.rows,
           whole.cols,
           height,
           width,
           rowptr.data(),
           colind.data(),
           values.data.get()};
  }
};

TYPED_TEST(once, blocks_of_any_shape) {
  using T = TypeParam;
  for (const auto& [height, width] :
       {std::pair(1, 1), {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {2, 3}, {1, 6}, {6, 1}, {12, 9}}) {
    block_case<T, std::int32_t> a(13, 11, height, width, this->random);
    expect_products<T>(a.ref, a.whole, this->random,
                       "blocks of " + std::to_string(height) + " x " + std::to_string(width));
  }
  block_case<T, std::int64_t> wide(9000, 5, 2, 2, this->random);  // enough for several threads
  expect_products<T>(wide.ref, wide.whole, this->random, "wide offsets");
}

TYPED_TEST(once, products_of_blocks) {
  using T = TypeParam;
  for (const auto& [height, inner, width] : {std::tuple(1, 1, 1), {3, 3, 3}, {3, 2, 6}, {1, 4, 2}, {6, 3, 1}}) {
    for (const index_t rows : {15, 400, 0}) {
      block_case<T, std::int32_t> a(rows, 12, height, inner, this->random);
      block_case<T, std::int64_t> b(12, 10, inner, width, this->random);
      const block_matrix c = multiply_blocks(context::cpu(3), a.ref, b.ref);
      dense<T> got(a.whole.rows, b.whole.cols), expected = a.whole * b.whole;
      const std::int64_t size = std::int64_t{c.block_rows} * c.block_cols;
      for (index_t r = 0; r < rows; ++r) {
        for (std::int64_t k = c.rowptr.data()[r]; k < c.rowptr.data()[r + 1]; ++k) {
          EXPECT_GE(c.colind.data()[k], 0);
          for (std::int64_t at = 0; at < size; ++at) {
            got(r * c.block_rows + at / c.block_cols, c.colind.data()[k] * c.block_cols + at % c.block_cols) =
                reinterpret_cast<const T*>(c.values.data())[k * size + at];
          }
        }
      }
      expect_equal(got, expected,
                   "C of " + std::to_string(height) + ", " + std::to_string(inner) + ", " + std::to_string(width));
    }
  }
}

TYPED_TEST(once, small_products_in_the_order_of_discovery) {
  using T = TypeParam;
  const context ctx = context::cpu(2);
  for (const index_t rows : {20, 1, 0}) {
    block_case<T, std::int32_t> a(rows, 12, 1, 1, this->random);
    block_case<T, std::int64_t> b(12, 15, 1, 1, this->random);
    const auto csr = [](const blocks_ref& m) {
      matrix_ref r;
      r.types = m.types;
      r.rows = m.rows;
      r.cols = m.cols;
      r.nnz = r.stored = m.blocks();
      r.rowptr = m.rowptr;
      r.colind = m.colind;
      r.values = m.values;
      return r;
    };
    const std::optional<block_matrix> c = multiply_small(ctx, csr(a.ref), csr(b.ref), 4096);
    ASSERT_TRUE(c);
    dense<T> got(rows, 15), expected = a.whole * b.whole;
    for (index_t r = 0; r < rows; ++r) {
      for (std::int64_t k = c->rowptr.data()[r]; k < c->rowptr.data()[r + 1]; ++k) {
        const T value = reinterpret_cast<const T*>(c->values.data())[k];
        EXPECT_NE(value, static_cast<T>(0));
        EXPECT_EQ(got(r, c->colind.data()[k]), static_cast<T>(0)) << "a column twice";
        got(r, c->colind.data()[k]) = value;
      }
    }
    expect_equal(got, expected, "rows " + std::to_string(rows));
    EXPECT_TRUE(rows <= 1 || !multiply_small(ctx, csr(a.ref), csr(b.ref), 15));
  }
}

TEST(once_refusals, name_what_is_wrong) {
  std::mt19937_64 random(1);
  block_case<double, std::int32_t> a(4, 4, 3, 2, random);
  dense<double> x(8, 1), y(12, 1), wrong(7, 1);
  const context ctx = context::cpu(1);
  EXPECT_THROW(apply_once(ctx, a.ref, many(wrong), many(y)), error);
  blocks_ref broken = a.ref;
  broken.block_rows = 5;
  EXPECT_THROW(apply_once(ctx, broken, many(x), many(y)), error);
  EXPECT_THROW(multiply_blocks(ctx, a.ref, a.ref), error);
  EXPECT_THROW(apply_once(ctx, identity(ctx, 3, scalar_type::f64), many(x), many(y)), error);
  dense<float> narrow(8, 1);
  EXPECT_THROW(apply_once(ctx, a.ref, many(narrow), many(y)), error);
}

}  // namespace
}  // namespace tulle::test
