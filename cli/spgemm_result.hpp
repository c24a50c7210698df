// What tulle spgemm found out, and its two printers.
#pragma once

#include "bench/spgemm_measure.hpp"
#include "common/matrix.hpp"
#include <tulle/ops/verify.hpp>

namespace tulle::cli {

struct spgemm_result {
  matrix_facts a, b, c;
  std::optional<std::string> mask, add;  // names
  spgemm_options options;
  bench::spgemm_timing timing;
  std::string_view precision;
  std::string_view backend;
  std::string hash;                       // of C
  std::optional<spgemm_verdict> verdict;  // with --verify
};

json to_json(const spgemm_result& r);
void print_text(const spgemm_result& r);

}  // namespace tulle::cli
