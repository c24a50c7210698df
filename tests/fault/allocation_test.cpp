// Every host allocation of every operation fails once, in turn: the call throws OUT_OF_MEMORY (or std::bad_alloc, which
// the C API and the command line turn into it), leaks nothing, and works when tried again.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/validate.hpp>
#include <tulle/io/generate.hpp>
#include <tulle/io/matrix_market.hpp>
#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/verify.hpp>
#include <vector>

#include "core/backends.hpp"
#include "failing_new.hpp"

namespace tulle::test {
namespace {

enum class outcome { done, out_of_memory, other };

outcome run(const std::function<void()>& operation) {
  try {
    operation();
    return outcome::done;
  } catch (const error& e) {
    return e.code() == status::out_of_memory ? outcome::out_of_memory : outcome::other;
  } catch (const std::bad_alloc&) {
    return outcome::out_of_memory;
  } catch (const std::exception&) {
    return outcome::other;
  }
}

void fail_each_allocation(const std::string& name, const std::function<void()>& operation) {
  SCOPED_TRACE(name);
  operation();  // fills what is kept for good
  const std::int64_t before = live_allocations();
  bool reached = true;
  for (std::int64_t skip = 0; reached; ++skip) {
    fail_allocation_after(skip);
    const outcome result = run(operation);
    reached = stop_failing();
    // Done after a failure is right where the code did without, as an optional cache may.
    ASSERT_NE(result, outcome::other) << "when allocation " << skip << " fails";
    ASSERT_TRUE(reached || result == outcome::done) << "without a failure";
    ASSERT_EQ(live_allocations(), before) << "leak when allocation " << skip << " fails";
    ASSERT_EQ(run(operation), outcome::done) << "tried again after allocation " << skip << " failed";
    ASSERT_LT(skip, 20'000);
  }
}

const context& cpu() {
  static const context two_threads = context::cpu(2);
  return two_threads;
}

csr<double> small_matrix() { return generate<double>(cpu(), "gen:fem:n=4"); }

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const spmv_kernel& kernel : spmv_kernels(backend_kind::cpu)) names.emplace_back(kernel.name);
  return names;
}

spmv_options with_kernel(const std::string& name) {
  spmv_options options;
  options.kernel = name;
  return options;
}

TEST(fault_allocation, matrix_market) {
  const std::string text =
      "%%MatrixMarket matrix coordinate real symmetric\n% comment\n4 4 5\n1 1 2.5\n2 1 -1\n3 3 1e3\n4 2 7\n4 2 1\n";
  fail_each_allocation("parse", [&] { parse_matrix_market<double>(text, "text"); });
  fail_each_allocation("array", [] {
    parse_matrix_market<double>("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "text");
  });
  const std::string base = testing::TempDir() + "/tulle_fault";
  const csr<double> a = small_matrix();
  for (const char* suffix : {".mtx", ".mtx.gz", ".mtx.zst"}) {
    const std::string file = base + suffix;
    fail_each_allocation("write " + file, [&] { write_matrix_market(file, a.view()); });
    fail_each_allocation("read " + file, [&] { read_matrix_market<double>(file); });
  }
}

TEST(fault_allocation, generators) {
  for (const char* spec :
       {"gen:uniform:n=20", "gen:corner:n=40,size=10", "gen:stencil:n=4", "gen:fem:n=3", "gen:banded:n=30",
        "gen:rmat:scale=5", "gen:short:n=50", "gen:arrow:n=40", "gen:block:n=6,blocks=3", "gen:diagonal:n=9"}) {
    fail_each_allocation(spec, [&] { generate<double>(cpu(), spec); });
  }
}

TEST(fault_allocation, conversions) {
  const csr<double> a = small_matrix();
  const auto view = a.view();
  fail_each_allocation("clone", [&] { clone(cpu(), view); });
  fail_each_allocation("with_offsets", [&] { with_offsets<std::int32_t>(cpu(), view); });
  fail_each_allocation("coo", [&] { to_csr(cpu(), to_coo(cpu(), view).view()); });
  fail_each_allocation("csc", [&] { to_csr(cpu(), to_csc(cpu(), view).view()); });
  fail_each_allocation("ell", [&] { to_csr(cpu(), to_ell(cpu(), view).view()); });
  fail_each_allocation("sell", [&] { to_csr(cpu(), to_sell(cpu(), view, 64).view()); });
  fail_each_allocation("bsr", [&] { to_csr(cpu(), to_bsr(cpu(), view, 3).view()); });
}

TEST(fault_allocation, matrix_operations) {
  const csr<double> a = small_matrix();
  const std::vector<double> factors(static_cast<std::size_t>(std::max(a.rows, a.cols)), 2);
  const auto first = [&](index_t n) { return host_span<const double>(factors.data(), static_cast<std::size_t>(n)); };
  fail_each_allocation("add", [&] { add(cpu(), 2, a, 3, a); });
  fail_each_allocation("transpose", [&] { transpose(cpu(), matrix_ref(a)); });
  fail_each_allocation("scale_rows", [&] { scale_rows(cpu(), a, first(a.rows)); });
  fail_each_allocation("extract", [&] { extract(cpu(), a, {0, a.rows}, {0, a.cols}); });
  fail_each_allocation("sum_duplicates", [&] { sum_duplicates(cpu(), a); });
  fail_each_allocation("identity", [&] { identity(cpu(), 5, scalar_type::i32); });
}

TEST(fault_allocation, inspection) {
  const csr<double> a = small_matrix();
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1);
  fail_each_allocation("statistics", [&] { statistics(cpu(), a.view()); });
  fail_each_allocation("validate", [&] { validate(cpu(), a.view(), {true, true, true}); });
  fail_each_allocation("reference_spmv", [&] {
    reference_spmv<double, std::int64_t>(cpu(), 1, a.view(), host_span<const double>(x), 0, {});
  });
}

TEST(fault_allocation, plans) {
  const csr<double> a = small_matrix();
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  std::vector<std::string> names = kernel_names();
  names.emplace_back();  // the one that is chosen
  for (const std::string& name : names) {
    fail_each_allocation("plan " + name, [&] {
      spmv_plan<double> plan(cpu(), a, with_kernel(name));
      plan.apply(1, host_span<const double>(x), 0, host_span<double>(y));
      plan.update_values(a.values.host());
      EXPECT_FALSE(plan.explain().empty());
    });
  }
}

TEST(fault_allocation, transposed_plans) {
  const csr<double> a = small_matrix();
  const std::vector<double> x(static_cast<std::size_t>(a.rows), 1);
  std::vector<double> y(static_cast<std::size_t>(a.cols));
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard}) {
    fail_each_allocation(std::string("transposed, effort ") + std::string(name(effort)), [&] {
      spmv_options options;
      options.transpose = true;
      options.effort = effort;
      spmv_plan<double> plan(cpu(), a, options);
      plan.apply(1, host_span<const double>(x), 0, host_span<double>(y));
      plan.update_values(a.values.host());
    });
  }
}

