// cusparse.*: the vendor's SpMV algorithms, with their preprocessing, as entries of the same table. For comparison:
// they are never chosen silently.
#include <limits>
#include <tulle/formats/convert.hpp>
#include <vector>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/cusparse_handles.cuh"
#include "cuda/spmv/cusparse_many.cuh"
#include "cuda/spmv/supports.hpp"
#include "kernels/bsr_block.hpp"

namespace tulle::cuda {
namespace {

/// Descriptors, buffer and preprocessing around a matrix that a derived class describes.
template <class T>
class cusparse_operator : public device_operator<T> {
 public:
  cusparse_operator(const context& ctx, index_t rows, index_t cols, cusparseSpMVAlg_t algorithm)
      : device_operator<T>(ctx, 0), ctx_(ctx), algorithm_(algorithm) {
    const device_guard guard(this->device_);
    cusparseHandle_t handle = nullptr;
    cusparse().create(&handle);
    handle_.reset(handle);
    x_ = make_vector(cols);
    y_ = make_vector(rows);
  }
  bool store_in_order(const index_t*) override { return false; }
  [[nodiscard]] std::string parameters() const override { return {}; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return work_.bytes(); }

 protected:
  void describe(cusparseSpMatDescr_t matrix) { matrix_.reset(matrix); }
  [[nodiscard]] cusparseSpMatDescr_t matrix() const noexcept { return matrix_.get(); }
  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] cusparseHandle_t handle_on(cudaStream_t stream) const {
    cusparse().set_stream(handle_.get(), stream);
    return handle_.get();
  }

  void preprocess() {
    const device_guard guard(this->device_);
    const T one{1}, zero{0};
    const auto compute = value_type<T>;
    std::size_t bytes = 0;
    cusparse().set_stream(handle_.get(), static_cast<cudaStream_t>(ctx_.stream().native));
    cusparse().spmv_buffer_size(handle_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix(), x_.get(), &zero,
                                y_.get(), compute, algorithm_, &bytes);
    work_ = buffer<std::byte>(ctx_, std::max<std::size_t>(bytes, 16));
    cusparse().spmv_preprocess(handle_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix(), x_.get(), &zero,
                               y_.get(), compute, algorithm_, work_.data());
  }

 protected:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    cusparse().set_stream(handle_.get(), stream);
    cusparse().dn_vec_set_values(x_.get(), const_cast<T*>(x));
    cusparse().dn_vec_set_values(y_.get(), store.y);
    cusparse().spmv(handle_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &store.alpha, matrix(), x_.get(), &store.beta,
                    y_.get(), value_type<T>, algorithm_, work_.data());
  }

 private:
  unique_vector make_vector(index_t size) {
    static T placeholder{};  // apply sets the real pointer
    cusparseDnVecDescr_t v = nullptr;
    cusparse().create_dn_vec(&v, size, &placeholder, value_type<T>);
    return unique_vector(v);
  }

  context ctx_;
  cusparseSpMVAlg_t algorithm_;
  unique_handle handle_;
  unique_matrix matrix_;
  unique_vector x_, y_;
  buffer<std::byte> work_;
};

template <class T, class O, cusparseSpMVAlg_t Algorithm>
class cusparse_csr_operator final : public cusparse_operator<T> {
 public:
  cusparse_csr_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : cusparse_operator<T>(ctx, a.rows, a.cols, Algorithm), a_(a), many_(ctx, a.rows, a.cols, many_algorithm) {
    cusparseSpMatDescr_t m = nullptr;
    cusparse().create_csr(&m, a.rows, a.cols, a.nnz, const_cast<O*>(a.rowptr), const_cast<index_t*>(a.colind),
                          const_cast<T*>(a.values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          value_type<T>);
    this->describe(m);
    this->preprocess();
  }
  void update_values(const matrix_ref& a) override {
    a_ = a.as<T, O>();
    cusparse().csr_set_pointers(this->matrix(), const_cast<O*>(a_.rowptr), const_cast<index_t*>(a_.colind),
                                const_cast<T*>(a_.values));
    this->preprocess();
    many_.forget();
  }
  /// CSR algorithm 1 suits column-major order best, 2 row-major. The first call for a shape prepares: see
  /// cusparse_many.
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    const device_guard guard(this->device_);
    many_.run(this->handle_on(static_cast<cudaStream_t>(stream.native)), this->matrix(), static_cast<T>(alpha), x,
              static_cast<T>(beta), y);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return static_cast<std::size_t>(a_.nnz) * (sizeof(T) + 4) + (static_cast<std::size_t>(a_.rows) + 1) * sizeof(O);
  }

