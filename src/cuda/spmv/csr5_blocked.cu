// csr5.blocked: cache blocking by columns (Nishtala, Vuduc, Demmel, Yelick, "When cache blocking of sparse matrix
// vector multiply works and why", AAECC 2007). A is cut into blocks of columns whose part of x stays in L2
// (kernels/column_blocks.hpp); each is stored and multiplied as csr5 does it (csr5.cu says what a thread does), one
// after another, and adds to y. Column numbers are those of A, so that every block takes x as it is.
// Bytes a nonzero: those of csr5, and x from L2 in place of a 32-byte sector of DRAM. For every further block y is read
// and written once more, and a row that has nothing in a block takes one empty slot there.
// Chosen where x does not fit L2 and rows that are alike read it evenly from all over. Where few columns hold most of
// the entries, those stay in L2 anyway, and blocks lose.
#include <vector>

#include "cuda/spmv/column_piece.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/column_blocks.hpp"

namespace tulle::cuda {

std::unique_ptr<spmv_operator> make_csr5(const context&, const csr_ref&, const csr_stats&, const spmv_options&);

namespace {

/// What csr5 asks of the statistics of a block.
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
  /// A block's CSR is freed once its copy is made: csr5 reads it for nothing else but several right-hand sides, which
  /// go through A itself here.
  csr5_blocked_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, o.block_size),
        ctx_(ctx),
        blocks_(column_blocks_for(a.cols, sizeof(T), ctx.info().l2_bytes)) {
    for (index_t b = 0; b < blocks_.count; ++b) {
      const csr<T, O> piece = piece_of(b);
      pass_.push_back(make_csr5(ctx, csr_ref::of(piece.view()), counts_of(piece), o));
    }
  }
  void update_values(const csr_ref& a) override {
    csr_operator<T, O>::update_values(a);
    for (index_t b = 0; b < blocks_.count; ++b) {
      pass_[static_cast<std::size_t>(b)]->update_values(csr_ref::of(piece_of(b).view()));
    }
  }
  void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots,
                  stream_view stream) override {
    const double last_beta = apply_all_but_last(alpha, x, beta, y, stream);
    pass_.back()->apply_dots(alpha, x, last_beta, y, w, dots, stream);
  }
  /// y = b less what all blocks but the last give; the last one's step reads that from y, each row before it writes it.
  void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) override {
    const void* residual = b;
    if (pass_.size() > 1 && this->a_.rows > 0) {
      copy_rows(y, b, stream);
      apply_all_but_last(-1, x, 1, y, stream);
      residual = y;
    }
    pass_.back()->apply_jacobi(omega, x, residual, inverse_diagonal, y, stream);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    std::size_t bytes = 0;
    for (const auto& pass : pass_) bytes += pass->workspace_bytes();
    return bytes;
  }
  /// With y, read and written by every pass but the first.
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
    const double last_beta = apply_all_but_last(store.alpha, x, store.beta, store.y, stream);
    pass_.back()->apply(store.alpha, x, last_beta, store.y, stream);
  }
  /// Returns the beta that is left for the last.
  double apply_all_but_last(double alpha, const void* x, double beta, void* y, stream_view stream) {
    for (std::size_t b = 0; b + 1 < pass_.size(); ++b) {
      pass_[b]->apply(alpha, x, beta, y, stream);
      beta = 1;
    }
    return beta;
  }
  void copy_rows(void* to, const void* from, stream_view stream) const {
    const device_guard guard(this->device_);
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(this->a_.rows) * sizeof(T), cudaMemcpyDeviceToDevice,
                          native(stream)),
          "cudaMemcpyAsync", status::cuda_memcpy);
  }

  context ctx_;
  column_blocks blocks_;
  std::vector<std::unique_ptr<spmv_operator>> pass_;  // one a block
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr5_blocked(const context& ctx, const csr_ref& a, const csr_stats& s,
                                                 const spmv_options& o) {
  return make_operator<csr5_blocked_operator, type_set::floating>(ctx, a, s, o);
}

}  // namespace tulle::cuda
