// The values of a packed matrix, in as few bytes as give back every bit of them.
#pragma once

#include "cuda/spmv/narrow_values.hpp"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_values.cuh"

namespace tulle::cuda {

/// Numbers of T, used as numbers of V.
template <class T, class V>
class packed_numbers {
 public:
  /// The first call decides how values are stored. Later ones look again where that was not whole, and wait for the
  /// stream then.
  template <offset O>
  void fill(const context& ctx, const packed_storage& pattern, csr_view<T, O> a) {
    if (data_.empty() || kind_.storage != value_storage::whole) decide(ctx, a.values, a.nnz);
    pattern.fill_values(
        ctx, a.rowptr, a.values,
        packed_writer<T>{kind_.storage, data_.data(), kind_.list.data(), static_cast<int>(kind_.list.size())});
  }

  /// Calls f with what reads them.
  template <class F>
  void with(F&& f) const {
    switch (kind_.storage) {
      case value_storage::f32:
        if constexpr (sizeof(T) == 8) return f(stored_values<float, V>{as<float>()});
        break;
      case value_storage::bf16:
        return f(bf16_values<V>{as<std::uint16_t>()});
      case value_storage::listed:
        return f(listed_values<T, V>{as<std::uint8_t>(), kind_.list.data()});
      default:
        break;
    }
    return f(stored_values<T, V>{as<T>()});
  }
  [[nodiscard]] value_storage storage() const noexcept { return kind_.storage; }
  [[nodiscard]] std::size_t bytes() const noexcept { return data_.bytes() + kind_.list.bytes(); }

 private:
  template <class S>
  const S* as() const {
    return reinterpret_cast<const S*>(data_.data());
  }
  void decide(const context& ctx, const T* values, std::int64_t count) {
    kind_ = narrowest(ctx, values, count);
    const std::size_t bytes = static_cast<std::size_t>(count) * bytes_of(kind_.storage);
    if (data_.size() != bytes) data_ = buffer<std::byte>(ctx, bytes);
  }
  static std::size_t bytes_of(value_storage s) {
    return s == value_storage::listed ? 1 : s == value_storage::bf16 ? 2 : s == value_storage::f32 ? 4 : sizeof(T);
  }

  narrow_values<T> kind_;
  buffer<std::byte> data_;
};

}  // namespace tulle::cuda
