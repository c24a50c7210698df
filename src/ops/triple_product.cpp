// R A P by panels of rows of R: T = R_panel A, then C_panel = T P.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tulle/ops/spgemm.hpp>
#include <utility>
#include <vector>

#include "core/limited_memory.hpp"
#include "kernels/backends.hpp"
#include "ops/halving.hpp"
#include "ops/owned_csr.hpp"
#include "ops/spgemm_factors.hpp"
#include "ops/spgemm_panels.hpp"
#include "plan/choose_spgemm.hpp"

namespace tulle {
namespace {

/// Bytes that a panel's T may take where no limit asks for less.
constexpr std::size_t most_t_bytes = std::size_t{64} << 20;

void check_arguments(const matrix_ref& r, const matrix_ref& a, const matrix_ref& p, const spgemm_options& options) {
  if (options.transpose_a || options.transpose_b) {
    throw error(status::invalid_argument, "triple_product takes R, A and P as they are: transpose_a, transpose_b");
  }
  if (r.cols == a.rows && a.cols == p.rows) return;
  throw error(status::invalid_dimensions,
              fmt::format("R is {} x {}, A is {} x {} and P is {} x {}: inner dimensions differ", r.rows, r.cols,
                          a.rows, a.cols, p.rows, p.cols));
}

class triple {
 public:
  triple(const context& ctx, const matrix_ref& r, const matrix_ref& a, const matrix_ref& p,
         const spgemm_options& options)
      : ctx_(ctx),
        limit_(options.memory_limit),
        ra_(ctx, {.a = r, .b = a, .name_a = "R", .name_b = "A"}, options),
        ap_(ctx, {.a = ra_.b().source(), .b = p, .name_a = "A", .name_b = "P"}, options) {
    ra_.settle();
    ap_.settle();
    first_ = ra_.problem();
    p_ = ap_.b().ref();
    kernel_ = choose_spgemm(ctx, first_, options.kernel).kernel;
    cut({0, first_.a.rows});
  }

  matrix_ref multiply() const { return limit_ > 0 || panels_.size() == 1 ? counted() : grown(); }

 private:
  /// Whether T is neither too large nor has too many entries for the operands' offsets.
  [[nodiscard]] bool fits(detail::row_panel p) const {
    const std::int64_t nnz = count_products(ctx_, detail::panel_of(ctx_, first_, p)).nnz_bound;
    return detail::csr_bytes(p.rows(), nnz, p_.types) <= most_t_bytes && offsets_for(nnz) <= p_.types.offset;
  }

  void cut(detail::row_panel p) {
    if (p.rows() <= 1 || fits(p)) return panels_.push_back(p);
    const index_t middle = p.begin + p.rows() / 2;
    cut({p.begin, middle});
    cut({middle, p.end});
  }

  /// Rows of T.
  [[nodiscard]] matrix_ref times_a(const context& ctx, detail::row_panel panel) const {
    const spgemm_problem problem = detail::panel_of(ctx_, first_, panel);
    const auto rows = kernel_->make(ctx, problem);
    matrix_ref t = detail::new_csr(ctx, {panel.rows(), p_.rows}, rows->symbolic(), p_.types);
    rows->fill(problem.values(), detail::sink_of(t));
    return t;
  }

  /// Calls f(rows, product T P, its values) for the panels, in halves where T, or T P beside it, passes the limit: f
  /// throws then, and begins anew with fewer rows. Returns the panels that kept it.
  template <class F>
  std::vector<detail::row_panel> for_each_panel(const std::vector<detail::row_panel>& panels, const F& f) const {
    return detail::halving(ctx_, first_, limit_).run(panels, [&](detail::row_panel panel, std::size_t& held) {
      const auto memory = std::make_shared<limited_memory>(ctx_, limit_);
      const matrix_ref t = times_a(limit_ == 0 ? ctx_ : ctx_.with_memory(memory), panel);
      held = detail::csr_bytes(panel.rows(), t.nnz, p_.types);
      const std::size_t left = limit_ == 0 ? 0 : std::max<std::size_t>(limit_ - held, 1);
      spgemm_problem problem = first_;
      problem.a = t;
      problem.b = p_;
      detail::panelled_product product(ctx_, *kernel_, problem, left);
      f(panel, product, problem.values());
    });
  }

