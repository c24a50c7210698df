// Complex numbers, 64-bit integers and booleans through the C API, on both backends.
#include <complex>
#include <filesystem>
#include <limits>
#include <vector>

#include "handles.hpp"

namespace tulle::test {
namespace {

using c64 = std::complex<float>;
using c128 = std::complex<double>;

/// [a 0 b; 0 0 c; d 0 0] in arrays of C; V: as which a value is stored, a byte for a boolean.
template <class V>
struct small {
  std::vector<std::int32_t> rowptr{0, 2, 3, 4}, colind{0, 2, 2, 0};
  std::vector<V> values;

  [[nodiscard]] tulle_csr_arrays arrays(tulle_scalar_type type) const {
    return {3, 3, 4, type, TULLE_OFFSET_I32, 0, TULLE_HOST, rowptr.data(), colind.data(), values.data()};
  }
};

class capi_further : public on_each_backend {
 protected:
  template <class V>
  csr_handle placed(const small<V>& m, tulle_scalar_type type) {
    const tulle_csr_arrays from = m.arrays(type);
    return made<csr_handle>(tulle_csr_copy, context, &from);
  }
  template <class V>
  buffer_handle upload(const std::vector<V>& from) {
    auto to = made<buffer_handle>(tulle_buffer_create, context, from.size() * sizeof(V));
    TULLE_EXPECT_OK(tulle_buffer_copy_in(to.get(), from.data(), from.size() * sizeof(V)));
    return to;
  }
  template <class V>
  std::vector<V> apply(const csr_handle& a, const tulle_spmv_options& options, double alpha, const std::vector<V>& x,
                       double beta, std::vector<V> y) {
    const auto plan = made<plan_handle>(tulle_spmv_plan_create_with, context, a, &options);
    const buffer_handle from = upload(x), to = upload(y);
    TULLE_EXPECT_OK(tulle_spmv_plan_apply(plan.get(), alpha, got<void*>(tulle_buffer_data, from),
                                          static_cast<std::int64_t>(x.size()), beta, got<void*>(tulle_buffer_data, to),
                                          static_cast<std::int64_t>(y.size())));
    TULLE_EXPECT_OK(tulle_buffer_copy_out(to.get(), y.data(), y.size() * sizeof(V)));
    return y;
  }
  template <class V>
  std::vector<V> dense(const csr_handle& a, std::int64_t size) {
    std::vector<V> all(static_cast<std::size_t>(size * size));
    TULLE_EXPECT_OK(tulle_csr_copy_out_dense(context.get(), a.get(), TULLE_ROW_MAJOR, size, all.data()));
    return all;
  }
};
TULLE_ON_BOTH_BACKENDS(capi_further);

TEST_P(capi_further, multiplies_vectors) {
  const small<c128> a{.values = {{1, 1}, {0, 2}, {3, 0}, {-1, 1}}};
  const csr_handle matrix = placed(a, TULLE_C128);
  const std::vector<c128> x{{1, 0}, {5, 5}, {0, 1}};
  EXPECT_EQ(apply<c128>(matrix, {}, 2, x, 1, {{1, 0}, {0, 0}, {0, 0}}), (std::vector<c128>{{-1, 2}, {0, 6}, {-2, 2}}));
  tulle_spmv_options conjugate_transpose{};
  conjugate_transpose.transpose = conjugate_transpose.conjugate = 1;
  EXPECT_EQ(apply<c128>(matrix, conjugate_transpose, 1, x, 0, std::vector<c128>(3)),
            (std::vector<c128>{{2, -2}, {0, 0}, {15, 13}}));

  constexpr std::int64_t big = std::int64_t{1} << 62;
  const small<std::int64_t> b{.values = {big, 1, -7, 3}};
  EXPECT_EQ(apply<std::int64_t>(placed(b, TULLE_I64), {}, 1, {4, 0, 5}, 0, {0, 0, 0}),
            (std::vector<std::int64_t>{5, -35, 12}));

  const small<std::uint8_t> c{.values = {1, 1, 0, 2}};  // any byte but 0 is true
  EXPECT_EQ(apply<std::uint8_t>(placed(c, TULLE_BOOL), {}, 1, {1, 0, 1}, 0, {0, 0, 0}),
            (std::vector<std::uint8_t>{1, 0, 1}));

  const small<c64> d{.values = {{1, 1}, {0, 2}, {3, 0}, {-1, 1}}};
  EXPECT_EQ(apply<c64>(placed(d, TULLE_C64), {}, 1, {{1, 0}, {5, 5}, {0, 1}}, 0, std::vector<c64>(3)),
            (std::vector<c64>{{-1, 1}, {0, 3}, {-1, 1}}));
}

TEST_P(capi_further, multiplies_matrices_and_makes_others) {
  const small<c128> a{.values = {{1, 1}, {0, 2}, {3, 0}, {-1, 1}}};
  const csr_handle matrix = placed(a, TULLE_C128);
  const auto square = made<csr_handle>(tulle_spgemm, context, matrix, matrix);
  EXPECT_EQ(dense<c128>(square, 3),
            (std::vector<c128>{{-2, 0}, {0, 0}, {-2, 2}, {-3, 3}, {0, 0}, {0, 0}, {-2, 0}, {0, 0}, {-2, -2}}));
  const auto transpose = made<csr_handle>(tulle_csr_transpose, context, matrix);
  EXPECT_EQ(dense<c128>(transpose, 3),
            (std::vector<c128>{{1, 1}, {0, 0}, {-1, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 2}, {3, 0}, {0, 0}}));

  const std::vector<c128> kept = dense<c128>(matrix, 3);
  tulle_matrix_arrays of_dense{};
  of_dense.format = TULLE_DENSE;
  of_dense.rows = of_dense.cols = of_dense.ld = 3;
  of_dense.scalar_type = TULLE_C128;
  of_dense.values = kept.data();
  const auto back = made<csr_handle>(tulle_csr_convert, context, &of_dense);
  EXPECT_EQ(got<tulle_csr_arrays>(tulle_csr_get_arrays, back).nnz, 4);
  EXPECT_EQ(dense<c128>(back, 3), kept);

  std::vector<std::int32_t> rows(4);
  TULLE_EXPECT_OK(tulle_csr_copy_out_rows(
      context.get(), placed(small<std::uint8_t>{.values = {1, 1, 1, 1}}, TULLE_BOOL).get(), rows.data()));
  EXPECT_EQ(rows, (std::vector<std::int32_t>{0, 0, 1, 2}));
  const small<std::int64_t> b{.values = {1, 2, 3, 4}};
  const csr_handle whole = placed(b, TULLE_I64);
  csr_handle sum;
  tulle_csr* handle = nullptr;
  TULLE_EXPECT_OK(tulle_csr_add(context.get(), 3, whole.get(), -1, whole.get(), &handle));
  sum.reset(handle);
  EXPECT_EQ(dense<std::int64_t>(sum, 3), (std::vector<std::int64_t>{2, 0, 4, 0, 0, 6, 8, 0, 0}));
}

TEST_P(capi_further, looks_at_matrices) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto find = [&](const csr_handle& a) {
    tulle_data_status found{};
    std::int64_t row = 0, entry = 0;
    TULLE_EXPECT_OK(tulle_csr_validate(context.get(), a.get(), TULLE_CHECK_FINITE, &found, &row, &entry));
    return std::tuple(found, row, entry);
  };
  EXPECT_EQ(find(placed(small<c128>{.values = {{1, 1}, {0, 2}, {3, 0}, {-1, 1}}}, TULLE_C128)),
            std::tuple(TULLE_DATA_SUCCESS, -1, -1));
  EXPECT_EQ(find(placed(small<c128>{.values = {{1, 1}, {0, 2}, {3, nan}, {inf, 1}}}, TULLE_C128)),
            std::tuple(TULLE_DATA_NAN, 1, 2));
  EXPECT_EQ(find(placed(small<c128>{.values = {{1, 1}, {0, -inf}, {3, nan}, {inf, 1}}}, TULLE_C128)),
            std::tuple(TULLE_DATA_INF, 0, 1));
  EXPECT_EQ(find(placed(small<std::int64_t>{.values = {-1, -1, -1, -1}}, TULLE_I64)),
            std::tuple(TULLE_DATA_SUCCESS, -1, -1));
}

TEST_P(capi_further, files) {
  const std::string path = testing::TempDir() + "/capi_further.mtx";
  const small<c128> a{.values = {{2, 0}, {0, 2}, {3, 0}, {0, -2}}};
  TULLE_EXPECT_OK(tulle_csr_write_matrix_market(context.get(), placed(a, TULLE_C128).get(), path.c_str(), 0));
  const auto read =
      made<csr_handle>(tulle_csr_read_matrix_market, context, path.c_str(), tulle_scalar_type{TULLE_C128});
  EXPECT_EQ(dense<c128>(read, 3), dense<c128>(placed(a, TULLE_C128), 3));
  tulle_csr* none = nullptr;
  refused(tulle_csr_read_matrix_market(context.get(), path.c_str(), TULLE_F64, &none), TULLE_STATUS_UNSUPPORTED,
          "complex");
  refused(tulle_csr_read_matrix_market(context.get(), path.c_str(), TULLE_BOOL, &none), TULLE_STATUS_UNSUPPORTED,
          "TULLE_BOOL");
  std::filesystem::remove(path);
}

TEST_P(capi_further, what_lacks_a_type_says_so) {
  const csr_handle matrix = placed(small<c128>{.values = {{1, 1}, {0, 2}, {3, 0}, {-1, 1}}}, TULLE_C128);
  tulle_spmv_plan* plan = nullptr;
  refused(tulle_spmv_plan_create(context.get(), matrix.get(), "packed", &plan), TULLE_STATUS_INVALID_ARGUMENT, "c128");
  tulle_cg_solver* solver = nullptr;
  refused(tulle_cg_solver_create(context.get(), matrix.get(), nullptr, &solver), TULLE_STATUS_UNSUPPORTED, "c128");
  const tulle_spgemm_options masked = with(&tulle_spgemm_options::mask, static_cast<const tulle_csr*>(matrix.get()));
  tulle_spgemm_plan* product = nullptr;
  refused(tulle_spgemm_plan_create(context.get(), matrix.get(), matrix.get(), &masked, &product),
          TULLE_STATUS_UNSUPPORTED, "c128");
  std::int64_t blocks = 0;
  refused(tulle_csr_copy_out_bsr(context.get(), matrix.get(), 2, &blocks, nullptr, nullptr, nullptr),
          TULLE_STATUS_UNSUPPORTED, "c128");
  const auto kept = made<plan_handle>(tulle_spmv_plan_create, context,
                                      placed(small<std::uint8_t>{.values = {1, 1, 1, 1}}, TULLE_BOOL),
                                      static_cast<const char*>(nullptr));
  const buffer_handle x = upload(std::vector<std::uint8_t>(3, 1)), y = upload(std::vector<std::uint8_t>(3, 0));
  refused(
      tulle_spmv_plan_apply(kept.get(), 2, got<void*>(tulle_buffer_data, x), 3, 0, got<void*>(tulle_buffer_data, y), 3),
      TULLE_STATUS_INVALID_ARGUMENT, "alpha");
}

}  // namespace
}  // namespace tulle::test
