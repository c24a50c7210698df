// The named sets of matrices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tulle::cli::bench {

struct case_name {
  std::string label;  // in records and tables; empty: the name that `load` gives
  std::string spec;   // as `load` takes it
};

/// "peers": the eleven classes of SpMV matrices that the tables of the documentation show, 2 to 214 million nonzeros.
/// "peers-small": the same at about 1/64 of the size. Throws INVALID_ARGUMENT for another name.
std::vector<case_name> suite(std::string_view name);

}  // namespace tulle::cli::bench
