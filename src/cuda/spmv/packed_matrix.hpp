// The values of a packed matrix, in as few bytes as give back every bit of them, or as keep a promise about their
// error.
#pragma once

#include <optional>
#include <string>

#include "cuda/spmv/narrow_values.hpp"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_values.cuh"
#include "cuda/spmv/row_storage.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// A packed matrix: numbers of T, used as numbers of V.
template <class T, class V>
class packed_matrix {
 public:
  template <offset O>
  packed_matrix(const context& ctx, csr_view<T, O> a, index_t longest, const packed_shape& shape,
                const value_tolerance& tolerance)
      : longest_(longest), shape_(shape), tolerance_(tolerance) {
    decide(ctx, a);
    place(ctx, a);
  }

  /// The same pattern with other values. Where the old ones were not stored whole, or need not be, it looks at the new
  /// ones, may store them otherwise, and waits for the stream.
  template <offset O>
  void update(const context& ctx, csr_view<T, O> a) {
    if (is_narrow() || tolerance_.tolerance > 0) {
      const bool differed = rows_.has_value();
      decide(ctx, a);
      if (differed || rows_) return place(ctx, a);
    }
    fill(ctx, a);
  }

  /// Calls f with what reads the values.
  template <class F>
  void with_values(F&& f) const {
    if constexpr (std::is_same_v<T, double>) {
      if (rows_) return f(sliced_values{data_.data()});
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
      default:
        break;
    }
    return f(stored_values<T, V>{as<T>()});
  }
  [[nodiscard]] const packed_storage& pattern() const noexcept { return *pattern_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return pattern_->bytes() + data_.bytes() + kind_.list.bytes(); }
  /// What no application reads.
  [[nodiscard]] std::size_t idle_bytes() const noexcept { return pattern_->idle_bytes(); }
  [[nodiscard]] bool is_narrow() const noexcept {
    return repeated_ || rows_ || kind_.storage != value_storage::whole;
  }
  /// What it says is lost of a value is what may be lost: by row and norm, all of it.
  [[nodiscard]] tulle::stored_values stored(index_t rows, std::int64_t nnz) const {
    if (!rows_) {
      if (!is_narrow()) return {};
      if (repeated_) return {{{"repeated", rows, nnz, static_cast<std::int64_t>(data_.bytes())}}};
      return {{{name(kind_.storage), rows, nnz, nnz * static_cast<std::int64_t>(bytes_of(kind_.storage, sizeof(T)))}}};
    }
    tulle::stored_values out{{}, tolerance_.bound == error_bound::componentwise ? tolerance_.tolerance : 1};
    for (const value_storage s : {value_storage::whole, value_storage::f32, value_storage::bf16}) {
      const auto k = static_cast<std::size_t>(s);
      const std::int64_t bytes = rows_->entries[k] * static_cast<std::int64_t>(bytes_of(s, sizeof(T)));
      if (rows_->rows[k] > 0) {
        out.shares.push_back({s == value_storage::whole ? "f64" : name(s), rows_->rows[k], rows_->entries[k], bytes});
      }
    }
    return out;
  }
  /// How values are stored, where not whole: " values=f32".
  [[nodiscard]] std::string parameters() const {
    if (repeated_) return " values=repeated";
    if (!rows_) {
      return kind_.storage == value_storage::whole ? std::string() : " values=" + std::string(name(kind_.storage));
    }
    std::string out = " values=mixed";
    for (const value_storage s : {value_storage::whole, value_storage::f32, value_storage::bf16}) {
      const auto k = static_cast<std::size_t>(s);
      const std::string type = s == value_storage::whole ? " f64" : " " + std::string(name(s));
      out += type + "_rows=" + std::to_string(rows_->rows[k]) + type + "_entries=" + std::to_string(rows_->entries[k]);
    }
    return out;
  }

 private:
  template <class S>
  const S* as() const {
    return reinterpret_cast<const S*>(data_.data());
  }
  template <offset O>
  void decide(const context& ctx, csr_view<T, O> a) {
    kind_ = narrowest(ctx, a.values, a.nnz);
    rows_.reset();
    if constexpr (std::is_same_v<T, double>) {
      if (tolerance_.tolerance == 0 || kind_.storage != value_storage::whole) return;
      rows_ = choose_row_storage(ctx, a, tolerance_);
      if (rows_->whole()) rows_.reset();
    }
  }
  template <offset O>
  void place(const context& ctx, csr_view<T, O> a) {
    packed_shape shape = shape_;
    if (is_narrow()) shape.height = shape.narrow_height;
    pattern_.emplace(ctx, a.rows, a.rowptr, a.colind, longest_, shape, rows_ ? rows_->of_row.data() : nullptr);
    fill(ctx, a);
  }
  void make_room(const context& ctx, std::int64_t nnz) {
    const std::size_t bytes = rows_ ? static_cast<std::size_t>(pattern_->value_bytes())
                                    : static_cast<std::size_t>(nnz) * bytes_of(kind_.storage, sizeof(T));
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
    pattern_->fill_values(ctx, a.rowptr, a.values,
                          packed_writer<T>{kind_.storage, rows_.has_value(), data_.data(), kind_.list.data(),
                                           static_cast<int>(kind_.list.size())});
  }
  index_t longest_;
  packed_shape shape_;
  value_tolerance tolerance_;
  narrow_values<T> kind_;
  bool repeated_ = false;  // slices share values
  std::optional<row_storages> rows_;  // where slices differ
  std::optional<packed_storage> pattern_;
  buffer<std::byte> data_;
};

}  // namespace tulle::cuda
