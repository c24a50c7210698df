#include "conformance/spmv_case.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tulle/formats/convert.hpp>
#include <tulle/ops/verify.hpp>

#include "kernels/backends.hpp"
#include "core/split_mix.hpp"

namespace tulle::test {
namespace {

constexpr index_t rows = (index_t{1} << 27) + 1000;
constexpr index_t per_row = 16;
constexpr index_t block = 8;
static_assert(rows % block == 0);
static_assert(std::int64_t{rows} * per_row > std::int64_t{1} << 31);

float number(std::uint64_t seed) { return static_cast<float>(split_mix(seed) >> 40) * 0x1p-23f - 1; }

/// First column of a row: two full blocks of 8 side by side, at most 64 columns from the diagonal, so that every kernel
/// takes the matrix.
index_t first_column(index_t row) {
  const index_t diagonal = row / block * block;
  const auto shift = static_cast<index_t>(split_mix(static_cast<std::uint64_t>(row / block)) % block) * block;
  return std::min(diagonal + shift, rows - per_row);
}

csr<float> big_matrix(const context& host) {
  csr<float> a{rows, rows, buffer<std::int64_t>(host, std::size_t{rows} + 1),
               buffer<index_t>(host, std::size_t{rows} * per_row), buffer<float>(host, std::size_t{rows} * per_row)};
#pragma omp parallel for schedule(static)
  for (index_t row = 0; row < rows; ++row) {
    const std::int64_t first = std::int64_t{row} * per_row;
    a.rowptr.data()[row] = first;
    for (index_t k = 0; k < per_row; ++k) {
      const auto seed = static_cast<std::uint64_t>(first + k);
      a.colind.data()[first + k] = first_column(row) + k;
      a.values.data()[first + k] = number(seed);
    }
  }
  a.rowptr.data()[rows] = std::int64_t{rows} * per_row;
  return a;
}

buffer<float> big_vector(const context& host) {
  buffer<float> x(host, rows);
#pragma omp parallel for schedule(static)
  for (index_t i = 0; i < rows; ++i) x.data()[i] = number(~static_cast<std::uint64_t>(i));
  return x;
}

}  // namespace

void run_past_2_31(const context& ctx) {
  const context host = context::cpu();
  constexpr std::size_t gigabyte = 1'000'000'000;
  if (ctx.info().memory_bytes < 100 * gigabyte || host.info().memory_bytes < 28 * gigabyte) {
    GTEST_SKIP() << fmt::format("needs 100 GB on the device (has {}) and 28 GB on the host (has {})",
                                ctx.info().memory_bytes / gigabyte, host.info().memory_bytes / gigabyte);
  }
  const csr<float> host_matrix = big_matrix(host);
  const buffer<float> host_x = big_vector(host);
  const spmv_reference reference =
      reference_spmv<float, std::int64_t>(host, 1, host_matrix.view(), host_x.host(), 0, {});

  const csr<float> a = clone(ctx, host_matrix.view());
  const buffer<float> x = clone(ctx, host_x);
  const csr_stats stats = statistics(ctx, a.view());
  constexpr type_key types = type_key_of<float, std::int64_t>;
  for (const spmv_kernel& kernel : spmv_kernels(backend_kind::cuda)) {
    SCOPED_TRACE(kernel.name);
    if (!contains(kernel.types, {types, scalar_type::f32})) continue;
    const support supported = kernel.supports(stats, types, ctx.info());
    if (!supported.ok) {
      fmt::print("skipped: {}: {}\n", kernel.name, supported.reason);
      continue;
    }
    buffer<float> y(ctx, rows);
    fill_bytes(ctx, y.data(), ctx.space(), 0xff, y.bytes());  // NaN
    kernel.make(ctx, matrix_ref(a.view()), stats, {})->apply(1, x.data(), 0, y.data(), ctx.stream());
    const std::vector<float> result = to_vector(ctx, y);
    EXPECT_LE(error_ratio(reference, host_span<const float>(result)), 1);
  }
}

}  // namespace tulle::test
