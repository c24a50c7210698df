// The BSR of which a kernel makes a layout of its own, whether a CSR, a BSR or bins were given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

/// Bins whose values are kept as they are: what compact_storage asks where they may not be.
struct no_narrow_bins {
  no_narrow_bins(const context&, const spmv_options&) {}
  template <class T, class O>
  bool make(const bsr_view<T, O>&, const matrix_ref&, const compact_view<T>&, std::int64_t /*slots*/) {
    return false;
  }
  template <class F>
  void with_view(F&&) const {}
  [[nodiscard]] std::size_t bytes() const noexcept { return 0; }
  [[nodiscard]] double lost() const noexcept { return 0; }
  [[nodiscard]] std::size_t value_bytes() const noexcept { return 0; }
  [[nodiscard]] std::string_view storage() const noexcept { return {}; }
};

/// The copy that bin_bsr.compact reads: as it is, or by Narrow in fewer bytes a value where its
/// `make(blocks of a, a, the copy as it is, its slots)` returns true.
template <class T, class O, class Narrow>
class compact_storage {
 public:
  compact_storage(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : ctx_(ctx), input_(ctx, a, s, o), options_(o), narrow_(ctx, o) {
    make(input_.view(), a);
    input_.forget_values();
  }
  /// Values that are stored in fewer bytes, or might be by a promise, are looked at again.
  void update_values(const matrix_ref& a) {
    input_.with_values_of(a, [&](auto blocks) {
      if (is_narrow_ || may_lose_bits(options_)) return make(blocks, a);
      kernels().update_compact(ctx_, blocks, made_);
    });
  }
  /// Calls f with the view.
  template <class F>
  void with_view(F&& f) const {
    is_narrow_ ? narrow_.with_view(f) : static_cast<void>(f(made_.view()));
  }
  /// Without values where they are stored in fewer bytes.
  [[nodiscard]] compact_view<T> view() const noexcept { return made_.view(); }
  [[nodiscard]] bool is_narrow() const noexcept { return is_narrow_; }
  [[nodiscard]] index_t block_rows() const noexcept { return input_.view().block_rows; }
  [[nodiscard]] std::int64_t slots() const noexcept { return static_cast<std::int64_t>(made_.colind.size()); }
  [[nodiscard]] double padding() const noexcept { return made_.padding(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return made_.bytes() + (is_narrow_ ? narrow_.bytes() : 0); }
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return bytes() + input_.bytes(); }
  /// How values are stored, where they take fewer bytes than they have.
  [[nodiscard]] stored_values stored() const {
    if (!is_narrow_) return {};
    const auto bytes = static_cast<std::int64_t>(narrow_.value_bytes());
    return {{{narrow_.storage(), made_.rows, input_.view().nnz, bytes}}, narrow_.lost()};
  }
  [[nodiscard]] std::string parameters() const {
    return is_narrow_ ? " values=" + std::string(narrow_.storage()) : std::string();
  }

 private:
  [[nodiscard]] const auto& kernels() const { return formats_of<T, O>(ctx_.backend()); }
  /// Narrow ones are made of those in the places where they are to be.
  void make(const bsr_view<T, O>& blocks, const matrix_ref& a) {
    if (made_.binptr.empty()) {
      made_ = kernels().bsr_to_compact(ctx_, blocks, options_.sigma > 0 ? options_.sigma : compact_sigma);
    } else {
      if (made_.values.empty()) {
        made_.values = buffer<T>(ctx_, made_.colind.size() * static_cast<std::size_t>(made_.block * made_.block));
      }
      kernels().update_compact(ctx_, blocks, made_);
    }
    is_narrow_ = narrow_.make(blocks, a, made_.view(), slots());
    if (is_narrow_) made_.values = {};
  }

  context ctx_;
  block_input<T, O> input_;
  spmv_options options_;
  compact_bin_bsr<T> made_;
  bool is_narrow_ = false;
  Narrow narrow_;
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
