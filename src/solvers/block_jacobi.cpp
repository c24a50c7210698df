// block_jacobi(b): the inverses of the diagonal blocks of b x b, factorised in f64 and stored as
// kernels/inverse_blocks.hpp says.
#include <fmt/format.h>

#include "kernels/inverse_blocks.hpp"
#include "solvers/preconditioner.hpp"

namespace tulle {

stored_values stored_inverses(const inverse_counts& counts, int block, scalar_type whole) {
  stored_values out;
  const std::string_view names[] = {name(whole), "f32", "bf16"};
  for (int k = 0; k < inverse_forms; ++k) {
    if (counts.groups[k] == 0) continue;
    const auto form = static_cast<inverse_form>(k);
    out.shares.push_back({names[k], counts.rows[k], counts.rows[k] * block,
                          counts.groups[k] * inverse_group_bytes(form, block, size_of(whole))});
  }
  return out;
}

std::string describe_inverses(const stored_values& stored) {
  std::string out;
  for (const stored_share& s : stored.shares) {
    out += fmt::format("{}{} {} rows in {} bytes", out.empty() ? "inverse blocks: " : ", ", s.storage, s.rows, s.bytes);
  }
  return out;
}

namespace detail {
namespace {

/// Bytes of whole inverses below which they stay in a cache of a CPU: they are read there for nothing, and widened at a
/// price.
constexpr std::int64_t least_narrow_bytes = std::int64_t{4} << 20;

bool narrows(const context& ctx, const cg_problem& p) {
  const auto bytes = std::int64_t{p.csr.rows} * p.options.block * static_cast<std::int64_t>(size_of(p.csr.types.value));
  return p.options.narrow_blocks && (ctx.backend() != backend_kind::cpu || bytes >= least_narrow_bytes);
}

class block_jacobi final : public preconditioner {
 public:
  block_jacobi(const context& ctx, const cg_problem& problem)
      : ctx_(ctx),
        n_(problem.csr.rows),
        type_(problem.types().vector),
        blocks_(make_inverse_blocks(ctx, n_, problem.options.block, problem.types(), narrows(ctx, problem))) {
    block_jacobi::update(problem);
  }
  [[nodiscard]] const context& ctx() const noexcept override { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return type_; }
  void update(const cg_problem& problem) override { blocks_->update(problem.csr); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return blocks_->bytes(); }
  [[nodiscard]] std::string parameters() const override { return describe_inverses(blocks_->stored()); }

 private:
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    blocks_->apply(alpha, x.data, beta, y.data, how.stream);
  }

  context ctx_;
  index_t n_;
  scalar_type type_;
  std::unique_ptr<inverse_blocks> blocks_;
};

}  // namespace

std::unique_ptr<preconditioner> make_block_jacobi(const context& ctx, const cg_problem& problem) {
  return std::make_unique<block_jacobi>(ctx, problem);
}

}  // namespace detail
}  // namespace tulle
