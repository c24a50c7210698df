// In which storage the values of each row keep a promise about their error.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "cuda/spmv/row_loss.hpp"

namespace tulle::cuda {

/// `of_row` on the device; how many rows and entries there are of each, by value_storage.
struct row_storages {
  buffer<value_storage> of_row;
  std::int64_t rows[3] = {};
  std::int64_t entries[3] = {};

  [[nodiscard]] bool whole() const { return entries[1] == 0 && entries[2] == 0; }
};

/// Waits for the stream.
template <offset O>
row_storages choose_row_storage(const context& ctx, csr_view<double, O> a, const value_tolerance& t);

}  // namespace tulle::cuda
