// tulle info: what a matrix looks like, what moving it costs, and which kernel would be chosen for it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <tulle/ops/spmv.hpp>

#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/matrix.hpp"
#include "common/ordering.hpp"
#include "common/page.hpp"
#include "plot/picture.hpp"
#include "plot/row_lengths.hpp"
#include "plot/text.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string matrix;
  bool gather = false;
  std::string method;  // of --gather; empty: none
  std::string plot;
};

struct choice {
  std::string_view backend;
  spmv_choice chosen;
};

struct info_result {
  matrix_facts matrix;
  std::optional<matrix_market_info> file;  // nothing of a generator
  csr_stats stats;
  scalar_type type;  // of the values
  std::optional<bin_padding> bins;
  std::vector<choice> choices;
  std::string hash;  // for JSON alone
  std::optional<order_quality> gathers = {}, reordered = {};
  std::string method = {};
};

std::string_view format_of(const matrix_market_info& file) { return file.array ? "array" : "coordinate"; }

const char* name(mm_field field) {
  return std::array{"real", "integer", "pattern", "complex"}[static_cast<std::size_t>(field)];
}

const char* name(mm_symmetry symmetry) {
  return std::array{"general", "symmetric", "skew-symmetric", "hermitian"}[static_cast<std::size_t>(symmetry)];
}

void add_shape(page& to, const info_result& r) {
  const csr_stats& s = r.stats;
  if (r.file) {
    to.fact("file", fmt::format("{} {} {}, {} stored", format_of(*r.file), name(r.file->field), name(r.file->symmetry),
                                counted(r.file->stored_entries, "entry", "entries")));
  }
  to.fact("row lengths", fmt::format("mean {:.2f}, max {}, standard deviation {:.2f}, skew {:.2f}, {} empty", s.mean,
                                     grouped(s.max), s.stddev, s.skew, grouped(s.empty_rows)));
  to.fact("columns",
          fmt::format("bandwidth {}, window of 128 rows {}", grouped(s.bandwidth), grouped(s.column_window)));
  to.fact("padding", fmt::format("ell {:.2f}x, sell {:.2f}x, sell sorted {:.2f}x", s.ell_padding, s.sell_padding,
                                 s.sell_sorted_padding));
  std::string fill;
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) {
    fill += fmt::format("{}{}x{} {:.0f}%", b == 2 ? "" : " ", b, b, 100 * s.block_fill[b]);
  }
  to.fact("block fill", fill);
  if (r.bins) {
    to.fact("block bins", fmt::format("of {0} x {0}: bin_bsr {1:.2f}x, bin_bsr.compact {2:.2f}x", r.bins->block,
                                      r.bins->bin_bsr, r.bins->compact));
  }
  to.fact("gather",
          fmt::format("{:.1f} sectors of 32 bytes for 32 nonzeros (8 dense, 32 scattered)", s.gather_sectors));
}

void print_text(const info_result& r) {
  page to(stdout);
  to.line(headline(r.matrix));
  add_shape(to, r);
  if (r.gathers) {
    if (r.reordered) to.fact("order", r.method);
    add_quality(to, *r.gathers, r.reordered);
  }
  const auto at_least = [&](std::size_t size) { return human_bytes(compulsory_bytes(r.stats, size)); };
  to.fact("y = A x", is_further(r.type)
                         ? fmt::format("moves at least {} in {}", at_least(size_of(r.type)), tulle::name(r.type))
                         : fmt::format("moves at least {} in f64, {} in f32", at_least(8), at_least(4)));
  for (const auto& [backend, chosen] : r.choices) {
    to.fact(fmt::format("on {}", backend), fmt::format("{}: {}", chosen.kernel, chosen.reason));
  }
  if (r.file) {
    to.fact("reading", fmt::format("{}: {} of text in {}", human_rate(1e6 * read_rate(*r.file)),
                                   human_bytes(static_cast<double>(r.file->bytes)), human_time(1e6 * r.file->seconds)));
  }
  to.print(stdout);
}

json to_json(const matrix_market_info& file) {
  return object(field("format", format_of(file)), field("field", name(file.field)),
                field("symmetry", name(file.symmetry)), field("stored_entries", file.stored_entries),
                field("duplicates_summed", file.duplicates_summed), field("bytes", file.bytes),
                field("seconds", file.seconds), field("mb_per_second", read_rate(file)));
}

