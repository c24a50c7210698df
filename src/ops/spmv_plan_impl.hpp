// The type-erased half of spmv_plan: everything but the value type of its spans.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kernels/spmv.hpp"
#include "ops/spmv_arguments.hpp"
#include "ops/spmv_operand.hpp"

namespace tulle::detail {

class spmv_plan_impl {
 public:
  spmv_plan_impl(const context& ctx, const csr_ref& a, const spmv_options& options);

  void apply(double alpha, const vector_argument& x, double beta, const vector_argument& y, stream_view stream);
  void apply_many(double alpha, const multivector_argument& x, double beta, const multivector_argument& y,
                  stream_view stream);
  void apply_dots(double alpha, const vector_argument& x, double beta, const vector_argument& y,
                  const vector_argument& w, const vector_argument& dots);
  void jacobi(double omega, const vector_argument& x, const vector_argument& b, const vector_argument& inverse_diagonal,
              const vector_argument& y);
  void update_values(const void* values, std::size_t size, memory_space space);
  void autotune();

  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept { return shape_; }
  [[nodiscard]] const csr_stats& stats() const noexcept { return stats_; }
  [[nodiscard]] std::string_view kernel() const noexcept { return kernel_->name; }
  [[nodiscard]] spmv_effort effort() const noexcept { return options_.effort; }
  [[nodiscard]] double plan_microseconds() const noexcept { return plan_microseconds_; }
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  void take_named(const std::string& name);
  void take_without_set_up();
  void take_scatter(const std::string& reason);
  bool turn(const std::string& wanted);
  void choose(bool quick);
  void analyse();
  void count();
  void tune(double budget);
  void build(const spmv_kernel& kernel, const std::string& reason);
  [[nodiscard]] argument_rules rules() const;

  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();  // first: planning begins here
  context ctx_;
  spmv_options options_;
  spmv_operand operand_;
  shape shape_;            // of what multiplies: A or A^T
  bool named_ = false;     // the kernel was asked for by name
  bool scatters_ = false;  // the operand is A where A^T multiplies
  csr_stats stats_;
  bool analysed_ = false;  // else stats_ holds what is known without a pass over the matrix
  const spmv_kernel* kernel_ = nullptr;
  std::string reason_;
  std::unique_ptr<spmv_operator> operator_;
  std::unique_ptr<spmv_operator>
      many_;  // for several right-hand sides where a kernel that was chosen takes one at a time
  double plan_microseconds_ = 0;
};

}  // namespace tulle::detail
