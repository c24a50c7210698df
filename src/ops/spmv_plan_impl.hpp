// The type-erased half of spmv_plan: everything but the value type of its spans.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kernels/spmv.hpp"
#include "ops/spmv_operand.hpp"

namespace tulle::detail {

class spmv_plan_impl {
 public:
  spmv_plan_impl(const context& ctx, const csr_ref& a, const spmv_options& options);

  void apply(double alpha, const void* x, std::size_t x_size, double beta, void* y, std::size_t y_size,
             memory_space space, stream_view stream);
  void update_values(const void* values, std::size_t size, memory_space space);
  void autotune();

  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept { return {operand_.ref().rows, operand_.ref().cols}; }
  [[nodiscard]] const csr_stats& stats() const noexcept { return stats_; }
  [[nodiscard]] std::string_view kernel() const noexcept { return kernel_->name; }
  [[nodiscard]] spmv_effort effort() const noexcept { return options_.effort; }
  [[nodiscard]] double plan_microseconds() const noexcept { return plan_microseconds_; }
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  void take_named(const std::string& name);
  void take_without_set_up();
  void choose();
  void analyse();
  void count();
  void tune(double budget);
  void build(const spmv_kernel& kernel, const std::string& reason);

  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();  // first: planning begins here
  context ctx_;
  spmv_options options_;
  spmv_operand operand_;
  csr_stats stats_;
  bool analysed_ = false;  // else stats_ holds what is known without a pass over the matrix
  const spmv_kernel* kernel_ = nullptr;
  std::string reason_;
  std::unique_ptr<spmv_operator> operator_;
  double plan_microseconds_ = 0;
};

}  // namespace tulle::detail
