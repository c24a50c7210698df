// The CPU's table of conversions, statistics and validation.
#include "kernels/backends.hpp"
#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {

template <scalar T, offset O>
const format_kernels<T, O>& formats() {
  static constexpr format_kernels<T, O> table = {
      .csr_to_coo = csr_to_coo<T, O>,
      .coo_to_csr = coo_to_csr<T, O>,
      .csr_to_csc = csr_to_csc<T, O>,
      .transpose_pattern = transpose_pattern<T, O>,
      .csr_to_ell = csr_to_ell<T, O>,
      .ell_to_csr = ell_to_csr<T, O>,
      .csr_to_sell = csr_to_sell<T, O>,
      .sell_to_csr = sell_to_csr<T, O>,
      .csr_to_bsr = csr_to_bsr<T, O>,
      .bsr_to_csr = bsr_to_csr<T, O>,
      .update_ell = update_ell<T, O>,
      .update_sell = update_sell<T, O>,
      .update_bsr = update_bsr<T, O>,
      .narrow_offsets = narrow_offsets<O>,
      .widen_offsets = widen_offsets<O>,
      .longest_row = longest_row<T, O>,
      .inspect = inspect<T, O>,
      .statistics = statistics<T, O>,
      .validate = validate<T, O>,
  };
  return table;
}

#define TULLE_INSTANTIATE(T, O) template const format_kernels<T, O>& formats<T, O>();
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
