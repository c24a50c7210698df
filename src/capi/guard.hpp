// What stands around every entry point of the C API: exceptions become a status and a message.
#pragma once

#include <tulle/tulle.h>

#include <exception>
#include <new>
#include <string>
#include <tulle/core/status.hpp>
#include <utility>

namespace tulle::capi {

/// Remembers `message` for tulle_last_error_message() (cut to what the thread keeps) and returns `code`.
tulle_status fail(status code, const char* message) noexcept;

template <class F>
tulle_status guard(F&& body) noexcept {
  try {
    std::forward<F>(body)();
    return TULLE_STATUS_SUCCESS;
  } catch (const error& e) {
    return fail(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(status::out_of_memory, "out of host memory");
  } catch (const std::exception& e) {
    return fail(status::internal, e.what());
  } catch (...) {
    return fail(status::internal, "an exception of unknown type");
  }
}

/// Throws NULL_POINTER naming the argument.
inline void require(const void* argument, const char* name) {
  if (argument == nullptr) throw error(status::null_pointer, std::string(name) + " is NULL");
}

/// Runs `make` for a handle that the caller receives through `out`, which is NULL unless it succeeds.
template <class Handle, class F>
tulle_status create(Handle** out, const char* name, F&& make) noexcept {
  return guard([&] {
    require(out, name);
    *out = nullptr;
    *out = std::forward<F>(make)();
  });
}

}  // namespace tulle::capi
