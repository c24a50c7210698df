// Orders that commands take, make and write, and what they are worth in words and JSON.
#pragma once

#include <tulle/ops/permutation.hpp>
#include <tulle/reorder/orderings.hpp>

#include "matrix.hpp"

namespace CLI {
class App;
}

namespace tulle::cli {

/// --method, --permutation, --part-rows, --window, --seed.
struct order_request {
  std::string method = "rcm";
  std::string file;  // instead of a method
  ordering_options options;
  int part_rows = 0;
  int window = 1024;

  /// "rcm", or the file's name.
  [[nodiscard]] std::string name() const { return file.empty() ? method : file; }
};
void add_order_options(CLI::App& app, order_request& o);

/// Of the rows of a matrix in the memory of `ctx`.
permutation make_order(const context& ctx, const matrix_ref& a, const order_request& o);

/// A text file with one number per line, n of them, from 0: line i + 1 says what comes to place i. Empty lines at the
/// end count for nothing. Throws FILE_IO, INVALID_FORMAT naming the line, INVALID_DIMENSIONS.
permutation read_permutation(const context& ctx, const std::string& file, index_t n);
/// Throws FILE_IO.
void write_permutation(const std::string& file, const permutation& p);

json to_json(const order_quality& q);
/// Lines of text: bandwidth, profile, sectors and lines; with `after` each as "before -> after".
void print_quality(const order_quality& before, const std::optional<order_quality>& after);

}  // namespace tulle::cli
