// A new C, and how a kernel sees it.
#pragma once

#include <cstdint>
#include <limits>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/ops/spgemm.hpp>
#include <utility>

#include "kernels/spgemm.hpp"

namespace tulle::detail {

constexpr bool fits_narrow(std::int64_t nnz) { return nnz <= std::numeric_limits<std::int32_t>::max(); }

template <scalar T, offset O>
csr<T, O> new_csr(const context& ctx, shape s, std::int64_t nnz) {
  const auto entries = static_cast<std::size_t>(nnz);
  return {s.rows, s.cols, buffer<O>(ctx, static_cast<std::size_t>(s.rows) + 1), buffer<index_t>(ctx, entries),
          buffer<T>(ctx, entries)};
}

/// Offsets as wide as nnz needs.
template <scalar T>
any_csr<T> new_c(const context& ctx, shape s, std::int64_t nnz) {
  if (fits_narrow(nnz)) return new_csr<T, std::int32_t>(ctx, s, nnz);
  return new_csr<T, std::int64_t>(ctx, s, nnz);
}

template <scalar T>
csr_sink sink_of(any_csr<T>& c) {
  return std::visit(
      []<offset O>(csr<T, O>& m) -> csr_sink {
        return {offset_type_of<O>, 0, m.rowptr.data(), m.colind.data(), m.values.data()};
      },
      c);
}

}  // namespace tulle::detail
