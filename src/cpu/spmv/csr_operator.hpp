// What the kernels that read CSR in place share: the borrowed view and its accounting.
#pragma once

#include <cstddef>
#include <string>

#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/rows.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

template <scalar T, offset O>
class csr_operator : public spmv_operator {
 public:
  csr_operator(const context& ctx, csr_view<T, O> a) : a_(a), threads_(ctx.threads()) {}

  void update_values(const csr_ref& a) override { a_ = a.as<T, O>(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    const auto rows = static_cast<std::size_t>(a_.rows);
    return static_cast<std::size_t>(a_.nnz) * (sizeof(T) + sizeof(index_t)) + (rows + 1) * sizeof(O);
  }
  [[nodiscard]] std::string parameters() const override {
    return "threads=" + std::to_string(threads_) + " isa=" + std::string(name(isa_));
  }

 protected:
  csr_view<T, O> a_;
  int threads_;
  isa isa_ = best_isa();
  row_functions<T, O> run_ = best_row_functions<T, O>(isa_);
};

}  // namespace tulle::cpu
