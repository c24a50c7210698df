// What is measured: the named sets of matrices, and the kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tulle/ops/kernels.hpp>
#include <vector>

namespace tulle::cli::bench {

struct case_name {
  std::string label;  // in records and tables; empty: the name that `load` gives
  std::string spec;   // as `load` takes it
};

/// "peers": the eleven classes of SpMV matrices that the tables of the documentation show, 2 to 214 million nonzeros.
/// "peers-small": the same at about 1/64 of the size. "squares": six whose squares papers measure, 26 to 475 million
/// products; "squares-small": the same at about 1/64. "meshes" and "meshes-small": those of --precision-study. Throws
/// INVALID_ARGUMENT for another name.
std::vector<case_name> suite(std::string_view name);
std::vector<std::string> suite_names();

/// The suite, if one is named, then the matrices.
std::vector<case_name> cases(const std::string& suite_name, const std::vector<std::string>& matrices);

/// The kernels that --kernels names: all, study or vendor (those of that role), chosen (those named in `chosen`), or by
/// name. Throws INVALID_ARGUMENT for a name that is none of `kernels`, and where there are none but `chosen` is not
/// asked for.
std::vector<kernel_info> select_kernels(std::span<const kernel_info> kernels, std::span<const std::string> names,
                                        std::span<const std::string> chosen);

}  // namespace tulle::cli::bench
