// The BSR of which a kernel makes a layout of its own, whether a CSR, a BSR or bins were given.
#pragma once

#include <optional>
#include <type_traits>

#include "kernels/backends.hpp"
#include "kernels/bsr_block.hpp"

namespace tulle {

/// Borrows a BSR. Of another format it makes one, and keeps the pattern alone between uses. Throws UNSUPPORTED for a
/// CSR with repeated entries whose values are narrower than the vectors.
template <class T, class O>
class block_input {
 public:
  block_input(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o) : ctx_(ctx) {
    const auto& kernels = formats_of<T, O>(ctx.backend());
    if (a.format == matrix_format::csr) {
      owned_ = kernels.csr_to_bsr(ctx, a.as<T, O>(), o.block > 0 ? o.block : best_bsr_block(s, sizeof(T)));
    } else if (a.format == matrix_format::bin_bsr) {
      owned_ = kernels.bin_bsr_to_bsr(ctx, a.as_bin_bsr<T>());
    }
    // The layout has one value for a place; the sum of repeated ones would be rounded to the type of the values.
    if (a.format == matrix_format::csr && owned_.nnz != a.nnz && types_of(a, o).sum != a.types.value) {
      throw error(status::unsupported, "entries repeat, and their sums do not fit values narrower than the vectors");
    }
    borrowed_ = a.format == matrix_format::bsr;
    view_ = borrowed_ ? a.as_bsr<T, O>() : owned_.view();
  }

  /// Calls f(bsr_view) with the values of `a`, of the format given to the constructor.
  template <class F>
  void with_values_of(const matrix_ref& a, const F& f) {
    if (borrowed_) {
      view_.values = static_cast<const T*>(a.values);
      return f(view_);
    }
    const auto blocks = static_cast<std::size_t>(view_.blocks);
    if (owned_.values.empty())
      owned_.values = buffer<T>(ctx_, blocks * static_cast<std::size_t>(view_.block * view_.block));
    if (a.format == matrix_format::csr) {
      tulle::update_values(ctx_, a.as<T, O>(), owned_);
    } else {
      tulle::update_values(ctx_, a.as_bin_bsr<T>(), owned_);
    }
    f(owned_.view());
    forget_values();
  }
  void forget_values() { owned_.values = {}; }

  [[nodiscard]] const bsr_view<T, O>& view() const noexcept { return view_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return owned_.rowptr.bytes() + owned_.colind.bytes() + owned_.values.bytes() + owned_.mask.bytes();
  }

 private:
  context ctx_;
  bsr<T, O> owned_;
  bsr_view<T, O> view_;
  bool borrowed_ = false;
};

/// The bins that a kernel reads: the caller's, or a copy.
template <class T, class O>
class bin_bsr_storage {
 public:
  bin_bsr_storage(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o) : ctx_(ctx) {
    if (a.format == matrix_format::bin_bsr) {
      view_ = a.as_bin_bsr<T>();
      copy_bytes(ctx, &slots_, memory_space::host, view_.rowptr + std::int64_t{view_.bins} * bin_rows, a.space,
                 sizeof(slots_));
      return;
    }
    input_.emplace(ctx, a, s, o);
    owned_ = formats_of<T, O>(ctx.backend()).bsr_to_bin_bsr(ctx, input_->view());
    input_->forget_values();
    view_ = owned_.view();
    slots_ = static_cast<std::int64_t>(owned_.colptr.size());
  }
  void update_values(const matrix_ref& a) {
    if (a.format == matrix_format::bin_bsr) {
      view_.values = static_cast<const T*>(a.values);
    } else {
      input_->with_values_of(
          a, [&](auto blocks) { formats_of<T, O>(ctx_.backend()).update_bin_bsr(ctx_, blocks, owned_); });
    }
  }
  [[nodiscard]] const bin_bsr_view<T>& view() const noexcept { return view_; }
  /// Of all bins, padding included.
  [[nodiscard]] std::int64_t slots() const noexcept { return slots_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    const std::size_t slot = sizeof(index_t) + static_cast<std::size_t>(view_.block) * sizeof(T) + (view_.mask ? 1 : 0);
    return static_cast<std::size_t>(view_.bins + std::int64_t{1}) * bin_rows * sizeof(std::int64_t) +
           static_cast<std::size_t>(slots_) * slot;
  }
  [[nodiscard]] std::size_t owned_bytes() const noexcept {
    return input_ ? owned_.rowptr.bytes() + owned_.colptr.bytes() + owned_.values.bytes() + owned_.mask.bytes() +
                        input_->bytes()
                  : 0;
  }
  /// Slots per value's place in the pattern or in the fill of its block: what the bins add.
  [[nodiscard]] double padding() const noexcept {
    if (!input_ || input_->view().blocks == 0) return 1;
    const double used = static_cast<double>(input_->view().blocks) * view_.block;
    return static_cast<double>(slots_) / used;
  }

