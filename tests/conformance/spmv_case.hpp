// One kernel on one matrix of the battery, for one combination of types: the test body of both backends.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/battery.hpp"
#include "kernels/spmv.hpp"

namespace tulle::test {

struct spmv_case {
  const spmv_kernel* kernel = nullptr;
  type_key types = type_key_of<double, std::int32_t>;
  const battery_matrix* matrix = nullptr;
  spmv_options options;
  std::string options_text;  // "sigma=32", or empty

  /// "cuda/csr.merge/f64.i32/rmat".
  [[nodiscard]] std::string name() const;
};

/// y = alpha A x + beta y for all alpha and beta, twice each, then with other values: held to the error bound.
void run_spmv_case(const context& ctx, const spmv_case& c);

/// TULLE_CONFORMANCE=quick: two pairs of alpha and beta, and nothing that takes minutes under a sanitizer.
bool quick();

/// Whether the kernel takes the matrix, and why not.
support supports(const context& ctx, const spmv_kernel& kernel, type_key types, const battery_matrix& matrix);

}  // namespace tulle::test
