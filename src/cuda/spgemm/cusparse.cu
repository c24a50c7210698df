// cusparse.spgemm1, 2, 3 and cusparse.spgemm_reuse: the vendor's SpGEMM as entries of the same table. For comparison:
// they are never chosen silently. Algorithm 1 holds every product at once; 2 and 3 ask cusparseSpGEMM_estimateMemory
// how much they need, and 3 works in chunks. The last (cusparseSpGEMMreuse_*) keeps C's structure for new numbers: the
// one with a numeric phase. NVIDIA's staff say that the rows of C come out sorted (CUDALibrarySamples, issue 84).
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <utility>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spgemm/rowptr.cuh"
#include "cuda/spmv/cusparse_handles.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

constexpr float chunk_fraction = 0.2f;  // of the products, in algorithm 3; what NVIDIA's example uses
constexpr auto as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

constexpr double zero = 0;  // which a float 0 begins as well

/// The bytes of a factor as cuSPARSE reads it on the host: a double, or a float in the first half of one.
double factor_bytes(scalar_type type, double value) {
  const auto narrow = static_cast<float>(value);
  if (type == scalar_type::f32) std::memcpy(&value, &narrow, sizeof(narrow));
  return value;
}

/// A product of matrices with 32-bit offsets. A panel of A gets offsets from 0; C's offsets are made in memory of the
/// operator's own, from 0, and moved to where the caller wants them.
class cusparse_product : public spgemm_operator {
 public:
  cusparse_product(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx), value_(p.a.types.value), work_(cuda::count_products(ctx, p)), problem_(p) {
    const device_guard guard(ctx.device());
    cusparseHandle_t handle = nullptr;
    cusparse().create(&handle);
    handle_.reset(handle);
    cusparse().set_stream(handle, native(ctx.stream()));
    begin_at_zero(problem_.a);
    rowptr_ = buffer<std::int32_t>(ctx, static_cast<std::size_t>(p.a.rows) + 1);
    fill_bytes(ctx, rowptr_.data(), memory_space::device, 0, rowptr_.bytes());
    a_ = describe(problem_.a);
    b_ = describe(problem_.b);
    begin_product();
  }

  std::int64_t symbolic() final {
    if (work_.products == 0) return 0;
    const device_guard guard(ctx_.device());
    count();
    std::int64_t rows = 0, cols = 0, nnz = 0;
    cusparse().sp_mat_get_size(c_.get(), &rows, &cols, &nnz);
    if (nnz > std::numeric_limits<std::int32_t>::max()) {
      throw error(status::unsupported, "cuSPARSE: C has 2^31 entries or more, offsets are 32-bit");
    }
    return nnz;
  }
  void fill(const spgemm_values& values, const csr_sink& c) final {
    const device_guard guard(ctx_.device());
    if (work_.products > 0) write(values, c, true);
    write_offsets(ctx_, problem_.a.rows, std::as_const(rowptr_).data(), c);
  }
  void numeric(const spgemm_values& values, const csr_sink& c) final {
    if (work_.products == 0) return;
    const device_guard guard(ctx_.device());
    write(values, c, false);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return a_rowptr_.bytes() + rowptr_.bytes(); }

 protected:
  /// Everything up to nnz(C).
  virtual void count() = 0;
  /// Columns, if it is the first time, and values.
  virtual void write(const spgemm_values& values, const csr_sink& c, bool first) = 0;

