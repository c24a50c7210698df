// Threads: how many work wakes, what happens where none can be started, and in a child of fork.
#include "core/workers.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tulle/tulle.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <tulle/ops/kernels.hpp>
#include <tulle/tulle.hpp>

#include "kernels/packed_parts.hpp"
#include "support/errors.hpp"

namespace tulle::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized =
    true;  // children of processes with threads, and limits of the address space, are not for these
#else
constexpr bool sanitized = false;
#endif

/// How `work` ends in a child of fork: its exit status, or minus the signal that ended it. 10 s are a hang.
int in_a_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

csr<double> matrix(const context& ctx, const char* spec = "gen:fem:n=12,dof=3") { return generate<double>(ctx, spec); }

std::vector<double> times_ones(const spmv_plan<double>& plan) {
  const std::vector<double> x(static_cast<std::size_t>(plan.dimensions().cols), 1);
  std::vector<double> y(static_cast<std::size_t>(plan.dimensions().rows));
  plan.apply(1, x, 0, y);
  return y;
}

TEST(Threads, WorkForkedFromAThreadThatHasWorkersIsDoneInTheChild) {
  if (sanitized) GTEST_SKIP() << "not under a sanitizer";
  const context ctx = context::cpu(2);
  const csr<double> a = matrix(ctx);
  for (const char* kernel : {"csr.balanced", "packed"}) {
    const spmv_plan<double> plan(ctx, a, {.kernel = kernel});
    const std::vector<double> y = times_ones(plan);
    EXPECT_EQ(in_a_child([&] {
                if (times_ones(plan) != y) return 1;
                const spmv_plan<double> own(ctx, a, {.kernel = kernel});
                if (times_ones(own) != y) return 2;
                return in_a_child([&] { return times_ones(plan) == y ? 0 : 3; });
              }),
              0)
        << kernel;
    EXPECT_EQ(times_ones(plan), y) << kernel;
  }
}

TEST(Threads, SmallWorkWakesNone) {
  if (sanitized) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_EQ(in_a_child([] {
              const context ctx = context::cpu(2);
              const csr<double> a{1, 1, to_buffer(ctx, std::vector<std::int64_t>{0, 1}),
                                  to_buffer(ctx, std::vector<index_t>{0}), to_buffer(ctx, std::vector<double>{1})};
              validate(ctx, a.view());
              if (threads_of_process() != 1) return 1;
              statistics(ctx, a.view());
              if (threads_of_process() != 1) return 2;
              for (const auto effort : {spmv_effort::none, spmv_effort::standard}) {
                for (const bool transpose : {false, true}) {
                  times_ones(spmv_plan<double>(ctx, a, {.effort = effort, .transpose = transpose}));
                }
              }
              if (threads_of_process() != 1) return 3;
              for (const kernel_info& kernel : kernels(backend_kind::cpu)) {
                if (kernel.operation != kernel_operation::spmv) continue;
                times_ones(spmv_plan<double>(ctx, a, {.kernel = std::string(kernel.name)}));
              }
              if (threads_of_process() != 1) return 4;
              to_csr(ctx, to_coo(ctx, a.view()).view());
              to_csr(ctx, to_ell(ctx, a.view()).view());
              to_csr(ctx, to_sell(ctx, a.view()).view());
              to_csr(ctx, to_bsr(ctx, a.view(), 2).view());
              to_csc(ctx, a.view());
              if (threads_of_process() != 1) return 5;
              spgemm(ctx, a, a);
              return threads_of_process() == 1 ? 0 : 6;
            }),
            0);
}

TEST(Threads, BorrowedArraysAreCheckedByThoseOfTheContextAlone) {
  if (sanitized) GTEST_SKIP() << "not under a sanitizer";
  const csr<double> a = matrix(context::cpu(1));
  const tulle_csr_arrays arrays{a.rows, a.cols,     a.nnz(),         TULLE_F64,       TULLE_OFFSET_I64,
                                0,      TULLE_HOST, a.rowptr.data(), a.colind.data(), a.values.data()};
  EXPECT_EQ(in_a_child([&] {
              tulle_context* one = nullptr;
              tulle_csr* matrix = nullptr;
              if (tulle_context_create_cpu(1, &one) != TULLE_STATUS_SUCCESS) return 1;
              if (tulle_csr_borrow(one, &arrays, &matrix) != TULLE_STATUS_SUCCESS) return 2;
              return threads_of_process() == 1 ? 0 : 3;
            }),
            0);
}

TEST(Threads, LargeWorkWakesThem) {
  if (sanitized) GTEST_SKIP() << "not under a sanitizer";
  EXPECT_EQ(in_a_child([] {
              const context ctx = context::cpu(2);
              times_ones(spmv_plan<double>(ctx, matrix(ctx), {.kernel = "csr.balanced"}));
              return threads_of_process() == 2 ? 0 : 1;
            }),
            0);
}

