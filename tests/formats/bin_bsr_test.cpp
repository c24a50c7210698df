// Bin-blocked CSR against a plain formulation of its layout, and back; what is malformed is refused.
#include <algorithm>

#include "support/on_battery.hpp"
#include "support/random.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

class in_bins : public on_battery {};
TULLE_ON_BATTERY(in_bins, "cpu1", "cpu2", "cpu5", "cuda");

/// bin_bsr in plain vectors.
template <class T>
struct plain_bins {
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colptr;
  std::vector<T> values;
  std::vector<std::uint8_t> mask;
};

/// Of a BSR on the host.
template <class T, class O>
plain_bins<T> make_plain_bins(const bsr<T, O>& a) {
  const bsr_view<T, O> v = a.view();
  plain_bins<T> out;
  std::int64_t base = 0;
  const index_t bins = (v.rows + 31) / 32, b = v.block;
  for (index_t bin = 0; bin <= bins; ++bin) {
    std::int64_t width = 0;
    for (index_t r = 32 * bin; r < std::min(32 * bin + 32, v.rows); ++r) {
      width = std::max<std::int64_t>(width, v.rowptr[r / b + 1] - v.rowptr[r / b]);
    }
    for (index_t l = 0; l < 32; ++l) out.rowptr.push_back(base + l);
    const auto slots = static_cast<std::size_t>(base + 32 * width);
    out.colptr.resize(slots, -1);
    out.values.resize(slots * static_cast<std::size_t>(b), T{0});
    if (v.mask != nullptr) out.mask.resize(slots, 0);
    for (index_t r = 32 * bin; r < std::min(32 * bin + 32, v.rows); ++r) {
      for (std::int64_t k = 0; k < v.rowptr[r / b + 1] - v.rowptr[r / b]; ++k) {
        const std::int64_t from = v.rowptr[r / b] + k, slot = base + r % 32 + 32 * k;
        out.colptr[slot] = v.colind[from];
        if (v.mask != nullptr)
          out.mask[slot] = static_cast<std::uint8_t>(v.mask[from] >> (r % b * b) & ((1u << b) - 1));
        for (index_t j = 0; j < b; ++j) {
          out.values[(base + 32 * k) * b + 32 * j + r % 32] = v.values[from * b * b + r % b * b + j];
        }
      }
    }
    base += 32 * width;
  }
  return out;
}

template <class T>
void expect_bins(const context& ctx, const bin_bsr<T>& got, const plain_bins<T>& want) {
  EXPECT_EQ(to_vector(ctx, got.rowptr), want.rowptr);
  EXPECT_EQ(to_vector(ctx, got.colptr), want.colptr);
  EXPECT_EQ(to_vector(ctx, got.mask), want.mask);
  EXPECT_TRUE(same_numbers(to_vector(ctx, got.values), want.values));
}

TEST_P(in_bins, bins_have_every_slot_in_its_place_and_come_back) {
  const matrix& m = subject();
  const context host = context::cpu(1);
  matrix other = m;
  for (std::size_t k = 0; k < other.values.size(); ++k) other.values[k] = static_cast<double>(k % 500) + 2000;
  for (const index_t b : {1, 2, 3, 6, 7, 8}) {
    SCOPED_TRACE(b);
    for_each_type(m, [&]<class T, class O>() {
      const csr<T, O> a = upload<T, O>(ctx(), m);
      bin_bsr<T> bins = to_bin_bsr(ctx(), a.view(), b);
      EXPECT_EQ(bins.bins, (m.rows + 31) / 32);
      EXPECT_TRUE(validate(ctx(), bins.view()).ok());
      expect_csr(ctx(), to_csr<O>(ctx(), bins.view()), summed(m));
      if (b == 1) return;
      const plain_bins<T> want = make_plain_bins(to_bsr(host, upload<T, O>(host, m).view(), b));
      expect_bins(ctx(), bins, want);
      bsr<T, O> blocks = to_bsr<O>(ctx(), bins.view());
      const bsr<T, O> direct = to_bsr(ctx(), a.view(), b);
      EXPECT_EQ(to_vector(ctx(), blocks.rowptr), to_vector(ctx(), direct.rowptr));
      EXPECT_EQ(to_vector(ctx(), blocks.colind), to_vector(ctx(), direct.colind));
      EXPECT_TRUE(same_numbers(to_vector(ctx(), blocks.values), to_vector(ctx(), direct.values)));
      expect_bins(ctx(), to_bin_bsr(ctx(), direct.view()), want);

      const bsr<T, O> changed = to_bsr(ctx(), upload<T, O>(ctx(), other).view(), b);
      update_values(ctx(), changed.view(), bins);
      expect_bins(ctx(), bins, make_plain_bins(to_bsr(host, upload<T, O>(host, other).view(), b)));
      update_values(ctx(), bins.view(), blocks);
      EXPECT_TRUE(same_numbers(to_vector(ctx(), blocks.values), to_vector(ctx(), changed.values)));
    });
  }
}

