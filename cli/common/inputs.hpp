// Whether what is named on the command line is there, before anything is read or measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tulle::cli {

/// Throws where a matrix as `load` takes it is a file that is not there or cannot be opened (FILE_IO), or a generator
/// that does not exist or does not have a parameter (INVALID_ARGUMENT). What several lack is in one message, with the
/// status of the first.
void check_inputs(const std::vector<std::string>& specs);

}  // namespace tulle::cli
