// The matrices of the benchmark of several right-hand sides: those that were lost, and some that were not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spmv_families.hpp"

namespace tulle::bench {

struct spmm_matrix {
  std::string name;
  std::function<pattern()> make;
  bool graph = false;  // held to 1.3 times the vendor with 32 and 128 columns in f32
};

std::vector<spmm_matrix> spmm_matrices();
pattern read_pattern(const std::string& file);

}  // namespace tulle::bench
