#include "plan/choose_spmv.hpp"

#include <fmt/format.h>

namespace tulle {
namespace {

bool floating(type_key t) { return t.value != scalar_type::i32; }

/// The rule of thumb that most libraries stop at.
spmv_choice choose_simple_cuda(const csr_stats& s, type_key types) {
  if (floating(types) && s.ell_padding <= 1.05) {
    return {"ell", fmt::format("rows are nearly equal: ELL pads {:.1f}%", 100 * (s.ell_padding - 1))};
  }
  if (floating(types) && s.sell_sorted_padding <= 1.1 && s.mean >= 4) {
    return {"sell", fmt::format("SELL-32 pads {:.1f}%", 100 * (s.sell_sorted_padding - 1))};
  }
  if (s.mean < 4) return {"csr.thread", fmt::format("rows are short: {:.2f} nonzeros on average", s.mean)};
  if (s.skew < 10) {
    return {"csr.warp", fmt::format("rows are alike: the longest is {:.1f} times the mean of {:.1f}", s.skew, s.mean)};
  }
  return {"csr.merge", fmt::format("row lengths span up to {} (skew {:.0f}×)", s.max, s.skew)};
}

spmv_choice choose_standard_cuda(const csr_stats& s, type_key types, const device_info&) {
  return choose_simple_cuda(s, types);
}

spmv_choice choose_cpu(const csr_stats& s, const device_info& device) {
  if (s.nnz < 20'000) {
    return {"csr.serial", fmt::format("{} nonzeros take less time than waking {} threads", s.nnz, device.multiprocessors)};
  }
  return {"csr.balanced", fmt::format("equal nonzeros for each of {} threads (mean row {:.1f}, longest {})",
                                      device.multiprocessors, s.mean, s.max)};
}

}  // namespace

spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy) {
  if (device.backend == backend_kind::cpu) return choose_cpu(stats, device);
  if (policy == spmv_policy::simple) return choose_simple_cuda(stats, types);
  return choose_standard_cuda(stats, types, device);
}

}  // namespace tulle
