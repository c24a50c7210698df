// cusparse.spgemm1, 2, 3: the vendor's SpGEMM as entries of the same table. For comparison: they are never chosen
// silently. Algorithm 1 holds every product at once; 2 and 3 ask cusparseSpGEMM_estimateMemory how much they need, and
// 3 works in chunks. NVIDIA's staff say that the rows of C come out sorted (CUDALibrarySamples, issue 84).
#include "cuda/spgemm/cusparse_product.cuh"

namespace tulle::cuda {
namespace {

constexpr float chunk_fraction = 0.2f;  // of the products, in algorithm 3; what NVIDIA's example uses

template <class T>
class cusparse_spgemm final : public cusparse_product<T> {
  using base = cusparse_product<T>;

 public:
  cusparse_spgemm(const context& ctx, const spgemm_problem& p, cusparseSpGEMMAlg_t algorithm)
      : base(ctx, p), algorithm_(algorithm) {
    if (algorithm == CUSPARSE_SPGEMM_ALG1 && this->work().products > std::numeric_limits<std::int32_t>::max()) {
      throw error(status::unsupported, "cuSPARSE's algorithm 1 takes fewer than 2^31 products");
    }
  }

  std::int64_t symbolic() override {
    if (this->empty()) return 0;
    const device_guard guard(this->ctx().device());
    multiply(T{1});
    return this->nnz_of_c();
  }
  void fill(double alpha, const csr_sink& c) override {
    const device_guard guard(this->ctx().device());
    if (!this->empty()) {
      if (static_cast<T>(alpha) != alpha_) multiply(static_cast<T>(alpha));
      copy(c);
    }
    this->write_offsets(c);
  }
  /// All of it again: these routines have no numeric phase. Synchronises; allocates where cuSPARSE asks for more.
  void numeric(double alpha, const void* a_values, const void* b_values, const csr_sink& c) override {
    if (this->empty()) return;
    const device_guard guard(this->ctx().device());
    this->set_values(a_values, b_values);
    multiply(static_cast<T>(alpha));
    copy(c);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return this->offset_bytes() + analysis_.bytes() + estimate_.bytes() + products_.bytes();
  }

 private:
  /// Everything up to nnz(C). A descriptor serves one product.
  void multiply(T alpha) {
    alpha_ = alpha;
    product_ = make_spgemm_descriptor();
    this->describe_c();
    std::size_t bytes = 0;
    analyse(&bytes, nullptr);
    this->reserve(analysis_, bytes);
    bytes = analysis_.bytes();
    analyse(&bytes, analysis_.data());
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) {
      compute(&bytes, nullptr);
    } else {
      bytes = estimated_bytes();
    }
    this->reserve(products_, bytes);
    bytes = products_.bytes();
    compute(&bytes, products_.data());
  }
  void analyse(std::size_t* bytes, void* memory) {
    cusparse().spgemm_work_estimation(this->handle(), base::as_is, base::as_is, &alpha_, this->a(), this->b(), &zero_,
                                      this->c(), base::type, algorithm_, product_.get(), bytes, memory);
  }
  std::size_t estimated_bytes() {
    std::size_t bytes = 0, products = 0;
    estimate(&bytes, nullptr, nullptr);
    this->reserve(estimate_, bytes);
    bytes = estimate_.bytes();
    estimate(&bytes, estimate_.data(), &products);
    estimate_ = {};  // not needed any more
    return products;
  }
  void estimate(std::size_t* bytes, void* memory, std::size_t* products) {
    cusparse().spgemm_estimate_memory(this->handle(), base::as_is, base::as_is, &alpha_, this->a(), this->b(), &zero_,
                                      this->c(), base::type, algorithm_, product_.get(), chunk_fraction, bytes, memory,
                                      products);
  }
  void compute(std::size_t* bytes, void* memory) {
    cusparse().spgemm_compute(this->handle(), base::as_is, base::as_is, &alpha_, this->a(), this->b(), &zero_,
                              this->c(), base::type, algorithm_, product_.get(), bytes, memory);
  }
  void copy(const csr_sink& c) {
    this->set_c(c);
    cusparse().spgemm_copy(this->handle(), base::as_is, base::as_is, &alpha_, this->a(), this->b(), &zero_, this->c(),
                           base::type, algorithm_, product_.get());
  }

  cusparseSpGEMMAlg_t algorithm_;
  T alpha_{1};
  T zero_{0};
  buffer<std::byte> analysis_, estimate_, products_;
  unique_spgemm product_;
};

}  // namespace

support supports_cusparse_spgemm(const spgemm_problem& p, const device_info&) {
  if (p.mask) return {false, "cuSPARSE has no masked product"};
  if (p.a.types.offset == offset_type::i64) {
    return {false, "cuSPARSE takes 64-bit offsets only with 64-bit column indices"};
  }
  if (p.a.rows == 0 || p.a.cols == 0 || p.b.cols == 0) {
    return {false, "cuSPARSE is not asked for a product without rows or columns"};
  }
  if (p.a.nnz == 0 || p.b.nnz == 0) return {false, "cuSPARSE is not asked to multiply a matrix without entries"};
  if (p.a.nnz > std::int64_t{p.a.rows} * p.a.cols) return {false, "cuSPARSE takes no more entries than places"};
  return {};
}

std::unique_ptr<spgemm_operator> make_cusparse_spgemm1(const context& ctx, const spgemm_problem& p) {
  return make_cusparse_product<cusparse_spgemm>(ctx, p, CUSPARSE_SPGEMM_ALG1);
}
std::unique_ptr<spgemm_operator> make_cusparse_spgemm2(const context& ctx, const spgemm_problem& p) {
  return make_cusparse_product<cusparse_spgemm>(ctx, p, CUSPARSE_SPGEMM_ALG2);
}
std::unique_ptr<spgemm_operator> make_cusparse_spgemm3(const context& ctx, const spgemm_problem& p) {
  return make_cusparse_product<cusparse_spgemm>(ctx, p, CUSPARSE_SPGEMM_ALG3);
}

}  // namespace tulle::cuda
