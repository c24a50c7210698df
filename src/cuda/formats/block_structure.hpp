// Which blocks a BSR has.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

namespace tulle::cuda {

/// Block rows and the columns (in blocks) of their blocks, ascending.
template <offset O>
struct block_structure {
  buffer<O> rowptr;
  buffer<index_t> colind;
};

template <offset O>
block_structure<O> find_blocks(const context& ctx, index_t rows, index_t cols, std::int64_t nnz, const O* rowptr,
                               const index_t* colind, index_t block);

/// The lowest `column_bits` bits of every key.
buffer<index_t> columns_of(const context& ctx, const buffer<std::uint64_t>& keys, int column_bits);

}  // namespace tulle::cuda
