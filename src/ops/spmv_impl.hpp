// What a plan for y = A x holds.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tulle/ops/spmv.hpp>

#include "kernels/backends.hpp"
#include "ops/operand.hpp"
#include "ops/reordering.hpp"
#include "ops/strided.hpp"
#include "plan/choose_spmv.hpp"
#include "plan/find_kernel.hpp"

namespace tulle {

struct any_spmv_plan::impl {
  impl(const context& c, const matrix_ref& a, const spmv_options& o);

  void take_named(const std::string& wanted);
  void take_transposing_kernel(const std::string& reason);
  bool transpose(const std::string& wanted);
  void choose(bool quick);
  bool build_narrower(const spmv_kernel& chosen);
  bool build_lossless();
  bool build_in_words();
  void analyse();
  void count();
  [[nodiscard]] const spmv_kernel* remembered(const std::string& key) const;
  [[nodiscard]] const spmv_kernel* remembered_within(const std::string& key, double budget) const;
  void tune(double budget);
  class part_operator;
  std::unique_ptr<linear_operator> make_part_operator(bool high, bool in_own_order);
  void reorder(bool transposes);
  void build(const spmv_kernel& k, const std::string& why);
  void build_without_set_up(const std::string& why);
  void read_csr_instead();
  void prepare_many(double budget);
  [[nodiscard]] spmv_options options_for_many() const;
  struct many_choice;
  [[nodiscard]] many_choice measure_many(const spmv_kernel& first, const spmv_options& of_many, double budget);
  [[nodiscard]] std::string tuning_key() const;
  /// What takes several right-hand sides, told how many or 0; null where it has no such types.
  [[nodiscard]] const spmv_kernel* for_columns(index_t columns) const {
    const std::string_view wanted = kernel_for_many(ctx.info(), stats, source.ref().types, columns, told_by_row());
    return spmv_kernel_for(ctx.backend(), wanted, types());
  }
  [[nodiscard]] bool told_by_row() const { return options.columns_order == vector_order::row_major; }
  spmv_operator& many_operator(const const_multivector_ref& x, const const_multivector_ref& y);
  /// Of the high words where values are stored so.
  [[nodiscard]] spmv_operator& high_operator() const {
    spmv_operator* const high_words = op->high_words();
    return high_words == nullptr ? *op : *high_words;
  }
  [[nodiscard]] bool can(operation what) const noexcept {
    if (what == operation::many_epilogue) {
      return !order && has_pass(many == nullptr ? *kernel : *many_kernel, what, *options.vector_type);
    }
    return has_pass(*kernel, what, *options.vector_type) || (what == operation::apply_many && takes_many_by_another());
  }
  [[nodiscard]] const spmv_kernel& find(std::string_view name) const {
    return find_spmv_kernel(ctx.backend(), name, types());
  }
  /// Why this kernel. Rules are asked again, by the same statistics.
  [[nodiscard]] std::string why() const {
    return reason.empty() ? choose_spmv(stats, chosen_for(), ctx.info(), options.policy).reason : reason;
  }
  /// What rules go by. On a CPU narrower values are chosen for as those of the vectors are: x and sums have their type.
  [[nodiscard]] type_key chosen_for() const {
    type_key of = source.ref().types;
    if (ctx.backend() == backend_kind::cpu) of.value = types().vector;
    return of;
  }
  [[nodiscard]] operation_types types() const { return types_of(source.ref(), options); }
  [[nodiscard]] bool comes_in_bins() const { return source.ref().format == matrix_format::bin_bsr; }
  [[nodiscard]] bool stays_blocks() const { return source.ref().format == matrix_format::bsr || comes_in_bins(); }
  [[nodiscard]] std::string_view kernel_for_its_blocks() const {
    const bool in_place = options.effort == spmv_effort::none;
    if (comes_in_bins()) return in_place ? kernel_for_bins : kernel_for_sorted_bins;
    return in_place || ctx.backend() == backend_kind::cpu ? kernel_for_blocks : kernel_for_sorted_bins;
  }
  [[nodiscard]] bool takes_blocks(std::string_view name) const {
    const spmv_kernel* k = spmv_kernel_for(ctx.backend(), name, types());
    return k != nullptr && (comes_in_bins() ? k->takes_bin_bsr : k->takes_bsr);
  }
  [[nodiscard]] bool takes_many_by_another() const {
    return !named && !reads_transpose && !stays_blocks() && for_many != nullptr;
  }

  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();  // first: planning begins here
  context ctx;
  spmv_options options;
  detail::operand source;
  shape dimensions;              // of what multiplies: A or A^T
  linear_operator::call_facts facts = {};
  bool named = false;            // the kernel was asked for by name
  bool reads_transpose = false;  // the kernel multiplies by the transpose of the CSR it is given
  csr_stats stats;
  bool analysed = false;  // else stats holds what is known without a pass over the matrix
  const spmv_kernel* kernel = nullptr;
  const spmv_kernel* for_many = for_columns(0);
  std::string reason;  // empty: the rules'
  std::unique_ptr<spmv_operator> op;
  const spmv_kernel* many_kernel = nullptr;  // of `many`
  std::string many_reason;                   // why, where it was measured
  std::unique_ptr<spmv_operator> many;  // for several right-hand sides where the kernel chosen does not suit them
  double plan_microseconds = 0;
  std::optional<detail::reordering> order;    // none: rows and columns are where they are in A
  std::string order_reason;                   // why, or why not; empty: never asked for
  std::unique_ptr<linear_operator> own_order;  // of in_own_order, where there is an order
  std::unique_ptr<linear_operator> by_high_words;  // where they were asked for
};

}  // namespace tulle
