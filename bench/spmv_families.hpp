// Families of generated matrices, from 100 nonzeros to ten million, for rules of choice: some are there to fit rules
// on, the others to judge them. Every parameter of a family goes over a wide range from size to size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tulle/core/types.hpp>
#include <vector>

namespace tulle::bench {

/// A CSR without values. Columns of a row ascend and do not repeat.
struct pattern {
  index_t cols = 0;
  std::vector<std::int32_t> rowptr{0};
  std::vector<index_t> colind{};

  [[nodiscard]] index_t rows() const { return static_cast<index_t>(rowptr.size()) - 1; }
  void add_row(std::vector<index_t>& columns);
};

struct family {
  std::string name;
  bool fitted;
  /// About so many nonzeros. `variant`: any number, which says what the parameters are. Adds them to `label`.
  std::function<pattern(double nonzeros, int variant, std::string& label)> make;
};

std::vector<family> spmv_families();
/// Classes that those leave thin.
std::vector<family> spmv_families_more();
/// To judge a choice by, none to fit or to think of it with.
std::vector<family> spmv_families_left_out();

}  // namespace tulle::bench
