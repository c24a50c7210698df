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
/// "peers-small": the same at about 1/64 of the size. "squares": six whose squares papers measure, 26 to 475 million
/// products; "squares-small": the same at about 1/64. Throws INVALID_ARGUMENT for another name.
std::vector<case_name> suite(std::string_view name);
std::vector<std::string> suite_names();

/// The suite, if one is named, then the matrices.
std::vector<case_name> cases(const std::string& suite_name, const std::vector<std::string>& matrices);

}  // namespace tulle::cli::bench
