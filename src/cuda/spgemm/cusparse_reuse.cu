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
    this->run_sized(analysis, [&](std::size_t* bytes, void* memory) {
      call(cusparse().spgemm_reuse_work_estimation, bytes, memory);
    });
    std::size_t sizes[3] = {};
    const auto count = [&](void* room, void* columns, void* products) {
      call(cusparse().spgemm_reuse_nnz, &sizes[0], room, &sizes[1], columns, &sizes[2], products);
    };
    count(nullptr, nullptr, nullptr);
    this->reserve(temporary, sizes[0]);
    this->reserve(columns_, sizes[1]);
    this->reserve(products_, sizes[2]);
    sizes[0] = temporary.bytes();
    sizes[1] = columns_.bytes();
    sizes[2] = products_.bytes();
    count(temporary.data(), columns_.data(), products_.data());
    return this->nnz_of_c();
  }
  void fill(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(this->ctx().device());
    if (!this->empty()) {
      this->set_c(c);
      this->run_sized(order_, [&](std::size_t* bytes, void* memory) {
        call(cusparse().spgemm_reuse_copy, bytes, memory);
      });
      compute(values);
    }
    this->write_offsets(c);
  }
  void numeric(const spgemm_values& values, const csr_sink& c) override {
    if (this->empty()) return;
    const device_guard guard(this->ctx().device());
    this->set_c(c);
    compute(values);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return this->offset_bytes() + columns_.bytes() + products_.bytes() + order_.bytes();
  }

 private:
  static constexpr auto algorithm = CUSPARSE_SPGEMM_DEFAULT;

  template <class Routine, class... More>
  void call(const Routine& routine, More... more) {
    routine(this->handle(), base::as_is, base::as_is, this->a(), this->b(), this->c(), algorithm, product_.get(), more...);
  }
  void compute(const spgemm_values& values) {
    const T alpha = static_cast<T>(values.alpha), zero{0};
    this->set_values(values);
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
