// Makes the storage of csr5 from a CSR on the device.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "cuda/spmv/csr5_format.cuh"

namespace tulle::cuda {

/// The tiles of a matrix and their columns.
template <class Shape, class Column>
class csr5_storage {
 public:
  /// `values` is allocated and filled.
  template <scalar T, offset O>
  csr5_storage(const context& ctx, csr_view<T, O> a, buffer<T>& values);

  /// Fills other values of the same pattern.
  template <scalar T, offset O>
  void fill_values(const context& ctx, csr_view<T, O> a, buffer<T>& values) const;

  template <class T>
  [[nodiscard]] csr5_view<Shape, T, Column> view(const buffer<T>& values) const {
    return {groups(), long_tiles_, group_.data(), first_row_.data(), head_.data(), column_.data(), values.data()};
  }
  [[nodiscard]] std::int32_t groups() const noexcept { return static_cast<std::int32_t>(group_.size()); }
  [[nodiscard]] std::int32_t blocks() const noexcept { return groups() + static_cast<std::int32_t>(first_row_.size()); }
  /// Bytes that an application reads.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return group_.bytes() + first_row_.bytes() + head_.bytes() + column_.bytes();
  }
  /// Further bytes, kept to fill in values.
  [[nodiscard]] std::size_t other_bytes() const noexcept { return group_of_.bytes(); }

 private:
  std::int32_t long_tiles_ = 0;
  buffer<csr5_group> group_;
  buffer<std::int32_t> group_of_;  // of every tile of a long row
  buffer<index_t> first_row_;
  buffer<typename Shape::head> head_;
  buffer<Column> column_;
};

}  // namespace tulle::cuda
