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

}  // namespace

tulle_status fail(status code, const char* message) noexcept {
  const std::size_t length = std::min(std::strlen(message), last_message.size() - 1);
  std::memmove(last_message.data(), message, length);
  last_message[length] = '\0';
  return static_cast<tulle_status>(code);
}

std::int32_t checked_choice(std::int32_t value, const char* name, std::int32_t first, std::int32_t last) {
  if (value < first || value > last) {
    const char* const between = last - first == 1 ? "or" : "to";
    throw error(status::invalid_argument, fmt::format("{} = {}: must be {} {} {}", name, value, first, between, last));
  }
  return value;
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

static_assert(static_cast<int>(scalar_type::f32) == TULLE_F32 && static_cast<int>(scalar_type::f64) == TULLE_F64 &&
              static_cast<int>(scalar_type::i32) == TULLE_I32);
static_assert(static_cast<int>(offset_type::i32) == TULLE_OFFSET_I32 &&
              static_cast<int>(offset_type::i64) == TULLE_OFFSET_I64);
static_assert(static_cast<int>(memory_space::host) == TULLE_HOST &&
              static_cast<int>(memory_space::device) == TULLE_DEVICE);
static_assert(static_cast<int>(vector_order::row_major) == TULLE_ROW_MAJOR &&
              static_cast<int>(vector_order::column_major) == TULLE_COLUMN_MAJOR);
static_assert(static_cast<int>(status::internal) == TULLE_STATUS_INTERNAL);

}  // namespace tulle::capi

const char* tulle_status_name(tulle_status status) {
  const auto number = static_cast<int>(status);
  if (number < 0 || number > TULLE_STATUS_INTERNAL) return "UNKNOWN";
  return tulle::name(static_cast<tulle::status>(number)).data();  // a literal, so it ends in NUL
}

const char* tulle_last_error_message(void) { return tulle::capi::last_message.data(); }

const char* tulle_version(void) { return TULLE_VERSION_STRING; }
