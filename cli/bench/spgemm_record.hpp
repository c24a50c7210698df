// One measurement of C = A B as Google Benchmark's JSON, and the table of all of one matrix.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common.hpp"
#include "record.hpp"
#include "statistics.hpp"

namespace tulle::cli::bench {

/// What is multiplied, and the machine's limit.
struct spgemm_subject {
  std::string matrix;  // short name
  std::string matrix_hash;
  std::string precision;      // f32, f64
  bool transposed_b = false;  // C = A A^T, else A A
  index_t rows = 0;           // of C
  index_t cols = 0;
  std::int64_t nnz_a = 0;
  std::int64_t nnz_b = 0;
  double copy_bandwidth = 0;   // bytes a second
  double cache_bandwidth = 0;  // the same, read from a GPU's L2; 0 = unknown
};

/// One kernel on one matrix in one phase.
struct spgemm_record {
  std::string kernel;
  std::string phase;  // "whole": from A and B to a new, sorted C; "numeric": the values alone
  bool vendor = false;
  bool chosen = false;  // what a plan takes by itself
  std::int64_t products = 0;
  std::int64_t nnz_c = 0;
  sample_summary time;              // microseconds
  std::size_t peak_bytes = 0;       // of the whole call, beyond A, B and C
  std::size_t workspace_bytes = 0;  // what the plan owns after it
  double error_ratio = 0;           // the largest error over its bound, among the rows looked at
  std::int64_t checked_rows = 0;
  std::string wrong;       // what is wrong with the pattern
  bool sorted = false;     // every row
  bool same_bits = false;  // as the first kernel's C

  [[nodiscard]] bool is_right() const { return error_ratio <= 1 && wrong.empty() && sorted; }
  [[nodiscard]] double gflops() const { return 2 * static_cast<double>(products) / time.median * 1e-3; }
  [[nodiscard]] double compression() const {
    return nnz_c > 0 ? static_cast<double>(products) / static_cast<double>(nnz_c) : 0;
  }
};

/// "spgemm/default/cant/f64/whole".
std::string name_of(const spgemm_subject& s, const spgemm_record& r);
/// The fewest bytes: columns and values of A, of B where it is another matrix, and of C, and 12 a row.
double compulsory_bytes(const spgemm_subject& s, const spgemm_record& r);
/// Column and value of an entry of B, once a product: what comes through the L2 where no row of B is kept closer.
double gathered_bytes(const spgemm_subject& s, const spgemm_record& r);
/// compulsory_bytes over the time, against the bandwidth of a copy.
double percent_of_bandwidth(const spgemm_subject& s, const spgemm_record& r);
/// gathered_bytes over the time, against what the L2 gives; nothing where that is unknown.
std::optional<double> percent_of_gather(const spgemm_subject& s, const spgemm_record& r);
json to_json(const spgemm_subject& s, const spgemm_record& r);

std::string spgemm_table(const spgemm_subject& s, std::span<const spgemm_record> records,
                         std::span<const omission> omitted);

}  // namespace tulle::cli::bench
