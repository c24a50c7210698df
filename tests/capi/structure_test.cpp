// A CSR that is not one is refused, naming the row or the argument.
#include <functional>
#include <limits>

#include "handles.hpp"

namespace tulle::test {
namespace {

using matrix_type = plain_csr<double, std::int64_t>;

constexpr tulle_status structure = TULLE_STATUS_INVALID_STRUCTURE, dimensions = TULLE_STATUS_INVALID_DIMENSIONS,
                       argument = TULLE_STATUS_INVALID_ARGUMENT, null_pointer = TULLE_STATUS_NULL_POINTER;

/// A valid matrix, changed in one way, and what must be said of it.
struct mutation {
  const char* name;
  std::int32_t base;
  std::function<void(matrix_type&, tulle_csr_arrays&)> change;
  tulle_status status;
  const char* message;
};

const std::vector<mutation>& mutations() {
  static const std::vector<mutation> all{
      {"offsets_decrease", 0, [](auto& a, auto&) { a.rowptr[2] = 1; }, structure, "row 1"},
      {"offset_negative", 0, [](auto& a, auto&) { a.rowptr[1] = -1; }, structure, "row 0"},
      {"offset_past_the_end", 0, [](auto& a, auto&) { a.rowptr[1] = 1000; }, structure, "row"},
      {"first_offset_not_zero", 0, [](auto& a, auto&) { a.rowptr[0] = 1; }, structure, "row 0"},
      {"last_offset_short", 0, [](auto& a, auto&) { a.rowptr[3] = 4; }, structure, "rowptr[3]"},
      {"nnz_too_large", 0, [](auto&, auto& d) { d.nnz = std::int64_t{1} << 60; }, structure, "rowptr[3]"},
      {"column_too_large", 0, [](auto& a, auto&) { a.colind[3] = 4; }, structure, "row 2"},
      {"column_negative", 0, [](auto& a, auto&) { a.colind[1] = -1; }, structure, "row 0"},
      {"column_zero_of_base_one", 1, [](auto& a, auto&) { a.colind[2] = 0; }, structure, "row 2"},
      {"column_least_of_base_one", 1, [](auto& a, auto&) { a.colind[2] = std::numeric_limits<int>::min(); }, structure,
       "row 2"},
      {"base_one_said_to_be_zero", 1, [](auto&, auto& d) { d.index_base = 0; }, structure, "rowptr[3]"},
      {"rows_negative", 0, [](auto&, auto& d) { d.rows = -1; }, dimensions, "rows"},
      {"rows_too_many", 0, [](auto&, auto& d) { d.rows = std::int64_t{1} << 31; }, dimensions, "rows"},
      {"cols_negative", 0, [](auto&, auto& d) { d.cols = -1; }, dimensions, "cols"},
      {"cols_too_many", 0, [](auto&, auto& d) { d.cols = std::int64_t{1} << 31; }, dimensions, "cols"},
      {"nnz_negative", 0, [](auto&, auto& d) { d.nnz = -1; }, dimensions, "nnz"},
      {"nnz_past_32_bits", 0, [](auto&, auto& d) { d.offset_type = TULLE_OFFSET_I32, d.nnz = std::int64_t{1} << 31; },
       dimensions, "nnz"},
      {"scalar_type_unknown", 0, [](auto&, auto& d) { d.scalar_type = 7; }, argument, "scalar_type"},
      {"offset_type_unknown", 0, [](auto&, auto& d) { d.offset_type = 2; }, argument, "offset_type"},
      {"space_unknown", 0, [](auto&, auto& d) { d.space = 2; }, argument, "space"},
      {"device_arrays_for_a_cpu", 0, [](auto&, auto& d) { d.space = TULLE_DEVICE; }, argument, "space"},
      {"index_base_unknown", 0, [](auto&, auto& d) { d.index_base = 2; }, argument, "index_base"},
      {"rowptr_null", 0, [](auto&, auto& d) { d.rowptr = nullptr; }, null_pointer, "rowptr"},
      {"colind_null", 0, [](auto&, auto& d) { d.colind = nullptr; }, null_pointer, "colind"},
      {"values_null", 0, [](auto&, auto& d) { d.values = nullptr; }, null_pointer, "values"},
  };
  return all;
}

class capi_structure : public testing::TestWithParam<mutation> {};

TEST_P(capi_structure, is_refused) {
  const context_handle context = cpu_context();
  for (const auto make : {tulle_csr_copy, tulle_csr_borrow}) {
    matrix_type a = small_matrix<double, std::int64_t>();
    if (GetParam().base == 1) a = from_base_one(a);
    ASSERT_NE(placed(context, a, make, GetParam().base), nullptr);
    tulle_csr_arrays arrays = arrays_of(a, GetParam().base);
    GetParam().change(a, arrays);
    tulle_csr* made = reinterpret_cast<tulle_csr*>(&arrays);  // must not survive the failure
    refused(make(context.get(), &arrays, &made), GetParam().status, GetParam().message);
    EXPECT_EQ(made, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(mutations, capi_structure, testing::ValuesIn(mutations()),
                         [](const auto& m) { return std::string(m.param.name); });

}  // namespace
}  // namespace tulle::test
