// Statuses by cause, the data status of a matrix, and the exception that carries one.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tulle {

/// Why a call failed. The numbers are those of the C API and do not change.
enum class status : std::int32_t {
  success = 0,
  null_pointer = 1,
  invalid_argument = 2,
  invalid_dimensions = 3,
  invalid_structure = 4,
  invalid_format = 5,
  file_io = 6,
  out_of_memory = 7,
  device_out_of_memory = 8,
  cuda_memcpy = 9,
  kernel_launch = 10,
  unsupported = 11,
  not_converged = 12,
  breakdown = 13,
  indefinite = 14,
  not_finite = 15,
  overflow = 16,
  internal = 17,
};

/// What `validate` finds in a matrix (the split of rocSPARSE's rocsparse_data_status).
enum class data_status : std::int32_t {
  success = 0,
  inf = 1,
  nan = 2,
  invalid_offsets = 3,
  index_out_of_range = 4,
  duplicate = 5,
  unsorted = 6,
};

/// Upper-case name, as in the C API: "INVALID_ARGUMENT".
std::string_view name(status s) noexcept;
std::string_view name(data_status s) noexcept;

/// Every failure of the C++ API. `what()` names the argument, line or row.
class error : public std::runtime_error {
 public:
  error(status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] status code() const noexcept { return code_; }

 private:
  status code_;
};

}  // namespace tulle
