#include "report.hpp"

#include <fmt/format.h>

namespace tulle::cli {

json to_json(const csr_stats& s) {
  json fill = json::object();
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) fill[std::to_string(b)] = s.block_fill[b];
  return {{"mean", s.mean},
          {"max", s.max},
          {"stddev", s.stddev},
          {"skew", s.skew},
          {"empty_rows", s.empty_rows},
          {"bandwidth", s.bandwidth},
          {"ell_padding", s.ell_padding},
          {"sell_padding", s.sell_padding},
          {"sell_sorted_padding", s.sell_sorted_padding},
          {"block_fill", fill},
          {"gather_sectors", s.gather_sectors},
          {"gather_span", s.gather_span},
          {"column_window", s.column_window}};
}

support kernel_support(const spmv_kernel& kernel, const csr_stats& stats, type_key types, const device_info& device) {
  if (!contains(kernel.types, types)) return {false, fmt::format("not built for {} values", name(types.value))};
  return kernel.supports(stats, types, device);
}

std::string_view name(mm_field field) {
  return field == mm_field::real ? "real" : field == mm_field::integer ? "integer" : "pattern";
}

std::string_view name(mm_symmetry symmetry) {
  return symmetry == mm_symmetry::general     ? "general"
         : symmetry == mm_symmetry::symmetric ? "symmetric"
                                              : "skew-symmetric";
}

}  // namespace tulle::cli
