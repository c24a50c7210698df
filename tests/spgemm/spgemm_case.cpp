#include "spgemm/spgemm_case.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <tulle/ops/matrix.hpp>

#include "core/memory_status.hpp"
#include "kernels/backends.hpp"
#include "ops/spgemm_panels.hpp"
#include "support/counting_memory.hpp"
#include "support/sink_memory.hpp"
#include "support/spgemm.hpp"
#include "support/typed_matrix.hpp"

namespace tulle::test {
namespace {

template <class M>
bool increasing(const M& m) {
  for (std::size_t row = 0; row + 1 < m.rowptr.size(); ++row) {
    const auto begin = m.colind.begin() + m.rowptr[row], end = m.colind.begin() + m.rowptr[row + 1];
    if (std::adjacent_find(begin, end, std::greater_equal<>()) != end) return false;
  }
  return true;
}

/// Half of the pattern of C, and as many places beside it.
template <scalar T>
battery_matrix mask_beside(const plain_csr<T>& c) {
  std::mt19937_64 random(31);
  return matrix_of(c.rows, c.cols, [&](index_t row) {
    columns mask;
    for (auto k = c.rowptr[row]; k < c.rowptr[row + 1]; ++k) {
      if (random() % 2 == 0) mask.push_back(c.colind[static_cast<std::size_t>(k)]);
    }
    const auto count = static_cast<index_t>(std::min<std::size_t>(mask.size() + 1, 50));
    const columns beside = random_columns(random, count, 0, std::min<index_t>(c.cols, 4000));
    mask.insert(mask.end(), beside.begin(), beside.end());
    std::sort(mask.begin(), mask.end());
    mask.erase(std::unique(mask.begin(), mask.end()), mask.end());
    return mask;
  });
}

/// Some 200 000 entries, evenly spread: more than C has in most products of few rows.
battery_matrix wide_mask(index_t rows, index_t cols) {
  const index_t stride = 1 + static_cast<index_t>(std::int64_t{rows} * cols / 200'000);
  return matrix_of(rows, cols, [=](index_t row) {
    columns mask;
    for (std::int64_t c = row % stride; c < cols; c += stride) mask.push_back(static_cast<index_t>(c));
    return mask;
  });
}

/// What an operator makes of a problem.
template <scalar T>
plain_csr<T> filled(const context& ctx, spgemm_operator& op, const spgemm_problem& p, double alpha = 1,
                    std::optional<offset_type> offset = {}, std::int64_t first = 0) {
  sink_memory<T> room(ctx, p.a.rows, p.b.cols, op.symbolic(), offset.value_or(p.a.types.offset), first);
  op.fill(p.values(alpha), room.sink());
  EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
  return room.read();
}

/// TULLE_SPGEMM_REPEATS, or 3: how often the same product must give the same bits.
int repeats() {
  const char* text = std::getenv("TULLE_SPGEMM_REPEATS");
  return text != nullptr ? std::max(1, std::atoi(text)) : 3;
}

template <scalar T, offset O>
class checked_product {
 public:
  checked_product(const context& ctx, const spgemm_case& c)
      : ctx_(ctx), case_(c), kernel_(*c.kernel), pair_(c.recipe.make()), a_(ctx, pair_.a), b_(ctx, pair_.b) {}

  void run() {
    const support supported = kernel_.supports(problem(), ctx_.info());
    if (!supported.ok) GTEST_SKIP() << supported.reason;
    if (!ours() && !increasing(pair_.a)) GTEST_SKIP() << "cuSPARSE is not held to unsorted rows of A and duplicates";
    try {
      whole();
      if (!brief()) {
        shifted();
        panels();
        threads();
        masks();
      }
    } catch (const error& e) {
      const bool refusal = e.code() == status::unsupported || e.code() == status::device_out_of_memory;
      if (ours() || !refusal) throw;
      GTEST_SKIP() << e.what();
    }
  }

 private:
  [[nodiscard]] spgemm_problem problem() const {
    return {matrix_ref(a_.device()), matrix_ref(b_.device()), {}, case_.tile_size};
  }
  [[nodiscard]] index_t rows() const { return pair_.a.rows; }
  /// TULLE_SPGEMM_BRIEF=1 leaves all but the product and the numeric phase to the small matrices: for tools that take a
  /// thousand times as long.
  [[nodiscard]] bool brief() const {
    return case_.brief || (std::getenv("TULLE_SPGEMM_BRIEF") != nullptr && first_.nnz() > 10'000);
  }
  /// The vendor's routines do not promise sorted rows or the same bits: only their numbers are held.
  [[nodiscard]] bool ours() const { return kernel_.role != kernel_role::vendor; }

  [[nodiscard]] spgemm_expectation<T, O> expected(double alpha) const {
    return {.a = a_.host(), .b = b_.host(), .alpha = static_cast<T>(alpha)};
  }
  void check(plain_csr<T> c, const spgemm_expectation<T, O>& expected) const {
    if (!increasing(c)) {
      EXPECT_FALSE(ours()) << "rows are not sorted";
      testing::Test::RecordProperty("unsorted", 1);
      c = plain<T>(context::cpu(1), tulle::sort(context::cpu(1), matrix_ref(c.view())));
    }
    expect_product(expected, c);
  }
  void expect_same(const plain_csr<T>& c, const plain_csr<T>& first, std::string_view what) const {
    EXPECT_TRUE(!ours() || same_bits(c, first)) << what << ": other bits";
  }

  /// The product by an operator of its own.
  plain_csr<T> product_of(const context& ctx, const spgemm_problem& p, double alpha = 1,
                          offset_type offset = offset_type_of<O>, std::int64_t first = 0) const {
    return filled<T>(ctx, *kernel_.make(ctx, p), p, alpha, offset, first);
  }

  /// By the origin: one row after the other, products in the order of A's entries.
  plain_csr<T> by_kernel0() const {
    const context cpu = context::cpu(2);
    const auto& kernels = spgemm_kernels(backend_kind::cpu);
    const auto kernel0 = std::ranges::find(kernels, "kernel0", &spgemm_kernel::name);
    const spgemm_problem p{matrix_ref(a_.host()), matrix_ref(b_.host())};
    return filled<T>(cpu, *kernel0->make(cpu, p), p);
  }

  /// Processors differ in the bits of the NaN that they make.
  static plain_csr<T> with_one_nan(plain_csr<T> c) {
    for (T& value : c.values) {
      if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
    }
    return c;
  }

  void whole() {
    const auto memory = std::make_shared<counting_memory>(ctx_);
    {
      const auto op = kernel_.make(ctx_.with_memory(memory), problem());
      const std::int64_t nnz = op->symbolic();
      ASSERT_LE(nnz, count_products(ctx_, problem()).nnz_bound);
      sink_memory<T> room(ctx_, rows(), pair_.b.cols, nnz, offset_type_of<O>);
      op->fill(problem().values(), room.sink());
      EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
      first_ = room.read();
      check(first_, expected(1));
      if (testing::Test::HasFailure()) return;
      if (kernel_.role == kernel_role::production && !brief()) {
        expect_same(with_one_nan(by_kernel0()), with_one_nan(first_), "kernel0 on the CPU");
      }
      EXPECT_GE(op->workspace_bytes(), memory->now());
      EXPECT_TRUE(ctx_.backend() == backend_kind::cuda || op->workspace_bytes() == memory->now());
      numeric(*op, room, *memory);
    }
    EXPECT_EQ(memory->now(), 0u) << "bytes leaked";
    if (kernel_.begins_early) begun_before_the_check();
    for (int repeat = 1; repeat < repeats(); ++repeat) {
      expect_same(product_of(ctx_, problem()), first_, "a repeat");
    }
  }

  /// Begun while the patterns are being looked at: the same C where they turn out good, in whatever order A's rows are,
  /// and where they turn out bad nothing is read out of bounds.
  void begun_before_the_check() const {
    const std::vector<pattern_counts> good(2), descent_of_a{{.descents = 1}, {}};
    for (const auto& found : {good, descent_of_a}) {
      const auto counts = to_buffer(ctx_, found);
      const auto op = kernel_.make(ctx_, problem());
      op->begin({counts.data(), 2, 1});
      expect_same(filled<T>(ctx_, *op, problem()), first_, "begun before the check");
    }

    const std::vector<pattern_counts> defect{{.defects = 1}, {}}, descent{{}, {.descents = 1}};
    buffer<index_t> nowhere(ctx_, pair_.a.colind.size());
    fill_bytes(ctx_, nowhere.data(), nowhere.space(), 0x7f, nowhere.bytes());
    spgemm_problem broken = problem();
    broken.a.colind = nowhere.data();
    for (const auto& found : {defect, descent}) {
      const auto bad = to_buffer(ctx_, found);
      kernel_.make(ctx_, broken)->begin({bad.data(), 2, 1});
      ctx_.synchronize();
    }
  }

  /// Other factors, then other values, in the C that fill has written.
  void numeric(spgemm_operator& op, sink_memory<T>& room, const counting_memory& memory) {
    const std::size_t allocations = memory.allocations();
    for (const double alpha : {-1.0, 2.5, 1.0}) {
      op.numeric(problem().values(alpha), room.sink());
      if (ours() && alpha == 1) {
        expect_same(room.read(), first_, "the numeric phase");
      } else {
        check(room.read(), expected(alpha));
      }
    }
    if (!brief()) other_values(op, room);
    EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
    EXPECT_TRUE(!ours() || memory.allocations() == allocations) << "the numeric phase allocated";
  }
  void other_values(spgemm_operator& op, sink_memory<T>& room) const {
    typed_matrix<T, O> a(ctx_, pair_.a), b(ctx_, pair_.b);
    a.replace_values(random_numbers(pair_.a.values.size(), 1234));
    b.replace_values(random_numbers(pair_.b.values.size(), 4321));
    const spgemm_problem p{matrix_ref(a.device()), matrix_ref(b.device()), {}, case_.tile_size};
    op.numeric(p.values(2.5), room.sink());
    const plain_csr<T> once = room.read();
    check(once, {.a = a.host(), .b = b.host(), .alpha = T(2.5)});
    expect_same(product_of(ctx_, p, 2.5), once, "the same values from the beginning");
    op.numeric(p.values(2.5), room.sink());
    expect_same(room.read(), once, "a repeated numeric phase");
    if (!ours()) return;
    op.fill(p.values(2.5), room.sink());
    expect_same(room.read(), once, "a fill with other values than those of the count");
  }

  /// Wide offsets, and a C that begins in the middle of a larger one.
  void shifted() const {
    check(product_of(ctx_, problem(), 2.5, offset_type::i64), expected(2.5));
    expect_same(product_of(ctx_, problem(), 1, offset_type::i64, 1001), first_, "wide offsets from 1001");
    expect_same(product_of(ctx_, problem(), 1, offset_type_of<O>, 3), first_, "offsets from 3");
  }

  /// C by three panels of rows, one of them of one row.
  void panels() const {
    if (const auto c = panelled(problem(), first_)) {
      ours() ? expect_same(*c, first_, "panels") : check(*c, expected(1));
    }
  }

  /// Nothing where a vendor's routine refuses a panel without rows or entries.
  std::optional<plain_csr<T>> panelled(const spgemm_problem& all, const plain_csr<T>& whole) const {
    sink_memory<T> room(ctx_, rows(), pair_.b.cols, whole.nnz(), offset_type_of<O>);
    std::int64_t first = 0;
    const index_t cuts[] = {0, rows() / 3, std::min(rows(), rows() / 3 + 1), rows()};
    for (int i = 0; i < 3; ++i) {
      const spgemm_problem p = detail::panel_of(ctx_, all, {cuts[i], cuts[i + 1]});
      if (!kernel_.supports(p, ctx_.info()).ok) {
        EXPECT_FALSE(ours());
        return std::nullopt;
      }
      const auto op = kernel_.make(ctx_, p);
      const std::int64_t nnz = op->symbolic(), expected = whole.rowptr[cuts[i + 1]] - first;
      EXPECT_EQ(nnz, expected);
      if (nnz != expected) return std::nullopt;
      op->fill(p.values(), room.sink(cuts[i], first));
      op->numeric(p.values(), room.sink(cuts[i], first));
      first += nnz;
    }
    EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
    return room.read();
  }

  void threads() const {
    if (ctx_.backend() != backend_kind::cpu) return;
    for (const int count : {1, 2, 16}) {
      expect_same(product_of(context::cpu(count), problem()), first_, fmt::format("{} threads", count));
    }
  }

  void masks() const {
    if (!kernel_.takes_mask) return;
    SCOPED_TRACE("masked");
    const battery_matrix empty = matrix_of(rows(), pair_.b.cols, [](index_t) { return columns{}; });
    for (const battery_matrix& m : {mask_beside(first_), wide_mask(rows(), pair_.b.cols), empty}) {
      const typed_matrix<T, O> mask(ctx_, m);
      spgemm_problem p = problem();
      p.mask = matrix_ref(mask.device());
      if (!kernel_.supports(p, ctx_.info()).ok) continue;
      const plain_csr<T> c = product_of(ctx_, p);
      check(c, {.a = a_.host(), .b = b_.host(), .mask = mask.host()});
      if (testing::Test::HasFailure()) return;
      expect_same(product_of(ctx_, p), c, "a repeat");
      if (const auto by_panels = panelled(p, c)) expect_same(*by_panels, c, "panels");
      if (ctx_.backend() == backend_kind::cpu) {
        expect_same(product_of(context::cpu(16), p), c, "16 threads");
      }
    }
  }

  context ctx_;
  spgemm_case case_;
  const spgemm_kernel& kernel_;
  operands pair_;
  typed_matrix<T, O> a_, b_;
  plain_csr<T> first_;
};

}  // namespace

void run_allocation_faults(const context& ctx, const spgemm_case& c, bool masked) {
  const operands pair = c.recipe.make();
  const typed_matrix<double, std::int32_t> a(ctx, pair.a), b(ctx, pair.b);
  spgemm_problem problem{matrix_ref(a.device()), matrix_ref(b.device()), {}, c.tile_size};
  std::mt19937_64 random(37);
  const typed_matrix<double, std::int32_t> mask(
      ctx, matrix_of(pair.a.rows, pair.b.cols, [&](index_t) { return random_columns(random, 5, 0, pair.b.cols); }));
  if (masked) problem.mask = matrix_ref(mask.device());
  bool done = false;
  for (std::size_t failing = 0; !done; ++failing) {
    ASSERT_LT(failing, 1000u) << "the kernel never came to its end";
    const auto memory = std::make_shared<counting_memory>(ctx, failing);
    try {
      const auto op = c.kernel->make(ctx.with_memory(memory), problem);
      filled<double>(ctx, *op, problem);
      done = true;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), out_of(ctx.space()));
    }
    EXPECT_EQ(memory->now(), 0u) << "bytes leaked when allocation " << failing << " failed";
  }
}

namespace {

plain_csr<double> multiply(const context& ctx, const spgemm_kernel& kernel, const operands& pair) {
  const typed_matrix<double, std::int32_t> a(ctx, pair.a), b(ctx, pair.b);
  const spgemm_problem p{matrix_ref(a.device()), matrix_ref(b.device())};
  return filled<double>(ctx, *kernel.make(ctx, p), p);
}

plain_csr<double> moved_to(index_t cols, plain_csr<double> m) {
  for (index_t& column : m.colind) column += cols - m.cols;
  m.cols = cols;
  return m;
}

}  // namespace

void run_far_columns(const context& ctx, const spgemm_kernel& kernel, const operands& pair, index_t cols) {
  const operands far{pair.a, {moved_to(cols, pair.b)}};
  EXPECT_TRUE(same_bits(multiply(ctx, kernel, far), moved_to(cols, multiply(ctx, kernel, pair))));
}

std::string spgemm_case::name() const {
  const std::string out = fmt::format("{}.{}/{}/{}.{}", tulle::name(kernel->backend), kernel->name, recipe.name,
                                      tulle::name(types.value), tulle::name(types.offset));
  return tile_size > 0 ? fmt::format("{}/tile_size={}", out, tile_size) : out;
}

void run_spgemm_case(const context& ctx, const spgemm_case& c) {
  dispatch<type_set::floating>(c.types, [&]<class T, class O>() { checked_product<T, O>(ctx, c).run(); });
}

}  // namespace tulle::test
