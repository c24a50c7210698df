// cusparse.spgemm1, 2, 3: the vendor's SpGEMM as entries of the same table. For comparison: they are never chosen
// silently. Algorithm 1 holds every product at once; 2 and 3 ask cusparseSpGEMM_estimateMemory how much they need, and
// 3 works in chunks. NVIDIA's staff say that the rows of C come out sorted (CUDALibrarySamples, issue 84).
#include <optional>

#include "cuda/spgemm/cusparse_product.cuh"

namespace tulle::cuda {
namespace {

constexpr float chunk_fraction = 0.2f;  // of the products, in algorithm 3; what NVIDIA's example uses

template <class T>
class cusparse_spgemm final : public cusparse_product<T> {
  using base = cusparse_product<T>;

 public:
  cusparse_spgemm(const context& ctx, const spgemm_problem& p, cusparseSpGEMMAlg_t algorithm)
      : base(ctx, p), algorithm_(algorithm), first_(p.values()) {
    if (algorithm == CUSPARSE_SPGEMM_ALG1 && this->work().products > std::numeric_limits<std::int32_t>::max()) {
      throw error(status::unsupported, "cuSPARSE's algorithm 1 takes fewer than 2^31 products");
    }
  }

  std::int64_t symbolic() override {
    if (this->empty()) return 0;
    const device_guard guard(this->ctx().device());
    multiply(first_);
    made_ = first_;
    return this->nnz_of_c();
  }
  void fill(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(this->ctx().device());
    if (!this->empty()) {
      if (made_ != values) multiply(values);
      made_.reset();  // the arrays may hold other numbers next time
      copy(c);
    }
    this->write_offsets(c);
  }
  /// All of it again: these routines have no numeric phase. Synchronises; allocates where cuSPARSE asks for more.
  void numeric(const spgemm_values& values, const csr_sink& c) override {
    if (this->empty()) return;
    const device_guard guard(this->ctx().device());
    multiply(values);
    copy(c);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return this->offset_bytes() + analysis_.bytes() + products_.bytes();
  }

 private:
  /// Everything up to nnz(C). A descriptor serves one product.
  void multiply(const spgemm_values& values) {
    alpha_ = static_cast<T>(values.alpha);
    this->set_values(values);
    product_ = make_spgemm_descriptor();
    this->describe_c();
    this->run_sized(analysis_, [&](std::size_t* bytes, void* memory) {
      call(cusparse().spgemm_work_estimation, bytes, memory);
    });
    const auto compute = [&](std::size_t* bytes, void* memory) { call(cusparse().spgemm_compute, bytes, memory); };
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) return this->run_sized(products_, compute);
    this->reserve(products_, estimated_bytes());
    std::size_t bytes = products_.bytes();
    compute(&bytes, products_.data());
  }
  std::size_t estimated_bytes() {
    buffer<std::byte> estimate;
    std::size_t products = 0;
    this->run_sized(estimate, [&](std::size_t* bytes, void* memory) {
      call(cusparse().spgemm_estimate_memory, chunk_fraction, bytes, memory, memory == nullptr ? nullptr : &products);
    });
    return products;
  }
  void copy(const csr_sink& c) {
    this->set_c(c);
    call(cusparse().spgemm_copy);
  }
  template <class Routine, class... More>
  void call(const Routine& routine, More... more) {
    routine(this->handle(), base::as_is, base::as_is, &alpha_, this->a(), this->b(), &zero_, this->c(), base::type,
            algorithm_, product_.get(), more...);
  }

  cusparseSpGEMMAlg_t algorithm_;
  T alpha_{1};
  T zero_{0};
  buffer<std::byte> analysis_, products_;
  spgemm_values first_;                // of the problem
  std::optional<spgemm_values> made_;  // those that symbolic multiplied, until fill
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
