#include <fmt/format.h>

#include <tulle/ops/spgemm.hpp>
#include <utility>

#include "core/backends.hpp"
#include "core/instantiate.hpp"
#include "ops/spgemm_plan_impl.hpp"
#include "ops/spgemm_sink.hpp"

namespace tulle {
namespace {

template <scalar T, offset O>
detail::spgemm_inputs inputs(csr_view<T, O> a, csr_view<T, O> b, const spgemm_terms<T, O>& terms) {
  detail::spgemm_inputs in{csr_ref::of(a), csr_ref::of(b)};
  if (terms.mask) in.mask = csr_ref::of(*terms.mask);
  if (terms.d) in.d = csr_ref::of(*terms.d);
  return in;
}

/// Whether a C that is handed in can be one that the plan made.
template <scalar T>
void check_c(const detail::spgemm_plan_impl& plan, const any_csr<T>& c) {
  if (!plan.filled()) throw error(status::invalid_argument, "numeric writes into a C of multiply: none was made yet");
  std::visit(
      [&]<offset O>(const csr<T, O>& m) {
        const shape s = plan.dimensions();
        const auto rows = static_cast<std::size_t>(s.rows);
        if (m.rows != s.rows || m.cols != s.cols || m.rowptr.size() != rows + 1 ||
            static_cast<std::int64_t>(m.nnz()) != plan.nnz() || m.colind.size() != m.values.size()) {
          throw error(status::invalid_dimensions,
                      fmt::format("C is {} x {} with {} entries, the plan's is {} x {} with {}", m.rows, m.cols,
                                  m.nnz(), s.rows, s.cols, plan.nnz()));
        }
        const auto made = detail::fits_narrow(plan.nnz()) ? offset_type::i32 : offset_type::i64;
        if (offset_type_of<O> != made) {
          throw error(status::invalid_argument,
                      fmt::format("C has {} offsets, that of multiply has {}", name(offset_type_of<O>), name(made)));
        }
        if (m.rowptr.space() != plan.ctx().space()) {
          throw error(status::invalid_argument, fmt::format("C is in {} memory, the plan runs on {}",
                                                            name(m.rowptr.space()), name(plan.ctx().backend())));
        }
      },
      c);
}

}  // namespace

template <scalar T>
template <offset O>
spgemm_plan<T>::spgemm_plan(const context& ctx, csr_view<T, O> a, csr_view<T, O> b, const spgemm_options& options,
                            const spgemm_terms<T, O>& terms)
    : impl_(std::make_unique<detail::spgemm_plan_impl>(ctx, inputs(a, b, terms), options)) {}

template <scalar T>
spgemm_plan<T>::spgemm_plan(spgemm_plan&&) noexcept = default;
template <scalar T>
spgemm_plan<T>& spgemm_plan<T>::operator=(spgemm_plan&&) noexcept = default;
template <scalar T>
spgemm_plan<T>::~spgemm_plan() = default;

template <scalar T>
void spgemm_plan<T>::symbolic() {
  impl_->symbolic();
}
template <scalar T>
std::int64_t spgemm_plan<T>::nnz() const noexcept {
  return impl_->nnz();
}

template <scalar T>
any_csr<T> spgemm_plan<T>::multiply(T alpha, T beta) {
  impl_->set_values(static_cast<double>(alpha), static_cast<double>(beta));
  any_csr<T> c = detail::new_c<T>(impl_->ctx(), impl_->dimensions(), impl_->symbolic());
  impl_->fill(detail::sink_of(c));
  return c;
}

template <scalar T>
void spgemm_plan<T>::numeric(any_csr<T>& c, T alpha, T beta) {
  check_c(*impl_, c);
  impl_->numeric(static_cast<double>(alpha), static_cast<double>(beta), detail::sink_of(c));
}

template <scalar T>
void spgemm_plan<T>::update_values(const T* a, const T* b, const T* d) {
  impl_->update_values(a, b, d);
}

template <scalar T>
std::string_view spgemm_plan<T>::kernel() const noexcept {
  return impl_->kernel();
}
template <scalar T>
std::string spgemm_plan<T>::explain() const {
  return impl_->explain();
}
template <scalar T>
std::int64_t spgemm_plan<T>::products() {
  return impl_->products();
}
template <scalar T>
std::size_t spgemm_plan<T>::workspace_bytes() const noexcept {
  return impl_->workspace_bytes();
}
template <scalar T>
shape spgemm_plan<T>::dimensions() const noexcept {
  return impl_->dimensions();
}

template <scalar T, offset O>
any_csr<T> spgemm(const context& ctx, const csr<T, O>& a, const csr<T, O>& b, const spgemm_options& options) {
  any_csr<T> c = spgemm_plan<T>(ctx, a.view(), b.view(), options).multiply();
  ctx.synchronize();  // A and B may go after this
  return c;
}

template <scalar T, offset O>
any_csr<T> spgemm_masked(const context& ctx, const csr<T, O>& a, const csr<T, O>& b, const csr<T, O>& mask,
                         const spgemm_options& options) {
  any_csr<T> c = spgemm_plan<T>(ctx, a.view(), b.view(), options, {.mask = mask.view()}).multiply();
  ctx.synchronize();
  return c;
}

template <scalar T, offset O>
coo<T> spgemm_coo(const context& ctx, const csr<T, O>& a, const csr<T, O>& b, const spgemm_options& options) {
  any_csr<T> c = spgemm(ctx, a, b, options);
  coo<T> out = std::visit(
      [&]<offset P>(const csr<T, P>& m) { return formats_of<T, P>(ctx.backend()).csr_to_coo(ctx, m.view()); }, c);
  ctx.synchronize();
  return out;
}

template <scalar T>
csr<T, std::int64_t> widen(const context& ctx, any_csr<T>&& a) {
  if (auto* wide = std::get_if<csr<T, std::int64_t>>(&a)) return std::move(*wide);
  auto& narrow = std::get<csr<T, std::int32_t>>(a);
  auto rowptr =
      formats_of<T, std::int32_t>(ctx.backend()).widen_offsets(ctx, narrow.rowptr.data(), narrow.rowptr.size());
  return {narrow.rows, narrow.cols, std::move(rowptr), std::move(narrow.colind), std::move(narrow.values)};
}

#define TULLE_INSTANTIATE_VALUE(T) \
  template class spgemm_plan<T>;   \
  template csr<T, std::int64_t> widen(const context&, any_csr<T>&&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_VALUE)

#define TULLE_INSTANTIATE(T, O)                                                                               \
  template spgemm_plan<T>::spgemm_plan(const context&, csr_view<T, O>, csr_view<T, O>, const spgemm_options&, \
                                       const spgemm_terms<T, O>&);                                            \
  template any_csr<T> spgemm(const context&, const csr<T, O>&, const csr<T, O>&, const spgemm_options&);      \
  template any_csr<T> spgemm_masked(const context&, const csr<T, O>&, const csr<T, O>&, const csr<T, O>&,     \
                                    const spgemm_options&);                                                   \
  template coo<T> spgemm_coo(const context&, const csr<T, O>&, const csr<T, O>&, const spgemm_options&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