class bins_given : public on_backend {
 protected:
  /// Rows 0 to 39 in blocks of 6, which cross from one bin to the next; some blocks are not full.
  [[nodiscard]] csr<double> subject() const { return random_csr(40, 48, 5, 3).on(ctx()); }

  void expect_multiplies(const any_spmv_plan& plan, const csr<double>& a) const {
    const context host = context::cpu(1);
    std::vector<double> x(static_cast<std::size_t>(a.cols));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 / (1.0 + static_cast<double>(i));
    const buffer<double> from = to_buffer(ctx(), x);
    buffer<double> to(ctx(), static_cast<std::size_t>(a.rows));
    plan.apply(2, from, 0, to);
    const std::vector<double> y = to_vector(ctx(), to);
    expect_applied(2, clone(host, a.view()), host_span<const double>(x), host_span<const double>(y));
  }
};
TULLE_ON_BOTH_BACKENDS(bins_given);

TEST_P(bins_given, stay_where_they_are_or_are_sorted) {
  const csr<double> a = subject();
  const bin_bsr<double> bins = to_bin_bsr(ctx(), a.view());
  expect_multiplies(any_spmv_plan(ctx(), bins), a);
  EXPECT_EQ(any_spmv_plan(ctx(), bins).kernel(), "bin_bsr.compact");
  const any_spmv_plan in_place(ctx(), bins, with_effort(spmv_effort::none));
  EXPECT_EQ(in_place.kernel(), "bin_bsr");
  EXPECT_LT(in_place.workspace_bytes(), bins.values.bytes() / 2);
  expect_multiplies(in_place, a);
  for (const char* name : {"bin_bsr", "bin_bsr.compact", "bsr"}) {
    SCOPED_TRACE(name);
    const any_spmv_plan plan(ctx(), bins, with_kernel(name));
    EXPECT_EQ(plan.kernel(), name);
    expect_multiplies(plan, a);
    expect_multiplies(any_spmv_plan(ctx(), to_bsr(ctx(), a.view(), 3), with_kernel(name)), a);
  }
}

TEST_P(bins_given, take_new_values_in_their_own_order) {
  const csr<double> a = subject();
  csr<double> twice = clone(ctx(), a.view());
  std::vector<double> values = to_vector(ctx(), a.values);
  for (double& v : values) v *= 2;
  twice.values = to_buffer(ctx(), values);
  const bin_bsr<double> bins = to_bin_bsr(ctx(), a.view(), 4), other = to_bin_bsr(ctx(), twice.view(), 4);
  for (const char* name : {"", "bin_bsr", "bin_bsr.compact", "bsr"}) {
    SCOPED_TRACE(name);
    any_spmv_plan plan(ctx(), bins, with_kernel(name));
    plan.update_values(other.values);
    expect_multiplies(plan, twice);
    const bsr<double> blocks = to_bsr(ctx(), a.view(), 4), other_blocks = to_bsr(ctx(), twice.view(), 4);
    any_spmv_plan of_blocks(ctx(), blocks, with_kernel(name));
    of_blocks.update_values(other_blocks.values);
    expect_multiplies(of_blocks, twice);
  }
}

/// Every other one of 64 block rows of 2 has 3 blocks, the others 1: bins take 3 each, sorted bins what they need.
TEST_P(bins_given, say_what_they_pad) {
  plain_csr<> m{0, 8};
  for (index_t r = 0; r < 128; ++r) {
    r / 2 % 2 == 0 ? m.add_row({0, 1, 2, 3, 6, 7}) : m.add_row({4, 5});
  }
  m.values.assign(m.colind.size(), 1);
  const csr<double> a = m.on(ctx());
  const bin_padding found = padding_in_bins(ctx(), a.view(), 2);
  EXPECT_EQ(found.block, 2);
  EXPECT_EQ(found.bin_bsr, 1.5);
  EXPECT_EQ(found.compact, 1);
  EXPECT_EQ(to_bin_bsr(ctx(), a.view(), 2).colptr.size(), 128u * 3);
  const std::string said = any_spmv_plan(ctx(), a, with_kernel("bin_bsr.compact")).parameters();
  EXPECT_NE(said.find("padding=1.000"), std::string::npos) << said;
}

TEST_P(bins_given, become_other_matrices) {
  const csr<double> a = subject();
  const matrix_ref bins = to_bin_bsr(ctx(), a.view());
  expect_entries<double>(ctx(), to_csr(ctx(), clone(ctx(), bins)), plain(ctx(), a));
}

