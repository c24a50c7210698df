// Where the rows of a CSR end, for kernels that take its entries as a stream: a bit for each entry that is its row's
// last, as in the bit flags of Yan, Li, Zhang and Zhou, "yaSpMV", PPoPP 2014. Rows without entries have no bit: where
// there are any, those with entries are numbered by themselves, and the others are listed.
#pragma once

#include <cstdint>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/core/types.hpp>

#include "cuda/spmv/row_pieces.cuh"

namespace tulle::cuda {

struct row_ends_view {
  const unsigned* last;   // a bit for each entry, and a word more
  const index_t* row_of;  // of each row with entries; null: all have some
  const index_t* empty;   // rows
  index_t empties;

#ifdef __CUDACC__
  template <class O>
  [[nodiscard]] __device__ __forceinline__ bool ends_at(O entry) const {
    return (__ldg(last + entry / 32) >> (entry % 32) & 1) != 0;
  }
  /// Of the 32 entries from `entry` on.
  template <class O>
  [[nodiscard]] __device__ __forceinline__ unsigned bits_from(O entry) const {
    const unsigned* const word = last + entry / 32;
    return __funnelshift_r(__ldg(word), __ldg(word + 1), static_cast<unsigned>(entry % 32));
  }
  [[nodiscard]] __device__ __forceinline__ index_t row(index_t r) const {
    return row_of == nullptr ? r : __ldg(row_of + r);
  }
#endif
};

template <class O>
class row_ends {
 public:
  /// `empties`: rows without entries; where they are not known they are counted, which waits for the context's stream.
  row_ends(const context& ctx, const O* rowptr, index_t rows, O nnz, std::optional<index_t> empties);

  [[nodiscard]] row_ends_view view() const { return {last_.data(), row_of_.data(), empty_.data(), empties_}; }
  /// Of the rows with entries.
  [[nodiscard]] const O* rowptr() const { return empties_ > 0 ? rowptr_.data() : all_; }
  [[nodiscard]] index_t rows() const { return rows_ - empties_; }
  [[nodiscard]] std::size_t bytes() const { return last_.bytes() + row_of_.bytes() + empty_.bytes() + rowptr_.bytes(); }
  /// Gives cut rows the numbers that they have in the matrix.
  void renumber(const context& ctx, row_pieces<O>& pieces) const;

 private:
  const O* all_;
  index_t rows_;
  index_t empties_ = 0;
  buffer<unsigned> last_;
  buffer<index_t> row_of_, empty_;
  buffer<O> rowptr_;
};

}  // namespace tulle::cuda
