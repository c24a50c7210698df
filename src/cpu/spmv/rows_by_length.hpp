// The sums of rows of CSR in the order of row_order.hpp.
#pragma once

#include <tulle/formats/views.hpp>

#include "cpu/spmv/finish.hpp"
#include "cpu/spmv/row_order.hpp"

namespace tulle::cpu {

/// Hands the sums of the rows to `out`, the same bits as other paths of AVX2 and AVX-512 find. `order`: of rows from
/// `first` on.
template <scalar T, offset O, scalar V>
void multiply_rows_by_length(csr_view<T, O> a, const row_order& order, index_t first, const V* x, scaled<V>& out);

}  // namespace tulle::cpu
