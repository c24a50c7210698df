// R A P by panels of rows of R: T = R_panel A, then C_panel = T P.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tulle/ops/spgemm.hpp>
#include <utility>
#include <vector>

#include "core/backends.hpp"
#include "core/instantiate.hpp"
#include "core/limited_memory.hpp"
#include "ops/halving.hpp"
#include "ops/spgemm_factors.hpp"
#include "ops/spgemm_join.hpp"
#include "ops/spgemm_panels.hpp"
#include "ops/spgemm_sink.hpp"
#include "plan/choose_spgemm.hpp"

namespace tulle {
namespace {

/// Bytes that a panel's T may take where no limit asks for less.
constexpr std::size_t most_t_bytes = std::size_t{64} << 20;

struct rows_of_r {
  index_t begin;
  index_t end;
};

/// Rows of T, owned.
struct panel_matrix {
  buffer<std::byte> rowptr;
  buffer<index_t> colind;
  buffer<std::byte> values;
  csr_ref ref;
  [[nodiscard]] std::size_t bytes() const noexcept { return rowptr.bytes() + colind.bytes() + values.bytes(); }
};

const spgemm_options& checked(const spgemm_options& options) {
  if (options.transpose_a || options.transpose_b) {
    throw error(status::invalid_argument, "triple_product takes R, A and P as they are: transpose_a, transpose_b");
  }
  return options;
}

void check_shapes(const csr_ref& r, const csr_ref& a, const csr_ref& p) {
  if (r.cols == a.rows && a.cols == p.rows) return;
  throw error(status::invalid_dimensions,
              fmt::format("R is {} x {}, A is {} x {} and P is {} x {}: inner dimensions differ", r.rows, r.cols,
                          a.rows, a.cols, p.rows, p.cols));
}

class triple {
 public:
  triple(const context& ctx, const csr_ref& r, const csr_ref& a, const csr_ref& p, const spgemm_options& options)
      : ctx_(ctx),
        limit_(options.memory_limit),
        ra_(ctx, {.a = r, .b = a, .name_a = "R", .name_b = "A"}, checked(options)),
        ap_(ctx, {.a = ra_.b().source(), .b = p, .name_a = "A", .name_b = "P"}, options),
        first_(ra_.problem()),
        p_(ap_.b().ref()) {
    ra_.refresh();
    ap_.refresh();
    kernel_ = choose_spgemm(spgemm_kernels(ctx.backend()), first_, ctx.info(),
                            requested_spgemm_kernel(ctx.backend(), options.kernel))
                  .kernel;
    cut(0, first_.a.rows);
  }

  template <scalar T>
  any_csr<T> multiply() {
    return limit_ > 0 || panels_.size() == 1 ? counted<T>() : grown<T>();
  }

 private:
  /// Bytes of T with `rows` rows and `nnz` entries.
  [[nodiscard]] std::size_t t_bytes(std::int64_t rows, std::int64_t nnz) const {
    return static_cast<std::size_t>(rows + 1) * size_of(p_.types.offset) +
           static_cast<std::size_t>(nnz) * (sizeof(index_t) + size_of(p_.types.value));
  }

  [[nodiscard]] spgemm_problem second(const csr_ref& t) const {
    spgemm_problem problem = first_;
    problem.a = t;
    problem.b = p_;
    return problem;
  }

  /// Whether T is neither too large nor has too many entries for the operands' offsets.
  [[nodiscard]] bool fits(index_t begin, index_t end) const {
    const std::int64_t nnz = count_products(ctx_, detail::panel_of(ctx_, first_, begin, end)).nnz_bound;
    return t_bytes(end - begin, nnz) <= most_t_bytes && detail::fitting_offsets(nnz) <= p_.types.offset;
  }

  void cut(index_t begin, index_t end) {
    if (end - begin <= 1 || fits(begin, end)) {
      panels_.push_back({begin, end});
      return;
    }
    const index_t middle = begin + (end - begin) / 2;
    cut(begin, middle);
    cut(middle, end);
  }

  [[nodiscard]] panel_matrix times_a(const context& ctx, rows_of_r panel) const {
    const auto rows = kernel_->make(ctx, detail::panel_of(ctx_, first_, panel.begin, panel.end));
    const auto nnz = static_cast<std::size_t>(rows->symbolic());
    const auto offsets = static_cast<std::size_t>(panel.end - panel.begin) + 1;
    panel_matrix t{buffer<std::byte>(ctx, offsets * size_of(p_.types.offset)), buffer<index_t>(ctx, nnz),
                   buffer<std::byte>(ctx, nnz * size_of(p_.types.value)), p_};
    rows->fill(1, {p_.types.offset, 0, t.rowptr.data(), t.colind.data(), t.values.data()});
    t.ref.rows = panel.end - panel.begin;
    t.ref.cols = p_.rows;
    t.ref.nnz = static_cast<std::int64_t>(nnz);
    t.ref.rowptr = t.rowptr.data();
    t.ref.colind = t.colind.data();
    t.ref.values = t.values.data();
    return t;
  }

