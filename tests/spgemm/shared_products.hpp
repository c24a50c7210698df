// Products of the matrix files beside the source tree.
#pragma once

#include <string>
#include <vector>

#include "spgemm/operands.hpp"

namespace tulle::test {

/// All pairs of small matrices of ../shared/matrices whose shapes fit, and A A^T of the rectangular ones. Empty where
/// the files are absent.
const std::vector<product_recipe>& shared_products();
/// Why there are none.
std::string shared_products_missing();

}  // namespace tulle::test
