#include "ops/reordering.hpp"

#include <algorithm>
#include <utility>

#include "kernels/backends.hpp"

namespace tulle::detail {
namespace {

/// Right-hand sides that go through a plan together: room for more would exceed what the matrix takes.
constexpr index_t vectors_together = 4;
/// Of the first of two steps: an eighth of a vector of 134 MB was as fast as a sixteenth, and faster than a quarter, on
/// an NVIDIA H200.
constexpr std::size_t ranges = 8;
/// Rows that a device's kernel stores one by one wherever they belong cost it more than y as a whole does afterwards,
/// unless they are this long on average: docs/notes/0017-plans-that-reorder.md.
constexpr double least_stored_mean = 16;

/// While it lives, rows are stored in an order.
class stored_in_order {
 public:
  stored_in_order(spmv_operator& a, const buffer<index_t>& order) : a_(a) { a_.store_in_order(order.data()); }
  stored_in_order(const stored_in_order&) = delete;
  stored_in_order& operator=(const stored_in_order&) = delete;
  ~stored_in_order() { a_.store_in_order(nullptr); }

 private:
  spmv_operator& a_;
};

strided_vectors one(const void* v) { return {const_cast<void*>(v), 1, 1, 0}; }

}  // namespace

reordering::reordering(const context& ctx, matrix_orders orders, scalar_type type, std::size_t cache_bytes)
    : ctx_(ctx), type_(type), cache_bytes_(cache_bytes), orders_(std::move(orders)) {}

void reordering::make_room(spmv_operator& a, double mean_row, bool fused) {
  const auto vectors = [&](const permutation& order, index_t count) {
    return buffer<std::byte>(ctx_, order.order().size() * static_cast<std::size_t>(count) * size_of(type_));
  };
  by_kernel_ = a.store_in_order(nullptr);
  const bool large = rows().order().size() * size_of(type_) > cache_bytes_;
  if (ctx_.backend() != backend_kind::cpu) by_kernel_ = by_kernel_ && (large || mean_row >= least_stored_mean);
  if (!by_kernel_ || !large) steps_.reset();
  if (x_.empty()) x_ = vectors(columns(), vectors_together);
  if (y_.empty()) y_ = vectors(rows(), vectors_together);
  if (by_kernel_ && large && !steps_) take_two_steps();
  for (buffer<std::byte>& v : of_rows_) {
    if (!by_kernel_ && fused && v.empty()) v = vectors(rows(), 1);
  }
  ctx_.synchronize();  // applications may come on another stream
}

void reordering::take_two_steps() {
  const auto split = reorders_of(ctx_.backend()).split;
  if (split == nullptr || orders_.own_columns) return;
  const std::size_t n = rows().order().size();
  const auto span = static_cast<index_t>((n + ranges - 1) / ranges);
  two_steps made{buffer<index_t>(ctx_, n), buffer<index_t>(ctx_, n), {}};
  split(ctx_, rows().order().data(), rows().size(), span, made.source.data(), made.place.data());
  const permutation source(
      ctx_, permutation_ref(offset_type::i32, made.source.data(), rows().size(), ctx_.space(), ctx_.device()));
  made.back = clone(ctx_, source.inverse_order());
  steps_.emplace(std::move(made));
}

void* reordering::between(int i) const {
  return y_.data() + y_.size() / vectors_together * static_cast<std::size_t>(i);
}

void reordering::move(const buffer<index_t>& from, const void* x, double beta, void* y, stream_view stream) const {
  move(from, one(x), beta, one(y), stream);
}

void reordering::move(const buffer<index_t>& from, const strided_vectors& x, double beta, const strided_vectors& y,
                      stream_view stream) const {
  reorders_of(ctx_.backend()).gather({ctx_, stream, type_, static_cast<index_t>(from.size()), from.data()}, x, beta, y);
}

const void* reordering::gathered(const void* x, stream_view stream) const {
  if (steps_) {
    move(steps_->source, x, 0, between(0), stream);
    move(steps_->place, between(0), 0, x_.data(), stream);
  } else {
    move(columns().order(), x, 0, x_.data(), stream);
  }
  return x_.data();
}

void reordering::apply(spmv_operator& a, double alpha, const void* x, double beta, void* y, stream_view stream) const {
  const void* const own_x = gathered(x, stream);
  if (steps_) {
    const stored_in_order order(a, steps_->place);
    a.apply(alpha, own_x, 0, between(1), stream);
    return move(steps_->back, between(1), beta, y, stream);
  }
  if (by_kernel_) {
    const stored_in_order order(a, rows().order());
    return a.apply(alpha, own_x, beta, y, stream);
  }
  a.apply(alpha, own_x, 0, y_.data(), stream);
  move(rows().inverse_order(), y_.data(), beta, y, stream);
}

void reordering::apply_many(spmv_operator& a, double alpha, const strided_vectors& x, double beta,
                            const strided_vectors& y, stream_view stream) const {
  const auto size = static_cast<std::int64_t>(size_of(type_));
  const auto some = [&](const strided_vectors& v, index_t first, index_t count) {
    return strided_vectors{static_cast<std::byte*>(v.data) + first * v.vector_stride * size, count, v.row_stride,
                           v.vector_stride};
  };
  /// As v is stored. To the null pointer of vectors without elements nothing may be added.
  const auto own = [](const strided_vectors& v, void* data, index_t count, index_t rows) {
    if (data == nullptr) return strided_vectors{nullptr, count, 0, 0};
    const bool by_row = v.vector_stride == 1 || rows == 1;
    return by_row ? strided_vectors{data, count, count, 1} : strided_vectors{data, count, 1, rows};
  };
  for (index_t first = 0; first < x.count; first += vectors_together) {
    const index_t count = std::min(vectors_together, x.count - first);
    const strided_vectors own_x = own(x, x_.data(), count, columns().size());
    const strided_vectors own_y = own(y, y_.data(), count, rows().size());
    move(columns().order(), some(x, first, count), 0, own_x, stream);
    a.apply_many(alpha, own_x, 0, own_y, stream);
    move(rows().inverse_order(), own_y, beta, some(y, first, count), stream);
  }
}

void reordering::apply_dots(spmv_operator& a, double alpha, const void* x, double beta, void* y, const void* w,
                            const vector_ref& dots, stream_view stream) const {
  const void* const own_x = gathered(x, stream);
  if (steps_) {
    move(steps_->source, w, 0, between(2), stream);
    if (beta != 0) move(steps_->source, y, 0, between(1), stream);
    const stored_in_order order(a, steps_->place);
    a.apply_dots(alpha, own_x, beta, between(1), between(2), dots, stream);
    return move(steps_->back, between(1), 0, y, stream);
  }
  if (by_kernel_) {
    const stored_in_order order(a, rows().order());
    return a.apply_dots(alpha, own_x, beta, y, w, dots, stream);
  }
  move(rows().order(), w, 0, of_rows_[0].data(), stream);
  if (beta != 0) move(rows().order(), y, 0, y_.data(), stream);
  a.apply_dots(alpha, own_x, beta, y_.data(), of_rows_[0].data(), dots, stream);
  move(rows().inverse_order(), y_.data(), 0, y, stream);
}

void reordering::apply_jacobi(spmv_operator& a, double omega, const void* x, const void* b,
                              const void* inverse_diagonal, void* y, stream_view stream) const {
  const void* const own_x = gathered(x, stream);
  if (steps_) {
    move(steps_->source, b, 0, between(2), stream);
    move(steps_->source, inverse_diagonal, 0, between(3), stream);
    const stored_in_order order(a, steps_->place);
    a.apply_jacobi(omega, own_x, between(2), between(3), between(1), stream);
    return move(steps_->back, between(1), 0, y, stream);
  }
  if (by_kernel_) {
    const stored_in_order order(a, rows().order());
    return a.apply_jacobi(omega, own_x, b, inverse_diagonal, y, stream);
  }
  move(rows().order(), b, 0, of_rows_[0].data(), stream);
  move(rows().order(), inverse_diagonal, 0, of_rows_[1].data(), stream);
  a.apply_jacobi(omega, own_x, of_rows_[0].data(), of_rows_[1].data(), y_.data(), stream);
  move(rows().inverse_order(), y_.data(), 0, y, stream);
}

std::size_t reordering::bytes() const noexcept {
  std::size_t sum = x_.bytes() + y_.bytes() + of_rows_[0].bytes() + of_rows_[1].bytes();
  sum += (steps_ ? 5 : 2) * rows().order().bytes();
  return orders_.own_columns ? sum + 2 * columns().order().bytes() : sum;
}

}  // namespace tulle::detail