TEST(fault_allocation, products) {
  const csr<double> a = generate<double>(cpu(), "gen:fem:n=2");
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    const spgemm_options options{.kernel = kernel};
    fail_each_allocation("A B", [&] { spgemm(cpu(), a, a, options); });
    fail_each_allocation("coordinates", [&] { spgemm_coo(cpu(), a, a, options); });
    fail_each_allocation("R A P", [&] { triple_product(cpu(), a, a, a, options); });
    fail_each_allocation("estimate", [&] { estimate_spgemm(cpu(), a, a, options); });
    const csr<double> rows = generate<double>(cpu(), "gen:stencil:points=7,n=6");
    spgemm_options limited = options;
    spgemm_plan<double> whole(cpu(), rows.view(), rows.view(), options);
    whole.multiply();
    limited.memory_limit = whole.workspace_bytes() * 3 / 4;  // a few panels
    fail_each_allocation("A B by panels", [&] {
      spgemm_plan<double> plan(cpu(), rows.view(), rows.view(), limited);
      plan.multiply();
      EXPECT_NE(plan.explain().find("panels"), std::string::npos) << plan.explain();
    });
  }
}

TEST(fault_allocation, product_plans) {
  csr<double> a = generate<double>(cpu(), "gen:fem:n=2");
  std::swap(a.colind.data()[0], a.colind.data()[1]);  // so that B, M and D are sorted in copies
  for (const bool with_mask : {false, true}) {
    for (const bool transposes : {false, true}) {
      spgemm_terms<double, std::int64_t> terms{.d = a.view()};
      if (with_mask) terms.mask = a.view();
      spgemm_options options;
      options.transpose_a = options.transpose_b = transposes;
      fail_each_allocation("product plan", [&] {
        spgemm_plan<double> plan(cpu(), a.view(), a.view(), options, terms);
        any_csr<double> c = plan.multiply(2, 3);
        plan.numeric(c, 1, -1);
        const csr<double> other = clone(cpu(), a.view());
        plan.update_values(other.values.data(), other.values.data(), other.values.data());
        plan.multiply(1, 1);
      });
    }
  }
}

