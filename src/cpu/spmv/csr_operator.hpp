// What the kernels that read CSR in place share: the borrowed view and its accounting.
#pragma once

#include <cstddef>
#include <string>

#include "core/parallel.hpp"
#include "cpu/spmv/finishing_operator.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/rows.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// What they are built for.
inline constexpr type_set csr_types = type_set::all | type_set::narrow;

/// Base: spmv_operator, or a finishing_operator of `shares` shares.
template <scalar T, offset O, class Base = spmv_operator>
class csr_operator : public Base {
 public:
  template <class... Shares>
  csr_operator(csr_view<T, O> a, int threads, Shares... shares) : Base(shares...), a_(a), threads_(threads) {}

  void update_values(const matrix_ref& a) override { a_ = a.as<T, O>(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    const auto rows = static_cast<std::size_t>(a_.rows);
    return static_cast<std::size_t>(a_.nnz) * (sizeof(T) + sizeof(index_t)) + (rows + 1) * sizeof(O);
  }
  [[nodiscard]] std::string parameters() const override {
    return "threads=" + std::to_string(threads_) + " isa=" + std::string(name(path_));
  }

 protected:
  csr_view<T, O> a_;
  int threads_;
  row_path path_ = path_of(best_isa());
};

}  // namespace tulle::cpu
