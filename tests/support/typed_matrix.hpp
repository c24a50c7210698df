// A matrix of the battery with its types, and the vectors that go with it.
#pragma once

#include <limits>

#include "support/battery.hpp"

namespace tulle::test {

/// In a context's memory, and on the host as the vectors of V see it: their type holds every value of T.
template <scalar T, offset O, scalar V = T>
class typed_matrix {
 public:
  typed_matrix(const context& ctx, const battery_matrix& m)
      : ctx_(ctx), skip_(m.misaligned ? 1 : 0), host_(typed<V, O>(m)) {
    rowptr_ = upload(host_.rowptr);
    colind_ = upload(host_.colind);
    replace_values(m.values);
  }

  /// New numbers, in new memory.
  void replace_values(const std::vector<double>& values) {
    const std::vector<T> stored = values_as<T>(values);
    host_.values.assign(stored.begin(), stored.end());
    values_ = upload(stored);
  }
  [[nodiscard]] csr_view<V, O> host() const { return host_.view(); }
  [[nodiscard]] csr_view<T, O> device() const {
    return {
        host_.rows,  host_.cols, host_.nnz(), rowptr_.data() + skip_, colind_.data() + skip_, values_.data() + skip_,
        ctx_.space()};
  }

 private:
  template <class E>
  buffer<E> upload(const std::vector<E>& from) const {
    buffer<E> to(ctx_, from.size() + skip_);
    if (!from.empty()) {
      copy_bytes(ctx_, to.data() + skip_, ctx_.space(), from.data(), memory_space::host, from.size() * sizeof(E));
    }
    return to;
  }

  context ctx_;
  std::size_t skip_;
  plain_csr<V, O> host_;
  buffer<O> rowptr_;
  buffer<index_t> colind_;
  buffer<T> values_;
};

template <scalar T>
std::vector<T> random_vector(index_t size, std::uint64_t seed, const std::vector<double>& special = {}) {
  const std::vector<double> numbers = random_numbers(static_cast<std::size_t>(size), seed);
  std::vector<T> out(numbers.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = !special.empty() && special[i] != 0 ? static_cast<T>(special[i]) : value_as<T>(numbers[i]);
  }
  return out;
}

/// What y holds before: NaN where it must not be read.
template <scalar T>
std::vector<T> initial_y(index_t size, double beta) {
  if (beta == 0 && std::numeric_limits<T>::has_quiet_NaN) {
    return std::vector<T>(static_cast<std::size_t>(size), std::numeric_limits<T>::quiet_NaN());
  }
  return random_vector<T>(size, 99);
}

}  // namespace tulle::test
