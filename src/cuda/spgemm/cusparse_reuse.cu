// cusparse.spgemm_reuse: the vendor's SpGEMM in its form that keeps C's structure for new numbers
// (cusparseSpGEMMreuse_*). For comparison: never chosen silently. The one entry of cuSPARSE with a numeric phase.
#include "cuda/spgemm/cusparse_product.cuh"

namespace tulle::cuda {
namespace {

template <class T>
class cusparse_reuse final : public cusparse_product<T> {
  using base = cusparse_product<T>;

 public:
  cusparse_reuse(const context& ctx, const spgemm_problem& p) : base(ctx, p), product_(make_spgemm_descriptor()) {}

  std::int64_t symbolic() override {
    if (this->empty()) return 0;
    const device_guard guard(this->ctx().device());
    buffer<std::byte> analysis, temporary;
    std::size_t bytes = 0;
    analyse(&bytes, nullptr);
    this->reserve(analysis, bytes);
    bytes = analysis.bytes();
    analyse(&bytes, analysis.data());
    std::size_t sizes[3] = {};
    count(sizes, nullptr, nullptr, nullptr);
    this->reserve(temporary, sizes[0]);
    this->reserve(columns_, sizes[1]);
    this->reserve(products_, sizes[2]);
    sizes[0] = temporary.bytes();
    sizes[1] = columns_.bytes();
    sizes[2] = products_.bytes();
    count(sizes, temporary.data(), columns_.data(), products_.data());
    return this->nnz_of_c();
  }
  void fill(double alpha, const csr_sink& c) override {
    const device_guard guard(this->ctx().device());
    if (!this->empty()) {
      this->set_c(c);
      std::size_t bytes = 0;
      structure(&bytes, nullptr);
      this->reserve(order_, bytes);
      bytes = order_.bytes();
      structure(&bytes, order_.data());
      compute(static_cast<T>(alpha));
    }
    this->write_offsets(c);
  }
  void numeric(double alpha, const void* a_values, const void* b_values, const csr_sink& c) override {
    if (this->empty()) return;
    const device_guard guard(this->ctx().device());
    this->set_values(a_values, b_values);
    this->set_c(c);
    compute(static_cast<T>(alpha));
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return this->offset_bytes() + columns_.bytes() + products_.bytes() + order_.bytes();
  }

 private:
  static constexpr auto algorithm = CUSPARSE_SPGEMM_DEFAULT;

  void analyse(std::size_t* bytes, void* memory) {
    cusparse().spgemm_reuse_work_estimation(this->handle(), base::as_is, base::as_is, this->a(), this->b(), this->c(),
                                            algorithm, product_.get(), bytes, memory);
  }
  void count(std::size_t (&bytes)[3], void* temporary, void* columns, void* products) {
    cusparse().spgemm_reuse_nnz(this->handle(), base::as_is, base::as_is, this->a(), this->b(), this->c(), algorithm,
                                product_.get(), &bytes[0], temporary, &bytes[1], columns, &bytes[2], products);
  }
  void structure(std::size_t* bytes, void* memory) {
    cusparse().spgemm_reuse_copy(this->handle(), base::as_is, base::as_is, this->a(), this->b(), this->c(), algorithm,
                                 product_.get(), bytes, memory);
  }
  void compute(T alpha) {
    const T zero{0};
    cusparse().spgemm_reuse_compute(this->handle(), base::as_is, base::as_is, &alpha, this->a(), this->b(), &zero,
                                    this->c(), base::type, algorithm, product_.get());
  }

  buffer<std::byte> columns_, products_, order_;
  unique_spgemm product_;
};

}  // namespace

std::unique_ptr<spgemm_operator> make_cusparse_spgemm_reuse(const context& ctx, const spgemm_problem& p) {
  return make_cusparse_product<cusparse_reuse>(ctx, p);
}

}  // namespace tulle::cuda