  /// A descriptor serves one product, whose C is still undetermined.
  void begin_product() {
    cusparseSpGEMMDescr_t product = nullptr;
    cusparse().spgemm_create_descr(&product);
    product_.reset(product);
    matrix_ref c = problem_.a;
    c.cols = problem_.b.cols;
    c.nnz = 0;
    c.rowptr = rowptr_.data();
    c.colind = nullptr;
    c.values = nullptr;
    c_ = describe(c);
  }
  void set_values(const spgemm_values& v) {
    set_pointers(a_, problem_.a.rowptr, problem_.a.colind, static_cast<const std::byte*>(v.a) + bytes_of(a_begin_));
    set_pointers(b_, problem_.b.rowptr, problem_.b.colind, v.b);
  }
  void set_c(const csr_sink& sink) {
    set_pointers(c_, rowptr_.data(), sink.colind + sink.first,
                 static_cast<const std::byte*>(sink.values) + bytes_of(sink.first));
  }
  /// cuSPARSE takes a null buffer for a question, so that none may be empty.
  void reserve(buffer<std::byte>& memory, std::size_t bytes) const {
    if (memory.size() >= std::max<std::size_t>(bytes, 16)) return;
    memory = {};
    memory = buffer<std::byte>(ctx_, std::max<std::size_t>(bytes, 16));
  }
  /// Calls routine(bytes, memory) twice, as cuSPARSE wants: for the size, then to run.
  template <class Routine>
  void run_sized(buffer<std::byte>& memory, Routine routine) const {
    std::size_t bytes = 0;
    routine(&bytes, static_cast<void*>(nullptr));
    reserve(memory, bytes);
    bytes = memory.bytes();
    routine(&bytes, static_cast<void*>(memory.data()));
  }

  context ctx_;
  scalar_type value_;
  cudaDataType type_ = value_ == scalar_type::f64 ? CUDA_R_64F : CUDA_R_32F;
  spgemm_work work_;
  spgemm_problem problem_;
  unique_handle handle_;
  unique_matrix a_, b_, c_;
  unique_spgemm product_;

 private:
  [[nodiscard]] std::ptrdiff_t bytes_of(std::int64_t entries) const {
    return static_cast<std::ptrdiff_t>(entries) * static_cast<std::ptrdiff_t>(size_of(value_));
  }
  [[nodiscard]] unique_matrix describe(const matrix_ref& m) const {
    cusparseSpMatDescr_t made = nullptr;
    cusparse().create_csr(&made, m.rows, m.cols, m.nnz, const_cast<void*>(m.rowptr), const_cast<index_t*>(m.colind),
                          const_cast<void*>(m.values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          type_);
    return unique_matrix(made);
  }
  static void set_pointers(const unique_matrix& m, const void* rowptr, const index_t* colind, const void* values) {
    cusparse().csr_set_pointers(m.get(), const_cast<void*>(rowptr), const_cast<index_t*>(colind),
                                const_cast<void*>(values));
  }
  void begin_at_zero(matrix_ref& a) {
    const auto* rowptr = static_cast<const std::int32_t*>(a.rowptr);
    a_begin_ = read_back(ctx_, rowptr);
    a.nnz = read_back(ctx_, rowptr + a.rows) - a_begin_;
    a.colind += a_begin_;
    a.values = static_cast<const std::byte*>(a.values) + bytes_of(a_begin_);
    if (a_begin_ == 0) return;
    a_rowptr_ = buffer<std::int32_t>(ctx_, static_cast<std::size_t>(a.rows) + 1);
    write_offsets(ctx_, a.rows, rowptr, {offset_type::i32, -std::int64_t{a_begin_}, a_rowptr_.data()});
    a.rowptr = a_rowptr_.data();
  }

  std::int32_t a_begin_ = 0;
  buffer<std::int32_t> a_rowptr_, rowptr_;
};

/// These routines have no numeric phase: `numeric` does all of it again. It synchronises, and allocates where cuSPARSE
/// asks for more.
class cusparse_spgemm final : public cusparse_product {
 public:
  cusparse_spgemm(const context& ctx, const spgemm_problem& p, cusparseSpGEMMAlg_t algorithm)
      : cusparse_product(ctx, p), algorithm_(algorithm), first_(p.values()) {
    if (algorithm == CUSPARSE_SPGEMM_ALG1 && work_.products > std::numeric_limits<std::int32_t>::max()) {
      throw error(status::unsupported, "cuSPARSE's algorithm 1 takes fewer than 2^31 products");
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return cusparse_product::workspace_bytes() + analysis_.bytes() + products_.bytes();
  }

 private:
  void count() override {
    multiply(first_);
    made_ = first_;
  }
  void write(const spgemm_values& values, const csr_sink& c, bool first) override {
    if (!first || made_ != values) multiply(values);
    made_.reset();  // the arrays may hold other numbers next time
    set_c(c);
    call(cusparse().spgemm_copy);
  }

  void multiply(const spgemm_values& values) {
    alpha_ = factor_bytes(value_, values.alpha);
    set_values(values);
    begin_product();
    run_sized(analysis_, [&](auto... sized) { call(cusparse().spgemm_work_estimation, sized...); });
    const auto compute = [&](auto... sized) { call(cusparse().spgemm_compute, sized...); };
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) return run_sized(products_, compute);
    buffer<std::byte> estimate;
    std::size_t bytes = 0;
    run_sized(estimate, [&](std::size_t* size, void* memory) {
      call(cusparse().spgemm_estimate_memory, chunk_fraction, size, memory, memory == nullptr ? nullptr : &bytes);
    });
    estimate = {};  // not needed any more
    reserve(products_, bytes);
    bytes = products_.bytes();
    compute(&bytes, static_cast<void*>(products_.data()));
  }
  template <class Routine, class... More>
  void call(const Routine& routine, More... more) {
    routine(handle_.get(), as_is, as_is, &alpha_, a_.get(), b_.get(), &zero, c_.get(), type_, algorithm_,
            product_.get(), more...);
  }

