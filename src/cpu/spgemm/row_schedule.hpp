// Rows in parts of about equal work, handed to the threads as they become free.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "cpu/parallel.hpp"

namespace tulle::cpu {

class row_schedule {
 public:
  static constexpr int parts_a_thread = 16;
  /// Work for which another thread is worth waking.
  static constexpr std::int64_t work_a_thread = 1 << 13;

  row_schedule() = default;
  /// `work`: rows + 1, the work before each row.
  row_schedule(const context& ctx, index_t rows, const std::int64_t* work)
      : threads_(threads_for(ctx.threads(), work[rows])),
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

  static int threads_for(int most, std::int64_t work) {
    return static_cast<int>(std::clamp<std::int64_t>(work / work_a_thread, 1, most));
  }
  static std::size_t bound(int threads) { return most_cuts(threads) * (sizeof(index_t) + sizeof(std::int64_t)); }

  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] int parts() const { return threads_ > 1 ? threads_ * parts_a_thread : 1; }
  [[nodiscard]] std::size_t bytes() const { return cuts_.bytes() + before_.bytes(); }
  /// The work before a part.
  [[nodiscard]] std::int64_t before(int part) const { return before_.data()[part]; }

  /// f(thread, part, begin, end) for every part.
  template <class F>
  void run(F f) const {
    const index_t* cuts = cuts_.data();
    const int parts = this->parts();
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
    for (int part = 0; part < parts; ++part) f(omp_get_thread_num(), part, cuts[part], cuts[part + 1]);
  }

 private:
  static std::size_t most_cuts(int threads) { return static_cast<std::size_t>(threads) * parts_a_thread + 1; }

  int threads_ = 1;
  buffer<index_t> cuts_;         // the first rows of the parts, and rows
  buffer<std::int64_t> before_;  // the work before them
};

}  // namespace tulle::cpu
