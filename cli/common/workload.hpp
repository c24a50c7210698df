// What y = alpha A x + beta y multiplies: A or A^T, by one vector or several; the vectors, and the check of the answer.
#pragma once

#include <functional>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/verify.hpp>

#include "matrix.hpp"
#include "narrowing.hpp"

namespace CLI {
class App;
}

namespace tulle::cli {

struct workload {
  bool transpose = false;
  index_t rhs = 1;
  std::string order = "row";  // row, column: of several vectors

  void tell(spmv_options& options) const {
    if (rhs == 1) return;
    options.columns = rhs;
    options.columns_order = order == "row" ? vector_order::row_major : vector_order::column_major;
  }

  [[nodiscard]] kernel_operation operation() const {
    return transpose ? kernel_operation::spmv_transposed : kernel_operation::spmv;
  }
  /// Vector j of `rhs` vectors in contiguous storage.
  template <class T>  // as it is stored
  [[nodiscard]] std::vector<T> vector_of(const std::vector<T>& all, index_t j) const {
    if (rhs == 1) return all;
    const std::size_t count = static_cast<std::size_t>(rhs), rows = all.size() / count, k = static_cast<std::size_t>(j);
    std::vector<T> one(rows);
    for (std::size_t i = 0; i < rows; ++i) one[i] = all[order == "row" ? i * count + k : k * rows + i];
    return one;
  }
};
void add_workload_options(CLI::App& app, workload& w);  // --transpose --rhs --order

/// How a plan is to be made; the kernel is the one given.
spmv_options plan_options(const run_options& o, const workload& work, std::string kernel = {});

/// What was asked for.
struct spmv_request {
  std::string matrix = {};  // as `load` takes it
  workload work = {};
  double alpha = 1;
  double beta = 0;
  std::string x = {};  // as `load_vector` takes it; empty: random
  bool verify = false;
};

/// The same on a backend, its types erased.
struct spmv_problem {
  matrix_facts matrix;
  std::string hash;
  workload work;
  double alpha = 1;
  double beta = 0;
  narrowing mixed = {};            // of --precision mixed
  matrix_ref a = {};               // on the backend; 32-bit offsets where they are enough
  csr_stats stats = {};            // of what multiplies: of A, or of A^T
  std::vector<std::byte> y0 = {};  // the initial y on the host: NaN where beta is 0 and the type has it, else random
  buffer<std::byte> x = {};        // on the backend, all right-hand sides
  buffer<std::byte> y = {};
  /// The largest error over its bound among all right-hand sides, where the answer is to be verified: over that of
  /// rounding, and what is promised of the stored values.
  std::function<double(const buffer<std::byte>& y, const value_tolerance& promise)> error_ratio = {};
  std::shared_ptr<const void> storage = {};  // on a CPU `a` borrows columns and values of the matrix that was loaded

  [[nodiscard]] std::string_view precision() const { return mixed.is_asked_for() ? "mixed" : name(a.types.value); }
  /// Queues one application.
  void apply(const linear_operator& plan);
  /// y is the initial one again.
  void reset(const context& ctx);
};

/// The numbers in a buffer.
template <scalar T>
std::vector<stored<T>> elements(const context& ctx, const buffer<std::byte>& from) {
  std::vector<stored<T>> to(from.size() / sizeof(T));
  copy_bytes(ctx, to.data(), memory_space::host, from.data(), from.space(), from.bytes());
  return to;
}

/// x and the initial y, and the check of the answer, where it is asked for. `a` is what multiplies, a CSR of the host
/// with 64-bit offsets; the check looks at it again.
void set_vectors(const context& ctx, const spmv_request& request, const run_options& o, const matrix_ref& a,
                 spmv_problem& p);

/// Loads, computes the reference where the answer is to be verified, and copies to the backend.
spmv_problem make_problem(const context& ctx, const spmv_request& request, const run_options& o);

/// Random vector in [-1, 1), of complex numbers in both parts (integers: -8..8, booleans: every second true), the same
/// on every machine.
template <scalar T>
std::vector<stored<T>> random_vector(std::size_t n, std::uint64_t seed);

}  // namespace tulle::cli