 private:
  context ctx_;
  std::optional<block_input<T, O>> input_;  // none where the bins are the caller's
  bin_bsr<T> owned_;
  bin_bsr_view<T> view_;
  std::int64_t slots_ = 0;
};

/// The copy that bin_bsr.compact reads. Where T is f64 and all values are floats it keeps floats, by Narrowing:
/// `suits(ctx, values, count)` says so, `run(ctx, values, count, floats)` writes them.
template <class T, class O, class Narrowing>
class compact_storage {
 public:
  compact_storage(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : ctx_(ctx), input_(ctx, a, s, o), sigma_(o.sigma > 0 ? o.sigma : compact_sigma) {
    make(input_.view());
    input_.forget_values();
  }
  /// Floats are looked at again, and may be none any more.
  void update_values(const matrix_ref& a) {
    input_.with_values_of(a, [&](auto blocks) {
      if (!is_narrow_) return kernels<T>().update_compact(ctx_, blocks, made_);
      if constexpr (may_narrow) {
        if (Narrowing::suits(ctx_, blocks.values, values_of(blocks))) {
          return with_floats(blocks, [&](auto of_floats) { kernels<float>().update_compact(ctx_, of_floats, floats_); });
        }
      }
      make(blocks);
    });
  }
  /// Calls f with the view, whose values are of T or floats.
  template <class F>
  void with_view(F&& f) const {
    if constexpr (may_narrow) {
      if (is_narrow_) return f(floats_.view());
    }
    f(made_.view());
  }
  /// Without values where they are floats.
  [[nodiscard]] compact_view<T> view() const noexcept {
    if (!is_narrow_) return made_.view();
    const compact_view<float> a = floats_.view();
    return {a.rows, a.cols, a.block, a.bins, a.binptr, a.perm, a.colind, nullptr, a.mask};
  }
  [[nodiscard]] bool is_narrow() const noexcept { return is_narrow_; }
  [[nodiscard]] index_t block_rows() const noexcept { return input_.view().block_rows; }
  [[nodiscard]] std::int64_t slots() const noexcept {
    return static_cast<std::int64_t>(is_narrow_ ? floats_.colind.size() : made_.colind.size());
  }
  [[nodiscard]] double padding() const noexcept { return is_narrow_ ? floats_.padding() : made_.padding(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return made_.bytes() + floats_.bytes(); }
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return bytes() + input_.bytes(); }
  /// How values are stored, where they take fewer bytes than they have.
  [[nodiscard]] stored_values stored() const {
    if (!is_narrow_) return {};
    return {{{name(scalar_type::f32), view().rows, values_of(input_.view()), static_cast<std::int64_t>(floats_.values.bytes())}}};
  }

 private:
  static constexpr bool may_narrow = std::is_same_v<T, double>;
  template <class S>
  [[nodiscard]] const auto& kernels() const {
    return formats_of<S, O>(ctx_.backend());
  }
  static std::int64_t values_of(const bsr_view<T, O>& a) { return static_cast<std::int64_t>(a.blocks) * a.block * a.block; }

  void make(const bsr_view<T, O>& a) {
    made_ = {};
    floats_ = {};
    is_narrow_ = false;
    if constexpr (may_narrow) {
      if (Narrowing::suits(ctx_, a.values, values_of(a))) {
        with_floats(a, [&](auto of_floats) { floats_ = kernels<float>().bsr_to_compact(ctx_, of_floats, sigma_); });
        is_narrow_ = true;
        return;
      }
    }
    made_ = kernels<T>().bsr_to_compact(ctx_, a, sigma_);
  }
  /// Calls f with the same blocks in f32.
  template <class F>
  void with_floats(const bsr_view<T, O>& a, const F& f) const {
    buffer<float> values(ctx_, static_cast<std::size_t>(values_of(a)));
    Narrowing::run(ctx_, a.values, values_of(a), values.data());
    f(bsr_view<float, O>{a.rows, a.cols, a.nnz, a.block, a.block_rows, a.blocks, a.rowptr, a.colind, values.data(), a.mask, a.space});
  }

  context ctx_;
  block_input<T, O> input_;
  index_t sigma_;
  bool is_narrow_ = false;
  compact_bin_bsr<T> made_;
  compact_bin_bsr<float> floats_;  // instead, where they are
};

/// A make that builds Operator<T, V, O>(ctx, matrix, stats, options) for a CSR, a BSR or a bin_bsr: values of T,
/// vectors of V.
template <template <class, class, class> class Operator, type_set Set>
std::unique_ptr<spmv_operator> make_block_operator(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                   const spmv_options& options) {
  return dispatch_operation<Set>(types_of(a, options),
                                 [&]<class T, class V, class O>() -> std::unique_ptr<spmv_operator> {
                                   return std::make_unique<Operator<T, V, O>>(ctx, a, stats, options);
                                 });
}

}  // namespace tulle
