#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tulle/solvers/cg_batch.hpp>

#include "formats/matrix_arrays.hpp"
#include "kernels/backends.hpp"
#include "ops/operand.hpp"
#include "ops/vector_checks.hpp"
#include "solvers/cg_options.hpp"

namespace tulle {
namespace {

index_t block_of(const matrix_ref& a) { return a.format == matrix_format::bsr ? a.block : 1; }
std::int64_t values_of(const matrix_ref& a) { return a.stored * block_of(a) * block_of(a); }

void refuse(const std::string& name, std::string_view what) {
  throw error(status::unsupported, fmt::format("{}: {}", name, what));
}

void check_options(const cg_options& o, scalar_type type) {
  const auto refuse_option = [](std::string_view option) {
    throw error(status::unsupported, fmt::format("a batch takes no {}", option));
  };
  if (o.preconditioner == preconditioner_kind::chebyshev) refuse_option("chebyshev preconditioner");
  if (o.keep_history) refuse_option("keep_history");
  if (!o.kernel.empty()) refuse_option("kernel");
  if (o.rhs != 1) refuse_option("rhs");
  if (o.precision != solver_precision::uniform) refuse_option("precision");
  if (o.spmv.values.tolerance > 0 || o.spmv.value_rule) refuse_option("spmv.values");
  if (o.spmv.transpose) refuse_option("spmv.transpose");
  if (o.spmv.reorder != spmv_reorder::never) refuse_option("spmv.reorder");
  if (o.spmv.vector_type.value_or(type) != type) refuse_option("spmv.vector_type");
}

/// The patterns of all systems, on the host.
class batch_patterns {
 public:
  void add(const context& ctx, const std::string& name, const matrix_ref& a, const matrix_ref& first) {
    check_matrix(ctx, name, a);
    if (a.format != matrix_format::csr && a.format != matrix_format::bsr)
      refuse(name, fmt::format("a batch takes CSR and BSR, not {}", tulle::name(a.format)));
    if (!is_floating(a.types.value))
      refuse(name, fmt::format("cg takes values of f32 and f64, not of {}", tulle::name(a.types.value)));
    if (a.rows != a.cols) {
      throw error(status::invalid_dimensions,
                  fmt::format("{} is {} x {}: a solver needs a square matrix", name, a.rows, a.cols));
    }
    const index_t block = block_of(a);
    if (a.rows % block != 0) refuse(name, fmt::format("{} rows are no whole blocks of {}", a.rows, block));
    if (block != block_of(first) || a.types.value != first.types.value) {
      throw error(status::invalid_argument,
                  fmt::format("{} has another block size or type of values than the first", name));
    }
    if (a.stored > std::numeric_limits<std::int32_t>::max() / 2) refuse(name, "too many entries for a small system");
    const batch_system at{static_cast<std::int64_t>(offsets.size()),
                          static_cast<std::int64_t>(columns.size()),
                          values,
                          unknowns,
                          a.rows / block,
                          static_cast<index_t>(a.stored),
                          static_cast<index_t>(systems.size())};
    take(ctx, name, a, at);
    systems.push_back(at);
    values += values_of(a);
    unknowns += a.rows;
  }
  /// Once more, with other values.
  void repeat(const matrix_ref& a) {
    batch_system next = systems.back();
    next.values += values_of(a);
    next.unknowns += a.rows;
    ++next.number;
    systems.push_back(next);
    values += values_of(a);
    unknowns += a.rows;
  }

  std::vector<batch_system> systems;
  std::vector<std::int32_t> offsets;
  std::vector<index_t> columns;
  std::int64_t values = 0, unknowns = 0;

 private:
  void take(const context& ctx, const std::string& name, const matrix_ref& a, const batch_system& at) {
    const std::size_t rows = static_cast<std::size_t>(at.rows) + 1, blocks = static_cast<std::size_t>(at.blocks);
    columns.resize(columns.size() + blocks);
    offsets.resize(offsets.size() + rows);
    index_t* const own = columns.data() + at.columns;
    copy_bytes(ctx, own, memory_space::host, a.colind, a.space, blocks * sizeof(index_t));
    dispatch<type_set::floating>(a.types, [&]<class, class O>() {
      std::vector<O> rowptr(rows);
      copy_bytes(ctx, rowptr.data(), memory_space::host, a.rowptr, a.space, rows * sizeof(O));
      // The values do not count.
      const csr_view<double, O> pattern{at.rows, at.rows, static_cast<O>(at.blocks), rowptr.data(),
                                        own,     nullptr, memory_space::host};
      const validation found = formats_of<double, O>(backend_kind::cpu).validate(context::cpu(1), pattern, {});
      if (!found.ok()) throw error(status::invalid_structure, name + ": " + found.message());
      std::transform(rowptr.begin(), rowptr.end(), offsets.begin() + at.offsets,
                     [](O k) { return static_cast<std::int32_t>(k); });
    });
  }
};

}  // namespace

struct cg_batch::impl {
  impl(const context& c, const matrix_ref& first, index_t count, const cg_options& o) : ctx(c), given(first) {
    if (count < 0) throw error(status::invalid_argument, fmt::format("count = {}: must be 0 or above", count));
    check_options(o, first.types.value);
    batch_patterns all;
    all.add(ctx, "A", first, first);
    for (index_t i = 1; i < count; ++i) all.repeat(first);
    if (count == 0) all = {};
    make(std::move(all), first, o);
    update(first.values, first.space);
  }
  impl(const context& c, std::span<const matrix_ref> matrices, const cg_options& o) : ctx(c), own_patterns(true) {
    check_options(o, matrices.empty() ? type : matrices.front().types.value);
    batch_patterns all;
    for (std::size_t i = 0; i < matrices.size(); ++i)
      all.add(ctx, fmt::format("system {}", i), matrices[i], matrices.front());
    make(std::move(all), matrices.empty() ? matrix_ref() : matrices.front(), o);
    take_room();
    std::size_t at = 0;
    for (const matrix_ref& a : matrices) {
      const std::size_t bytes = static_cast<std::size_t>(values_of(a)) * size_of(type);
      copy_bytes(ctx, copied.data() + at, ctx.space(), a.values, a.space, bytes);
      at += bytes;
    }
    ctx.synchronize();
  }

