#include <map>
#include <tulle/io/matrix_market.hpp>

#include "spgemm/operands.hpp"
#include "support/files.hpp"

namespace tulle::test {
namespace {

constexpr std::int64_t most_entries = 60'000;      // of a matrix
constexpr std::int64_t most_products = 2'000'000;  // about: by mean and longest rows

struct catalogued {
  std::string name;
  std::filesystem::path file;
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  std::int64_t longest_row = 0;
};

/// The small real matrices of the catalogue: name, rows, cols, stored_entries, expanded_nnz, field, symmetry, avg_row,
/// max_row, empty_rows, spd, class, file.
std::vector<catalogued> small_matrices() {
  std::vector<catalogued> out;
  const std::filesystem::path directory = shared_directory() / "matrices";
  if (!std::filesystem::exists(directory / "CATALOGUE.tsv")) return out;
  for (const std::vector<std::string>& row : read_table(directory / "CATALOGUE.tsv")) {
    if (row.size() < 13 || row[5] == "complex" || std::stoll(row[4]) > most_entries) continue;
    out.push_back(
        {row[0], directory / row[12], std::stoi(row[1]), std::stoi(row[2]), std::stoll(row[4]), std::stoll(row[8])});
  }
  return out;
}

/// Read once, kept for the pairs that follow.
const battery_matrix& read(const catalogued& m) {
  static std::map<std::string, battery_matrix> known;
  const auto found = known.find(m.name);
  if (found != known.end()) return found->second;
  const temporary_directory directory;
  auto a = plain(read_matrix_market<double>(decompressed(m.file, directory)));
  return known[m.name] = battery_matrix{std::move(a), m.name};
}

bool small_product(const catalogued& a, const catalogued& b) {
  const std::int64_t mean = b.nnz / std::max<index_t>(b.rows, 1) + 1;
  return a.nnz * mean + a.longest_row * b.longest_row <= most_products;
}

std::vector<product_recipe> all_pairs() {
  std::vector<product_recipe> out;
  const std::vector<catalogued> all = small_matrices();
  for (const catalogued& a : all) {
    for (const catalogued& b : all) {
      if (a.cols != b.rows || !small_product(a, b)) continue;
      out.push_back({"shared/" + a.name + "*" + b.name, [a, b] { return operands{read(a), read(b)}; }});
    }
    if (a.rows != a.cols && small_product(a, a)) {
      out.push_back({"shared/" + a.name + "*transposed", [a] {
                       return operands{read(a), battery_matrix{transposed(read(a))}};
                     }});
    }
  }
  return out;
}

}  // namespace

const std::vector<product_recipe>& shared_products() {
  static const std::vector<product_recipe> all = all_pairs();
  return all;
}

}  // namespace tulle::test
