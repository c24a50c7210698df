// Makes the storage of csr5 from a CSR on the device.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "cuda/spmv/csr5_format.cuh"

namespace tulle::cuda {

/// How a matrix is cut into tiles.
class csr5_tiles {
 public:
  template <scalar T, offset O>
  csr5_tiles(const context& ctx, csr_view<T, O> a);

  [[nodiscard]] std::size_t bytes() const noexcept { return group.bytes() + first_row.bytes() + first_column.bytes(); }

  std::int32_t long_tiles = 0;
  buffer<csr5_group> group;
  buffer<std::int32_t> group_of;  // of every tile of a long row
  buffer<index_t> first_row;      // of every other tile
  buffer<index_t> first_column;   // of every tile, those of long rows first
  index_t widest = 0;             // columns from a tile's first to its last, at most

 private:
  template <scalar T, offset O>
  void find_columns(const context& ctx, csr_view<T, O> a);
};

/// The tiles of a matrix and their columns.
template <class Shape, class Columns>
class csr5_storage {
 public:
  /// `values` is allocated and filled.
  template <scalar T, offset O>
  csr5_storage(const context& ctx, csr_view<T, O> a, csr5_tiles tiles, buffer<T>& values);

  /// Fills other values of the same pattern.
  template <scalar T, offset O>
  void fill_values(const context& ctx, csr_view<T, O> a, buffer<T>& values) const;

  template <class T>
  [[nodiscard]] csr5_view<Shape, T, Columns> view(const buffer<T>& values) const {
    return {groups(),     tiles_.long_tiles,          tiles_.group.data(), tiles_.first_row.data(),
            head_.data(), tiles_.first_column.data(), column_.data(),      high_.data(),
            values.data()};
  }
  [[nodiscard]] std::int32_t groups() const noexcept { return static_cast<std::int32_t>(tiles_.group.size()); }
  [[nodiscard]] std::int32_t blocks() const noexcept {
    return groups() + static_cast<std::int32_t>(tiles_.first_row.size());
  }
  /// Bytes that an application reads.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return tiles_.bytes() + head_.bytes() + column_.bytes() + high_.bytes();
  }
  /// Further bytes, kept to fill in values.
  [[nodiscard]] std::size_t other_bytes() const noexcept { return tiles_.group_of.bytes(); }

 private:
  csr5_tiles tiles_;
  buffer<typename Shape::head> head_;
  buffer<typename Columns::low> column_;
  buffer<std::uint8_t> high_;
};

}  // namespace tulle::cuda
