// How the rows of one thread are summed: by the path that was fastest on this processor, and in the order that it
// wants.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <tulle/formats/views.hpp>

#include "cpu/spmv/row_order.hpp"
#include "cpu/spmv/row_path.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/rows_by_length.hpp"

namespace tulle::cpu {

/// What sums of rows may be handed to in any order: their results do not depend on it.
template <class Finish, class V>
concept takes_any_order = std::same_as<Finish, scaled<V>>;

class row_walk {
 public:
  row_walk() = default;
  /// Of the rows [first, last) of `a`. `sorts`: rows may be put in order.
  template <scalar T, offset O>
  static row_walk of(csr_view<T, O> a, index_t first, index_t last, const row_paths& paths, bool sorts) {
    row_walk made;
    made.in_place_ = paths.in_place;
    if (sorts && paths.of_all == row_path::avx2_by_length) made.order_ = row_order(a.rowptr, first, last);
    return made;
  }

  /// Hands the sums of the rows to `out`, `first` being as above.
  template <scalar T, offset O, scalar V, class Finish>
  void multiply(csr_view<T, O> a, index_t first, index_t last, const V* x, Finish& out) const {
    if constexpr (takes_any_order<Finish, V> && !std::same_as<V, std::int32_t>) {
      if (order_.windows() > 0) return multiply_rows_by_length(a, order_, first, x, out);
    }
    multiply_rows(in_place_, a, first, last, x, out);
  }

  [[nodiscard]] row_path path() const { return order_.windows() > 0 ? row_path::avx2_by_length : in_place_; }
  [[nodiscard]] std::size_t bytes() const { return order_.bytes(); }

 private:
  row_path in_place_ = path_of(best_isa());
  row_order order_;  // none: rows are taken where they are
};

}  // namespace tulle::cpu