  cusparseSpGEMMAlg_t algorithm_;
  double alpha_ = 0;
  buffer<std::byte> analysis_, products_;
  spgemm_values first_;                // of the problem
  std::optional<spgemm_values> made_;  // those that count multiplied, until they are written
};

class cusparse_reuse final : public cusparse_product {
 public:
  using cusparse_product::cusparse_product;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return cusparse_product::workspace_bytes() + columns_.bytes() + products_.bytes() + order_.bytes();
  }

 private:
  static constexpr auto algorithm = CUSPARSE_SPGEMM_DEFAULT;

  void count() override {
    buffer<std::byte> analysis, temporary;
    run_sized(analysis, [&](auto... sized) { call(cusparse().spgemm_reuse_work_estimation, sized...); });
    std::size_t sizes[3] = {};
    const auto count = [&](void* room, void* columns, void* products) {
      call(cusparse().spgemm_reuse_nnz, &sizes[0], room, &sizes[1], columns, &sizes[2], products);
    };
    count(nullptr, nullptr, nullptr);
    reserve(temporary, sizes[0]);
    reserve(columns_, sizes[1]);
    reserve(products_, sizes[2]);
    sizes[0] = temporary.bytes();
    sizes[1] = columns_.bytes();
    sizes[2] = products_.bytes();
    count(temporary.data(), columns_.data(), products_.data());
  }
  void write(const spgemm_values& values, const csr_sink& c, bool first) override {
    const double alpha = factor_bytes(value_, values.alpha);
    set_c(c);
    if (first) run_sized(order_, [&](auto... sized) { call(cusparse().spgemm_reuse_copy, sized...); });
    set_values(values);
    cusparse().spgemm_reuse_compute(handle_.get(), as_is, as_is, &alpha, a_.get(), b_.get(), &zero, c_.get(), type_,
                                    algorithm, product_.get());
  }
  template <class Routine, class... More>
  void call(const Routine& routine, More... more) {
    routine(handle_.get(), as_is, as_is, a_.get(), b_.get(), c_.get(), algorithm, product_.get(), more...);
  }

  buffer<std::byte> columns_, products_, order_;
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
  return std::make_unique<cusparse_spgemm>(ctx, p, CUSPARSE_SPGEMM_ALG1);
}
std::unique_ptr<spgemm_operator> make_cusparse_spgemm2(const context& ctx, const spgemm_problem& p) {
  return std::make_unique<cusparse_spgemm>(ctx, p, CUSPARSE_SPGEMM_ALG2);
}
std::unique_ptr<spgemm_operator> make_cusparse_spgemm3(const context& ctx, const spgemm_problem& p) {
  return std::make_unique<cusparse_spgemm>(ctx, p, CUSPARSE_SPGEMM_ALG3);
}
std::unique_ptr<spgemm_operator> make_cusparse_spgemm_reuse(const context& ctx, const spgemm_problem& p) {
  return std::make_unique<cusparse_reuse>(ctx, p);
}

}  // namespace tulle::cuda
