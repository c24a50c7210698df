// The type-erased half of spmv_plan: everything but the value type of its spans.
#pragma once

#include <memory>
#include <string>

#include <tulle/core/buffer.hpp>

#include "kernels/spmv.hpp"

namespace tulle::detail {

class spmv_plan_impl {
 public:
  spmv_plan_impl(const context& ctx, const csr_ref& a, const spmv_options& options);

  void apply(double alpha, const void* x, std::size_t x_size, double beta, void* y, std::size_t y_size,
             memory_space space, stream_view stream);
  void update_values(const void* values, std::size_t size, memory_space space);
  void autotune();

  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] const csr_ref& matrix() const noexcept { return a_; }
  [[nodiscard]] const csr_stats& stats() const noexcept { return stats_; }
  [[nodiscard]] std::string_view kernel() const noexcept { return kernel_->name; }
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  void bring_to_backend();
  void fit_offsets();
  void analyse();
  void pick(const spmv_options& options);
  void build(const spmv_kernel& kernel, const std::string& reason);

  context ctx_;
  csr_ref a_;
  spmv_options options_;
  buffer<std::byte> own_offsets_;  // of a copied or narrowed matrix
  buffer<index_t> own_columns_;    // of a copied matrix
  buffer<std::byte> own_values_;   // of a copied matrix, or after update_values from the other memory space
  csr_stats stats_;
  const spmv_kernel* kernel_ = nullptr;
  std::string reason_;
  std::unique_ptr<spmv_operator> operator_;
};

/// The table entry of that name and type. Throws INVALID_ARGUMENT listing the names there are.
const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view name, type_key types);

}  // namespace tulle::detail
