// What stands around every entry point of the C API: exceptions become a status and a message.
#pragma once

#include <tulle/tulle.h>

#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <tulle/core/status.hpp>
#include <utility>

namespace tulle::capi {

/// Remembers `message` for tulle_last_error_message() (cut to what the thread keeps) and returns `code`.
tulle_status fail(status code, const char* message) noexcept;

/// An argument that must not be NULL.
struct argument {
  const void* pointer;
  const char* name;
};

/// Throws NULL_POINTER naming the argument.
inline void require(const void* argument, const char* name) {
  if (argument == nullptr) throw error(status::null_pointer, std::string(name) + " is NULL");
}

/// Runs `body` unless one of the arguments is NULL.
template <class F>
tulle_status guard(std::initializer_list<argument> required, F&& body) noexcept {
  try {
    for (const argument& a : required) require(a.pointer, a.name);
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

/// Runs `make` for a handle that the caller receives through `out`, which is NULL unless it succeeds.
template <class Handle, class F>
tulle_status create(Handle** out, const char* name, std::initializer_list<argument> required, F&& make) noexcept {
  if (out != nullptr) *out = nullptr;
  return guard({{out, name}}, [&] {
    for (const argument& a : required) require(a.pointer, a.name);
    *out = std::forward<F>(make)();
  });
}

}  // namespace tulle::capi
