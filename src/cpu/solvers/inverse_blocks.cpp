// Inverses of diagonal blocks (kernels/inverse_blocks.hpp) on a CPU: a thread takes neighbouring groups. A block is
// symmetric, so that its rows are its columns: each is read once, times one x, into sums of as many rows as the block
// has. Bytes per row: b values of 2, 4 or 8, x and y.
#include "kernels/inverse_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <tulle/core/buffer.hpp>
#include <utility>

#include "core/parallel.hpp"
#include "cpu/solvers/diagonal_blocks.hpp"
#include "cpu/spmv/isa.hpp"

namespace tulle::cpu {
namespace {

struct bf16 {
  std::uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
template <class V, class S>
[[gnu::always_inline]] inline V widened(S stored) {
  if constexpr (std::is_same_v<S, bf16>) {
    return static_cast<V>(static_cast<float>(stored));
  } else {
    return static_cast<V>(stored);
  }
}
template <class S, class T>
S narrowed(T value) {
  if constexpr (std::is_same_v<S, bf16>) {
    return {to_bf16(static_cast<float>(value))};
  } else {
    return static_cast<S>(value);
  }
}

/// Calls f.operator()<B>() for the rows of a block.
template <int B = 2, class F>
void with_block(index_t block, const F& f) {
  if constexpr (B < 8) {
    if (block > B) return with_block<B + 1>(block, f);
  }
  f.template operator()<B>();
}

template <class V>
struct scaling {
  V alpha, beta;
  const V* x;
  V* y;
};

/// The rows from `first` on, `count` of them, of a group of blocks.
template <int B, class V>
[[gnu::always_inline]] inline void multiply(const V* m, index_t first, index_t count, const scaling<V>& s) {
  for (index_t begin = 0; begin < count; begin += B, m += B * B) {
    V sum[B] = {};
    const index_t size = std::min<index_t>(B, count - begin);
    const V* const x = s.x + first + begin;
    V* const y = s.y + first + begin;
    const auto add = [&](int j) __attribute__((always_inline)) {
#pragma omp simd
      for (int i = 0; i < B; ++i) sum[i] += m[j * B + i] * x[j];
    };
    const auto store = [&](int i) __attribute__((always_inline)) {
      y[i] = s.beta == 0 ? s.alpha * sum[i] : s.alpha * sum[i] + s.beta * y[i];
    };
    if (size == B) {  // constant counts: unrolled, in vectors
      for (int j = 0; j < B; ++j) add(j);
      for (int i = 0; i < B; ++i) store(i);
    } else {
      for (int j = 0; j < size; ++j) add(j);
      for (int i = 0; i < size; ++i) store(i);
    }
  }
}
/// Narrower ones are widened first, all of the group, whose vectors know no rows.
template <int B, class S, class V>
[[gnu::always_inline]] inline void multiply(const S* m, index_t first, index_t count, const scaling<V>& s) {
  constexpr int values = inverse_slots(B) * B * B;
  alignas(64) V wide[values];
#pragma omp simd
  for (int e = 0; e < values; ++e) wide[e] = widened<V>(m[e]);
  multiply<B, V>(wide, first, count, s);
}

template <class T, class V>
class inverses final : public inverse_blocks {
 public:
  inverses(const context& ctx, index_t n, index_t block, bool narrows)
      : ctx_(ctx),
        n_(n),
        b_(block),
        narrows_(narrows),
        isa_(best_isa()),
        threads_(threads_for(ctx.threads(), std::int64_t{n} * block)) {}

  void update(const matrix_ref& a) override {
    buffer<T> whole(ctx_, static_cast<std::size_t>(blocks()) * block_size());
    buffer<double> condition(ctx_, static_cast<std::size_t>(blocks()));
    invert_diagonal_blocks(ctx_, a, b_, whole.data(), condition.data());
    place(whole.data(), condition.data());
    parallel_for(threads_, groups(), [&](index_t g) { pack(whole.data(), g); });
  }

  void apply(double alpha, const void* x, double beta, void* y, stream_view) const override {
    const scaling<V> s{static_cast<V>(alpha), static_cast<V>(beta), static_cast<const V*>(x), static_cast<V*>(y)};
    with_block(b_, [&]<int B>() {
      for_each_part(threads_, [&](int part) {
        with_isa(
            isa_, [&]() __attribute__((always_inline)) {
              const auto first_of = [&](int p) { return static_cast<index_t>(std::int64_t{groups()} * p / threads_); };
              for (index_t g = first_of(part); g < first_of(part + 1); ++g) multiply_group<B>(g, s);
            });
      });
    });
  }
  [[nodiscard]] stored_values stored() const override { return stored_inverses(counts_, b_, scalar_type_of<T>); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return data_.bytes() + place_.bytes(); }

