// Pictures of records, of this run or of an earlier one.
#pragma once

#include "common/output.hpp"
#include "options.hpp"

namespace tulle::cli::bench {

/// What --plot asks for, of a whole document as --output writes it: of the matrices, kernels, precisions and states of
/// the cache that the options name, where they do; of records with a cold cache, where there are such and --warm is not
/// asked for. Throws INVALID_ARGUMENT where none is left, or too many for the kind of picture, INVALID_FORMAT where a
/// record lacks what it should have, and as write_picture.
void plot_record(const json& document, const bench_options& options);

/// `tulle bench --from FILE --plot FILE`: measures nothing.
int run_plot(const bench_options& options);

}  // namespace tulle::cli::bench
