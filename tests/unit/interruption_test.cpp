// Long calls that end early, and what is left when they did.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <tulle/tulle.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "core/interruption_point.hpp"
#include "core/parallel.hpp"
#include "support/files.hpp"

namespace tulle::test {
namespace {

struct enough : std::runtime_error {
  enough() : runtime_error("enough") {}
};

using std::chrono::milliseconds;

/// Ends the calls of this thread when it is asked for the `at`-th time.
auto ending_at(int at) {
  return [at, asked = 0]() mutable {
    if (++asked >= at) throw enough();
  };
}

/// A region of many parts that asks before each, as schedules do.
int parts_done(int threads) {
  std::atomic<int> done = 0;
  const interruption_point end_early;
  for_each_part(threads, [&](int) {
    for (int i = 0; i < 1000 && !end_early.is_over(); ++i) ++done;
  });
  return done;
}

TEST(interruption, a_region_ends_when_its_own_thread_is_told_so) {
  for (const int threads : {1, 2, 4}) {
    EXPECT_EQ(parts_done(threads), 1000 * threads);
    const interruption end(ending_at(3), milliseconds(0));
    EXPECT_THROW(static_cast<void>(parts_done(threads)), enough);
    const interruption go_on([] {}, milliseconds(0));
    EXPECT_EQ(parts_done(threads), 1000 * threads);
  }
}

TEST(interruption, chunks_end_between_two) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> done = 0;
    const interruption end(ending_at(3), milliseconds(0));
    EXPECT_THROW(parallel_for(threads, 1 << 20, 16, [&](int) { ++done; }), enough);
    EXPECT_LT(done, 1 << 20);
  }
}

TEST(interruption, is_asked_by_its_own_thread_alone_and_not_too_often) {
  std::atomic<int> asked = 0;
  const auto here = std::this_thread::get_id();
  const auto look = [&] {
    ++asked;
    EXPECT_EQ(std::this_thread::get_id(), here);
  };
  {
    const interruption end(look, milliseconds(0));
    static_cast<void>(parts_done(4));
    std::thread([] { static_cast<void>(parts_done(1)); }).join();
  }
  EXPECT_GE(asked, 1000);
  const int before = asked;
  static_cast<void>(parts_done(1));
  const interruption rarely(look, milliseconds(1 << 30));
  static_cast<void>(parts_done(1));
  EXPECT_EQ(asked, before);
}

TEST(interruption, the_inner_one_counts) {
  const interruption outer([] { throw std::logic_error("outer"); }, milliseconds(0));
  {
    const interruption inner(ending_at(1), milliseconds(0));
    EXPECT_THROW(look_for_interruption(), enough);
  }
  EXPECT_THROW(look_for_interruption(), std::logic_error);
}

/// Rows, columns and values of a product.
auto contents(const matrix_ref& c) {
  const auto view = c.as<double, std::int32_t>();
  return std::tuple(std::vector(view.rowptr, view.rowptr + view.rows + 1),
                    std::vector(view.colind, view.colind + view.nnz), std::vector(view.values, view.values + view.nnz));
}

/// A plan that a call of was ended makes the same product afterwards, wherever the end was.
TEST(interruption, a_product_is_made_again_after_its_end) {
  for (const int threads : {1, 2}) {
    const context ctx = context::cpu(threads);
    const csr<double> a = generate<double>(ctx, "gen:uniform:n=1000,degree=20");
    const auto expected = contents(spgemm(ctx, a, a));
    bool ended = true;
    for (int at = 1; ended; at += at > 20 ? at : 1) {
      spgemm_plan plan(ctx, a, a);
      try {
        const interruption end(ending_at(at), milliseconds(0));
        static_cast<void>(plan.multiply());
        ended = false;
      } catch (const enough&) {
      }
      ASSERT_EQ(contents(plan.multiply()), expected) << "ended at look " << at;
    }
  }
}

