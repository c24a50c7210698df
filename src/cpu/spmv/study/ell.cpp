// ell: every row padded to the longest, stored slot by slot, so that neighbouring rows fill the vector lanes.
//
// Method: ELLPACK (Grimes, Kincaid, Young: ITPACK 2.0 User's Guide, CNA-150, 1979). One thread takes rows / threads
// consecutive rows, in tiles whose sums stay in the first-level cache. Bytes per nonzero: (sizeof(T) + 4) times the
// padding, and per row one y. Taken by name alone.
#include <fmt/format.h>

#include <algorithm>
#include <tulle/formats/convert.hpp>

#include "core/parallel.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/slots.hpp"
#include "kernels/padding.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {
namespace {

constexpr index_t tile_rows = 512;

/// y for the rows [first, first + count) with count <= tile_rows.
template <scalar T>
[[gnu::always_inline]] inline void ell_tile(ell_view<T> a, index_t first, index_t count, epilogue<T> out, const T* x,
                                            T* y) {
  constexpr index_t lanes = slot_lanes<T>;
  alignas(64) T sum[tile_rows] = {};
  for (index_t slot = 0; slot < a.width; ++slot) {
    const std::int64_t at = static_cast<std::int64_t>(slot) * a.rows + first;
    const T* values = a.values + at;
    const index_t* colind = a.colind + at;
    index_t l = 0;
    for (; l + lanes <= count; l += lanes) {
      prefetch_stream(values + l, colind + l, static_cast<std::size_t>(a.rows));  // the same rows, next slot
      add_slot(sum + l, values + l, colind + l, x, lanes);
    }
    add_slot(sum + l, values + l, colind + l, x, count - l);
  }
  for (index_t l = 0; l < count; ++l) out.store(y + first + l, sum[l]);
}

template <class T, class O>
class ell_kernel final : public spmv_operator {
 public:
  ell_kernel(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : ctx_(ctx), a_(to_ell(ctx, a)), threads_(threads_for(ctx, a)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const epilogue<T> out(alpha, beta);
    const ell_view<T> a = a_.view();
    const std::int64_t parts = threads_;
    for_each_part(threads_, [&](int i) {
      const auto last = static_cast<index_t>(a.rows * (i + 1) / parts);
      with_isa(
          isa_, [&]() __attribute__((always_inline)) {
            for (auto row = static_cast<index_t>(a.rows * i / parts); row < last; row += tile_rows) {
              ell_tile(a, row, std::min(tile_rows, last - row), out, static_cast<const T*>(x), static_cast<T*>(y));
            }
          });
    });
  }

  void update_values(const matrix_ref& a) override { tulle::update_values(ctx_, a.as<T, O>(), a_); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return a_.colind.bytes() + a_.values.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return workspace_bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("threads={} isa={} width={}", threads_, name(isa_), a_.width);
  }

 private:
  context ctx_;
  ell<T> a_;
  int threads_;
  isa isa_ = best_isa();
};

support supports_ell(const csr_stats& stats, type_key, const device_info&) {
  const double slots = static_cast<double>(stats.rows) * stats.max;
  if (!pads_too_much(stats.ell_padding, slots)) return {};
  return {false,
          fmt::format("padding to the longest row ({}) makes {:.1f} slots per nonzero: the limit is 3, or 65536 slots",
                      stats.max, stats.ell_padding)};
}

}  // namespace

spmv_kernel ell_entry() {
  return {
      .name = "ell",
      .summary = "rows padded to the longest, slot by slot",
      .backend = backend_kind::cpu,
      .types = type_set::floating,
      .role = kernel_role::study,
      .supports = supports_ell,
      .make = make_operator<ell_kernel, type_set::floating>,
  };
}

}  // namespace tulle::cpu
