// In which form the values of each row of a matrix on the device are stored: kernels/value_bound.hpp, as on a CPU.
#pragma once

#include "kernels/row_forms.hpp"

namespace tulle::cuda {

/// What the options say of this matrix. Waits for the stream where they speak of the norm or the mean.
template <offset O>
value_selection selection_for(const context& ctx, csr_view<double, O> a, const spmv_options& options);

/// `halves`: f16 is among the forms, which are in the device's memory. Waits for the stream.
template <offset O>
row_forms choose_row_forms(const context& ctx, csr_view<double, O> a, const value_selection& selection, bool halves);

}  // namespace tulle::cuda