 private:
  static constexpr cusparseSpMMAlg_t many_algorithm =
      Algorithm == CUSPARSE_SPMV_CSR_ALG1 ? CUSPARSE_SPMM_CSR_ALG1 : CUSPARSE_SPMM_CSR_ALG2;

  csr_view<T, O> a_;
  cusparse_many<T> many_;
};

template <class T, class O, cusparseSpMVAlg_t Algorithm>
class cusparse_coo_operator final : public cusparse_operator<T> {
 public:
  cusparse_coo_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : cusparse_operator<T>(ctx, a.rows, a.cols, Algorithm), a_(to_coo(ctx, a)) {
    cusparseSpMatDescr_t m = nullptr;
    cusparse().create_coo(&m, a.rows, a.cols, a_.nnz(), a_.rowind.data(), a_.colind.data(), a_.values.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, value_type<T>);
    this->describe(m);
    this->preprocess();
  }
  void update_values(const matrix_ref& a) override {
    copy_bytes(this->ctx(), a_.values.data(), memory_space::device, a.values, a.space, a_.values.bytes());
    this->preprocess();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return a_.rowind.bytes() + a_.colind.bytes() + a_.values.bytes();
  }

 private:
  coo<T> a_;
};

template <class T, class O>
class cusparse_sell_operator final : public cusparse_operator<T> {
 public:
  cusparse_sell_operator(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : cusparse_operator<T>(ctx, a.rows, a.cols, CUSPARSE_SPMV_SELL_ALG1), a_(to_sell(ctx, a, 1)) {
    const auto wide = to_vector(ctx, a_.sliceptr);
    sliceptr_ = to_buffer(ctx, std::vector<std::int32_t>(wide.begin(), wide.end()));
    cusparseSpMatDescr_t m = nullptr;
    cusparse().create_sliced_ell(&m, a.rows, a.cols, a.nnz, static_cast<std::int64_t>(a_.values.size()),
                                 sell_slice_rows, sliceptr_.data(), a_.colind.data(), a_.values.data(),
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, value_type<T>);
    this->describe(m);
    this->preprocess();
  }
  void update_values(const matrix_ref& a) override {
    tulle::update_values(this->ctx(), a.as<T, O>(), a_);
    this->preprocess();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return sliceptr_.bytes() + a_.colind.bytes() + a_.values.bytes();
  }

 private:
  sell<T> a_;
  buffer<std::int32_t> sliceptr_;
};

/// Blocks are dense to the vendor: what fills them multiplies x. Where they reach past the matrix, x and y are copied.
template <class T, class O>
class cusparse_bsr_operator final : public cusparse_operator<T> {
 public:
  cusparse_bsr_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : cusparse_bsr_operator(ctx, bsr_storage<T, O>(ctx, a, s, o)) {}
  void update_values(const matrix_ref& a) override {
    storage_.update_values(a);
    describe_blocks();
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return storage_.owned_bytes() + x_.bytes() + y_.bytes() + cusparse_operator<T>::workspace_bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    const auto& a = storage_.view();
    return storage_.bytes() - (a.mask != nullptr ? static_cast<std::size_t>(a.blocks) * sizeof(std::uint64_t) : 0);
  }
  [[nodiscard]] std::string parameters() const override { return "block=" + std::to_string(storage_.view().block); }

