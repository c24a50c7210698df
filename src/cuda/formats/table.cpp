// The CUDA backend's conversions, statistics and validation.
#include "kernels/backends.hpp"
#include "core/instantiate.hpp"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/device_guard.hpp"

namespace tulle::cuda {
template <scalar T, offset O>
const format_kernels<T, O>& formats() {
  static constexpr format_kernels<T, O> table = {
      .csr_to_coo = on_device<&csr_to_coo<T, O>>::call,
      .coo_to_csr = on_device<&coo_to_csr<T, O>>::call,
      .csr_to_csc = on_device<&csr_to_csc<T, O>>::call,
      .transpose_pattern = on_device<&transpose_pattern<T, O>>::call,
      .csr_to_ell = on_device<&csr_to_ell<T, O>>::call,
      .ell_to_csr = on_device<&ell_to_csr<T, O>>::call,
      .csr_to_sell = on_device<&csr_to_sell<T, O>>::call,
      .sell_to_csr = on_device<&sell_to_csr<T, O>>::call,
      .csr_to_bsr = on_device<&csr_to_bsr<T, O>>::call,
      .bsr_to_csr = on_device<&bsr_to_csr<T, O>>::call,
      .bsr_to_bin_bsr = on_device<&bsr_to_bin_bsr<T, O>>::call,
      .bin_bsr_to_bsr = on_device<&bin_bsr_to_bsr<T, O>>::call,
      .bsr_to_compact = on_device<&bsr_to_compact<T, O>>::call,
      .update_ell = on_device<&update_ell<T, O>>::call,
      .update_sell = on_device<&update_sell<T, O>>::call,
      .update_bsr = on_device<&update_bsr<T, O>>::call,
      .update_bin_bsr = on_device<&update_bin_bsr<T, O>>::call,
      .update_bsr_of_bins = on_device<&update_bsr_of_bins<T, O>>::call,
      .update_compact = on_device<&update_compact<T, O>>::call,
      .narrow_offsets = on_device<&narrow_offsets<O>>::call,
      .widen_offsets = on_device<&widen_offsets<O>>::call,
      .longest_row = on_device<&longest_row<T, O>>::call,
      .inspect = on_device<&inspect<T, O>>::call,
      .statistics = on_device<&statistics<T, O>>::call,
      .validate = on_device<&validate<T, O>>::call,
      .validate_bin_bsr = on_device<&validate_bin_bsr<T>>::call,
  };
  return table;
}

#define TULLE_INSTANTIATE(T, O) template const format_kernels<T, O>& formats<T, O>();
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