TEST(Threads, OnesThatCannotBeStartedAreDoneWithout) {
  if (sanitized) GTEST_SKIP() << "not under a sanitizer";
  const csr<double> a = matrix(context::cpu(1));
  const std::vector<double> y = times_ones(spmv_plan<double>(context::cpu(1), a, {.kernel = "packed"}));
  const auto limited = [&](int threads, rlim_t address_space) {
    return in_a_child([&] {
      const rlimit limit{address_space, address_space};
      if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
      try {
        const context ctx = context::cpu(threads);
        const spmv_plan<double> plan(ctx, a, {.kernel = "packed"});
        if (times_ones(plan) != y) return 2;
        return spgemm(ctx, a, a).nnz > 0 ? 0 : 3;
      } catch (const error& e) {
        return e.code() == status::out_of_memory ? 0 : 4;
      } catch (const std::bad_alloc&) {
        return 0;
      }
    });
  };
  EXPECT_EQ(limited(1000, rlim_t{6} << 30), 0);
  EXPECT_EQ(limited(4096, rlim_t{1} << 30), 0);
  EXPECT_EQ(limited(2, rlim_t{1} << 20), 0);  // already passed: no thread at all
}

TEST(Threads, MoreThanAContextTakesAreCappedWhereTheEnvironmentAsksForThem) {
  EXPECT_EQ(in_a_child([] {
              omp_set_num_threads(100'000);
              return context::cpu().threads() <= std::max(64, 4 * omp_get_num_procs()) ? 0 : 1;
            }),
            0);
  EXPECT_EQ(status_of([] { context::cpu(4097); }), status::invalid_argument);
}

TEST(Threads, DivideThePartsOfPacked) {
  int before = 1;
  for (std::int64_t work = 1; work < std::int64_t{1} << 24; work += work / 16 + 1) {
    const int parts = packed_parts(work);
    EXPECT_GE(parts, before) << work;
    EXPECT_LE(parts, 240);
    EXPECT_LE(parts, std::max<std::int64_t>(work >> 13, 1)) << "parts of " << work << " are too small";
    const int divisor = parts >= 48 ? 24 : parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 1;
    EXPECT_EQ(parts % divisor, 0) << parts << " parts";
    before = parts;
  }
  EXPECT_EQ(before, 240);
}

cpu_set_t places_of_this_thread() {
  cpu_set_t all;
  CPU_ZERO(&all);
  pthread_getaffinity_np(pthread_self(), sizeof(all), &all);
  return all;
}
/// Of a worker that takes a part; none where no core is left for one.
std::optional<cpu_set_t> places_of_a_worker() {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> taken = false;
  cpu_set_t theirs;
  for_each_part(2, [&](int) {
    if (std::this_thread::get_id() != caller) {
      theirs = places_of_this_thread();
      taken = true;
    }
    for (const auto end = clock::now() + patience; !taken && clock::now() < end;) sched_yield();
  });
  return taken ? std::optional(theirs) : std::nullopt;
}

/// A thread that slept is made to begin on another core than the caller's. `regions`: asked for one after another
/// before it may have woken.
void expect_all_places_again(int times, std::chrono::milliseconds asleep, int regions) {
  if (omp_get_proc_bind() != omp_proc_bind_false) GTEST_SKIP() << "workers have places of their own";
  const cpu_set_t mine = places_of_this_thread();
  for (int i = 0; i < times; ++i) {
    std::this_thread::sleep_for(asleep);
    for (int k = 0; k < regions; ++k) for_each_part(2, [](int) {});
    const std::optional<cpu_set_t> theirs = places_of_a_worker();
    if (!theirs) GTEST_SKIP() << "no core for a worker";
    ASSERT_TRUE(CPU_EQUAL(&mine, &*theirs));
  }
}

TEST(Threads, WorkersThatSleptHaveAllTheirPlacesAgain) { expect_all_places_again(5, std::chrono::milliseconds(20), 0); }
TEST(Threads, WorkersThatAreAskedAgainBeforeTheyWakeHaveAllTheirPlaces) {
  expect_all_places_again(200, std::chrono::milliseconds(3), 6);
}

TEST(Threads, CallersOnThreadsOfTheirOwnDoNotDisturbEachOther) {
  const csr<double> a = matrix(context::cpu(1));
  const std::vector<double> y = times_ones(spmv_plan<double>(context::cpu(1), a, {.kernel = "packed"}));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const spmv_plan<double> plan(context::cpu(3), a, {.kernel = "packed"});
      for (int repeat = 0; repeat < 200; ++repeat) wrong += times_ones(plan) != y ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tulle::test
