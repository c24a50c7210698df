// Orders that commands take, make and write, and what they are worth in words and JSON.
#pragma once

#include <tulle/ops/permutation.hpp>
#include <tulle/reorder/orderings.hpp>

#include "matrix.hpp"
#include "page.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tulle::cli {

/// --method, --permutation, --part-rows, --window, --seed.
struct order_request {
  std::string method = "rcm";
  std::string file;  // instead of a method
  ordering_options options;
  int part_rows = 0;
  int window = 1024;
  CLI::Option *of_any = nullptr, *of_partition = nullptr, *of_length = nullptr, *of_random = nullptr;

  /// "rcm", or the file's name.
  [[nodiscard]] std::string name() const { return file.empty() ? method : file; }
};
void add_order_options(CLI::App& app, order_request& o);
/// Throws INVALID_ARGUMENT for those that say nothing of the order asked for.
void check_order_options(const order_request& o);

/// Of the rows of a matrix in the memory of `ctx`.
permutation make_order(const context& ctx, const matrix_ref& a, const order_request& o);

/// The matrix in the order of a method: rows and columns alike, or rows alone where it is about them or A is not
/// square.
struct ordered_matrix {
  matrix_ref matrix;
  bool of_rows;
};
ordered_matrix in_order(const context& ctx, const matrix_ref& a, const std::string& method);

/// A plain text file ("-": standard input) with one number per line, n of them, from 0: line i + 1 says what comes to
/// place i. Empty lines at the end count for nothing. Throws FILE_IO, INVALID_FORMAT naming the line,
/// INVALID_DIMENSIONS.
permutation read_permutation(const context& ctx, const std::string& file, index_t n);
/// Throws INVALID_ARGUMENT for the name of a compressed file, which read_permutation would not take.
void check_permutation_name(const std::string& file);
/// Throws FILE_IO, and reader_gone for "-".
void write_permutation(const std::string& file, const permutation& p);

json to_json(const order_quality& q);
/// Facts: bandwidth, profile, sectors and lines; with `after` each as "before -> after".
void add_quality(page& to, const order_quality& before, const std::optional<order_quality>& after);

}  // namespace tulle::cli
