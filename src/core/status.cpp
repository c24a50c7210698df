#include <tulle/core/status.hpp>

namespace tulle {

std::string_view name(status s) noexcept {
  switch (s) {
    case status::success: return "SUCCESS";
    case status::null_pointer: return "NULL_POINTER";
    case status::invalid_argument: return "INVALID_ARGUMENT";
    case status::invalid_dimensions: return "INVALID_DIMENSIONS";
    case status::invalid_structure: return "INVALID_STRUCTURE";
    case status::invalid_format: return "INVALID_FORMAT";
    case status::file_io: return "FILE_IO";
    case status::out_of_memory: return "OUT_OF_MEMORY";
    case status::device_out_of_memory: return "DEVICE_OUT_OF_MEMORY";
    case status::cuda_memcpy: return "CUDA_MEMCPY";
    case status::kernel_launch: return "KERNEL_LAUNCH";
    case status::unsupported: return "UNSUPPORTED";
    case status::not_converged: return "NOT_CONVERGED";
    case status::breakdown: return "BREAKDOWN";
    case status::indefinite: return "INDEFINITE";
    case status::not_finite: return "NOT_FINITE";
    case status::overflow: return "OVERFLOW";
    case status::internal: return "INTERNAL";
  }
  return "UNKNOWN";
}

std::string_view name(data_status s) noexcept {
  switch (s) {
    case data_status::success: return "SUCCESS";
    case data_status::inf: return "INF";
    case data_status::nan: return "NAN";
    case data_status::invalid_offsets: return "INVALID_OFFSETS";
    case data_status::index_out_of_range: return "INDEX_OUT_OF_RANGE";
    case data_status::duplicate: return "DUPLICATE";
    case data_status::unsorted: return "UNSORTED";
  }
  return "UNKNOWN";
}

}  // namespace tulle
