/// @file
/// What this library was built from, for records and reports.
#pragma once

#include <string_view>

namespace tulle {

/// What `tulle --version` and `tulle doctor` say of the library that is linked.
struct build_info {
  std::string_view version;   ///< "0.1.0"
  std::string_view commit;    ///< `git describe --always --dirty` when it was configured, or "unknown"
  std::string_view compiler;  ///< "GNU 12.2.0"
  std::string_view flags;     ///< build type and flags
  std::string_view cuda;      ///< compiler and architectures, "NVIDIA 13.0.88: 80-real 90"; empty without CUDA
};

/// Of this library. Lives as long as the program.
const build_info& built_from() noexcept;

}  // namespace tulle
