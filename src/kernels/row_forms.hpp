// In which form the values of each row of a host matrix are stored: value_bound.hpp, on all threads.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "kernels/value_bound.hpp"

namespace tulle {

struct row_forms {
  buffer<row_form> of_row;
  form_findings all = {};  // of rows that have values

  [[nodiscard]] bool halves() const noexcept { return all.counts.rows[place_of(least_f16_form)] > 0; }
  [[nodiscard]] bool narrow() const noexcept { return halves() || all.counts.rows[place_of(f32_form)] > 0; }
  /// Nothing but floats.
  [[nodiscard]] bool floats() const noexcept {
    return narrow() && !halves() && all.counts.rows[place_of(whole_form)] == 0;
  }
};

/// What the options say of this matrix.
template <offset O>
value_selection selection_for(int threads, csr_view<double, O> a, const spmv_options& options);

/// `halves`: f16 is among the forms. The forms are in the host's memory.
template <offset O>
row_forms choose_row_forms(const context& host, int threads, csr_view<double, O> a, const value_selection& selection,
                           bool halves);

}  // namespace tulle
