// A matrix of the battery with its types, and the vectors that go with it.
#pragma once

#include <cstring>
#include <limits>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>
#include <vector>

#include "conformance/battery.hpp"

namespace tulle::test {

/// On the host and in a context's memory.
template <scalar T, offset O>
class typed_matrix {
 public:
  typed_matrix(const context& ctx, const battery_matrix& m)
      : ctx_(ctx),
        shape_{m.rows, m.cols},
        skip_(m.misaligned ? 1 : 0),
        rowptr_(m.rowptr.begin(), m.rowptr.end()),
        colind_(m.colind),
        values_(convert(m.values)),
        device_rowptr_(upload(rowptr_)),
        device_colind_(upload(colind_)),
        device_values_(upload(values_)) {}

  /// New numbers, in new memory.
  void replace_values(const std::vector<double>& values) {
    values_ = convert(values);
    device_values_ = upload(values_);
  }
  [[nodiscard]] csr_view<T, O> host() const {
    return {shape_.rows, shape_.cols, nnz(), rowptr_.data(), colind_.data(), values_.data(), memory_space::host};
  }
  [[nodiscard]] csr_view<T, O> device() const {
    return {shape_.rows,
            shape_.cols,
            nnz(),
            device_rowptr_.data() + skip_,
            device_colind_.data() + skip_,
            device_values_.data() + skip_,
            ctx_.space()};
  }

 private:
  [[nodiscard]] O nnz() const { return static_cast<O>(colind_.size()); }
  static std::vector<T> convert(const std::vector<double>& from) {
    std::vector<T> to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = value_as<T>(from[i]);
    return to;
  }
  template <class V>
  buffer<V> upload(const std::vector<V>& from) const {
    buffer<V> to(ctx_, from.size() + skip_);
    if (!from.empty()) {
      copy_bytes(ctx_, to.data() + skip_, ctx_.space(), from.data(), memory_space::host, from.size() * sizeof(V));
    }
    return to;
  }

  context ctx_;
  shape shape_;
  std::size_t skip_;
  std::vector<O> rowptr_;
  std::vector<index_t> colind_;
  std::vector<T> values_;
  buffer<O> device_rowptr_;
  buffer<index_t> device_colind_;
  buffer<T> device_values_;
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

template <scalar T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace tulle::test