  void make(batch_patterns all, const matrix_ref& first, const cg_options& o) {
    type = first.types.value;
    value_count = all.values;
    unknowns = all.unknowns;
    systems = std::move(all.systems);
    std::ranges::stable_sort(systems, std::greater<>(), &batch_system::blocks);
    offsets = to_buffer(ctx, all.offsets);
    columns = to_buffer(ctx, all.columns);
    records = buffer<cg_record>(ctx, systems.size());
    batch_problem problem{systems, offsets.data(), columns.data(), block_of(first), type, {}};
    problem.options = options = detail::filled_in(o, ctx, first);
    op = make_cg_batch(ctx, problem);
    ctx.synchronize();  // solves may come on another stream
  }

  void take_room() {
    if (copied.empty()) copied = buffer<std::byte>(ctx, static_cast<std::size_t>(value_count) * size_of(type));
    values = copied.data();
  }
  void update(const void* from, memory_space space) {
    if (space == ctx.space() && !own_patterns) {
      values = from;
      return;
    }
    take_room();
    copy_bytes(ctx, copied.data(), ctx.space(), from, space, copied.bytes());
  }

  void check(const const_vector_ref& b, const vector_ref& x) const {
    const detail::vector_rules rules{ctx.space(), ctx.device(), type};
    rules.check_size("b", b, unknowns);
    rules.check_size("x", x, unknowns);
    detail::require_no_stride("cg_batch", {{"b", b}, {"x", x}});
    detail::check_apart("x", x, {{"b", b}});
  }

  context ctx;
  bool own_patterns = false;
  matrix_ref given;  // keeps alive what it owns
  cg_options options;
  scalar_type type = scalar_type::f64;
  std::int64_t value_count = 0, unknowns = 0;
  std::vector<batch_system> systems;
  buffer<std::int32_t> offsets;
  buffer<index_t> columns;
  buffer<std::byte> copied;
  buffer<cg_record> records;
  const void* values = nullptr;
  std::unique_ptr<batch_operator> op;
};

cg_batch::cg_batch(const context& ctx, const matrix_ref& first, index_t count, const cg_options& options)
    : impl_(std::make_unique<impl>(ctx, first, count, options)) {}
cg_batch::cg_batch(const context& ctx, std::span<const matrix_ref> matrices, const cg_options& options)
    : impl_(std::make_unique<impl>(ctx, matrices, options)) {}
cg_batch::cg_batch(cg_batch&&) noexcept = default;
cg_batch& cg_batch::operator=(cg_batch&&) noexcept = default;
cg_batch::~cg_batch() = default;

void cg_batch::enqueue(const const_vector_ref& b, const vector_ref& x, cg_record* records,
                       std::optional<stream_view> stream) const {
  impl& s = *impl_;
  s.check(b, x);
  if (s.systems.empty()) return;
  if (records == nullptr) throw error(status::null_pointer, "records is null");
  s.op->enqueue({s.values, b.data, x.data, records}, stream.value_or(s.ctx.stream()));
}

std::vector<cg_result> cg_batch::solve(const const_vector_ref& b, const vector_ref& x) const {
  impl& s = *impl_;
  enqueue(b, x, s.records.data());
  std::vector<cg_result> results;
  for (const cg_record& record : to_vector(s.ctx, s.records)) results.push_back({record, {}});
  return results;
}

void cg_batch::update_values(const const_vector_ref& values) {
  impl& s = *impl_;
  if (values.size > 0 && values.space == memory_space::device && s.ctx.space() == memory_space::host) {
    throw error(status::invalid_argument, "values is in device memory, the batch is solved on cpu");
  }
  const detail::vector_rules rules{values.space, s.ctx.device(), s.type};
  rules.check_size("values", values, s.value_count);
  detail::require_no_stride("update_values", {{"values", values}});
  s.update(values.data, values.space);
}

index_t cg_batch::count() const noexcept { return static_cast<index_t>(impl_->systems.size()); }
std::int64_t cg_batch::unknowns() const noexcept { return impl_->unknowns; }
std::int64_t cg_batch::value_count() const noexcept { return impl_->value_count; }

std::string cg_batch::explain() const {
  const cg_options& o = impl_->options;
  const bool blocks = o.preconditioner == preconditioner_kind::block_jacobi;
  return fmt::format("cg.batch: {} systems, {}; preconditioner {}{}", count(), impl_->op->parameters(),
                     name(o.preconditioner), blocks ? fmt::format("({})", o.block) : "");
}

std::size_t cg_batch::workspace_bytes() const noexcept {
  const impl& s = *impl_;
  return s.op->workspace_bytes() + s.offsets.bytes() + s.columns.bytes() + s.copied.bytes() + s.records.bytes();
}

}  // namespace tulle
