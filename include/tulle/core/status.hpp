/// @file
/// Statuses by cause, the data status of a matrix, and the exception that carries one.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tulle {

/// Why a call failed. The numbers are those of the C API and do not change.
enum class status : std::int32_t {
  success = 0,               ///< the call did what it says
  null_pointer = 1,          ///< an argument that must point to something is null
  invalid_argument = 2,      ///< an argument that is wrong by itself: a name, a number, the memory it is in
  invalid_dimensions = 3,    ///< sizes that do not fit each other
  invalid_structure = 4,     ///< offsets or indices of a matrix that are not those of a matrix
  invalid_format = 5,        ///< a file that is not what it claims; the message names the line
  file_io = 6,               ///< a file that cannot be opened, read or written
  out_of_memory = 7,         ///< of the host, or beyond a limit that was set
  device_out_of_memory = 8,  ///< of the GPU
  cuda_memcpy = 9,           ///< a copy from, to or on a device failed
  kernel_launch = 10,        ///< a device could not run what it was given
  unsupported = 11,          ///< right, but not to be had here: no such device, type or combination
  not_converged = 12,        ///< a solver came to its last iteration
  breakdown = 13,            ///< a solver cannot go on: a number that must be positive is not
  indefinite = 14,           ///< a matrix that must be positive definite is not
  not_finite = 15,           ///< a NaN or an infinity where none may be
  overflow = 16,             ///< a size or a value that does not fit its type
  internal = 17,             ///< a defect of tulle
};

/// What `validate` finds in a matrix (the split of rocSPARSE's rocsparse_data_status).
enum class data_status : std::int32_t {
  success = 0,             ///< nothing was found
  inf = 1,                 ///< a value is infinite
  nan = 2,                 ///< a value is NaN
  invalid_offsets = 3,     ///< offsets do not ascend from 0 to nnz
  index_out_of_range = 4,  ///< an index is negative or not below the dimension
  duplicate = 5,           ///< a place is there twice
  unsorted = 6,            ///< an index is below the one before it in its row
};

/// Upper-case name, as in the C API: "INVALID_ARGUMENT".
std::string_view name(status s) noexcept;
/// Upper-case name: "INDEX_OUT_OF_RANGE".
std::string_view name(data_status s) noexcept;

/// Every failure of the C++ API. `what()` names the argument, line or row.
class error : public std::runtime_error {
 public:
  /// With the message that what() returns.
  error(status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// By cause.
  [[nodiscard]] status code() const noexcept { return code_; }

 private:
  status code_;
};

}  // namespace tulle
