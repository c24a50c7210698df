#include <tulle/ops/spmv.hpp>

#include "core/instantiate.hpp"
#include "ops/spmv_arguments.hpp"
#include "ops/spmv_operand.hpp"
#include "ops/spmv_plan_impl.hpp"
#include "plan/find_kernel.hpp"

namespace tulle {
namespace {

template <scalar T, memory_space Space>
detail::vector_argument argument(std::string_view name, basic_span<T, Space> v) {
  return {name, v.data(), v.size(), Space};
}
template <scalar T, memory_space Space>
detail::vector_argument argument(std::string_view name, basic_span<const T, Space> v) {
  return {name, const_cast<T*>(v.data()), v.size(), Space};
}

}  // namespace

template <scalar T>
template <offset O>
spmv_plan<T>::spmv_plan(const context& ctx, csr_view<T, O> a, const spmv_options& options)
    : impl_(std::make_unique<detail::spmv_plan_impl>(ctx, csr_ref::of(a), options)) {}

template <scalar T>
spmv_plan<T>::spmv_plan(spmv_plan&&) noexcept = default;
template <scalar T>
spmv_plan<T>& spmv_plan<T>::operator=(spmv_plan&&) noexcept = default;
template <scalar T>
spmv_plan<T>::~spmv_plan() = default;

template <scalar T>
void spmv_plan<T>::apply(T alpha, host_span<const T> x, T beta, host_span<T> y) {
  impl_->apply(alpha, argument("x", x), beta, argument("y", y), impl_->ctx().stream());
}
template <scalar T>
void spmv_plan<T>::apply(T alpha, device_span<const T> x, T beta, device_span<T> y) {
  apply(alpha, x, beta, y, impl_->ctx().stream());
}
template <scalar T>
void spmv_plan<T>::apply(T alpha, device_span<const T> x, T beta, device_span<T> y, stream_view stream) {
  impl_->apply(alpha, argument("x", x), beta, argument("y", y), stream);
}
template <scalar T>
void spmv_plan<T>::apply(T alpha, const buffer<T>& x, T beta, buffer<T>& y) {
  const memory_space otherwise = impl_->ctx().space();  // of an empty buffer, which may have no memory
  const auto space = [&](const buffer<T>& v) { return v.empty() ? otherwise : v.space(); };
  if (x.space() != y.space() && !x.empty() && !y.empty()) {
    throw error(status::invalid_argument, "x and y are in different memory spaces");
  }
  impl_->apply(alpha, {"x", const_cast<T*>(x.data()), x.size(), space(x)}, beta, {"y", y.data(), y.size(), space(y)},
               impl_->ctx().stream());
}
template <scalar T>
void spmv_plan<T>::apply(T alpha, multivector_view<const T> x, T beta, multivector_view<T> y) {
  apply(alpha, x, beta, y, impl_->ctx().stream());
}
template <scalar T>
void spmv_plan<T>::apply(T alpha, multivector_view<const T> x, T beta, multivector_view<T> y, stream_view stream) {
  impl_->apply_many(alpha, detail::multivector_argument::of("X", x), beta, detail::multivector_argument::of("Y", y),
                    stream);
}

template <scalar T>
void spmv_plan<T>::apply_dots(T alpha, host_span<const T> x, T beta, host_span<T> y, host_span<const T> w,
                              host_span<T> dots) {
  impl_->apply_dots(alpha, argument("x", x), beta, argument("y", y), argument("w", w), argument("dots", dots));
}
template <scalar T>
void spmv_plan<T>::apply_dots(T alpha, device_span<const T> x, T beta, device_span<T> y, device_span<const T> w,
                              device_span<T> dots) {
  impl_->apply_dots(alpha, argument("x", x), beta, argument("y", y), argument("w", w), argument("dots", dots));
}
template <scalar T>
void spmv_plan<T>::jacobi(T omega, host_span<const T> x, host_span<const T> b, host_span<const T> inverse_diagonal,
                          host_span<T> y) {
  impl_->jacobi(omega, argument("x", x), argument("b", b), argument("inverse_diagonal", inverse_diagonal),
                argument("y", y));
}
template <scalar T>
void spmv_plan<T>::jacobi(T omega, device_span<const T> x, device_span<const T> b,
                          device_span<const T> inverse_diagonal, device_span<T> y) {
  impl_->jacobi(omega, argument("x", x), argument("b", b), argument("inverse_diagonal", inverse_diagonal),
                argument("y", y));
}

template <scalar T>
void spmv_plan<T>::update_values(host_span<const T> values) {
  impl_->update_values(values.data(), values.size(), memory_space::host);
}
template <scalar T>
void spmv_plan<T>::update_values(device_span<const T> values) {
  impl_->update_values(values.data(), values.size(), memory_space::device);
}
template <scalar T>
void spmv_plan<T>::autotune() {
  impl_->autotune();
}

template <scalar T>
std::string_view spmv_plan<T>::kernel() const noexcept {
  return impl_->kernel();
}
template <scalar T>
std::string spmv_plan<T>::explain() const {
  return impl_->explain();
}
template <scalar T>
spmv_effort spmv_plan<T>::effort() const noexcept {
  return impl_->effort();
}
template <scalar T>
double spmv_plan<T>::plan_microseconds() const noexcept {
  return impl_->plan_microseconds();
}
template <scalar T>
std::size_t spmv_plan<T>::workspace_bytes() const noexcept {
  return impl_->workspace_bytes();
}
template <scalar T>
const csr_stats& spmv_plan<T>::stats() const noexcept {
  return impl_->stats();
}
template <scalar T>
shape spmv_plan<T>::dimensions() const noexcept {
  return impl_->dimensions();
}

template <scalar T, offset O>
void multiply(const context& ctx, const csr<T, O>& a, const buffer<T>& x, buffer<T>& y, T alpha, T beta) {
  const bool on_host = a.view().space == memory_space::host;
  detail::spmv_operand(on_host ? context::cpu(ctx.threads()) : ctx, csr_ref::of(a.view())).validate();
  spmv_options options;
  options.kernel = kernel_without_set_up(ctx.backend()).name;
  options.effort = spmv_effort::none;
  spmv_plan<T>(ctx, a, options).apply(alpha, x, beta, y);
  ctx.synchronize();  // the plan's workspace must outlive the kernel
}

#define TULLE_INSTANTIATE_PLAN(T) template class spmv_plan<T>;
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_PLAN)

#define TULLE_INSTANTIATE(T, O)                                                                    \
  template spmv_plan<T>::spmv_plan(const context&, csr_view<T, O>, const spmv_options&);           \
  template void multiply<T, O>(const context&, const csr<T, O>&, const buffer<T>&, buffer<T>&, T, T);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