TEST_P(bins_given, of_narrow_values_multiply_wider_vectors) {
  const csr<double> a = subject();
  const std::vector<double> values = to_vector(ctx(), a.values);
  std::vector<float> narrow(values.begin(), values.end());
  const csr<float> b{a.rows, a.cols, clone(ctx(), a.rowptr), clone(ctx(), a.colind), to_buffer(ctx(), narrow)};
  const csr<double> rounded{a.rows, a.cols, clone(ctx(), a.rowptr), clone(ctx(), a.colind),
                            to_buffer(ctx(), std::vector<double>(narrow.begin(), narrow.end()))};
  for (const char* name : {"bin_bsr", "bin_bsr.compact"}) {
    spmv_options options = with_kernel(name);
    options.vector_type = scalar_type::f64;
    expect_multiplies(any_spmv_plan(ctx(), to_bin_bsr(ctx(), b.view()), options), rounded);
  }
}

TEST_P(bins_given, are_refused_when_they_are_malformed) {
  const csr<double> a = subject();
  const bin_bsr<double> sound = to_bin_bsr(ctx(), a.view());
  const std::vector<std::int64_t> rowptr = to_vector(ctx(), sound.rowptr);
  const std::vector<index_t> colptr = to_vector(ctx(), sound.colptr);
  const auto expect_refused = [&](std::int64_t row, data_status what, auto&& spoil) {
    std::vector<std::int64_t> offsets = rowptr;
    std::vector<index_t> columns = colptr;
    spoil(offsets, columns);
    const bin_bsr<double> bad{sound.rows,
                              sound.cols,
                              sound.nnz,
                              sound.block,
                              sound.bins,
                              to_buffer(ctx(), offsets),
                              to_buffer(ctx(), columns),
                              clone(ctx(), sound.values),
                              clone(ctx(), sound.mask)};
    const validation found = validate(ctx(), bad.view());
    EXPECT_EQ(name(found.what), name(what));
    EXPECT_EQ(found.row, row);
    EXPECT_EQ(status_of([&] { any_spmv_plan(ctx(), bad); }), status::invalid_structure);
    EXPECT_EQ(status_of([&] { any_spmv_plan(ctx(), bad, with_kernel("bsr")); }), status::invalid_structure);
  };
  using offsets = std::vector<std::int64_t>;
  using columns = std::vector<index_t>;
  using enum data_status;
  expect_refused(0, invalid_offsets, [](offsets& o, columns&) { o[0] = 1; });
  expect_refused(2, invalid_offsets, [](offsets& o, columns&) { o[3] += 1; });
  expect_refused(31, invalid_offsets, [](offsets& o, columns&) {
    for (std::size_t r = 32; r < 64; ++r) o[r] -= 5;
  });
  expect_refused(0, index_out_of_range, [&](offsets&, columns& c) {
    for (int r = 0; r < 6; ++r) c[r] = 8;  // 48 columns are 8 blocks
  });
  expect_refused(1, index_out_of_range, [](offsets&, columns& c) { c[1] = c[1] == 0 ? 1 : 0; });
  expect_refused(5, index_out_of_range, [](offsets&, columns& c) { c[5] = -2; });
  expect_refused(0, index_out_of_range, [](offsets&, columns& c) {
    for (int r = 0; r < 6; ++r) c[r] = -1;  // before blocks that are there
  });
  expect_refused(40, index_out_of_range, [&](offsets& o, columns& c) { c[o[32] + 8] = 0; });  // past the last row
}

TEST_P(bins_given, are_refused_by_their_shape) {
  const bin_bsr<double> sound = to_bin_bsr(ctx(), subject().view());
  const auto refuse = [&](status want, auto&& spoil) {
    bin_bsr_view<double> bad = sound.view();
    spoil(bad);
    EXPECT_EQ(status_of([&] { any_spmv_plan(ctx(), matrix_ref(bad)); }), want);
  };
  refuse(status::invalid_argument, [](auto& a) { a.block = 0; });
  refuse(status::invalid_argument, [](auto& a) { a.block = 9; });
  refuse(status::invalid_dimensions, [](auto& a) { a.bins = 1; });
  refuse(status::invalid_dimensions, [](auto& a) { a.rows = -1; });
  refuse(status::null_pointer, [](auto& a) { a.rowptr = nullptr; });
  refuse(status::null_pointer, [](auto& a) { a.colptr = nullptr; });
  refuse(status::null_pointer, [](auto& a) { a.values = nullptr; });
  EXPECT_EQ(status_of([&] { to_bin_bsr(ctx(), subject().view(), 9); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] { to_bsr(ctx(), to_bin_bsr(ctx(), subject().view(), 1).view()); }), status::invalid_argument);
}

}  // namespace
}  // namespace tulle::test
