// The values of a packed matrix, in as few bytes as give back every bit of them, or as a promise about their error or a
// rule of size allows.
#pragma once

#include <optional>
#include <string>

#include "cuda/spmv/narrow_values.hpp"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_values.cuh"
#include "cuda/spmv/row_forms.hpp"
#include "kernels/describe_stored.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// A packed matrix: numbers of T, used as numbers of V.
template <class T, class V>
class packed_matrix {
 public:
  template <offset O>
  packed_matrix(const context& ctx, csr_view<T, O> a, index_t longest, const packed_shape& shape,
                const spmv_options& options)
      : longest_(longest), shape_(shape), options_(options) {
    place(ctx, a, decide(ctx, a));
  }

  /// The same pattern with other values. Where the old ones were not stored whole, or need not be, it looks at the new
  /// ones, may store them otherwise, and waits for the stream.
  template <offset O>
  void update(const context& ctx, csr_view<T, O> a) {
    if (is_narrow() || may_lose_bits(options_)) {
      const bool differed = by_slice_;
      const row_forms forms = decide(ctx, a);
      if (differed || by_slice_) return place(ctx, a, forms);
    }
    fill(ctx, a);
  }

  /// Calls f with what reads the values.
  template <class F>
  void with_values(F&& f) const {
    if constexpr (std::is_same_v<T, double>) {
      if (by_slice_) return f(sliced_values{data_.data()});
    }
    if (repeated_) return f(repeated_values<T, V>{as<T>()});
    switch (kind_.storage) {
      case value_storage::f32:
        if constexpr (sizeof(T) == 8) return f(stored_values<float, V>{as<float>()});
        break;
      case value_storage::bf16:
        return f(bf16_values<V>{as<std::uint16_t>()});
      case value_storage::listed:
        if constexpr (sizeof(T) == 8) return f(listed_values<T, V>{as<std::uint8_t>(), kind_.list.data()});
        break;
      case value_storage::words:
        if constexpr (sizeof(T) == 8) return f(words_values{as<std::int32_t>(), low()});
        break;
      default:
        break;
    }
    return f(stored_values<T, V>{as<T>()});
  }
  [[nodiscard]] bool in_words() const noexcept { return kind_.storage == value_storage::words; }
  /// Of values in words; bytes that an application by these reads.
  [[nodiscard]] high_values by_high_words() const {
    high_values high{as<std::int32_t>()};
    return high;
  }
  [[nodiscard]] std::size_t high_bytes() const noexcept { return pattern_->bytes() + data_.bytes() / 2; }
  [[nodiscard]] const packed_storage& pattern() const noexcept { return *pattern_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return pattern_->bytes() + data_.bytes() + kind_.list.bytes(); }
  /// What no application reads.
  [[nodiscard]] std::size_t idle_bytes() const noexcept { return pattern_->idle_bytes(); }
  [[nodiscard]] bool is_narrow() const noexcept {
    return repeated_ || by_slice_ || !(kind_.storage == value_storage::whole || in_words());
  }
  [[nodiscard]] tulle::stored_values stored(index_t rows, std::int64_t nnz) const {
    if (in_words()) return {{{name(kind_.storage), rows, nnz, nnz * static_cast<std::int64_t>(sizeof(T))}}};
    if (!is_narrow()) return {};
    if (by_slice_) return described({pattern_->counts(), lost_});
    if (repeated_) return {{{"repeated", rows, nnz, static_cast<std::int64_t>(data_.bytes())}}};
    const auto bytes = nnz * static_cast<std::int64_t>(bytes_of(kind_.storage, sizeof(T)));
    return {{{name(kind_.storage), rows, nnz, bytes}}, lost_};
  }
  /// How values are stored, where not whole: " values=f32".
  [[nodiscard]] std::string parameters() const {
    if (repeated_) return " values=repeated";
    if (by_slice_) return " values=mixed" + parameters_of(described({pattern_->counts(), lost_}));
    return is_narrow() || in_words() ? " values=" + std::string(name(kind_.storage)) : std::string();
  }

 private:
  template <class S>
  const S* as() const {
    return reinterpret_cast<const S*>(data_.data());
  }
  static constexpr std::int64_t word_alignment = 128;  // bytes: a line
  /// The low words, behind the high ones.
  [[nodiscard]] const std::int32_t* low() const {
    return reinterpret_cast<const std::int32_t*>(data_.data() + data_.size() / 2);
  }
  /// How values are to be stored; the forms of rows are there where slices differ.
  template <offset O>
  row_forms decide(const context& ctx, csr_view<T, O> a) {
    kind_ = narrowest(ctx, a.values, a.nnz);
    by_slice_ = false;
    lost_ = 0;
    row_forms forms;
    if constexpr (std::is_same_v<T, double>) {
      if (options_.high_words && kind_.storage == value_storage::whole) kind_.storage = value_storage::words;
      if (!may_lose_bits(options_) || bytes_of(kind_.storage, sizeof(T)) <= 2) return forms;
      forms = choose_row_forms(ctx, a, selection_for(ctx, a, options_), true);
      by_slice_ = kind_.storage == value_storage::whole ? forms.narrow() : forms.halves();
      lost_ = forms.all.lost;
      if (by_slice_) kind_ = {};
      if (by_slice_ && forms.floats()) {  // which a kernel reads sooner than slices that might differ
        by_slice_ = false;
        kind_.storage = value_storage::f32;
      }
    }
    return forms;
  }
  template <offset O>
  void place(const context& ctx, csr_view<T, O> a, const row_forms& forms) {
    packed_shape shape = shape_;
    if (is_narrow()) shape.height = shape.narrow_height;
    pattern_.emplace(ctx, a.rows, a.rowptr, a.colind, longest_, shape, by_slice_ ? forms.of_row.data() : nullptr);
    fill(ctx, a);
  }
  void make_room(const context& ctx, std::int64_t nnz) {
    std::size_t bytes = by_slice_ ? static_cast<std::size_t>(pattern_->value_bytes())
                                  : static_cast<std::size_t>(nnz) * bytes_of(kind_.storage, sizeof(T));
    if (in_words())
      bytes = 2 * static_cast<std::size_t>(ceil_div(static_cast<std::int64_t>(bytes), word_alignment)) * word_alignment;
    if (data_.size() != bytes) data_ = buffer<std::byte>(ctx, bytes);
  }
  template <offset O>
  void fill(const context& ctx, csr_view<T, O> a) {
    pattern_->own_values(ctx);
    repeated_ = false;
    if (!kind_.list.empty()) {
      buffer<std::byte> shared = pattern_->share_values(ctx, a.rowptr, a.values, a.nnz, kind_.list);
      repeated_ = !shared.empty();
      if (repeated_) data_ = std::move(shared);
    }
    if (repeated_ || kind_.storage != value_storage::listed) kind_.list = {};
    if (repeated_) return;
    make_room(ctx, a.nnz);
    pattern_->fill_values(
        ctx, a.rowptr, a.values,
        packed_writer<T>{kind_.storage, by_slice_, data_.data(), kind_.list.data(), static_cast<int>(kind_.list.size()),
                         in_words() ? const_cast<std::int32_t*>(low()) : nullptr});
  }
  index_t longest_;
  packed_shape shape_;
  spmv_options options_;
  narrow_values<T> kind_;
  bool repeated_ = false;  // slices share values
  bool by_slice_ = false;  // slices have forms of their own
  double lost_ = 0;        // of a value, at most
  std::optional<packed_storage> pattern_;
  buffer<std::byte> data_;
};

}  // namespace tulle::cuda
