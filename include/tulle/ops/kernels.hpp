/// @file
/// What there is to choose from: the kernels of every operation, as their entries describe them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// What a kernel is there for.
enum class kernel_role : std::uint8_t {
  production,  ///< may be chosen
  study,       ///< one of the origins: runs where it is asked for, is never chosen
  vendor,      ///< a vendor's routine: measured beside ours, never chosen
};
/// "production", "study", "vendor".
constexpr std::string_view name(kernel_role r) {
  return r == kernel_role::production ? "production" : r == kernel_role::study ? "study" : "vendor";
}

/// What a kernel computes.
enum class kernel_operation : std::uint8_t {
  spmv,             ///< y = A x
  spmv_transposed,  ///< y = A^T x
  spgemm,           ///< C = A B
  sddmm,            ///< C = A o (U V^T)
  cg,               ///< A x = b
};
/// "y = A x", "y = A^T x", "C = A B", "C = A o (U V^T)", "A x = b".
constexpr std::string_view name(kernel_operation o) {
  switch (o) {
    case kernel_operation::spmv:
      return "y = A x";
    case kernel_operation::spmv_transposed:
      return "y = A^T x";
    case kernel_operation::spgemm:
      return "C = A B";
    case kernel_operation::sddmm:
      return "C = A o (U V^T)";
    case kernel_operation::cg:
      return "A x = b";
  }
  return "unknown operation";
}

/// One kernel, as `tulle kernels` lists it. All its text lives as long as the program.
struct kernel_info {
  std::string_view name;                                ///< what plans and `--kernel` take: FORMAT.METHOD
  std::string_view summary;                             ///< one sentence
  backend_kind backend = backend_kind::cpu;             ///< where it runs
  kernel_operation operation = kernel_operation::spmv;  ///< what it computes
  kernel_role role = kernel_role::production;           ///< whether it may be chosen
  std::vector<operation_types> types;  ///< offsets left out: every kernel takes those of 32 and of 64 bits
  bool deterministic = true;           ///< the same bits on every run

  /// Whether it computes with these types.
  [[nodiscard]] bool takes(const operation_types& t) const { return std::ranges::find(types, t) != types.end(); }
};

/// Empty where the backend is not built.
std::vector<kernel_info> kernels(backend_kind backend);

}  // namespace tulle
