// Reading the inverses of diagonal blocks (kernels/inverse_blocks.hpp): a warp takes a group, `Block` neighbouring
// lanes a block, a lane one row of it. What is stored is loaded first, and made numbers where they are used, so that
// other loads go on meanwhile.
#pragma once

#include <type_traits>

#include "kernels/inverse_blocks.hpp"

namespace tulle::cuda {

struct inverse_view {
  inverse_places places;
  const std::byte* data = nullptr;

  friend bool operator==(const inverse_view&, const inverse_view&) = default;
};

/// A lane's row of values of T or narrower, used as numbers of V.
template <int Block, class T, class V>
class inverse_row {
 public:
  __device__ __forceinline__ void load(const inverse_view& a, std::int64_t group, int slot, int in) {
    std::int64_t before;
    if (a.places.place == nullptr) {
      form_ = a.places.form;
      before = group * inverse_group_bytes(form_, Block, sizeof(T));
    } else {
      const auto place = __ldg(reinterpret_cast<const unsigned long long*>(a.places.place) + group);
      form_ = inverse_form_at(place);
      before = inverse_bytes_before(place);
    }
    const std::byte* const from = a.data + before;
    const int first = (slot * Block + in) * Block;
    if (form_ == inverse_form::bf16) return load_as<unsigned short>(from, first);
    if (sizeof(T) > 4 && form_ == inverse_form::f32) return load_as<unsigned>(from, first);
    load_as<raw>(from, first);
  }
  __device__ __forceinline__ V operator[](int j) const {
    if (form_ == inverse_form::bf16) return static_cast<V>(__uint_as_float(static_cast<unsigned>(raw_[j]) << 16));
    if constexpr (sizeof(T) == 4) {
      return static_cast<V>(__uint_as_float(raw_[j]));
    } else {
      if (form_ == inverse_form::f32) return static_cast<V>(__uint_as_float(static_cast<unsigned>(raw_[j])));
      return static_cast<V>(__longlong_as_double(static_cast<long long>(raw_[j])));
    }
  }

 private:
  using raw = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  template <class S>
  __device__ __forceinline__ void load_as(const std::byte* from, int first) {
#pragma unroll
    for (int j = 0; j < Block; ++j) raw_[j] = __ldcs(reinterpret_cast<const S*>(from) + first + j);
  }
  raw raw_[Block];
  inverse_form form_;
};

}  // namespace tulle::cuda