json to_json(const info_result& r) {
  json record = to_json(r.matrix);
  record["file"] = r.file ? to_json(*r.file) : json(nullptr);
  record["stats"] = cli::to_json(r.stats);
  record["bin_padding"] = r.bins ? object(field("block", r.bins->block), field("bin_bsr", r.bins->bin_bsr),
                                          field("compact", r.bins->compact))
                                 : json(nullptr);
  record["compulsory_bytes"] =
      object(field("f64", compulsory_bytes(r.stats, 8)), field("f32", compulsory_bytes(r.stats, 4)));
  if (is_further(r.type))
    record["compulsory_bytes"] = object(field(tulle::name(r.type).data(), compulsory_bytes(r.stats, size_of(r.type))));
  for (const auto& [backend, chosen] : r.choices) {
    record["choice"].push_back(
        object(field("backend", backend), field("kernel", chosen.kernel), field("reason", chosen.reason)));
  }
  record["hash"] = r.hash;
  if (r.gathers) record["gather"] = cli::to_json(*r.gathers);
  if (r.reordered)
    record["gather_reordered"] = object(field("ordering", r.method), field("quality", cli::to_json(*r.reordered)));
  return record;
}

/// What the order is worth, and with a method what another one is.
void measure_gathers(const settings& s, const matrix_ref& a, info_result& r) {
  const context ctx = context::cpu(s.run.threads);
  r.gathers = measure_order(ctx, a);
  if (s.method.empty()) return;
  const auto [b, of_rows] = in_order(ctx, a, s.method);
  r.reordered = measure_order(ctx, b);
  r.method = fmt::format("{} of {}", s.method, of_rows ? "rows" : "rows and columns");
}

void plot_row_lengths(const settings& s, const named_matrix& a, const csr_stats& stats) {
  std::vector<std::int64_t> lengths;
  with_precision(s.run, [&]<class T>() {
    const auto view = a.view<T>();
    for (index_t row = 0; row < view.rows; ++row) lengths.push_back(view.rowptr[row + 1] - view.rowptr[row]);
  });
  const std::string facts =
      fmt::format("mean {:.2f}, longest {}, {} empty", stats.mean, grouped(stats.max), grouped(stats.empty_rows));
  const std::string size = plot::size_text(a.matrix.rows, a.matrix.cols, a.matrix.nnz);
  plot::draw_row_lengths(s.plot, {a.name, {size, facts}}, lengths);
}

int run(const settings& s) {
  plot::check_picture("--plot", s.plot);
  const bool stdout_taken = check_outputs(s.run.json, {{"--plot", s.plot}});
  if (!s.method.empty() && !s.gather) throw error(status::invalid_argument, "--method goes with --gather");
  const named_matrix a = load(s.matrix, s.run);
  info_result r{a.facts(), {}, statistics(a.matrix, s.run), a.matrix.types.value, {}, {}, {}};
  r.bins = padding_in_bins(a.matrix, r.stats, s.run);
  if (!is_generator(s.matrix)) r.file = a.info;
  for (const context& ctx : usable_contexts(s.run)) {
    const type_key types{a.matrix.types.value, offsets_for(a.matrix.nnz)};
    r.choices.push_back({tulle::name(ctx.backend()), choose_spmv(r.stats, types, ctx.info())});
  }
  if (s.gather) measure_gathers(s, a.matrix, r);
  if (s.run.json) r.hash = matrix_hash(a.matrix);
  if (!s.plot.empty()) plot_row_lengths(s, a, r.stats);
  note_written(s.plot);
  if (!stdout_taken) print(r, s.run.json);
  return ok;
}

}  // namespace

void add_info(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "info", "What a matrix looks like, and which kernel suits it",
                                  "Examples: tulle info cant.mtx.gz\n"
                                  "          tulle info gen:fem:n=10 --gather --method rcm\n"
                                  "          tulle info cant.mtx.gz --json --plot rows.svg",
                                  run);
  add_matrix(command, "matrix", s.matrix)->required();
  command.add_flag("--gather", s.gather, "Bandwidth, profile, and what of x lanes side by side read together");
  add_ordering(command, "--method", s.method, "With --gather: the same after this ordering");
  add_file(command, "--plot", s.plot, fmt::format("Draw how many rows have how many nonzeros: {}", plot::picture_help));
  add_backend_options(command, s.run, "For which to choose: auto is the CPU, and the GPU if there is one");
  add_precision_option(command, s.run);
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
