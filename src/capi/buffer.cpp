// Buffers of the C API.
#include <fmt/format.h>

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace tulle::capi;

namespace {

void check_copy(const tulle_buffer* buffer, const void* host, std::size_t bytes) {
  require(buffer, "buffer");
  if (bytes > 0) require(host, "host");
  if (bytes > buffer->value.bytes()) {
    throw tulle::error(tulle::status::invalid_dimensions,
                       fmt::format("bytes = {}: the buffer has {}", bytes, buffer->value.bytes()));
  }
}

}  // namespace

tulle_status tulle_buffer_create(const tulle_context* context, size_t bytes, tulle_buffer** buffer) {
  return create(buffer, "buffer", {{context, "context"}}, [&] {
    return new tulle_buffer{context->value, tulle::buffer<std::byte>(context->value, bytes)};
  });
}

tulle_status tulle_buffer_copy_in(tulle_buffer* buffer, const void* host, size_t bytes) {
  return guard({}, [&] {
    check_copy(buffer, host, bytes);
    copy_bytes(buffer->context, buffer->value.data(), buffer->context.space(), host, tulle::memory_space::host, bytes);
  });
}

tulle_status tulle_buffer_copy_out(const tulle_buffer* buffer, void* host, size_t bytes) {
  return guard({}, [&] {
    check_copy(buffer, host, bytes);
    copy_bytes(buffer->context, host, tulle::memory_space::host, buffer->value.data(), buffer->context.space(), bytes);
  });
}

tulle_status tulle_buffer_data(tulle_buffer* buffer, void** data) {
  return guard({{buffer, "buffer"}, {data, "data"}}, [&] { *data = buffer->value.data(); });
}

void tulle_buffer_destroy(tulle_buffer* buffer) { delete buffer; }