 private:
  cusparse_bsr_operator(const context& ctx, bsr_storage<T, O> storage)
      : cusparse_operator<T>(ctx, whole(storage.view().rows, storage.view().block),
                             whole(storage.view().cols, storage.view().block), CUSPARSE_SPMV_ALG_DEFAULT),
        storage_(std::move(storage)) {
    const auto& a = storage_.view();
    if (a.rows % a.block != 0 || a.cols % a.block != 0) {
      x_ = buffer<T>(ctx, static_cast<std::size_t>(whole(a.cols, a.block)));
      y_ = buffer<T>(ctx, static_cast<std::size_t>(whole(a.rows, a.block)));
      fill_bytes(ctx, x_.data(), memory_space::device, 0, x_.bytes());
      fill_bytes(ctx, y_.data(), memory_space::device, 0, y_.bytes());
    }
    describe_blocks();
  }

  static index_t whole(index_t n, index_t block) { return static_cast<index_t>(ceil_div(n, block) * block); }

  void describe_blocks() {
    const auto& a = storage_.view();
    cusparseSpMatDescr_t m = nullptr;
    cusparse().create_bsr(&m, a.block_rows, ceil_div(a.cols, a.block), a.blocks, a.block, a.block,
                          const_cast<O*>(a.rowptr), const_cast<index_t*>(a.colind), const_cast<T*>(a.values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, value_type<T>,
                          CUSPARSE_ORDER_ROW);
    this->describe(m);
    this->preprocess();
  }

  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    if (x_.empty()) return cusparse_operator<T>::run(store, x, stream);
    const auto copy = [&](T* to, const T* from, index_t count) {
      check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDeviceToDevice, stream),
            "cudaMemcpyAsync");
    };
    const auto& a = storage_.view();
    T* const y = store.y;
    copy(x_.data(), x, a.cols);
    if (store.beta != T{0}) copy(y_.data(), y, a.rows);
    store.y = y_.data();
    cusparse_operator<T>::run(store, x_.data(), stream);
    copy(y, y_.data(), a.rows);
  }

  bsr_storage<T, O> storage_;
  buffer<T> x_, y_;  // empty where the blocks end with the matrix
};

template <class T, class O>
using csr1 = cusparse_csr_operator<T, O, CUSPARSE_SPMV_CSR_ALG1>;
template <class T, class O>
using csr2 = cusparse_csr_operator<T, O, CUSPARSE_SPMV_CSR_ALG2>;
template <class T, class O>
using coo1 = cusparse_coo_operator<T, O, CUSPARSE_SPMV_COO_ALG1>;
template <class T, class O>
using coo2 = cusparse_coo_operator<T, O, CUSPARSE_SPMV_COO_ALG2>;

template <template <class, class> class Operator>
spmv_kernel vendor_entry(std::string_view name, std::string_view summary, spmv_kernel::passes has = {}) {
  return {
      .name = name,
      .summary = summary,
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .role = kernel_role::vendor,
      .deterministic = false,
      .has = has,
      .supports = supports_cusparse,
      .make = make_operator<Operator, type_set::floating>,
  };
}

}  // namespace

spmv_kernel cusparse_csr1_entry() {
  return vendor_entry<csr1>("cusparse.csr1", "cuSPARSE CSR algorithm 1, preprocessed", {.many = true});
}
spmv_kernel cusparse_csr2_entry() {
  return vendor_entry<csr2>("cusparse.csr2", "cuSPARSE CSR algorithm 2, preprocessed", {.many = true});
}
spmv_kernel cusparse_coo1_entry() {
  return vendor_entry<coo1>("cusparse.coo1", "cuSPARSE COO algorithm 1, preprocessed");
}
spmv_kernel cusparse_coo2_entry() {
  return vendor_entry<coo2>("cusparse.coo2", "cuSPARSE COO algorithm 2, preprocessed");
}
spmv_kernel cusparse_bsr_entry() {
  spmv_kernel entry = vendor_entry<csr1>("cusparse.bsr", "cuSPARSE BSR, blocks of 2 to 8");
  entry.takes_bsr = true;
  entry.listens_to = {.block = true};
  entry.supports = supports_cusparse_bsr;
  entry.make = make_block_operator<cusparse_bsr_operator, type_set::floating>;
  return entry;
}
spmv_kernel cusparse_sell_entry() {
  spmv_kernel entry = vendor_entry<cusparse_sell_operator>("cusparse.sell", "cuSPARSE sliced ELL, slices of 32");
  entry.supports = supports_cusparse_sell;
  return entry;
}

}  // namespace tulle::cuda