  /// Calls f(rows, product T P) for the panels, in halves where T, or T P beside it, passes the limit: f throws then,
  /// and begins anew with fewer rows.
  template <class F>
  void for_each_panel(const std::vector<rows_of_r>& panels, const F& f) const {
    detail::halving halves(ctx_, first_);
    const auto attempt = [&](index_t begin, index_t end) {
      std::size_t held = 0;
      try {
        const auto memory = std::make_shared<limited_memory>(ctx_, limit_);
        const panel_matrix t = times_a(limit_ == 0 ? ctx_ : ctx_.with_memory(memory), {begin, end});
        held = t.bytes();
        const std::size_t left = limit_ == 0 ? 0 : std::max<std::size_t>(limit_ - held, 1);
        detail::panelled_product product(ctx_, *kernel_, second(t.ref), left);
        f(rows_of_r{begin, end}, product);
        return true;
      } catch (const limit_exceeded& e) {
        if (end - begin <= 1) detail::refuse_limit(ctx_.space(), limit_, begin, end, held + e.needed());
        return false;
      }
    };
    for (const rows_of_r panel : panels) halves.run(panel.begin, panel.end, attempt);
  }

  [[nodiscard]] bool is_whole(rows_of_r panel) const { return panel.end - panel.begin == first_.a.rows; }
  [[nodiscard]] shape dimensions() const { return {first_.a.rows, p_.cols}; }

  /// Every panel twice, the first time for its count, unless there is one: nothing but C and one panel is held.
  template <scalar T>
  any_csr<T> counted() const {
    any_csr<T> c;
    std::int64_t nnz = 0;
    std::vector<rows_of_r> kept;
    for_each_panel(panels_, [&](rows_of_r panel, detail::panelled_product& product) {
      const std::int64_t mine = product.symbolic();
      if (is_whole(panel)) {
        c = detail::new_c<T>(ctx_, dimensions(), mine);
        product.fill(1, detail::sink_of(c));
      }
      kept.push_back(panel);
      nnz += mine;
    });
    if (is_whole(kept.front())) return c;
    c = detail::new_c<T>(ctx_, dimensions(), nnz);
    std::int64_t first = 0;
    for_each_panel(kept, [&](rows_of_r panel, detail::panelled_product& product) {
      product.fill(1, detail::part_of(detail::sink_of(c), panel.begin, first));
      first += product.symbolic();
    });
    return c;
  }

  /// Every panel once, into a C that grows: up to twice C is held when it does, and at the end.
  template <scalar T>
  any_csr<T> grown() const {
    csr<T, std::int64_t> c = detail::new_csr<T, std::int64_t>(ctx_, dimensions(), 0);
    std::int64_t first = 0;
    for_each_panel(panels_, [&](rows_of_r panel, detail::panelled_product& product) {
      const std::int64_t last = first + product.symbolic();
      if (last > c.nnz()) {
        const double likely = 1.1 * static_cast<double>(last) / panel.end * first_.a.rows;
        resize(c, first, std::max(last, static_cast<std::int64_t>(likely)));
      }
      product.fill(1, {offset_type::i64, first, c.rowptr.data() + panel.begin, c.colind.data(), c.values.data()});
      first = last;
    });
    if (first != c.nnz()) resize(c, first, first);
    if (!detail::fits_narrow(first)) return c;
    auto rowptr = formats_of<T, std::int64_t>(ctx_.backend()).narrow_offsets(ctx_, c.rowptr.data(), c.rowptr.size());
    return csr<T, std::int32_t>{c.rows, c.cols, std::move(rowptr), std::move(c.colind), std::move(c.values)};
  }

  /// Room for `size` entries, of which the first `kept` are kept.
  template <scalar T>
  void resize(csr<T, std::int64_t>& c, std::int64_t kept, std::int64_t size) const {
    const auto moved = [&]<class E>(const buffer<E>& from) {
      buffer<E> to(ctx_, static_cast<std::size_t>(size));
      copy_bytes(ctx_, to.data(), ctx_.space(), from.data(), ctx_.space(), static_cast<std::size_t>(kept) * sizeof(E));
      return to;
    };
    c.colind = moved(c.colind);
    c.values = moved(c.values);
  }

  context ctx_;
  std::size_t limit_;
  detail::spgemm_factors ra_;
  detail::spgemm_factors ap_;
  spgemm_problem first_;
  csr_ref p_;
  const spgemm_kernel* kernel_ = nullptr;
  std::vector<rows_of_r> panels_;
};

}  // namespace

template <scalar T, offset O>
any_csr<T> triple_product(const context& ctx, csr_view<T, O> r, csr_view<T, O> a, csr_view<T, O> p,
                          const spgemm_options& options) {
  check_shapes(csr_ref::of(r), csr_ref::of(a), csr_ref::of(p));
  any_csr<T> c = triple(ctx, csr_ref::of(r), csr_ref::of(a), csr_ref::of(p), options).multiply<T>();
  ctx.synchronize();  // R, A and P may go after this
  return c;
}

#define TULLE_INSTANTIATE(T, O)                                                                      \
  template any_csr<T> triple_product(const context&, csr_view<T, O>, csr_view<T, O>, csr_view<T, O>, \
                                     const spgemm_options&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
