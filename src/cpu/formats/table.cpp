// The CPU's table of conversions, statistics and validation.
#include "kernels/backends.hpp"
#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {

template <scalar T, offset O>
const format_kernels<T, O>& formats() {
  static const format_kernels<T, O> table = [] {
    format_kernels<T, O> made{};
    for (const auto enter : {enter_coo<T, O>, enter_ell<T, O>, enter_sell<T, O>, enter_bsr<T, O>, enter_offsets<T, O>,
                             enter_statistics<T, O>, enter_validation<T, O>}) {
      enter(made);
    }
    return made;
  }();
  return table;
}

#define TULLE_INSTANTIATE(T, O) template const format_kernels<T, O>& formats<T, O>();
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
