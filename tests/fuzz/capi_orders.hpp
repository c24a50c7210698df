// Orders of the C API in a session: found, given, inverted, put together, and what they do to vectors and matrices.
#pragma once

#include <algorithm>
#include <numeric>

#include "capi_handles.hpp"

namespace tulle::fuzz {

struct order {
  tulle_permutation* handle = nullptr;
  std::int64_t size = 0;
};

inline void destroy(const order& o) { tulle_permutation_destroy(o.handle); }

class order_steps {
 public:
  order_steps(input& in, arena& memory) : in_(in), memory_(memory) {}

  /// Of the rows of `m` for the most part.
  void make(tulle_context* context, tulle_csr* m, std::int64_t rows) {
    order made{nullptr, rows};
    tulle_status status = TULLE_STATUS_SUCCESS;
    switch (in_.below(4)) {
      case 0: {
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
        std::iota(numbers.begin(), numbers.end(), 0);
        for (std::int64_t& n : numbers) std::swap(n, numbers[in_.byte() % numbers.size()]);
        const bool broken = in_.rarely() && !numbers.empty();
        if (broken) numbers[in_.byte() % numbers.size()] = in_.one_of({-1, 1000, INT32_MAX, INT32_MIN});
        status = tulle_permutation_create(context, memory_.copy<std::int32_t>(numbers), in_.rarely() ? -1 : rows,
                                          in_.rarely() ? 3 : TULLE_HOST, &made.handle);
        require(!broken || status != TULLE_STATUS_SUCCESS, "a broken permutation");
        break;
      }
      case 1: {
        tulle_order_quality quality{};
        ok(tulle_measure_order(context, m, &quality));
        const tulle_order_options options{in_.rarely() ? -1 : in_.below(4), in_.below(20), in_.byte()};
        status = tulle_order(context, m, in_.rarely() ? 8 : in_.below(8), in_.byte() < 128 ? nullptr : &options,
                             &made.handle);
        break;
      }
      case 2: {
        const order& of = all_.pick(in_);
        made.size = of.size;
        status = tulle_permutation_inverse(of.handle, &made.handle);
        break;
      }
      default: {
        const order &of = all_.pick(in_), &next = all_.pick(in_);
        made.size = of.size;
        status = tulle_permutation_then(of.handle, next.handle, &made.handle);
      }
    }
    require(ok(status) == (made.handle != nullptr), "a handle goes with SUCCESS alone");
    if (made.handle == nullptr) return;
    require_permutation(made);
    all_.add(made);
  }

  /// One of so many things where there is any; now and then another, or none.
  const tulle_permutation* of_size(std::int64_t size) {
    if (in_.rarely()) return all_.pick(in_).handle;
    for (const order& o : all_.all) {
      if (o.size == size && in_.byte() < 128) return o.handle;
    }
    return nullptr;
  }

  void move_vector() {
    const order& o = all_.pick(in_);
    const tulle_scalar_type type = in_.below(3);
    const void* const x = memory_.numbers(in_, o.size, type);
    void *const y = memory_.numbers(in_, o.size, type), *const z = memory_.numbers(in_, o.size, type);
    if (!ok(tulle_permutation_apply(o.handle, type, x, in_.rarely() ? nullptr : y, in_.size(o.size)))) return;
    if (!ok(tulle_permutation_apply_inverse(o.handle, in_.rarely() ? 7 : type, y, z, o.size))) return;
    for (std::int64_t i = 0; i < o.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      require(number_at(x, at, type) == number_at(z, at, type), "an element that did not come back");
    }
  }

  void destroy_one() {
    if (!all_.all.empty()) all_.destroy_one(in_.byte() % all_.all.size());
  }

 private:
  void require_permutation(const order& o) {
    std::int64_t size = -1;
    require(ok(tulle_permutation_size(o.handle, &size)) && size == o.size, "a permutation of another size");
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(size));
    require(ok(tulle_permutation_copy_out(o.handle, numbers.data())), "numbers of a permutation");
    std::ranges::sort(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) require(numbers[i] == std::int32_t(i), "a number that is missing");
  }

  input& in_;
  arena& memory_;
  pool<order> all_;
};

}  // namespace tulle::fuzz
