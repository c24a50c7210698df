// The rows of a CSR in pieces of about equal work: whole rows one after another, or parts of a long one. The work of
// row r lies in [key(r), key(r + 1)), key(r) = rowptr[r] + row_work * r; piece w has the rows that begin in
// [w * work, (w + 1) * work), and rows longer than work * per_slot are cut at the multiples of that (as merge path
// cuts: Yang, Buluc and Owens, "Design principles for sparse matrix multiplication on the GPU", Euro-Par 2018, but
// whole rows stay whole). Thus a cut is known by its multiple, its slot, and no two cuts have the same. Sums of parts
// of cut rows have places one after another, so that room is needed for what is cut, not for all that might be.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/types.hpp>

#include "kernels/piece_shape.hpp"

namespace tulle::cuda {

/// Where a piece begins. The row is cut where `entry` is not its first.
template <class O>
struct piece_begin {
  index_t row;
  O entry;
};

/// A row that is cut: the places of its parts are [first, first + parts).
struct cut_row {
  index_t row;
  std::int32_t first;
  std::int32_t parts;
};

struct cut_counts {
  std::int32_t rows = 0;
  std::int32_t parts = 0;  // of all of them
};

template <class O>
struct row_pieces_view {
  const piece_begin<O>* begin;  // count + 1
  std::int64_t count;
  int per_slot;
  const std::int32_t* place;  // of the part behind each slot's cut; none: no row is cut
  const std::int32_t* order;  // in which pieces are taken; none: one after another

#ifdef __CUDACC__
  /// The piece that warp i takes.
  [[nodiscard]] __device__ __forceinline__ std::int64_t taken_by(std::int64_t i) const {
    return order != nullptr && i < count ? order[i] : i;
  }
  /// The place of the part of piece w, which begins at a cut.
  [[nodiscard]] __device__ __forceinline__ std::int32_t behind(std::int64_t w) const { return place[w / per_slot]; }
  /// The place of the part before the first cut of a row, at which piece w begins.
  [[nodiscard]] __device__ __forceinline__ std::int32_t before(std::int64_t w) const {
    return place[(w + per_slot - 1) / per_slot] - 1;
  }
#endif
};

template <class O>
class row_pieces {
 public:
  /// `longest`: row, in entries; 0: not known. Waits for the context's stream where rows may have to be cut.
  row_pieces(const context& ctx, const O* rowptr, index_t rows, O nnz, index_t longest, piece_shape shape);

  /// Pieces are taken in the order of their first columns from now on (piece_shape::by_column).
  void take_by_column(const context& ctx, const index_t* colind, index_t cols);

  [[nodiscard]] row_pieces_view<O> view() const {
    return {begin_.data(), count_, shape_.per_slot, place_.data(), order_.data()};
  }
  /// Rows that are cut, in any order.
  [[nodiscard]] const cut_row* cuts() const { return cut_.data(); }
  [[nodiscard]] cut_row* cuts() { return cut_.data(); }
  [[nodiscard]] const cut_counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t bytes() const { return begin_.bytes() + place_.bytes() + order_.bytes() + cut_.bytes(); }
  [[nodiscard]] const piece_shape& shape() const { return shape_; }

 private:
  piece_shape shape_;
  std::int64_t count_;
  buffer<piece_begin<O>> begin_;
  buffer<std::int32_t> place_, order_;
  buffer<cut_row> cut_;
  cut_counts counts_;
};

}  // namespace tulle::cuda
