// The CPU's table of conversions, statistics and validation.
#include "kernels/backends.hpp"
#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {

template <scalar T, offset O>
const format_kernels<T, O>& formats() {
  static const format_kernels<T, O> table = [] {
    format_kernels<T, O> made{};
    using own = enter<T, O>;
    for (const auto f : {own::coo, own::ell, own::sell, own::bsr, own::bin_bsr, own::compact, own::offsets, own::analysis, own::validation})
      f(made);
    return made;
  }();
  return table;
}

#define TULLE_INSTANTIATE(T, O) template const format_kernels<T, O>& formats<T, O>();
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
