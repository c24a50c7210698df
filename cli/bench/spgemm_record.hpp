// One measurement of C = A B as Google Benchmark's JSON, and the table of all of one matrix.
#pragma once

#include "common/page.hpp"
#include "record.hpp"

namespace tulle::cli::bench {

/// One kernel on one matrix in one phase; rows and cols are those of C, nnz is that of A.
struct spgemm_record : measurement {
  bool transposed_b = false;  // C = A A^T, else A A
  std::int64_t nnz_b = 0;
  double copy_bandwidth = 0;   // of the machine, bytes a second
  double cache_bandwidth = 0;  // the same, read from a GPU's L2; 0 = unknown
  std::string phase;           // "whole": from A and B to a new, sorted C; "numeric": the values alone
  std::int64_t products = 0;
  std::int64_t nnz_c = 0;
  std::size_t peak_bytes = 0;  // of the whole call, beyond A, B and C; workspace_bytes is what the plan owns after it
  std::int64_t checked_rows = 0;  // among which error_ratio is the largest
  std::string wrong;              // what is wrong with the pattern
  bool sorted = false;            // every row
  bool same_bits = false;         // as the first kernel's C

  /// "spgemm/default/cant/f64/whole".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_right() const { return error_ratio <= 1 && wrong.empty() && sorted; }
  [[nodiscard]] bool is_failure() const { return !is_right() && !vendor; }
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] double gflops() const { return 2 * static_cast<double>(products) / time.median * 1e-3; }
  [[nodiscard]] double compression() const {
    return nnz_c > 0 ? static_cast<double>(products) / static_cast<double>(nnz_c) : 0;
  }
  [[nodiscard]] double entry_bytes() const {
    return static_cast<double>(size_of(type_named(precision)) + sizeof(index_t));
  }
  /// The fewest bytes: columns and values of A, of B where it is another matrix, and of C, and 12 for each row.
  [[nodiscard]] double compulsory_bytes() const;
  [[nodiscard]] double gbs() const { return compulsory_bytes() / time.median * 1e-3; }
  /// Column and value of an entry of B for each product: what comes through the L2 where no row of B is kept closer.
  [[nodiscard]] double gathered_bytes() const { return entry_bytes() * static_cast<double>(products); }
  [[nodiscard]] double gather_gbs() const { return gathered_bytes() / time.median * 1e-3; }
  /// Of the bandwidth of a copy.
  [[nodiscard]] double percent_of_bandwidth() const { return copy_bandwidth > 0 ? gbs() * 1e11 / copy_bandwidth : 0; }
  /// gather_gbs against what the L2 gives; nothing where that is unknown.
  [[nodiscard]] std::optional<double> percent_of_gather() const;
};
using spgemm_results = results<spgemm_record>;

json to_json(const spgemm_record& r);

/// `matrix` says what is multiplied, also where there is no record.
void add_products(page& to, const spgemm_record& matrix, const spgemm_results& measured);

}  // namespace tulle::cli::bench
