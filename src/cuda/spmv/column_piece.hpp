// Some columns of a CSR as a CSR of their own.
#pragma once

#include <tulle/formats/matrices.hpp>

namespace tulle::cuda {

/// The entries in columns [first, end), in their order in `a` and with their column indices in `a`. Waits for the
/// stream.
template <scalar T, offset O>
csr<T, O> column_piece(const context& ctx, csr_view<T, O> a, index_t first, index_t end);

}  // namespace tulle::cuda
