#include "workload.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <span>
#include <tulle/ops/vector.hpp>
#include <type_traits>

namespace tulle::cli {
namespace {

/// NaN counts as the largest.
template <scalar T>
double worst_ratio(const std::vector<spmv_reference>& expected, const workload& work, const std::vector<T>& y) {
  double worst = 0;
  for (index_t j = 0; j < work.rhs; ++j) {
    const std::vector<T> one = work.vector_of(y, j);
    const double ratio = error_ratio(expected[static_cast<std::size_t>(j)], host_span<const T>(one));
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

template <class T>
buffer<std::byte> bytes_on(const context& ctx, const std::vector<T>& from) {
  return to_buffer(ctx, std::as_bytes(std::span(from)));
}

/// x and the initial y, and the check of the answer. `a` is what multiplies, on the host.
template <scalar T>
void add_vectors(const context& ctx, const spmv_request& request, const run_options& o, const matrix_ref& a,
                 spmv_problem& p) {
  const auto vectors = static_cast<std::size_t>(p.work.rhs), rows = static_cast<std::size_t>(a.rows);
  const std::vector<T> x = request.x.empty() ? random_vector<T>(static_cast<std::size_t>(a.cols) * vectors, 1)
                                             : load_vector<T>(request.x, a.cols, "--x", o);
  std::vector<T> y0 = random_vector<T>(rows * vectors, 2);
  if (p.beta == 0 && !std::is_integral_v<T>) std::ranges::fill(y0, std::numeric_limits<T>::quiet_NaN());
  p.x = bytes_on(ctx, x);
  p.y = bytes_on(ctx, y0);
  p.y0.resize(p.y.size());
  std::ranges::copy(std::as_bytes(std::span(y0)), p.y0.begin());
  if (!request.verify) return;
  std::vector<spmv_reference> expected;
  for (index_t j = 0; j < p.work.rhs; ++j) {
    const std::vector<T> one_x = p.work.vector_of(x, j), one_y0 = p.work.vector_of(y0, j);
    expected.push_back(reference_spmv(context::cpu(o.threads), static_cast<T>(p.alpha), a.as<T, std::int64_t>(),
                                      host_span<const T>(one_x), static_cast<T>(p.beta), host_span<const T>(one_y0)));
  }
  p.error_ratio = [ctx, expected = std::move(expected), work = p.work](const buffer<std::byte>& y) {
    return worst_ratio(expected, work, elements<T>(ctx, y));
  };
}

/// Refuses before anything is allocated what cannot fit: x and y, which are twice in memory.
void check_vectors(const named_matrix& a, const workload& work, const run_options& o) {
  const double size = with_precision(o, []<class T>() { return static_cast<double>(sizeof(T)); });
  const double bytes = 2 * size * work.rhs * (static_cast<double>(a.matrix.rows) + a.matrix.cols);
  const auto available = static_cast<double>(context::cpu(1).info().memory_bytes);
  if (available <= 0 || bytes <= available) return;
  throw error(status::out_of_memory, fmt::format("{}: x and y would take {}; this machine has {} of memory", a.name,
                                                 human_bytes(bytes), human_bytes(available)));
}

}  // namespace

void add_workload_options(CLI::App& app, workload& w) {
  app.add_flag("--transpose", w.transpose, "Multiply by the transpose of A");
  add_count(app, "--rhs", w.rhs, 1, 4096, "Right-hand sides, multiplied at once");
  add_choice(app, "--order", w.order, {"row", "column"},
             "Storage of several vectors: row by row, or one vector after the other (column)");
}

spmv_options plan_options(const run_options& o, const workload& work, std::string kernel) {
  spmv_options options;
  options.kernel = std::move(kernel);
  options.transpose = work.transpose;
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::max}) {
    if (o.effort == name(effort)) options.effort = effort;
  }
  take_reorder_option(o, options);
  if (o.policy == name(spmv_policy::simple)) options.policy = spmv_policy::simple;
  return options;
}

void spmv_problem::apply(const any_spmv_plan& plan) {
  const scalar_type type = a.types.value;
  const auto [rows, cols] = plan.dimensions();
  if (work.rhs == 1) {
    return plan.apply(alpha, const_vector_ref(type, x.data(), cols, x.space()), beta,
                      vector_ref(type, y.data(), rows, y.space()));
  }
  const bool by_row = work.order == "row";
  const auto vectors = [&](buffer<std::byte>& all, index_t size) {
    return multivector_ref(type, size, work.rhs, by_row ? work.rhs : size,
                           by_row ? vector_order::row_major : vector_order::column_major, all.data(), all.space());
  };
  plan.apply_many(alpha, vectors(x, cols), beta, vectors(y, rows));
}

void spmv_problem::reset(const context& ctx) {
  copy_bytes(ctx, y.data(), y.space(), y0.data(), memory_space::host, y0.size());
}

spmv_problem make_problem(const context& ctx, const spmv_request& request, const run_options& o) {
  const workload& work = request.work;
  const double alpha = scalar_option("--alpha", request.alpha, o), beta = scalar_option("--beta", request.beta, o);
  const named_matrix loaded = load(request.matrix, o);
  check_vectors(loaded, work, o);
  return in_memory_for(loaded.name, [&] {
    const matrix_ref a = work.transpose ? transposed(loaded.matrix, o) : loaded.matrix;
    spmv_problem p{loaded.facts(), matrix_hash(loaded.matrix), work, alpha, beta};
    p.stats = statistics(a, o);
    with_precision(o, [&]<class T>() { add_vectors<T>(ctx, request, o, a, p); });
    p.a = place(ctx, loaded.matrix, offsets_for(loaded.matrix.nnz));
    if (ctx.space() == memory_space::host) p.storage = loaded.matrix.owner;
    return p;
  });
}

template <scalar T>
std::vector<T> random_vector(std::size_t n, std::uint64_t seed) {
  std::vector<T> x(n);
  if constexpr (std::is_same_v<T, std::int32_t>) {
    std::ranges::transform(random_vector<float>(n, seed), x.begin(), [](float v) { return static_cast<T>(9 * v); });
  } else {
    vector_ops(context::cpu()).random(seed, x);
  }
  return x;
}

template std::vector<float> random_vector<float>(std::size_t, std::uint64_t);
template std::vector<double> random_vector<double>(std::size_t, std::uint64_t);
template std::vector<std::int32_t> random_vector<std::int32_t>(std::size_t, std::uint64_t);

}  // namespace tulle::cli
