// What the kernels of bins of blocks share: x as one vector or several, and operators that take bins.
#pragma once

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/finishing_operator.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/block_input.hpp"

namespace tulle::cpu {

/// One vector x.
template <scalar V>
struct one_vector {
  static constexpr int width = 1;
  const V* x;
  [[gnu::always_inline]] V operator()(std::int64_t i, int) const { return x[i]; }
};

/// `Width` vectors of several; past the last, the last again.
template <scalar V, int Width>
struct some_vectors {
  static constexpr int width = Width;
  const V* x;
  std::int64_t row_stride;
  std::array<std::int64_t, Width> at;
  [[gnu::always_inline]] V operator()(std::int64_t i, int v) const { return x[i * row_stride + at[v]]; }
};

/// Stores the sums of `Width` vectors, of which `count` are there.
template <scalar V, int Width>
struct some_outputs {
  epilogue<V> out;
  V* y;
  std::int64_t row_stride;
  std::int64_t vector_stride;
  int count;
  [[gnu::always_inline]] void operator()(std::int64_t row, int v, V sum) const {
    if (v < count) out.store(y + row * row_stride + v * vector_stride, sum);
  }
};

/// Hands the sums of one vector to what a pass does with them.
template <scalar V, class Finish>
struct finished_output {
  Finish& finish;
  [[gnu::always_inline]] void operator()(std::int64_t row, int, V sum) const { finish(static_cast<index_t>(row), sum); }
};

/// Derived has `bins(first, last, x, store)`, which hands the sums of the rows of a range of bins to store(row, v,
/// sum), v of x.width vectors, by a function that knows no offsets and is compiled for every instruction set; V: of the
/// vectors; Storage: what keeps the bins.
template <class Derived, scalar V, class Storage>
class bins_operator : public finishing_operator<Derived, V> {
 public:
  template <class Finish, class Done>
  void multiply(Finish start, const V* x, const Done& done) {
    for_each_part(threads(), [&](int i) {
      Finish finish = start;
      self().bins(begin_[i], begin_[i + 1], one_vector<V>{x}, finished_output<V, Finish>{finish});
      done(i, finish);
    });
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view) override {
    constexpr int width = 4;
    for (index_t first = 0; first < x.count; first += width) {
      const int count = std::min(width, x.count - first);
      some_vectors<V, width> from{static_cast<const V*>(x.data) + first * x.vector_stride, x.row_stride, {}};
      for (int v = 0; v < width; ++v) from.at[static_cast<std::size_t>(v)] = std::min(v, count - 1) * x.vector_stride;
      const some_outputs<V, width> to{
          {alpha, beta}, static_cast<V*>(y.data) + first * y.vector_stride, y.row_stride, y.vector_stride, count};
      for_each_part(threads(), [&](int i) { self().bins(begin_[i], begin_[i + 1], from, to); });
    }
  }

  void update_values(const matrix_ref& a) final { storage_.update_values(a); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept final {
    return storage_.owned_bytes() + begin_.size() * sizeof(index_t);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept final { return storage_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("threads={} isa={} block={} padding={:.3f}", threads(), name(isa_), storage_.view().block,
                       storage_.padding());
  }

 protected:
  /// `values`: those that are stored. Bin i has slots [offset(view, i), offset(view, i + 1)).
  template <class Offset>
  bins_operator(const context& ctx, Storage&& storage, std::int64_t values, Offset offset_of)
      : finishing_operator<Derived, V>(threads_for_product(ctx.threads(), values)),
        storage_(std::move(storage)),
        begin_(static_cast<std::size_t>(threads_for_product(ctx.threads(), values)) + 1, storage_.view().bins) {
    const auto view = storage_.view();
    const index_t bins = view.bins;
    const auto offset = [&](index_t bin) { return offset_of(view, bin); };
    begin_[0] = 0;
    for (int i = 1; i < threads(); ++i) {
      const auto target = static_cast<std::int64_t>(static_cast<double>(offset(bins)) * i / threads());
      begin_[i] = partition_point(index_t{0}, bins, [&](index_t bin) { return offset(bin) < target; });
    }
  }
  [[nodiscard]] int threads() const noexcept { return static_cast<int>(begin_.size()) - 1; }

  Storage storage_;
  isa isa_ = best_isa();

 private:
  Derived& self() { return static_cast<Derived&>(*this); }

  std::vector<index_t> begin_;  // the first bin of each thread, and the end
};

/// Calls f.operator()<B>() for the block of 1 to 8.
template <class F>
void with_block(index_t block, const F& f) {
  [&]<int... B>(std::integer_sequence<int, B...>) {
    (void)((block == B + 1 ? (f.template operator()<B + 1>(), true) : false) || ...);
  }
  (std::make_integer_sequence<int, 8>{});
}

}  // namespace tulle::cpu