/// A call that ran out of memory leaves a plan that works.
TEST(fault_allocation, product_plan_goes_on) {
  const csr<double> a = small_matrix();
  for (const bool with_mask : {false, true}) {
    spgemm_terms<double, std::int64_t> terms{.d = a.view()};
    if (with_mask) terms.mask = a.view();
    const any_csr<double> expected = spgemm_plan<double>(cpu(), a.view(), a.view(), {}, terms).multiply(2, 3);
    const auto values = [](const any_csr<double>& c) {
      return std::visit([](const auto& m) { return to_vector(cpu(), m.values); }, c);
    };
    bool reached = true;
    for (std::int64_t skip = 0; reached; ++skip) {
      spgemm_plan<double> plan(cpu(), a.view(), a.view(), {}, terms);
      fail_allocation_after(skip);
      const outcome result = run([&] { plan.multiply(2, 3); });
      reached = stop_failing();
      EXPECT_EQ(result, reached ? outcome::out_of_memory : outcome::done);
      EXPECT_EQ(values(plan.multiply(2, 3)), values(expected));
    }
  }
}

/// So does one that ran out of it with other values, in a C that is there.
TEST(fault_allocation, product_plan_goes_on_with_other_values) {
  const csr<double> a = small_matrix(), other = clone(cpu(), a.view());
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    const any_csr<double> expected = spgemm(cpu(), a, a, {.kernel = kernel});
    const auto values = [](const any_csr<double>& c) {
      return std::visit([](const auto& m) { return to_vector(cpu(), m.values); }, c);
    };
    bool reached = true;
    for (std::int64_t skip = 0; reached; ++skip) {
      spgemm_plan<double> plan(cpu(), a.view(), a.view(), {.kernel = kernel});
      any_csr<double> c = plan.multiply(3);
      plan.update_values(other.values.data(), other.values.data());
      fail_allocation_after(skip);
      const outcome result = run([&] { plan.multiply(); });
      reached = stop_failing();
      EXPECT_EQ(result, reached ? outcome::out_of_memory : outcome::done);
      plan.numeric(c);
      EXPECT_EQ(values(c), values(expected));
    }
  }
}

TEST(fault_allocation, numeric_allocates_nothing) {
  csr<double> a = small_matrix();
  std::swap(a.colind.data()[0], a.colind.data()[1]);
  for (int which = 0; which < 8; ++which) {
    spgemm_terms<double, std::int64_t> terms;
    if (which & 1) terms.mask = a.view();
    if (which & 2) terms.d = a.view();
    spgemm_options options;
    options.transpose_b = (which & 4) != 0;
    spgemm_plan<double> plan(cpu(), a.view(), a.view(), options, terms);
    any_csr<double> c = plan.multiply();
    plan.numeric(c);  // OpenMP makes its threads here
    const std::int64_t before = allocations();
    plan.update_values(a.values.data(), a.values.data());
    plan.numeric(c, 2.5, which & 2 ? -1 : 0);
    EXPECT_EQ(allocations(), before) << which;
  }
}

TEST(fault_allocation, several_right_hand_sides_allocate_nothing) {
  const csr<double> a = small_matrix();
  std::vector<double> x(static_cast<std::size_t>(a.cols) * 5, 1), y(static_cast<std::size_t>(a.rows) * 5);
  for (const auto order : {vector_order::row_major, vector_order::column_major}) {
    const std::int64_t ld = order == vector_order::row_major ? 5 : a.rows;
    const multivector_view<double> in{a.cols, 5, ld, order, x.data(), memory_space::host},
        out{a.rows, 5, ld, order, y.data(), memory_space::host};
    for (const char* name : {"csr.serial", "csr.balanced"}) {
      spmv_plan<double> plan(cpu(), a, with_kernel(name));
      plan.apply(1.0, in, 0.0, out);  // OpenMP makes its threads here
      const std::int64_t before = allocations();
      plan.apply(2.5, in, -1.0, out);
      EXPECT_EQ(allocations(), before) << name;
    }
  }
}

TEST(fault_allocation, apply_allocates_nothing) {
  const csr<double> a = small_matrix();
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  for (const std::string& name : kernel_names()) {
    spmv_plan<double> plan(cpu(), a, with_kernel(name));
    plan.apply(1, host_span<const double>(x), 0, host_span<double>(y));  // OpenMP makes its threads here
    const std::int64_t before = allocations();
    plan.apply(2.5, host_span<const double>(x), -1, host_span<double>(y));
    EXPECT_EQ(allocations(), before) << name;
  }
}

}  // namespace
}  // namespace tulle::test
