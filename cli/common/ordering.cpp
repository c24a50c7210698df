#include "ordering.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tulle/ops/matrix.hpp>

namespace tulle::cli {
namespace {

/// Longer than any number, with spaces to look at.
constexpr std::size_t longest_line = 64;

/// The number that a whole line is. Throws INVALID_FORMAT naming the line.
index_t number_in(const std::string& file, std::size_t line, std::string_view text, index_t n) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  index_t value = -1;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && rest == text.data() + text.size() && value >= 0 && value < n) return value;
  throw error(status::invalid_format,
              fmt::format("{}: line {}: '{}': must be a number from 0 to {}", file, line, text.substr(0, 40), n - 1));
}

std::string pair(double before, const std::optional<double>& after) {
  return after ? fmt::format("{:.3f} -> {:.3f}", before, *after) : fmt::format("{:.3f}", before);
}
template <class N>
std::string whole(N before, const std::optional<N>& after) {
  return after ? fmt::format("{} -> {}", grouped(before), grouped(*after)) : grouped(before);
}

}  // namespace

void add_order_options(CLI::App& app, order_request& o) {
  o.of_any = add_ordering(app, "--method", o.method, "Ordering");
  add_file(app, "--permutation", o.file, "File with the order instead: one number per line, from 0");
  o.of_partition =
      add_count(app, "--part-rows", o.part_rows, 0, INT_MAX, "partition: unknowns of a part; 0: what fits the cache");
  o.of_length = add_count(app, "--window", o.window, 1, INT_MAX, "length: rows that are sorted together");
  o.of_random = app.add_option("--seed", o.options.seed, "random: another order for each")
                    ->check([](const std::string& text) {
                      std::uint64_t seed = 0;
                      const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), seed);
                      const bool whole = failure == std::errc() && rest == text.data() + text.size();
                      return whole ? "" : fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
                    })
                    ->type_name("N")
                    ->capture_default_str();
}

void check_order_options(const order_request& o) {
  if (!o.file.empty() && o.of_any->count() > 0) {
    throw error(status::invalid_argument, "--method and --permutation exclude each other");
  }
  const std::string method = o.file.empty() ? o.method : "";
  if (method != "partition") refuse_idle({o.of_partition}, "--method partition");
  if (method != "length") refuse_idle({o.of_length}, "--method length");
  if (method != "random") refuse_idle({o.of_random}, "--method random");
}

permutation make_order(const context& ctx, const matrix_ref& a, const order_request& o) {
  if (!o.file.empty()) return read_permutation(ctx, o.file, a.rows);
  ordering_options options = o.options;
  options.part_rows = o.part_rows;
  options.window = o.window;
  return order(ctx, a, ordering_named(o.method), options);
}

permutation read_permutation(const context& ctx, const std::string& file, index_t n) {
  if (file == "-") take_stdin();
  std::ifstream in(file == "-" ? "/dev/stdin" : file, std::ios::binary);
  std::vector<index_t> order;
  std::vector<std::size_t> line_of(static_cast<std::size_t>(n));
  char text[longest_line];
  std::size_t blank = 0;  // the first line of those that are empty up to here
  for (std::size_t line = 1; in.getline(text, longest_line) || in.gcount() > 0; ++line) {
    const std::string_view word(text);
    if (word.empty() || word == "\r") {
      if (blank == 0) blank = line;
      continue;
    }
    const index_t value = blank != 0 ? number_in(file, blank, "", n) : number_in(file, line, word, n);
    std::size_t& before = line_of[static_cast<std::size_t>(value)];
    if (before != 0) {
      throw error(status::invalid_format,
                  fmt::format("{}: line {}: {} is there twice, first on line {}", file, line, value, before));
    }
    before = line;
    order.push_back(value);
  }
  if (!in.is_open() || in.bad()) {
    throw error(status::file_io, fmt::format("{}: cannot be read: {}", file, std::strerror(errno)));
  }
  if (order.size() != static_cast<std::size_t>(n)) {
    throw error(status::invalid_dimensions, fmt::format("{}: has {} numbers, A has {} rows", file, order.size(), n));
  }
  return {ctx, order};
}

void check_permutation_name(const std::string& file) {
  const std::string kind = ending_of(file);
  if (kind != ".gz" && kind != ".zst" && kind != ".xz") return;
  throw error(status::invalid_argument, fmt::format("--save-permutation {}: orders are plain text", file));
}

void write_permutation(const std::string& file, const permutation& p) {
  fmt::memory_buffer text;
  for (const index_t i : p.to_vector()) fmt::format_to(std::back_inserter(text), "{}\n", i);
  write_text(file, {text.data(), text.size()});
  note_written(file);
}

ordered_matrix in_order(const context& ctx, const matrix_ref& a, const std::string& method) {
  const ordering how = ordering_named(method);
  const permutation p = order(ctx, a, how);
  const bool of_rows = how == ordering::length || a.rows != a.cols;
  return {of_rows ? permute_rows(ctx, a, p) : permute_symmetric(ctx, a, p), of_rows};
}

json to_json(const order_quality& q) {
  const auto by_lanes = [](const double(&v)[3]) {
    return object(field("thread", v[0]), field("lanes_8", v[1]), field("warp", v[2]));
  };
  return object(field("bandwidth", q.bandwidth), field("profile", q.profile),
                field("sectors_per_nonzero", by_lanes(q.sectors)), field("lines_per_nonzero", by_lanes(q.lines)));
}

void add_quality(page& to, const order_quality& before, const std::optional<order_quality>& after) {
  const auto of = [&](auto get) { return after ? std::optional(get(*after)) : std::optional<decltype(get(before))>(); };
  const auto add = [&](const char* label, double(order_quality::*const v)[3]) {
    const auto at = [&](int i) { return pair((before.*v)[i], of([&](const order_quality& q) { return (q.*v)[i]; })); };
    to.fact(label, fmt::format("of x per nonzero: thread per row {}, 8 lanes {}, warp {}", at(0), at(1), at(2)));
  };
  to.fact("bandwidth", whole(before.bandwidth, of([](const order_quality& q) { return q.bandwidth; })));
  to.fact("profile", whole(before.profile, of([](const order_quality& q) { return q.profile; })));
  add("sectors", &order_quality::sectors);
  add("lines", &order_quality::lines);
}

}  // namespace tulle::cli
