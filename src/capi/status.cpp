// Statuses, the last error message and the version of the C API.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <tulle/version.hpp>

#include "capi/guard.hpp"
#include "capi/handles.hpp"

namespace tulle::capi {
namespace {

// A fixed array, so that keeping a message cannot fail.
thread_local std::array<char, 2048> last_message{};

void check_enumerator(std::int32_t value, std::int32_t last, const char* name) {
  if (value < 0 || value > last) {
    throw error(status::invalid_argument, fmt::format("{} = {}: must be 0 to {}", name, value, last));
  }
}

}  // namespace

tulle_status fail(status code, const char* message) noexcept {
  const std::size_t length = std::min(std::strlen(message), last_message.size() - 1);
  std::memmove(last_message.data(), message, length);
  last_message[length] = '\0';
  return static_cast<tulle_status>(code);
}

memory_space space_of(tulle_memory_space space, const char* name) {
  check_enumerator(space, TULLE_DEVICE, name);
  return space == TULLE_HOST ? memory_space::host : memory_space::device;
}

scalar_type scalar_type_of(tulle_scalar_type type, const char* name) {
  check_enumerator(type, TULLE_I32, name);
  return static_cast<scalar_type>(type);
}

offset_type offset_type_of(tulle_offset_type type, const char* name) {
  check_enumerator(type, TULLE_OFFSET_I64, name);
  return static_cast<offset_type>(type);
}

vector_order vector_order_of(tulle_vector_order order, const char* name) {
  check_enumerator(order, TULLE_COLUMN_MAJOR, name);
  return order == TULLE_ROW_MAJOR ? vector_order::row_major : vector_order::column_major;
}

std::int64_t checked_count(std::int64_t value, std::string_view name, std::int64_t most) {
  if (value < 0 || value > most) {
    throw error(status::invalid_dimensions, fmt::format("{} = {}: must be 0 to {}", name, value, most));
  }
  return value;
}

index_t checked_index(std::int64_t value, std::string_view name) {
  return static_cast<index_t>(checked_count(value, name, std::numeric_limits<index_t>::max()));
}

std::int64_t checked_size(std::int64_t size, const char* name) {
  if (size < 0) throw error(status::invalid_dimensions, fmt::format("{} = {} is negative", name, size));
  return size;
}

bool checked_flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) {
    throw error(status::invalid_argument, fmt::format("{} = {}: must be 0 or 1", name, value));
  }
  return value == 1;
}

spmv_effort effort_of(tulle_spmv_effort effort, const char* name) {
  check_enumerator(effort, TULLE_EFFORT_MAX, name);
  return effort == TULLE_EFFORT_NONE  ? spmv_effort::none
         : effort == TULLE_EFFORT_MAX ? spmv_effort::max
                                      : spmv_effort::standard;
}

static_assert(static_cast<int>(scalar_type::f32) == TULLE_F32 && static_cast<int>(scalar_type::f64) == TULLE_F64 &&
              static_cast<int>(scalar_type::i32) == TULLE_I32);
static_assert(static_cast<int>(offset_type::i32) == TULLE_OFFSET_I32 &&
              static_cast<int>(offset_type::i64) == TULLE_OFFSET_I64);
static_assert(static_cast<int>(status::internal) == TULLE_STATUS_INTERNAL);

}  // namespace tulle::capi

const char* tulle_status_name(tulle_status status) {
  const auto number = static_cast<int>(status);
  if (number < 0 || number > TULLE_STATUS_INTERNAL) return "UNKNOWN";
  return tulle::name(static_cast<tulle::status>(number)).data();  // a literal, so it ends in NUL
}

const char* tulle_last_error_message(void) { return tulle::capi::last_message.data(); }

const char* tulle_version(void) { return TULLE_VERSION_STRING; }
