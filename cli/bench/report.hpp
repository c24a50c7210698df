// The tables that a person reads.
#pragma once

#include <span>
#include <string>

#include "measure.hpp"

namespace tulle::cli::bench {

/// Every record of one subject, fastest first, one table a state of the cache; the plan's own choice is marked `*`.
std::string subject_table(const subject& s, std::span<const record> records, std::span<const omission> omitted);

/// How the plan's choice compares with the best of our kernels and of the vendor's, over all matrices.
std::string choice_summary(std::span<const record> records);

/// The kernels whose answers were wrong; empty when all were right.
std::string failures(const results& all);

}  // namespace tulle::cli::bench
