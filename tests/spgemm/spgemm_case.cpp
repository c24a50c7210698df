#include "spgemm/spgemm_case.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "conformance/typed_matrix.hpp"
#include "core/backends.hpp"
#include "core/memory_status.hpp"
#include "spgemm/counting_memory.hpp"
#include "spgemm/reference.hpp"
#include "spgemm/sink_memory.hpp"

namespace tulle::test {
namespace {

/// TULLE_SPGEMM_BRIEF=1 leaves all but the product and the numeric phase to the small matrices: for tools that take a
/// thousand times as long.
bool brief_where_large() { return std::getenv("TULLE_SPGEMM_BRIEF") != nullptr; }

/// Columns in order within each row, with their values; true when they were so already.
template <scalar T>
bool sort_rows(host_product<T>& c) {
  bool sorted = true;
  for (std::size_t row = 0; row + 1 < c.rowptr.size(); ++row) {
    const auto begin = static_cast<std::size_t>(c.rowptr[row]), end = static_cast<std::size_t>(c.rowptr[row + 1]);
    if (std::is_sorted(c.colind.data() + begin, c.colind.data() + end)) continue;
    sorted = false;
    std::vector<std::pair<index_t, T>> entries;
    for (auto k = begin; k < end; ++k) entries.emplace_back(c.colind[k], c.values[k]);
    std::sort(entries.begin(), entries.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (auto k = begin; k < end; ++k) std::tie(c.colind[k], c.values[k]) = entries[k - begin];
  }
  return sorted;
}

/// Half of the pattern of C, and as many places beside it.
battery_matrix mask_beside(const product_reference& c, index_t rows, index_t cols) {
  std::mt19937_64 random(31);
  return matrix_of(rows, cols, [&](index_t row) {
    columns mask;
    for (auto k = c.rowptr[row]; k < c.rowptr[row + 1]; ++k) {
      if (random() % 2 == 0) mask.push_back(c.colind[static_cast<std::size_t>(k)]);
    }
    const auto count = static_cast<index_t>(std::min<std::size_t>(mask.size() + 1, 50));
    const columns beside = random_columns(random, count, 0, std::min<index_t>(cols, 4000));
    mask.insert(mask.end(), beside.begin(), beside.end());
    std::sort(mask.begin(), mask.end());
    mask.erase(std::unique(mask.begin(), mask.end()), mask.end());
    return mask;
  });
}

template <scalar T, offset O>
class checked_product {
 public:
  checked_product(const context& ctx, const spgemm_case& c)
      : ctx_(ctx),
        case_(c),
        kernel_(*c.kernel),
        pair_(c.recipe.make()),
        a_(ctx, pair_.a),
        b_(ctx, pair_.b),
        expected_(reference_product(a_.host(), b_.host())) {}

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
      if (ours() || e.code() != status::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }

 private:
  [[nodiscard]] spgemm_problem problem() const {
    return {csr_ref::of(a_.device()), csr_ref::of(b_.device()), {}, case_.tile_size};
  }
  [[nodiscard]] index_t rows() const { return pair_.a.rows; }
  [[nodiscard]] bool brief() const { return case_.brief || (brief_where_large() && expected_.nnz() > 10'000); }
  /// The vendor's routines do not promise sorted rows or the same bits: only their numbers are held.
  [[nodiscard]] bool ours() const { return kernel_.role != kernel_role::vendor; }

  void check(host_product<T> c, const product_reference& expected, double alpha) const {
    const bool sorted = sort_rows(c);
    EXPECT_TRUE(sorted || !ours()) << "rows are not sorted";
    if (!sorted) testing::Test::RecordProperty("unsorted", 1);
    ASSERT_EQ(c.rowptr, expected.rowptr);
    ASSERT_EQ(c.colind, expected.colind);
    EXPECT_LE(error_ratio(expected.scaled<T>(alpha), host_span<const T>(c.values)), 1) << "alpha " << alpha;
  }
  void expect_same(const host_product<T>& c, const host_product<T>& first, std::string_view what) const {
    EXPECT_TRUE(!ours() || c == first) << what << ": other bits";
  }

  /// The product by an operator of its own, into `room`.
  host_product<T> product_of(const context& ctx, const spgemm_problem& p, double alpha, offset_type offset,
                             std::int64_t first) const {
    const auto op = kernel_.make(ctx, p);
    const std::int64_t nnz = op->symbolic();
    sink_memory<T> room(ctx, p.a.rows, nnz, offset, first);
    op->fill(alpha, room.sink());
    EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
    return room.read();
  }
  host_product<T> product_of(const spgemm_problem& p) const { return product_of(ctx_, p, 1, offset_type_of<O>, 0); }

  /// By the origin: one row after the other, products in the order of A's entries.
  host_product<T> by_kernel0() const {
    const context cpu = context::cpu(2);
    const auto& kernels = spgemm_kernels(backend_kind::cpu);
    const auto kernel0 = std::ranges::find(kernels, "kernel0", &spgemm_kernel::name);
    const auto op = kernel0->make(cpu, {csr_ref::of(a_.host()), csr_ref::of(b_.host())});
    sink_memory<T> room(cpu, rows(), op->symbolic(), offset_type_of<O>);
    op->fill(1, room.sink());
    return room.read();
  }

  /// Processors differ in the bits of the NaN that they make.
  static host_product<T> with_one_nan(host_product<T> c) {
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
      ASSERT_EQ(nnz, expected_.nnz());
      sink_memory<T> room(ctx_, rows(), nnz, offset_type_of<O>);
      op->fill(1, room.sink());
      EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
      first_ = room.read();
      check(first_, expected_, 1);
      if (testing::Test::HasFatalFailure()) return;
      if (kernel_.role == kernel_role::production && !brief()) {
        expect_same(with_one_nan(by_kernel0()), with_one_nan(first_), "kernel0 on the CPU");
      }
      EXPECT_GE(op->workspace_bytes(), memory->now());
      numeric(*op, room, *memory);
    }
    EXPECT_EQ(memory->now(), 0u) << "bytes leaked";
    if (kernel_.begins_early) begun_before_the_check();
    for (int repeat = 1; repeat < repeats(); ++repeat) {
      expect_same(product_of(problem()), first_, "a repeat");
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
      sink_memory<T> room(ctx_, rows(), op->symbolic(), offset_type_of<O>);
      op->fill(1, room.sink());
      expect_same(room.read(), first_, "begun before the check");
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
      op.numeric(alpha, a_.device().values, b_.device().values, room.sink());
      check(room.read(), expected_, alpha);
    }
    if (!brief()) other_values(op, room);
    EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
    EXPECT_TRUE(!ours() || memory.allocations() == allocations) << "the numeric phase allocated";
  }
  void other_values(spgemm_operator& op, sink_memory<T>& room) const {
    typed_matrix<T, O> a(ctx_, pair_.a), b(ctx_, pair_.b);
    a.replace_values(random_numbers(pair_.a.values.size(), 1234));
    b.replace_values(random_numbers(pair_.b.values.size(), 4321));
    const product_reference other = reference_product(a.host(), b.host());
    op.numeric(2.5, a.device().values, b.device().values, room.sink());
    const host_product<T> once = room.read();
    check(once, other, 2.5);
    op.numeric(2.5, a.device().values, b.device().values, room.sink());
    expect_same(room.read(), once, "a repeated numeric phase");
  }

  /// Wide offsets, and a C that begins in the middle of a larger one.
  void shifted() const {
    check(product_of(ctx_, problem(), 2.5, offset_type::i64, 0), expected_, 2.5);
    expect_same(product_of(ctx_, problem(), 1, offset_type::i64, 1001), first_, "wide offsets from 1001");
    expect_same(product_of(ctx_, problem(), 1, offset_type_of<O>, 3), first_, "offsets from 3");
  }

  static csr_ref panel_of(const typed_matrix<T, O>& m, index_t begin, index_t end) {
    csr_view<T, O> v = m.device();
    v.rows = end - begin;
    v.nnz = m.host().rowptr[end] - m.host().rowptr[begin];
    v.rowptr += begin;
    return csr_ref::of(v);
  }
  /// C by three panels of rows, one of them of one row.
  void panels() const { expect_same(panelled(nullptr, expected_), first_, "panels"); }

  host_product<T> panelled(const typed_matrix<T, O>* mask, const product_reference& expected) const {
    sink_memory<T> room(ctx_, rows(), expected.nnz(), offset_type_of<O>);
    std::int64_t first = 0;
    const index_t cuts[] = {0, rows() / 3, std::min(rows(), rows() / 3 + 1), rows()};
    for (int i = 0; i < 3; ++i) {
      spgemm_problem p = problem();
      p.a = panel_of(a_, cuts[i], cuts[i + 1]);
      if (mask != nullptr) p.mask = panel_of(*mask, cuts[i], cuts[i + 1]);
      if (!kernel_.supports(p, ctx_.info()).ok) return panel_skipped(room, expected);
      const auto op = kernel_.make(ctx_, p);
      const std::int64_t nnz = op->symbolic();
      EXPECT_EQ(nnz, expected.rowptr[static_cast<std::size_t>(cuts[i + 1])] - first);
      if (nnz != expected.rowptr[static_cast<std::size_t>(cuts[i + 1])] - first) return {};
      op->fill(1, room.sink(cuts[i], first));
      op->numeric(1, a_.device().values, b_.device().values, room.sink(cuts[i], first));
      first += nnz;
    }
    EXPECT_TRUE(room.guards_intact()) << "wrote outside C";
    const host_product<T> c = room.read();
    check(c, expected, 1);
    return c;
  }
  /// The vendor's routines refuse panels without rows or entries.
  host_product<T> panel_skipped(const sink_memory<T>& room, const product_reference&) const {
    EXPECT_FALSE(ours());
    return room.read();
  }

  void threads() const {
    if (ctx_.backend() != backend_kind::cpu) return;
    for (const int count : {1, 2, 16}) {
      expect_same(product_of(context::cpu(count), problem(), 1, offset_type_of<O>, 0), first_,
                  fmt::format("{} threads", count));
    }
  }

  void masks() const {
    if (!kernel_.takes_mask) return;
    SCOPED_TRACE("masked");
    const battery_matrix empty = matrix_of(rows(), pair_.b.cols, [](index_t) { return columns{}; });
    for (const battery_matrix& m : {mask_beside(expected_, rows(), pair_.b.cols), empty}) {
      const typed_matrix<T, O> mask(ctx_, m);
      const product_reference expected = expected_.masked(m.rowptr, m.colind);
      spgemm_problem p = problem();
      p.mask = csr_ref::of(mask.device());
      if (!kernel_.supports(p, ctx_.info()).ok) continue;
      const host_product<T> c = product_of(p);
      check(c, expected, 1);
      if (testing::Test::HasFatalFailure()) return;
      expect_same(product_of(p), c, "a repeat");
      expect_same(panelled(&mask, expected), c, "panels");
    }
  }
  static bool increasing(const battery_matrix& m) {
    for (std::size_t row = 0; row + 1 < m.rowptr.size(); ++row) {
      const auto begin = m.colind.begin() + m.rowptr[row], end = m.colind.begin() + m.rowptr[row + 1];
      if (std::adjacent_find(begin, end, std::greater_equal<>()) != end) return false;
    }
    return true;
  }

  context ctx_;
  spgemm_case case_;
  const spgemm_kernel& kernel_;
  operands pair_;
  typed_matrix<T, O> a_, b_;
  product_reference expected_;
  host_product<T> first_;
};

}  // namespace

void run_allocation_faults(const context& ctx, const spgemm_case& c, bool masked) {
  const operands pair = c.recipe.make();
  const typed_matrix<double, std::int32_t> a(ctx, pair.a), b(ctx, pair.b);
  spgemm_problem problem{csr_ref::of(a.device()), csr_ref::of(b.device()), {}, c.tile_size};
  std::mt19937_64 random(37);
  const typed_matrix<double, std::int32_t> mask(
      ctx, matrix_of(pair.a.rows, pair.b.cols, [&](index_t) { return random_columns(random, 5, 0, pair.b.cols); }));
  if (masked) problem.mask = csr_ref::of(mask.device());
  bool done = false;
  for (std::size_t failing = 0; !done; ++failing) {
    ASSERT_LT(failing, 1000u) << "the kernel never came to its end";
    const auto memory = std::make_shared<counting_memory>(ctx, failing);
    try {
      const auto op = c.kernel->make(ctx.with_memory(memory), problem);
      sink_memory<double> room(ctx, pair.a.rows, op->symbolic(), offset_type::i32);
      op->fill(1, room.sink());
      done = true;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), out_of(ctx.space()));
    }
    EXPECT_EQ(memory->now(), 0u) << "bytes leaked when allocation " << failing << " failed";
  }
}

bool quick() {
  const char* text = std::getenv("TULLE_CONFORMANCE");
  return text != nullptr && std::string_view(text) == "quick";
}

int repeats() {
  const char* text = std::getenv("TULLE_SPGEMM_REPEATS");
  return text != nullptr ? std::max(1, std::atoi(text)) : 3;
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
