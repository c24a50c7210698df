// csr5.blocked: cache blocking by columns (Nishtala, Vuduc, Demmel, Yelick, "When cache blocking of sparse matrix
// vector multiply works and why", AAECC 2007). A is cut into blocks of columns whose part of x stays in L2
// (kernels/column_blocks.hpp). The blocks are stored and multiplied as in csr5 (csr5.cu says what a thread does), one
// after another, and add to y. Column indices are those of A, so that every block reads x as it is.
// Bytes per nonzero: those of csr5, and x from L2 instead of a 32-byte sector of DRAM. For every further block y is
// read and written once more, and a row without entries in a block takes one empty slot there. Chosen where x does not
// fit L2 and rows of similar length read all of it evenly. Where few columns hold most of the entries, those stay in L2
// anyway and blocks only cost.
#include <vector>

#include "cuda/spmv/column_piece.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/column_blocks.hpp"

namespace tulle::cuda {

spmv_kernel csr5_entry();

namespace {

/// The statistics of a block that csr5 uses.
template <class T, class O>
csr_stats counts_of(const csr<T, O>& piece) {
  csr_stats s;
  s.rows = piece.rows;
  s.cols = piece.cols;
  s.nnz = piece.nnz();
  s.mean = s.rows == 0 ? 0 : static_cast<double>(s.nnz) / s.rows;
  return s;
}

template <class T, class O>
class csr5_blocked_operator final : public csr_operator<T, O> {
 public:
  /// A block's CSR is freed once csr5 has its copy: csr5 reads the CSR for several right-hand sides alone, which go
  /// through A itself here.
  csr5_blocked_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, o.block_size),
        ctx_(ctx),
        blocks_(column_blocks_for(a.cols, sizeof(T), ctx.info().l2_bytes)) {
    for (index_t b = 0; b < blocks_.count; ++b) {
      const csr<T, O> piece = piece_of(b);
      pass_.emplace_back(static_cast<device_operator<T>*>(
          csr5_entry().make(ctx, matrix_ref(piece.view()), counts_of(piece), o).release()));
    }
  }
  void update_values(const matrix_ref& a) override {
    csr_operator<T, O>::update_values(a);
    for (index_t b = 0; b < blocks_.count; ++b) {
      pass_[static_cast<std::size_t>(b)]->update_values(matrix_ref(piece_of(b).view()));
    }
  }
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                  stream_view stream) override {
    const double last_beta = apply_all_but_last(alpha, x, beta, y, y, stream);
    pass_.back()->apply_dots(alpha, x, last_beta, y, w, dots, stream);
  }
  /// y = b minus the products of all blocks but the last; the last block's step reads each row of that from y before it
  /// writes the row.
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    apply_all_but_last(-1, x, 1, b, y, stream);
    pass_.back()->apply_jacobi(omega, x, pass_.size() > 1 ? y : b, inverse_diagonal, y, stream);
  }
  bool store_in_order(const index_t* order, bool x_too) override {
    for (const auto& pass : pass_) pass->store_in_order(order, x_too);
    return true;
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    std::size_t bytes = 0;
    for (const auto& pass : pass_) bytes += pass->workspace_bytes();
    return bytes;
  }
  /// Includes y, read and written by every pass but the first.
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    std::size_t bytes = (pass_.size() - 1) * 2 * static_cast<std::size_t>(this->a_.rows) * sizeof(T);
    for (const auto& pass : pass_) bytes += pass->matrix_bytes();
    return bytes;
  }
  [[nodiscard]] std::string parameters() const override {
    return "column_blocks=" + std::to_string(blocks_.count) + " columns=" + std::to_string(blocks_.width);
  }

 private:
  [[nodiscard]] csr<T, O> piece_of(index_t block) const {
    return column_piece(ctx_, this->a_, blocks_.first(block), blocks_.end(block, this->a_.cols));
  }
  void run(scale_and_store<T> store, const T* x, cudaStream_t on) override {
    const stream_view stream{on};
    const double last_beta = apply_all_but_last(store.alpha, x, store.beta, store.y, store.y, stream);
    pass_.back()->apply(store.alpha, x, last_beta, store.y, stream);
  }
  /// y = beta from + alpha times the products of the blocks, where there are several. Returns the beta for the last
  /// one.
  double apply_all_but_last(double alpha, const void* x, double beta, const void* from, void* y, stream_view stream) {
    for (std::size_t b = 0; b + 1 < pass_.size(); ++b) {
      pass_[b]->apply_from(alpha, x, beta, from, y, stream);
      from = y;
      beta = 1;
    }
    return beta;
  }

  context ctx_;
  column_blocks blocks_;
  std::vector<std::unique_ptr<device_operator<T>>> pass_;  // one per block
};

}  // namespace

spmv_kernel csr5_blocked_entry() {
  return {
      .name = "csr5.blocked",
      .summary = "csr5 by blocks of columns whose part of x stays in L2",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .listens_to = {.block_size = true},
      .make = make_operator<csr5_blocked_operator, type_set::floating>,
  };
}

}  // namespace tulle::cuda
