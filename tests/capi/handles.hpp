// Handles of the C API that destroy themselves, and the small matrix that the tests multiply.
#pragma once

#include <gtest/gtest.h>
#include <tulle/tulle.h>

#include <array>
#include <memory>
#include <tuple>
#include <type_traits>

#include "support/backends.hpp"
#include "support/plain_csr.hpp"

namespace tulle::test {

template <class T, void (*Destroy)(T*)>
struct destroyer {
  void operator()(T* handle) const { Destroy(handle); }
};
using context_handle = std::unique_ptr<tulle_context, destroyer<tulle_context, tulle_context_destroy>>;
using buffer_handle = std::unique_ptr<tulle_buffer, destroyer<tulle_buffer, tulle_buffer_destroy>>;
using csr_handle = std::unique_ptr<tulle_csr, destroyer<tulle_csr, tulle_csr_destroy>>;
using plan_handle = std::unique_ptr<tulle_spmv_plan, destroyer<tulle_spmv_plan, tulle_spmv_plan_destroy>>;
using cg_handle = std::unique_ptr<tulle_cg_solver, destroyer<tulle_cg_solver, tulle_cg_solver_destroy>>;
using jacobi_handle = std::unique_ptr<tulle_jacobi_solver, destroyer<tulle_jacobi_solver, tulle_jacobi_solver_destroy>>;
using permutation_handle = std::unique_ptr<tulle_permutation, destroyer<tulle_permutation, tulle_permutation_destroy>>;
using batch_handle = std::unique_ptr<tulle_cg_batch, destroyer<tulle_cg_batch, tulle_cg_batch_destroy>>;
using spgemm_handle = std::unique_ptr<tulle_spgemm_plan, destroyer<tulle_spgemm_plan, tulle_spgemm_plan_destroy>>;
using sddmm_handle = std::unique_ptr<tulle_sddmm_plan, destroyer<tulle_sddmm_plan, tulle_sddmm_plan_destroy>>;

#define TULLE_EXPECT_OK(call) EXPECT_EQ(call, TULLE_STATUS_SUCCESS) << tulle_last_error_message()
#define TULLE_ASSERT_OK(call) ASSERT_EQ(call, TULLE_STATUS_SUCCESS) << tulle_last_error_message()

/// An argument as C takes it: of a handle, what it holds.
template <class T>
const T& raw(const T& argument) {
  return argument;
}
template <class T, class Destroyer>
T* raw(const std::unique_ptr<T, Destroyer>& handle) {
  return handle.get();
}

/// What `make` makes of these arguments: its last one is where the handle goes.
template <class Handle, class Make, class... Arguments>
Handle made(Make make, const Arguments&... arguments) {
  typename Handle::pointer handle = nullptr;
  TULLE_EXPECT_OK(make(raw(arguments)..., &handle));
  return Handle(handle);
}
/// What `get` says of an object: its last argument is where that goes.
template <class T, class Get, class Handle>
T got(Get get, const Handle& object) {
  T value{};
  TULLE_EXPECT_OK(get(raw(object), &value));
  return value;
}

inline context_handle cpu_context(int threads = 2) { return made<context_handle>(tulle_context_create_cpu, threads); }

/// [1 0 2 0; 0 0 0 0; -3 4 0 5], with small whole numbers, so that every value type multiplies it exactly.
template <class T = double, class O = std::int32_t>
plain_csr<T, O> small_matrix() {
  return {3, 4, {0, 2, 2, 5}, {0, 2, 0, 1, 3}, {1, 2, -3, 4, 5}};
}
/// The same with rows and columns counted from 1.
template <class T, class O>
plain_csr<T, O> from_base_one(plain_csr<T, O> m) {
  for (O& offset : m.rowptr) ++offset;
  for (index_t& column : m.colind) ++column;
  return m;
}

/// The arrays of a matrix on the host; the numbers of the types are those of C++.
template <class T, class O>
tulle_csr_arrays arrays_of(const plain_csr<T, O>& m, std::int32_t base = 0) {
  const auto value = static_cast<tulle_scalar_type>(scalar_type_of<T>);
  const auto offset = static_cast<tulle_offset_type>(offset_type_of<O>);
  return {m.rows, m.cols, m.nnz(), value, offset, base, TULLE_HOST, m.rowptr.data(), m.colind.data(), m.values.data()};
}
template <class T, class O>
csr_handle placed(const context_handle& context, const plain_csr<T, O>& m,
                  decltype(&tulle_csr_copy) make = tulle_csr_copy, std::int32_t base = 0) {
  const tulle_csr_arrays from = arrays_of(m, base);
  return made<csr_handle>(make, context, &from);
}

/// The options of a product with one of them set.
template <class Option>
tulle_spgemm_options with(Option tulle_spgemm_options::*member, Option value) {
  tulle_spgemm_options options{};
  options.*member = value;
  return options;
}

/// A call is refused with this status and a message that has these words.
inline void refused(tulle_status status, tulle_status expected, const std::string& words) {
  EXPECT_EQ(status, expected) << words;
  const std::string message = tulle_last_error_message();
  EXPECT_NE(message.find(words), std::string::npos) << "'" << message << "' does not say '" << words << "'";
}

/// Every pointer of a call is refused as NULL, in turn. `names`: what the messages call them, "" where NULL is right.
template <class... P, class... Arguments>
void null_in_turn(tulle_status (*call)(P...), std::initializer_list<const char*> names, const Arguments&... arguments) {
  const std::tuple<P...> right(raw(arguments)...);
  const char* const* name = names.begin();
  const auto refuse = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if constexpr (std::is_pointer_v<std::tuple_element_t<I, std::tuple<P...>>>) {
      auto wrong = right;
      std::get<I>(wrong) = nullptr;
      const std::string pointer = *name++;
      if (!pointer.empty()) refused(std::apply(call, wrong), TULLE_STATUS_NULL_POINTER, pointer + " is NULL");
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ASSERT_EQ(names.size(), (std::size_t{std::is_pointer_v<P>} + ...)) << "a name for every pointer";
    (refuse(std::integral_constant<std::size_t, I>()), ...);
  }
  (std::index_sequence_for<P...>());
}

/// A context of the C API on the test's backend.
class on_each_backend : public on_backend {
 protected:
  [[nodiscard]] bool is_cpu() const { return ctx().backend() == backend_kind::cpu; }

  context_handle context = is_cpu() ? cpu_context() : made<context_handle>(tulle_context_create_cuda, 0);
};

}  // namespace tulle::test
