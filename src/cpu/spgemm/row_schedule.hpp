// Rows in parts of about equal work. A thread begins with parts of its own, the same ones in every run, so that what it
// wrote in one run is in its cache in the next; then it takes what others have left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "core/interruption_point.hpp"
#include "core/parallel.hpp"

namespace tulle::cpu {

class row_schedule {
 public:
  static constexpr int most_parts = 16;  // of a thread
  /// Work from which a part is worth cutting in two.
  static constexpr std::int64_t work_per_part = 1 << 12;
  /// The same on one thread, where parts are there to end between them.
  static constexpr std::int64_t work_between_looks = 1 << 24;
  /// Work for which another thread is worth waking.
  static constexpr std::int64_t work_per_thread = 1 << 12;

  row_schedule() = default;
  /// `work`: rows + 1, the work before each row.
  row_schedule(const context& ctx, index_t rows, const std::int64_t* work)
      : threads_(tulle::threads_for(ctx.threads(), work[rows], work_per_thread)),
        parts_per_thread_(parts_for(work[rows] / threads_, threads_ > 1 ? work_per_part : work_between_looks)),
        taken_(ctx, static_cast<std::size_t>(ctx.threads())),
        cuts_(ctx, most_cuts(ctx.threads())),
        before_(ctx, most_cuts(ctx.threads())) {
    const int parts = this->parts();
    for (int part = 0; part <= parts; ++part) {
      const std::int64_t target = work[rows] / parts * part + work[rows] % parts * part / parts;
      const index_t cut =
          part == parts ? rows : static_cast<index_t>(std::lower_bound(work, work + rows, target) - work);
      cuts_.data()[part] = cut;
      before_.data()[part] = work[cut];
    }
  }

  /// As many threads as one pass over a matrix is worth: the products wake them anyway.
  template <scalar T, offset O>
  static int threads_for(int most, const csr_view<T, O>& a) {
    return tulle::threads_for(most, std::int64_t{a.rows} + static_cast<std::int64_t>(a.nnz), work_per_thread / 2);
  }

  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] int parts() const { return threads_ * parts_per_thread_; }
  [[nodiscard]] std::size_t bytes() const { return taken_.bytes() + cuts_.bytes() + before_.bytes(); }
  /// The work before a part.
  [[nodiscard]] std::int64_t before(int part) const { return before_.data()[part]; }

  /// f(part, begin, end) for the parts that a thread begins with.
  template <class F>
  void for_each_part_of(int thread, F f) const {
    const int each = parts() / threads_;
    for (int part = thread * each; part < (thread + 1) * each; ++part) {
      f(part, cuts_.data()[part], cuts_.data()[part + 1]);
    }
  }
  /// f(thread, part, begin, end) for every part. What one of them throws is thrown when all threads are through.
  template <class F>
  void run(F f) {
    const interruption_point end_early;
    if (threads_ == 1) {
      for (int part = 0; part < parts_per_thread_ && !end_early.is_over(); ++part) {
        f(0, part, cuts_.data()[part], cuts_.data()[part + 1]);
      }
      return;
    }
    for (int thread = 0; thread < threads_; ++thread) taken_.data()[thread].parts = 0;
    for_each_part(threads_, [&](int thread) {
      for (int i = 0; i < threads_; ++i) run_parts_of((thread + i) % threads_, thread, end_early, f);
    });
  }

 private:
  struct alignas(64) counter {  // on a cache line of its own
    int parts;
  };

  static std::size_t most_cuts(int threads) { return static_cast<std::size_t>(threads) * most_parts + 1; }
  static int parts_for(std::int64_t work, std::int64_t of_a_part) {
    return static_cast<int>(std::clamp<std::int64_t>(work / of_a_part, 1, most_parts));
  }

  template <class F>
  void run_parts_of(int owner, int thread, const interruption_point& end_early, F& f) {
    std::atomic_ref<int> taken(taken_.data()[owner].parts);
    const index_t* cuts = cuts_.data();
    for (int at; (at = taken.fetch_add(1, std::memory_order_relaxed)) < parts_per_thread_ && !end_early.is_over();) {
      const int part = owner * parts_per_thread_ + at;
      f(thread, part, cuts[part], cuts[part + 1]);
    }
  }

  int threads_ = 1;
  int parts_per_thread_ = 1;
  buffer<counter> taken_;        // parts of each thread that were begun
  buffer<index_t> cuts_;         // the first rows of the parts, and rows
  buffer<std::int64_t> before_;  // the work before them
};

}  // namespace tulle::cpu
