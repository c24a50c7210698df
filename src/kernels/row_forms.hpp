// In which form the values of each row of a host matrix are stored: value_bound.hpp, on all threads.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "kernels/value_bound.hpp"

namespace tulle {

struct row_forms {
  buffer<row_form> of_row;
  double lost = 0;      // the largest |a - a'| / |a|
  bool narrow = false;  // some row takes fewer bytes
  bool halves = false;  // some row takes two
};

/// What the options say of this matrix.
template <offset O>
value_selection selection_for(int threads, csr_view<double, O> a, const spmv_options& options);

/// `halves`: f16 is among the forms. The forms are in the host's memory.
template <offset O>
row_forms choose_row_forms(const context& host, int threads, csr_view<double, O> a, const value_selection& selection,
                           bool halves);

}  // namespace tulle