 private:
  [[nodiscard]] index_t blocks() const { return (n_ + b_ - 1) / b_; }
  [[nodiscard]] std::size_t block_size() const { return static_cast<std::size_t>(b_ * b_); }
  [[nodiscard]] index_t slots() const { return inverse_slots(b_); }
  [[nodiscard]] index_t groups() const { return (blocks() + slots() - 1) / slots(); }
  [[nodiscard]] index_t rows_of_group(index_t g) const { return std::min(slots() * b_, n_ - g * slots() * b_); }

  [[nodiscard]] inverse_form form_of(const T* whole, const double* condition, index_t g) const {
    auto form = narrows_ ? inverse_form::bf16 : inverse_form::whole;
    const index_t last = std::min(blocks(), (g + 1) * slots());
    for (index_t k = g * slots(); k < last; ++k) {
      const index_t size = std::min(b_, n_ - k * b_);
      double largest = 0;
      for (index_t i = 0; i < size * size; ++i)
        largest = std::max(largest, std::abs(static_cast<double>(whole[std::int64_t{k} * b_ * b_ + i])));
      form = std::min(form, form_of_inverse(condition[k], largest, sizeof(T)));
    }
    return form;
  }
  void place(const T* whole, const double* condition) {
    buffer<std::uint64_t> place(ctx_, static_cast<std::size_t>(groups()));
    parallel_for(threads_, groups(),
                 [&](index_t g) { place.data()[g] = inverse_place(0, form_of(whole, condition, g)); });
    inverse_counts counts;
    std::int64_t bytes = 0;
    for (index_t g = 0; g < groups(); ++g) {
      const inverse_form form = inverse_form_at(place.data()[g]);
      place.data()[g] = inverse_place(bytes, form);
      bytes += inverse_group_bytes(form, b_, sizeof(T));
      ++counts.groups[static_cast<int>(form)];
      counts.rows[static_cast<int>(form)] += rows_of_group(g);
    }
    if (data_.size() != static_cast<std::size_t>(bytes))
      data_ = buffer<std::byte>(ctx_, static_cast<std::size_t>(bytes));
    place_ = std::move(place);
    counts_ = counts;
  }
  void pack(const T* whole, index_t g) {
    with_values(data_.data(), g, [&]<class S>(S* to) {
      std::fill_n(to, static_cast<std::size_t>(slots()) * block_size(), S{});
      const index_t last = std::min(blocks(), (g + 1) * slots());
      for (index_t k = g * slots(); k < last; ++k, to += block_size()) {
        const index_t size = std::min(b_, n_ - k * b_);
        const T* const from = whole + std::int64_t{k} * b_ * b_;
        for (index_t i = 0; i < size * size; ++i) to[i / size * b_ + i % size] = narrowed<S>(from[i]);
      }
    });
  }
  /// Calls f with the values of a group.
  template <class Byte, class F>
  [[gnu::always_inline]] void with_values(Byte* data, index_t g, const F& f) const {
    const auto as = [&]<class S>(S) __attribute__((always_inline)) {
      using to = std::conditional_t<std::is_const_v<Byte>, const S, S>;
      f(reinterpret_cast<to*>(data + inverse_bytes_before(place_.data()[g])));
    };
    switch (inverse_form_at(place_.data()[g])) {
      case inverse_form::bf16:
        return as(bf16{});
      case inverse_form::f32:
        if constexpr (sizeof(T) > 4) return as(float{});
        break;
      case inverse_form::whole:
        break;
    }
    as(T{});
  }
  template <int B>
  [[gnu::always_inline]] void multiply_group(index_t g, const scaling<V>& s) const {
    with_values(
        data_.data(), g, [&]<class S>(const S* m) __attribute__((always_inline)) {
          multiply<B>(m, g * inverse_slots(B) * B, rows_of_group(g), s);
        });
  }

  context ctx_;
  index_t n_, b_;
  bool narrows_;
  isa isa_;
  int threads_;
  buffer<std::uint64_t> place_;  // of every group
  buffer<std::byte> data_;
  inverse_counts counts_;
};

}  // namespace

std::unique_ptr<inverse_blocks> make_inverse_blocks(const context& ctx, index_t n, index_t block, operation_types types,
                                                    bool narrows) {
  return dispatch_operation<type_set::floating | type_set::narrow>(
      types, [&]<class T, class V, class>() -> std::unique_ptr<inverse_blocks> {
        return std::make_unique<inverses<T, V>>(ctx, n, block, narrows);
      });
}

}  // namespace tulle::cpu
