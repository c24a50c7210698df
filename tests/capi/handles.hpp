// Handles of the C API that destroy themselves, and the small matrix that the tests multiply.
#pragma once

#include <gtest/gtest.h>
#include <tulle/tulle.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tulle::test {

template <class T, void (*Destroy)(T*)>
struct destroyer {
  void operator()(T* handle) const { Destroy(handle); }
};
using context_handle = std::unique_ptr<tulle_context, destroyer<tulle_context, tulle_context_destroy>>;
using buffer_handle = std::unique_ptr<tulle_buffer, destroyer<tulle_buffer, tulle_buffer_destroy>>;
using csr_handle = std::unique_ptr<tulle_csr, destroyer<tulle_csr, tulle_csr_destroy>>;
using plan_handle = std::unique_ptr<tulle_spmv_plan, destroyer<tulle_spmv_plan, tulle_spmv_plan_destroy>>;
using spgemm_handle = std::unique_ptr<tulle_spgemm_plan, destroyer<tulle_spgemm_plan, tulle_spgemm_plan_destroy>>;

#define TULLE_EXPECT_OK(call) EXPECT_EQ(call, TULLE_STATUS_SUCCESS) << tulle_last_error_message()
#define TULLE_ASSERT_OK(call) ASSERT_EQ(call, TULLE_STATUS_SUCCESS) << tulle_last_error_message()

/// What `make` makes of these arguments: its last one is where the handle goes.
template <class Handle, class Make, class... Arguments>
Handle made(Make make, Arguments... arguments) {
  typename Handle::pointer handle = nullptr;
  TULLE_EXPECT_OK(make(arguments..., &handle));
  return Handle(handle);
}

/// [1 0 2 0; 0 0 0 0; -3 4 0 5], with small whole numbers, so that every value type multiplies it exactly.
template <class T, class O>
struct small_matrix {
  std::int32_t base = 0;
  std::vector<O> rowptr{0, 2, 2, 5};
  std::vector<std::int32_t> colind{0, 2, 0, 1, 3};
  std::vector<T> values{1, 2, -3, 4, 5};

  explicit small_matrix(std::int32_t index_base = 0) : base(index_base) {
    for (O& offset : rowptr) offset += base;
    for (std::int32_t& column : colind) column += base;
  }
  [[nodiscard]] tulle_csr_arrays arrays() const {
    constexpr bool single = sizeof(T) == 4;
    const tulle_scalar_type type = T(0.5) == 0 ? TULLE_I32 : single ? TULLE_F32 : TULLE_F64;
    const auto offsets = sizeof(O) == 8 ? TULLE_OFFSET_I64 : TULLE_OFFSET_I32;
    return {3, 4, 5, type, offsets, base, TULLE_HOST, rowptr.data(), colind.data(), values.data()};
  }
  /// A handle, made by tulle_csr_copy or tulle_csr_borrow.
  [[nodiscard]] csr_handle on(const context_handle& context, decltype(&tulle_csr_copy) make = tulle_csr_copy) const {
    const tulle_csr_arrays from = arrays();
    return made<csr_handle>(make, context.get(), &from);
  }
};

inline context_handle cpu_context(int threads = 2) { return made<context_handle>(tulle_context_create_cpu, threads); }

/// A call is refused with this status and a message that has these words.
inline void refused(tulle_status status, tulle_status expected, const std::string& words) {
  EXPECT_EQ(status, expected) << words;
  const std::string message = tulle_last_error_message();
  EXPECT_NE(message.find(words), std::string::npos) << "'" << message << "' does not say '" << words << "'";
}
inline void null(tulle_status status, const std::string& argument) {
  refused(status, TULLE_STATUS_NULL_POINTER, argument + " is NULL");
}

/// A context of the backend that the test's parameter names, "cpu" or "cuda"; skips where there is no device.
class on_each_backend : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    tulle_context* made = nullptr;
    if (GetParam() == std::string("cpu")) {
      TULLE_ASSERT_OK(tulle_context_create_cpu(2, &made));
    } else if (const tulle_status s = tulle_context_create_cuda(0, &made); s == TULLE_STATUS_UNSUPPORTED) {
      GTEST_SKIP() << tulle_last_error_message();
    } else {
      TULLE_ASSERT_OK(s);
    }
    context.reset(made);
  }

  context_handle context;
};

#define TULLE_ON_BOTH_BACKENDS(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(backends, suite, testing::Values("cpu", "cuda"), \
                           [](const auto& backend) { return std::string(backend.param); })

}  // namespace tulle::test