  [[nodiscard]] bool is_whole(detail::row_panel panel) const { return panel.rows() == first_.a.rows; }
  [[nodiscard]] shape dimensions() const { return {first_.a.rows, p_.cols}; }

  [[nodiscard]] matrix_ref new_c(std::int64_t nnz) const {
    return detail::new_csr(ctx_, dimensions(), nnz, {p_.types.value, offsets_for(nnz)});
  }

  /// Every panel twice, the first time for its count, unless there is one: nothing but C and one panel is held.
  [[nodiscard]] matrix_ref counted() const {
    matrix_ref c;
    std::int64_t nnz = 0;
    const auto kept = for_each_panel(panels_, [&](detail::row_panel panel, auto& product, const spgemm_values& v) {
      const std::int64_t mine = product.symbolic();
      if (is_whole(panel)) {
        c = new_c(mine);
        product.fill(v, detail::sink_of(c));
      }
      nnz += mine;
    });
    if (is_whole(kept.front())) return c;
    c = new_c(nnz);
    std::int64_t first = 0;
    for_each_panel(kept, [&](detail::row_panel panel, auto& product, const spgemm_values& v) {
      product.fill(v, detail::part_of(detail::sink_of(c), panel.begin, first));
      first += product.symbolic();
    });
    return c;
  }

  /// Every panel once, into a C that grows: up to twice C is held when it does, and at the end.
  [[nodiscard]] matrix_ref grown() const {
    const type_key wide{p_.types.value, offset_type::i64};
    const matrix_ref offsets = detail::new_csr(ctx_, dimensions(), 0, wide);
    matrix_ref c = offsets;
    std::int64_t first = 0;
    for_each_panel(panels_, [&](detail::row_panel panel, auto& product, const spgemm_values& v) {
      const std::int64_t last = first + product.symbolic();
      if (last > c.nnz) {
        const double likely = 1.1 * static_cast<double>(last) / panel.end * first_.a.rows;
        c = resized(c, first, std::max(last, static_cast<std::int64_t>(likely)));
      }
      csr_sink sink = detail::sink_of(c);
      sink.offset = offset_type::i64;
      sink.rowptr = detail::sink_of(offsets).rowptr;
      product.fill(v, detail::part_of(sink, panel.begin, first));
      first = last;
    });
    c = resized(c, first, first);
    detail::copy_offsets(ctx_, offsets, c.types.offset, detail::sink_of(c).rowptr);
    return c;
  }

  /// A copy of the first `kept` entries, with room for `size`, and its offsets still to be written.
  [[nodiscard]] matrix_ref resized(const matrix_ref& c, std::int64_t kept, std::int64_t size) const {
    matrix_ref to = new_c(size);
    const csr_sink sink = detail::sink_of(to);
    const auto entries = static_cast<std::size_t>(kept);
    copy_bytes(ctx_, sink.colind, ctx_.space(), c.colind, ctx_.space(), entries * sizeof(index_t));
    copy_bytes(ctx_, sink.values, ctx_.space(), c.values, ctx_.space(), entries * size_of(c.types.value));
    return to;
  }

  context ctx_;
  std::size_t limit_;
  detail::spgemm_factors ra_;
  detail::spgemm_factors ap_;
  spgemm_problem first_;
  matrix_ref p_;
  const spgemm_kernel* kernel_ = nullptr;
  std::vector<detail::row_panel> panels_;
};

}  // namespace

matrix_ref triple_product(const context& ctx, const matrix_ref& r, const matrix_ref& a, const matrix_ref& p,
                          const spgemm_options& options) {
  check_arguments(r, a, p, options);
  matrix_ref c = triple(ctx, r, a, p, options).multiply();
  ctx.synchronize();  // R, A and P may go after this
  return c;
}

}  // namespace tulle
