#include "subject.hpp"

#include <algorithm>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/validate.hpp>

#include "common/matrix.hpp"
#include "kernels/backends.hpp"

namespace tulle::cli::bench {
namespace {

constexpr std::uint64_t x_seed = 42;

/// Times validation, transposition and statistics, the better of two passes.
template <scalar T, offset O>
void analyse(const context& ctx, csr_view<T, O> a, const harness& clock, subject& s) {
  const auto transposed = std::make_shared<csc<T, O>>();
  const auto pass = [&] {
    static_cast<void>(validate(ctx, a));
    if (s.work.transpose) *transposed = to_csc(ctx, a);
    s.stats = statistics(ctx, s.work.transpose ? transpose(transposed->view()) : a);
  };
  s.analysis_us = clock.once(pass);
  s.analysis_us = std::min(s.analysis_us, clock.once(pass));
  s.a = s.source = matrix_ref(a);
  if (!s.work.transpose) return;
  s.a = matrix_ref(transpose(transposed->view()));
  s.storage.push_back(transposed);
}

/// What a plan makes of the matrix by itself.
template <scalar T, offset O>
void choose(const context& ctx, csr_view<T, O> a, const run_options& o, subject& s) try {
  spmv_options options = plan_options(o);
  options.transpose = s.work.transpose;
  const double first = spmv_plan<T>(ctx, a, options).plan_microseconds();  // it also makes the memory pool grow
  const spmv_plan<T> plan(ctx, a, options);
  s.chosen = plan.kernel();
  s.reason = plan.explain();
  s.effort = plan.effort();
  s.chosen_plan_us = std::min(first, plan.plan_microseconds());
} catch (const error& e) {
  s.reason = e.what();
}

template <class T>
buffer<std::byte> bytes_on(const context& ctx, const std::vector<T>& from) {
  buffer<std::byte> to(ctx, from.size() * sizeof(T));
  copy_bytes(ctx, to.data(), ctx.space(), from.data(), memory_space::host, to.bytes());
  return to;
}

}  // namespace

void apply(const context& ctx, subject& s, spmv_operator& op) {
  if (s.work.rhs == 1) return op.apply(1, s.x.data(), 0, s.y.data(), ctx.stream());
  const auto ref = [&](buffer<std::byte>& data, index_t rows) {
    return strided_vectors{data.data(), s.work.rhs, s.work.by_row() ? s.work.rhs : 1, s.work.by_row() ? 1 : rows};
  };
  op.apply_many(1, ref(s.x, s.a.cols), 0, ref(s.y, s.a.rows), ctx.stream());
}

bool reads_untransposed(const spmv_kernel& kernel) {
  const auto table = spmv_transposed_kernels(kernel.backend);
  return std::ranges::find(table, kernel.name, &spmv_kernel::name) != table.end();
}

template <scalar T>
subject make_subject(const context& ctx, const case_name& which, const run_options& options, const workload& work,
                     const harness& clock) {
  auto [matrix, name, info] = load<T>(which.spec, options);
  const csr<T> at = work.transpose ? transposed(matrix, options) : csr<T>{};
  const auto a = work.transpose ? at.view() : matrix.view();
  const auto vectors = static_cast<std::size_t>(work.rhs);
  const std::vector<T> x = random_vector<T>(static_cast<std::size_t>(a.cols) * vectors, x_seed);

  subject s;
  s.name = which.label.empty() ? name : which.label;
  s.hash = matrix_hash(matrix.view());
  s.work = work;
  s.x = bytes_on(ctx, x);
  s.y = buffer<std::byte>(ctx, static_cast<std::size_t>(a.rows) * vectors * sizeof(T));
  const auto expected = references(context::cpu(options.threads), work, T{1}, a, x, T{0}, {});
  s.error_ratio = [ctx, expected, work](const buffer<std::byte>& y) {
    std::vector<T> result(y.size() / sizeof(T));
    copy_bytes(ctx, result.data(), memory_space::host, y.data(), y.space(), y.bytes());
    return worst_ratio(expected, work, result);
  };
  const matrix_ref placed = place<T>(ctx, matrix.view(), offsets_for(matrix.nnz()));
  s.storage.push_back(placed.owner);
  dispatch<type_set::floating>(placed.types, [&]<class V, class O>() {
    if constexpr (std::is_same_v<V, T>) {
      analyse(ctx, placed.as<T, O>(), clock, s);
      choose(ctx, placed.as<T, O>(), options, s);
    }
  });
  if (ctx.space() == memory_space::host) s.storage.push_back(std::make_shared<csr<T>>(std::move(matrix)));
  return s;
}

template subject make_subject<float>(const context&, const case_name&, const run_options&, const workload&,
                                     const harness&);
template subject make_subject<double>(const context&, const case_name&, const run_options&, const workload&,
                                      const harness&);

}  // namespace tulle::cli::bench
