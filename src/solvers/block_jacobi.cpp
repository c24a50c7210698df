// block_jacobi(b): the inverses of the diagonal blocks of b x b, factorised in f64, applied as a block diagonal matrix.
#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <tulle/ops/spmv.hpp>

#include "core/cholesky.hpp"
#include "core/parallel.hpp"
#include "kernels/backends.hpp"
#include "solvers/preconditioner.hpp"

namespace tulle::detail {
namespace {

constexpr int most_block = 8;

template <class T>
std::vector<T> read(const context& ctx, const void* from, std::int64_t count) {
  std::vector<T> to(static_cast<std::size_t>(count));
  copy_bytes(ctx, to.data(), memory_space::host, from, ctx.space(), to.size() * sizeof(T));
  return to;
}

class block_jacobi final : public preconditioner {
 public:
  block_jacobi(const context& ctx, const cg_problem& problem)
      : ctx_(ctx), n_(problem.csr.rows), b_(problem.options.block), type_(problem.types().vector) {
    find_entries(problem.csr);
    make_pattern();
    block_jacobi::update(problem);
  }
  [[nodiscard]] const context& ctx() const noexcept override { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return type_; }
  void update(const cg_problem& problem) override {
    dispatch_operation<type_set::floating | type_set::narrow>(
        problem.types(), [&]<class T, class V, class>() { invert<T, V>(problem.csr); });
    if (plan_ != nullptr) return plan_->update_values();
    spmv_options options;
    if (ctx_.backend() == backend_kind::cpu) options.kernel = whole() ? "bsr" : "csr.rows";  // see plan_options
    plan_ = std::make_unique<any_spmv_plan>(ctx_, matrix(), options);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return positions_.bytes() + picked_.bytes() + inverse_.bytes() + rowptr_.bytes() + colind_.bytes() +
           slots_.size() * sizeof(std::int64_t) + plan_->workspace_bytes();
  }

 private:
  [[nodiscard]] bool whole() const { return n_ % b_ == 0; }
  [[nodiscard]] index_t blocks() const { return (n_ + b_ - 1) / b_; }
  /// Rows of a block: fewer in the last one where b does not divide n.
  [[nodiscard]] index_t rows_of(std::int64_t block) const {
    return static_cast<index_t>(std::min<std::int64_t>(b_, n_ - block * b_));
  }
  [[nodiscard]] std::int64_t first_of(std::int64_t block) const { return block * b_ * b_; }
  [[nodiscard]] std::int64_t stored() const {
    return n_ == 0 ? 0 : first_of(blocks() - 1) + std::int64_t{rows_of(blocks() - 1)} * rows_of(blocks() - 1);
  }

  /// Where A's entries of the diagonal blocks are, and where they go.
  void find_entries(const matrix_ref& a) {
    const auto colind = read<index_t>(ctx_, a.colind, a.nnz);
    std::vector<std::int64_t> positions;
    dispatch<type_set::floating>(a.types, [&]<class, class O>() {
      const auto rowptr = read<O>(ctx_, a.rowptr, a.rows + std::int64_t{1});
      for (index_t r = 0; r < n_; ++r) {
        const index_t block = r / b_, size = rows_of(block);
        for (auto k = rowptr[r]; k < rowptr[r + 1]; ++k) {
          if (colind[k] / b_ != block) continue;
          positions.push_back(k);
          slots_.push_back(first_of(block) + std::int64_t{r % b_} * size + colind[k] % b_);
        }
      }
    });
    positions_ = to_buffer(ctx_, positions);
    picked_ = buffer<std::byte>(ctx_, positions.size() * size_of(a.types.value));
    inverse_ = buffer<std::byte>(ctx_, static_cast<std::size_t>(stored()) * size_of(type_));
  }

  /// Of the block diagonal matrix: BSR, or CSR where the last block is smaller.
  void make_pattern() {
    std::vector<std::int64_t> rowptr{0};
    std::vector<index_t> colind;
    const index_t rows = whole() ? blocks() : n_, size = whole() ? 1 : b_;
    for (index_t r = 0; r < rows; ++r) {
      const index_t first = r / size * size;
      for (index_t c = first; c < std::min(rows, first + size); ++c) colind.push_back(c);
      rowptr.push_back(static_cast<std::int64_t>(colind.size()));
    }
    rowptr_ = to_buffer(ctx_, rowptr);
    colind_ = to_buffer(ctx_, colind);
  }

  [[nodiscard]] matrix_ref matrix() const {
    return dispatch<type_set::floating>({type_}, [&]<class T, class>() -> matrix_ref {
      const T* values = reinterpret_cast<const T*>(inverse_.data());
      if (!whole()) {
        return csr_view<T, std::int64_t>{n_, n_, stored(), rowptr_.data(), colind_.data(), values, ctx_.space()};
      }
      return bsr_view<T, std::int64_t>{
          n_,     n_,      stored(),    b_, blocks(), std::int64_t{blocks()}, rowptr_.data(), colind_.data(),
          values, nullptr, ctx_.space()};
    });
  }

  /// T of A's values, V of the inverses.
  template <class T, class V>
  void invert(const matrix_ref& a) {
    matrices_of(ctx_.backend())
        .gather(ctx_, {.type = a.types.value,
                       .count = static_cast<std::int64_t>(slots_.size()),
                       .positions = positions_.data(),
                       .from = a.values,
                       .to = picked_.data()});
    const auto picked = read<T>(ctx_, picked_.data(), static_cast<std::int64_t>(slots_.size()));
    std::vector<V> all(static_cast<std::size_t>(stored()), V{0});
    for (std::size_t i = 0; i < slots_.size(); ++i) all[static_cast<std::size_t>(slots_[i])] = picked[i];
    constexpr index_t none = std::numeric_limits<index_t>::max();
    const index_t broken = parallel_reduce(
        threads_for(ctx_.threads(), stored() * b_), blocks(), 256, none,
        [&](index_t block, index_t& first) {
          double dense[most_block * most_block];
          const index_t size = rows_of(block);
          V* const mine = all.data() + first_of(block);
          std::copy_n(mine, size * size, dense);
          if (!invert_positive_definite<most_block>(dense, size)) first = std::min(first, block);
          for (index_t i = 0; i < size * size; ++i) mine[i] = static_cast<V>(dense[i]);
        },
        [](index_t& first, index_t other) { first = std::min(first, other); });
    if (broken != none) {
      throw error(status::indefinite,
                  fmt::format("A is not positive definite: its diagonal block {} of {} x {} is not, "
                              "counted from 0",
                              broken, rows_of(broken), rows_of(broken)));
    }
    copy_bytes(ctx_, inverse_.data(), ctx_.space(), all.data(), memory_space::host, inverse_.bytes());
  }

  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    plan_->apply(alpha, x, beta, y, {.stream = how.stream});
  }

  context ctx_;
  index_t n_, b_;
  scalar_type type_;
  std::vector<std::int64_t> slots_;
  buffer<std::int64_t> positions_;
  buffer<std::byte> picked_, inverse_;
  buffer<std::int64_t> rowptr_;
  buffer<index_t> colind_;
  std::unique_ptr<any_spmv_plan> plan_;
};

}  // namespace

std::unique_ptr<preconditioner> make_block_jacobi(const context& ctx, const cg_problem& problem) {
  return std::make_unique<block_jacobi>(ctx, problem);
}

}  // namespace tulle::detail
