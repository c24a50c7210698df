// The records of tulle spmv as text.
#pragma once

#include "common.hpp"

namespace tulle::cli {

void print_header(const json& record);
/// One kernel, line by line.
void print_outcome(const json& r);
/// What each kernel says about the matrix.
void print_candidates(const json& candidates);
/// Several kernels, one a line, and those that were not run.
void print_table(const json& record);

}  // namespace tulle::cli
