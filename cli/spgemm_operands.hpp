// The matrices of C = A B on their way to the backend and back.
#pragma once

#include <cstdint>
#include <limits>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/ops/spgemm.hpp>
#include <utility>

#include "core/backends.hpp"

namespace tulle::cli {

/// A host matrix, which must outlive this, in the memory of a context; without a copy on the CPU. With 32-bit offsets
/// as well where they are enough.
template <scalar T>
class placed_csr {
 public:
  placed_csr(const context& ctx, csr_view<T, std::int64_t> host) : view_(host) {
    if (ctx.backend() == backend_kind::cuda) {
      copy_ = clone(ctx, host);
      view_ = copy_.view();
    }
    if (!fits_32_bits()) return;
    narrow_ = formats_of<T, std::int64_t>(ctx.backend())
                  .narrow_offsets(ctx, view_.rowptr, static_cast<std::size_t>(view_.rows) + 1);
  }
  [[nodiscard]] bool fits_32_bits() const { return view_.nnz <= std::numeric_limits<std::int32_t>::max(); }
  /// O = int32_t: only where it fits.
  template <offset O>
  [[nodiscard]] csr_view<T, O> as() const {
    if constexpr (sizeof(O) == 8) {
      return view_;
    } else {
      return {view_.rows,   view_.cols, static_cast<O>(view_.nnz), narrow_.data(), view_.colind,
              view_.values, view_.space};
    }
  }

 private:
  csr<T> copy_;
  csr_view<T, std::int64_t> view_;
  buffer<std::int32_t> narrow_;
};

/// A product on the host with 64-bit offsets, wherever it was made.
template <scalar T>
class host_product {
 public:
  host_product() = default;
  host_product(const context& ctx, any_csr<T>&& c) {
    csr<T> wide = widen(ctx, std::move(c));
    if (wide.values.space() == memory_space::host) {
      c_ = std::move(wide);
      return;
    }
    const context host = context::cpu(1);
    c_ = {wide.rows, wide.cols, buffer<std::int64_t>(host, wide.rowptr.size()),
          buffer<index_t>(host, wide.colind.size()), buffer<T>(host, wide.values.size())};
    copy_bytes(ctx, c_.rowptr.data(), memory_space::host, wide.rowptr.data(), wide.rowptr.space(), c_.rowptr.bytes());
    copy_bytes(ctx, c_.colind.data(), memory_space::host, wide.colind.data(), wide.colind.space(), c_.colind.bytes());
    copy_bytes(ctx, c_.values.data(), memory_space::host, wide.values.data(), wide.values.space(), c_.values.bytes());
  }
  [[nodiscard]] const csr<T>& matrix() const { return c_; }
  [[nodiscard]] csr_view<T, std::int64_t> view() const { return c_.view(); }

 private:
  csr<T> c_;
};

}  // namespace tulle::cli
