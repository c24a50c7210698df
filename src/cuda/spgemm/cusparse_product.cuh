// What the entries around cuSPARSE's SpGEMM share: handles, descriptors, and the panels that cuSPARSE does not know.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <tulle/core/buffer.hpp>
#include <utility>

#include "kernels/backends.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spgemm/rowptr.cuh"
#include "cuda/spmv/cusparse_handles.cuh"

namespace tulle::cuda {

inline unique_spgemm make_spgemm_descriptor() {
  cusparseSpGEMMDescr_t d = nullptr;
  cusparse().spgemm_create_descr(&d);
  return unique_spgemm(d);
}

/// A product of matrices with 32-bit offsets. A panel of A gets offsets from 0; C's offsets are made in memory of the
/// operator's own, from 0, and moved to where the caller wants them.
template <class T>
class cusparse_product : public spgemm_operator {
 public:
  cusparse_product(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx), work_(cuda::count_products(ctx, p)), a_(p.a.as<T, std::int32_t>()), b_(p.b.as<T, std::int32_t>()) {
    const device_guard guard(ctx.device());
    cusparseHandle_t handle = nullptr;
    cusparse().create(&handle);
    handle_.reset(handle);
    cusparse().set_stream(handle, native(ctx.stream()));
    begin_at_zero();
    rowptr_ = buffer<std::int32_t>(ctx, static_cast<std::size_t>(a_.rows) + 1);
    fill_bytes(ctx, rowptr_.data(), memory_space::device, 0, rowptr_.bytes());
    a_matrix_ = describe(a_.rows, a_.cols, a_.nnz, a_.rowptr, a_.colind, a_.values);
    b_matrix_ = describe(b_.rows, b_.cols, b_.nnz, b_.rowptr, b_.colind, b_.values);
    describe_c();
  }

 protected:
  static constexpr auto as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr auto type = value_type<T>;

  [[nodiscard]] bool empty() const noexcept { return work_.products == 0; }
  [[nodiscard]] const spgemm_work& work() const noexcept { return work_; }
  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] cusparseHandle_t handle() const noexcept { return handle_.get(); }
  [[nodiscard]] cusparseSpMatDescr_t a() const noexcept { return a_matrix_.get(); }
  [[nodiscard]] cusparseSpMatDescr_t b() const noexcept { return b_matrix_.get(); }
  [[nodiscard]] cusparseSpMatDescr_t c() const noexcept { return c_matrix_.get(); }
  [[nodiscard]] std::size_t offset_bytes() const noexcept { return a_rowptr_.bytes() + rowptr_.bytes(); }

  /// An undetermined C of this shape.
  void describe_c() { c_matrix_ = describe(a_.rows, b_.cols, 0, rowptr_.data(), nullptr, nullptr); }
  [[nodiscard]] std::int64_t nnz_of_c() const {
    std::int64_t rows = 0, cols = 0, nnz = 0;
    cusparse().sp_mat_get_size(c(), &rows, &cols, &nnz);
    if (nnz > std::numeric_limits<std::int32_t>::max()) {
      throw error(status::unsupported, "cuSPARSE: C has 2^31 entries or more, offsets are 32-bit");
    }
    return nnz;
  }
  void set_values(const spgemm_values& v) {
    set_pointers(a(), a_.rowptr, a_.colind, static_cast<const T*>(v.a) + a_begin_);
    set_pointers(b(), b_.rowptr, b_.colind, static_cast<const T*>(v.b));
  }
  void set_c(const csr_sink& sink) {
    set_pointers(c(), rowptr_.data(), sink.colind + sink.first, static_cast<T*>(sink.values) + sink.first);
  }
  void write_offsets(const csr_sink& sink) {
    cuda::write_offsets(ctx_, a_.rows, std::as_const(rowptr_).data(), sink);
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

 private:
  static unique_matrix describe(index_t rows, index_t cols, std::int64_t nnz, const std::int32_t* rowptr,
                                const index_t* colind, const T* values) {
    cusparseSpMatDescr_t m = nullptr;
    cusparse().create_csr(&m, rows, cols, nnz, const_cast<std::int32_t*>(rowptr), const_cast<index_t*>(colind),
                          const_cast<T*>(values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          value_type<T>);
    return unique_matrix(m);
  }
  static void set_pointers(cusparseSpMatDescr_t m, const std::int32_t* rowptr, const index_t* colind, const T* values) {
    cusparse().csr_set_pointers(m, const_cast<std::int32_t*>(rowptr), const_cast<index_t*>(colind),
                                const_cast<T*>(values));
  }
  void begin_at_zero() {
    a_begin_ = read_back(ctx_, a_.rowptr);
    a_.nnz = read_back(ctx_, a_.rowptr + a_.rows) - a_begin_;
    a_.colind += a_begin_;
    a_.values += a_begin_;
    if (a_begin_ == 0) return;
    a_rowptr_ = buffer<std::int32_t>(ctx_, static_cast<std::size_t>(a_.rows) + 1);
    cuda::write_offsets(ctx_, a_.rows, a_.rowptr, {offset_type::i32, -std::int64_t{a_begin_}, a_rowptr_.data()});
    a_.rowptr = a_rowptr_.data();
  }

  context ctx_;
  spgemm_work work_;
  csr_view<T, std::int32_t> a_, b_;
  std::int32_t a_begin_ = 0;
  buffer<std::int32_t> a_rowptr_, rowptr_;
  unique_handle handle_;
  unique_matrix a_matrix_, b_matrix_, c_matrix_;
};

/// Operator<T>(ctx, problem, arguments...) for the problem's value type.
template <template <class> class Operator, class... Args>
std::unique_ptr<spgemm_operator> make_cusparse_product(const context& ctx, const spgemm_problem& p,
                                                       const Args&... args) {
  if (p.a.types.value == scalar_type::f64) return std::make_unique<Operator<double>>(ctx, p, args...);
  return std::make_unique<Operator<float>>(ctx, p, args...);
}

}  // namespace tulle::cuda
