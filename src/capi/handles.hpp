// What the opaque handles of the C API hold.
#pragma once

#include <tulle/tulle.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/spmv.hpp>
#include <variant>
#include <vector>

#include "kernels/spmv.hpp"

struct tulle_context {
  tulle::context value;
};

struct tulle_buffer {
  tulle::context context;
  tulle::buffer<std::byte> value;
};

struct tulle_csr {
  tulle::csr_ref ref;                 // 0-based
  std::shared_ptr<const void> owner;  // of the arrays that `ref` points to and the caller does not own; may be null
  void* product = nullptr;            // the any_csr<T> that `owner` is, where a plan made the matrix
  std::uint64_t maker = 0;            // the number of that plan
};

struct tulle_spmv_plan {
  std::shared_ptr<const void> owner;  // of the matrix; declared first to be destroyed last
  tulle::memory_space space;          // of x and y
  std::variant<tulle::spmv_plan<float>, tulle::spmv_plan<double>, tulle::spmv_plan<std::int32_t>> value;
  std::string kernel;
  std::string explanation;
};

struct tulle_spgemm_plan {
  std::vector<std::shared_ptr<const void>> owners;  // of the matrices; declared first to be destroyed last
  std::variant<tulle::spgemm_plan<float>, tulle::spgemm_plan<double>, tulle::spgemm_plan<std::int32_t>> value;
  std::array<bool, 3> has_values;  // A, B, D
  std::uint64_t number;            // no two plans have the same
  std::string kernel;
  std::string explanation;
};

namespace tulle::capi {

/// Throws INVALID_ARGUMENT naming the argument when the number is none of the enumeration's.
memory_space space_of(tulle_memory_space space, const char* name);
scalar_type scalar_type_of(tulle_scalar_type type, const char* name);
offset_type offset_type_of(tulle_offset_type type, const char* name);
vector_order vector_order_of(tulle_vector_order order, const char* name);
spmv_effort effort_of(tulle_spmv_effort effort, const char* name);

constexpr tulle_memory_space to_c(memory_space space) {
  return space == memory_space::host ? TULLE_HOST : TULLE_DEVICE;
}

}  // namespace tulle::capi
