// A layer of a graph convolution, Y = relu(A X + 1 b^T) (docs/notes/0026-sddmm-and-spmm-cpu.md): the product alone,
// with bias and ReLU as it stores Y, and with a pass of their own: `tulle_layer [cpu] [-o FILE] MATRIX...`, files or
// gen:...
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;
using bench::row;

const row header = {"f32, matrix",          "columns", "nnz", "A X, µs", "fused", "two passes", "fused over A X",
                    "two passes over fused"};

/// A plan without its fused epilogue.
class two_passes final : public linear_operator {
 public:
  explicit two_passes(const any_spmv_plan& plan) : plan_(plan) {}
  [[nodiscard]] const context& ctx() const noexcept override { return plan_.ctx(); }
  [[nodiscard]] shape dimensions() const noexcept override { return plan_.dimensions(); }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return plan_.vector_type(); }
  [[nodiscard]] bool can(operation what, bool) const noexcept override { return what <= operation::apply_many; }

 protected:
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call) const override {
    plan_.linear_operator::apply(alpha, x, beta, y);
  }
  void do_apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                     call) const override {
    plan_.apply_many(alpha, x, beta, y);
  }

 private:
  const any_spmv_plan& plan_;
};

row measure(const context& ctx, const std::string& name, const matrix_ref& a, index_t columns) {
  const any_spmv_plan plan(ctx, a, {.columns = columns});
  const two_passes apart(plan);
  buffer<float> x(ctx, static_cast<std::size_t>(a.cols) * static_cast<std::size_t>(columns));
  buffer<float> y(ctx, static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(columns)),
      bias(ctx, static_cast<std::size_t>(columns));
  vector_ops(ctx).random(1, x);
  vector_ops(ctx).random(2, bias);
  const const_multivector_ref in(scalar_type::f32, a.cols, columns, columns, vector_order::row_major, x.data(),
                                 ctx.space(), ctx.device());
  const multivector_ref out(scalar_type::f32, a.rows, columns, columns, vector_order::row_major, y.data(), ctx.space(),
                            ctx.device());
  const many_epilogue then{bias, activation::relu};
  std::vector<double> alone, fused, twice;
  for (int i = 0; i < 18; ++i) {  // in turns
    const double t[] = {bench::sample(ctx, 3, [&] { plan.apply_many(1, in, 0, out); }),
                        bench::sample(ctx, 3, [&] { plan.apply_many_with(1, in, 0, out, then); }),
                        bench::sample(ctx, 3, [&] { apart.apply_many_with(1, in, 0, out, then); })};
    if (i < 3) continue;
    alone.push_back(t[0]);
    fused.push_back(t[1]);
    twice.push_back(t[2]);
  }
  const double a_x = bench::median(alone), one = bench::median(fused), two = bench::median(twice);
  row r{name,
        std::to_string(columns),
        std::to_string(a.nnz),
        fmt::format("{:.1f}", a_x),
        fmt::format("{:.1f}", one),
        fmt::format("{:.1f}", two),
        fmt::format("{:.2f}", one / a_x),
        fmt::format("{:.2f}", two / one)};
  fmt::print("{}  {}\n", fmt::join(r, "  "), plan.explain());
  std::fflush(stdout);
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  bool on_cpu = false;
  std::vector<std::string> matrices;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "-o" && i + 1 < argc) {
      file = argv[++i];
    } else if (argument == "cpu") {
      on_cpu = true;
    } else {
      matrices.push_back(argument);
    }
  }
  const context ctx = on_cpu ? context::cpu() : context::cuda();
  std::vector<row> rows;
  for (const std::string& spec : matrices) {
    const context host = context::cpu();
    const matrix_ref a =
        clone(ctx, matrix_ref(is_generator(spec) ? generate<float>(host, spec) : read_matrix_market<float>(spec)));
    for (const index_t columns : {32, 128})
      rows.push_back(measure(ctx, spec.substr(spec.find_last_of('/') + 1), a, columns));
  }
  return file.empty() ? 0 : bench::write_record(file, ctx, header, rows);
}