TEST(interruption, a_file_that_is_not_written_to_its_end_is_not_there) {
  const context ctx = context::cpu(1);
  const csr<double> a = generate<double>(ctx, "gen:uniform:n=20000,degree=20");
  const temporary_directory folder;
  const auto file = std::filesystem::path(folder.path()) / "a.mtx";
  {
    const interruption end(ending_at(3), milliseconds(0));
    EXPECT_THROW(write_matrix_market(file, a), enough);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  write_matrix_market(file, a);
  const interruption end(ending_at(3), milliseconds(0));
  EXPECT_THROW(static_cast<void>(read_matrix_market<double>(file)), enough);
}

TEST(interruption, a_plan_keeps_its_kernel_when_autotuning_ends) {
  const temporary_directory cache;
  const environment_variable cache_directory{"TULLE_CACHE_DIR", cache.path()};
  const context ctx = context::cpu(2);
  const csr<double> a = generate<double>(ctx, "gen:uniform:n=3000,degree=20");
  spmv_plan<double> plan(ctx, a);
  const std::string before(plan.kernel());
  {
    const interruption end(ending_at(30), milliseconds(0));
    EXPECT_THROW(plan.autotune(), enough);
  }
  EXPECT_EQ(plan.kernel(), before);
  const std::vector<double> x(3000, 1.0);
  std::vector<double> y(3000), again(3000);
  plan.apply(1.0, x, 0.0, y);
  spmv_plan<double>(ctx, a, {.kernel = before}).apply(1.0, x, 0.0, again);
  EXPECT_EQ(y, again);
}

/// What an interruption ended is one call: the next one under it is whole.
TEST(interruption, the_next_call_is_whole) {
  const context ctx = context::cpu(2);
  const csr<double> a = generate<double>(ctx, "gen:uniform:n=3000,degree=20");
  const auto expected = contents(spgemm(ctx, a, a));
  const interruption end(
      [ended = false]() mutable {
        if (!std::exchange(ended, true)) throw enough();
      },
      milliseconds(0));
  EXPECT_THROW(static_cast<void>(spgemm(ctx, a, a)), enough);
  EXPECT_EQ(contents(spgemm(ctx, a, a)), expected);
}

/// Threads wait for each other's counts: none may leave without having said its own.
TEST(interruption, a_listing_ends_wherever_it_is) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n1000 1000 300000\n";
  for (int i = 0; i < 300000; ++i) text += std::to_string(i % 1000 + 1) + ' ' + std::to_string(i * 7 % 1000 + 1) + " 1.5\n";
  int ended = 0;
  for (int at = 1; at < 12; ++at) {
    const interruption end(
        [at, asked = 0]() mutable {
          if (++asked < at) return;
          std::this_thread::sleep_for(milliseconds(2));  // others go on
          throw enough();
        },
        milliseconds(0));
    matrix_market_options options;
    options.threads = 4;
    try {
      static_cast<void>(parse_matrix_market_entries<double>(text, "a.mtx", options));
    } catch (const enough&) {
      ++ended;
    }
  }
  EXPECT_GT(ended, 0);
}

/// Plans that read A where it is, in blocks or to be transposed, are as before when autotuning ends, wherever that is.
TEST(interruption, a_plan_that_has_no_csr_of_its_own_stays_whole) {
  const temporary_directory cache;
  const environment_variable cache_directory{"TULLE_CACHE_DIR", cache.path()};
  const context ctx = context::cpu(2);
  const csr<double> a = generate<double>(ctx, "gen:fem:n=6,dof=3,values=integer");
  const bsr<double> blocks = to_bsr(ctx, a.view(), 3);
  const std::vector<double> x(static_cast<std::size_t>(a.rows), 1.0);
  std::vector<double> expected(x.size()), y(x.size());
  for (const bool transpose : {true, false}) {
    spmv_options options;
    options.effort = spmv_effort::none;
    options.transpose = transpose;
    const matrix_ref matrix = transpose ? matrix_ref(a) : matrix_ref(blocks);
    any_spmv_plan(ctx, matrix, options).apply(1.0, x, 0.0, expected);
    bool ended = true;
    for (int at = 1; ended && at < 100; at += at > 10 ? at : 1) {
      any_spmv_plan plan(ctx, matrix, options);
      try {
        const interruption end(ending_at(at), milliseconds(0));
        plan.autotune();
        ended = false;
      } catch (const enough&) {
      }
      plan.update_values();
      plan.apply(1.0, x, 0.0, y);
      ASSERT_EQ(y, expected) << plan.kernel() << ", ended at look " << at;
      plan.autotune();
      plan.apply(1.0, x, 0.0, y);
      ASSERT_EQ(y, expected) << plan.kernel() << ", autotuned again after an end at look " << at;
    }
  }
}

}  // namespace
}  // namespace tulle::test
