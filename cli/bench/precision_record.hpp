// One way to store the values of a matrix: its record, and the table of all.
#pragma once

#include "common/page.hpp"
#include "record.hpp"

namespace tulle::cli::bench {

struct precision_record : measurement {
  std::string values;            // as given, or what they were made
  std::string form;              // "f64", "f32 under f64", "row 1e-05", ...
  std::string cache;             // cold, warm
  narrowing mixed = {};          // what the plan might lose
  value_tolerance promise = {};  // beyond rounding, what the answer was held to
  stored_values stored = {};
  std::string parameters;
  std::string reason;
  std::size_t matrix_bytes = 0;  // values, indices, offsets
  double moved_bytes = 0;        // with x and y once
  double plan_us = 0;
  double over_f64 = 0;  // the time of form f64 over this one's

  /// "precision/row 1e-05/packed/cant/as given/cold".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_right() const { return error_ratio <= 1; }
  [[nodiscard]] bool is_failure() const { return !is_right(); }
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] double bytes_per_nonzero() const {
    return static_cast<double>(matrix_bytes) / static_cast<double>(std::max<std::int64_t>(nnz, 1));
  }
};
using precision_results = results<precision_record>;

json to_json(const precision_record& r);

/// Those of one matrix: a table for each kind of values and each state of the cache.
void add_precisions(page& to, const std::vector<precision_record>& records);

}  // namespace tulle::cli::bench
