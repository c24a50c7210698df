// tulle info: what a matrix looks like, what moving it costs, and which kernel would be chosen for it.
#include <fmt/format.h>

#include "plan/choose_spmv.hpp"
#include "report.hpp"

namespace tulle::cli {
namespace {

struct choice {
  context ctx;
  spmv_choice chosen;
};

/// Millions of bytes of text a second; 0 for a generator.
double read_rate(const matrix_market_info& info) {
  return info.seconds > 0 ? static_cast<double>(info.bytes) / info.seconds / 1e6 : 0;
}

template <scalar T>
void print_text(const named_matrix<T>& a, const csr_stats& s, const std::vector<choice>& choices) {
  const bool file = !is_generator(a.name);
  fmt::print("{}: {} x {}, {} nonzeros\n", a.name, s.rows, s.cols, s.nnz);
  if (file) {
    fmt::print("  file          {} {} {}, {} entries stored\n", a.info.array ? "array" : "coordinate",
               name(a.info.field), name(a.info.symmetry), a.info.stored_entries);
  }
  fmt::print("  row lengths   mean {:.2f}, max {}, standard deviation {:.2f}, skew {:.2f}, {} empty\n", s.mean, s.max,
             s.stddev, s.skew, s.empty_rows);
  fmt::print("  columns       bandwidth {}, window of 128 rows {}\n", s.bandwidth, s.column_window);
  fmt::print("  padding       ell {:.2f}x, sell {:.2f}x, sell sorted {:.2f}x\n", s.ell_padding, s.sell_padding,
             s.sell_sorted_padding);
  fmt::print("  block fill   ");
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) fmt::print(" {0}x{0} {1:.0f}%", b, 100 * s.block_fill[b]);
  fmt::print("\n  gather        {:.1f} sectors of 32 bytes for 32 nonzeros (8 dense, 32 scattered)\n",
             s.gather_sectors);
  fmt::print("  y = A x       moves at least {} in f64, {} in f32\n", human_bytes(compulsory_bytes(s, 8)),
             human_bytes(compulsory_bytes(s, 4)));
  for (const auto& [ctx, chosen] : choices) {
    fmt::print("  on {:<10} {}: {}\n", name(ctx.backend()), chosen.kernel, chosen.reason);
  }
  if (file) {
    fmt::print("  reading       {:.0f} MB/s: {} of text in {:.3f} s\n", read_rate(a.info),
               human_bytes(static_cast<double>(a.info.bytes)), a.info.seconds);
  }
}

template <scalar T>
void print_record(const named_matrix<T>& a, const csr_stats& s, const std::vector<choice>& choices) {
  json record{{"schema_version", schema_version}};
  record.update(describe(a));
  if (is_generator(a.name)) {
    record["file"] = nullptr;
  } else {
    record["file"] = {{"format", a.info.array ? "array" : "coordinate"},
                      {"field", name(a.info.field)},
                      {"symmetry", name(a.info.symmetry)},
                      {"stored_entries", a.info.stored_entries},
                      {"duplicates_summed", a.info.duplicates_summed},
                      {"bytes", a.info.bytes},
                      {"seconds", a.info.seconds},
                      {"mb_per_second", read_rate(a.info)}};
  }
  record["stats"] = to_json(s);
  record["compulsory_bytes"] = {{"f64", compulsory_bytes(s, 8)}, {"f32", compulsory_bytes(s, 4)}};
  for (const auto& [ctx, chosen] : choices) {
    record["choice"].push_back(
        {{"backend", name(ctx.backend())}, {"kernel", chosen.kernel}, {"reason", chosen.reason}});
  }
  record["hash"] = matrix_hash(a.matrix.view());
  print_json(record);
}

template <scalar T>
int run(const std::string& spec, const run_options& o) {
  const named_matrix<T> a = load<T>(spec, o);
  const csr_stats stats = statistics(context::cpu(o.threads), a.matrix.view());
  std::vector<choice> choices;
  for (const context& ctx : usable_contexts(o)) {
    choices.push_back({ctx, choose_spmv(stats, plan_types<T>(stats.nnz), ctx.info(), spmv_policy::standard)});
  }
  if (o.json) {
    print_record(a, stats, choices);
  } else {
    print_text(a, stats, choices);
  }
  return ok;
}

}  // namespace

void add_info(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("info", "What a matrix looks like, and which kernel suits it");
  struct settings {
    run_options run;
    std::string matrix;
  };
  const auto s = std::make_shared<settings>();
  command->add_option("matrix", s->matrix, "Matrix Market file, - or gen:NAME:...")->required();
  add_backend_options(*command, s->run);
  add_precision_option(*command, s->run);
  add_strict_option(*command, s->run);
  add_json_option(*command, s->run);
  command->footer("Example: tulle info cant.mtx.gz --json");
  command->callback(
      [s, &result] { result = with_precision(s->run, [&]<class T>() { return run<T>(s->matrix, s->run); }); });
}

}  // namespace tulle::cli
