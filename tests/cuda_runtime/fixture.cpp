#include "fixture.hpp"

namespace tulle::test {

csr<double> small_matrix() { return generate<double>(context::cpu(), "gen:fem:n=6"); }

spmv_options with_kernel(std::string_view name) {
  spmv_options options;
  options.kernel = name;
  return options;
}

}  // namespace tulle::test
