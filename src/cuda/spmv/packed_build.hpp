// Makes the packed storage (pattern and values) from a CSR on the device.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/views.hpp>

#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

/// How rows are distributed to slices.
struct packed_shape {
  int positions = 64;      // most of a lane, except in parts
  int part_length = 8192;  // entries of a part of a long row: a multiple of 64, at most 65472
  int height = 32;         // lanes of a slice: 32 or 64
  int narrow_height = 32;  // the same where values are stored in fewer bytes
  index_t block = 1;       // rows of a block
};

/// Where the values of a packed matrix go, and in which form: its slices' own where they differ.
template <class T>
struct packed_writer {
  value_storage storage = value_storage::whole;
  bool by_slice = false;
  void* data = nullptr;
  const T* list = nullptr;  // in increasing order of bits
  int listed = 0;
  std::int32_t* low = nullptr;  // of words; `data` are the high ones
};

/// Bases that several slices have are stored once, where that saves half of them. Waits for the stream.
void share_bases(const context& ctx, buffer<packed_slice>& slices, buffer<index_t>& base);

class packed_storage {
 public:
  /// `longest`: entries of the longest row. `form`: of the values of each row, so that rows alike share slices, whose
  /// form takes all of their rows; null: all alike.
  template <offset O>
  packed_storage(const context& ctx, index_t rows, const O* rowptr, const index_t* colind, index_t longest,
                 const packed_shape& shape, const row_form* form = nullptr);

  [[nodiscard]] packed_pattern view() const;
  [[nodiscard]] int height() const noexcept { return shape_.height; }
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] std::int64_t parts() const noexcept { return parts_; }
  [[nodiscard]] std::int64_t long_rows() const noexcept { return long_rows_; }
  /// Of the values, where slices differ in form; and rows and entries by that.
  [[nodiscard]] std::int64_t value_bytes() const noexcept { return value_bytes_; }
  [[nodiscard]] const form_counts& counts() const noexcept { return counts_; }

  /// Values of which there are few, those of `list` in increasing order of their bits, are stored once where slices
  /// have them alike, as the numbers of T that are returned. Empty, and nothing changes, where not enough are. Waits
  /// for the stream.
  template <scalar T, offset O>
  [[nodiscard]] buffer<std::byte> share_values(const context& ctx, const O* rowptr, const T* values, std::int64_t count,
                                               const buffer<T>& list);
  /// Each slice has values of its own again.
  void own_values(const context& ctx);
  /// What no application reads.
  [[nodiscard]] std::size_t idle_bytes() const noexcept { return own_values_.bytes(); }

  /// Copies values from the order of the CSR to that of the slices.
  template <scalar T, offset O>
  void fill_values(const context& ctx, const O* rowptr, const T* values, const packed_writer<T>& to) const;

 private:
  template <offset O>
  void place_values(const context& ctx, const O* rowptr, const row_form* form);

  index_t rows_;
  packed_shape shape_;
  std::int64_t slices_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t long_rows_ = 0;
  std::int64_t value_bytes_ = 0;
  form_counts counts_ = {};
  buffer<packed_slice> slice_;
  buffer<index_t> base_;
  buffer<std::uint32_t> offsets_;
  buffer<std::uint16_t> order_;
  buffer<std::uint16_t> length_;
  buffer<std::uint32_t> part_row_;
  buffer<std::uint16_t> part_length_;
  mutable buffer<packed_long_row> long_row_;
  buffer<std::int64_t> own_values_;  // of each slice, where some share them: where its own began
};

}  // namespace tulle::cuda
