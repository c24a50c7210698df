// cg.graph: preconditioned conjugate gradients as two kernels an iteration: the plan's product with p.q and q.q, and
// graph_move.cuh. Jacobi's preconditioner is folded into the matrix: D^-1/2 A D^-1/2 is what the plan multiplies by,
// x and b are scaled at the ends, and ||r|| follows from r.D^-1 r where all of D is one number, is bounded by it while
// it is far from the target, and else costs one more read. x is updated once in k iterations, from a ring of k
// directions. Values moved per iteration beside the matrix: (8 + 1/k) n. Block Jacobi is folded away as well where the
// matrix is made of blocks (graph_fold.cuh); else it takes three kernels (graph_kernels.cuh), 12 n and b n of inverses.
// The loops are conditional nodes of a graph, in the caller's graph as well, so that what is queued does not grow with
// the number of iterations; or the host looks, one graph behind. Takes every matrix.
#include "cuda/runtime/read_back.hpp"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/graph_mixed.hpp"
#include "cuda/solvers/graph_solver.cuh"
#include "cuda/solvers/inverse_blocks.hpp"

namespace tulle::cuda {
namespace {

int block_of(const cg_problem& p) {
  return p.options.preconditioner == preconditioner_kind::block_jacobi ? p.options.block : 0;
}
/// Rows of the diagonal blocks that are folded away, or 0.
int fold_of(const context& ctx, const cg_problem& p) {
  const int block = block_of(p);
  const bool folds = block > 0 && (p.blocks.block == block || is_made_of_blocks(ctx, blocks_of(p.csr), block));
  return folds ? block : 0;
}

template <class T>
class graph_operator final : public graph_solver<T> {
 public:
  graph_operator(const context& ctx, const cg_problem& p) : graph_operator(ctx, p, fold_of(ctx, p)) {}

  void update_values(const cg_problem& p) override {
    const device_guard guard(ctx_.device());
    const matrix_ref& a = reads_blocks_ ? p.blocks : p.csr;
    const bool were_narrow = this->narrows();
    const bool blocks_moved = prepare(p);
    const auto values = [&](const void* data) {
      return const_vector_ref(a.types.value, data, values_of(a), memory_space::device, ctx_.device());
    };
    make_room(a);
    const void* const of_plan = fold_away(a);
    plan_->update_values(values(of_plan));
    if (truth_) truth_->update_values(values(a.values));
    this->follow_values(read_in_place(truth_ ? a.values : of_plan), were_narrow || blocks_moved);
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return graph_solver<T>::workspace_bytes() + z_.bytes() + roots_.bytes() + inverses_.bytes() + scaled_.bytes() +
           (own_blocks_ ? own_blocks_->bytes() : 0);
  }
  [[nodiscard]] int corrections() const override { return read_back(ctx_, this->state_.data()).corrections; }
  [[nodiscard]] std::string parameters() const override {
    std::string out = this->describe_rounds();
    if (block_ > 0) out += " values=" + std::to_string(12 + block_);
    if (this->by_high_words_) out += " iterations by high words";
    if (own_blocks_) out += " " + describe_inverses(own_blocks_->stored());
    if (fold_ > 0) out += " folded=" + std::to_string(fold_);
    return out + " " + plan_->explain();
  }

 private:
  using graph_solver<T>::ctx_, graph_solver<T>::options_, graph_solver<T>::n_, graph_solver<T>::plan_,
      graph_solver<T>::truth_, graph_solver<T>::x_, graph_solver<T>::r_;

  graph_operator(const context& ctx, const cg_problem& p, int fold)
      : graph_solver<T>(ctx, p, fold == block_of(p)), block_(fold > 0 ? 0 : block_of(p)), fold_(fold) {
    const device_guard guard(ctx_.device());
    if (block_ + fold_ > 0) {
      z_ = this->vector();
      inverses_ = buffer<T>(ctx_, static_cast<std::size_t>(n_ * fold_));
    }
    if (block_ > 0) own_blocks_.emplace(ctx_, n_, block_, scalar_type_of<T>, options_.narrow_blocks);
    if (scales()) roots_ = this->vector();
    this->by_high_words_ = options_.precision == solver_precision::mixed;
    if (this->by_high_words_) {
      int& longest = options_.replace_interval;
      longest = longest > 0 ? std::min(longest, mixed_longest) : mixed_longest;
    }
    this->ready(1, make_plan(p));
  }

  [[nodiscard]] bool scales() const { return options_.preconditioner == preconditioner_kind::jacobi; }
  static std::int64_t values_of(const matrix_ref& a) {
    return a.format == matrix_format::bsr ? a.stored * a.block * a.block : a.nnz;
  }

  /// The preconditioner from the values of `p`; whether its blocks are elsewhere, or in another form.
  bool prepare(const cg_problem& p) {
    diagonal_range range{1, 1};
    bool moved = false;
    if (scales()) {
      range = diagonal_roots(ctx_, blocks_of(p.csr), roots_.data());
    } else if (fold_ > 0) {
      range =
          invert_diagonal_factors(ctx_, blocks_of(p.blocks.block == fold_ ? p.blocks : p.csr), fold_, inverses_.data());
    } else if (block_ > 0) {
      const inverse_view before = own_blocks_->view();
      own_blocks_->update(blocks_of(p.blocks.block == block_ ? p.blocks : p.csr));
      moved = !(own_blocks_->view() == before);
    }
    // Iterations by high words are judged by r.z itself.
    this->set_range(this->by_high_words_ ? diagonal_range{1, 1} : range);
    return moved;
  }

  /// The plan reads the blocks that were given where a kernel has dot products with them. Returns the values that
  /// kernels may read where they are.
  const void* make_plan(const cg_problem& p) {
    prepare(p);
    for (const bool blocks : {true, false}) {
      if (blocks && (p.blocks.block == 0 || (fold_ > 0 && p.blocks.block != fold_))) continue;
      reads_blocks_ = blocks;
      matrix_ref a = blocks ? p.blocks : p.csr;
      if (fold_ > 0) truth_.emplace(ctx_, a, spmv_options{.effort = spmv_effort::none});
      make_room(a);
      const void* const given = a.values;
      a.values = fold_away(a);
      plan_.emplace(ctx_, a, options_.spmv);
      if (!blocks || plan_->can(operation::apply_dots)) return read_in_place(truth_ ? given : a.values);
    }
    return nullptr;
  }
  /// For the values of `a` without that.
  void make_room(const matrix_ref& a) {
    const auto count = static_cast<std::size_t>(values_of(a));
    if ((scales() || fold_ > 0) && scaled_.size() != count) scaled_ = buffer<T>(ctx_, count);
  }
  /// Those values, if they are read; a plan in words has copied them, and what was folded can go.
  const void* read_in_place(const void* values) {
    if (!this->by_high_words_ || detail::operator_of(*plan_).high_words() == nullptr) return values;
    scaled_ = {};
    return nullptr;
  }
  /// The values of `a` without what the preconditioner takes from them.
  const void* fold_away(const matrix_ref& a) {
    if (scales()) scale_symmetrically(ctx_, blocks_of(a), roots_.data(), a.types.value, scaled_.data());
    if (fold_ > 0) fold_symmetrically(ctx_, blocks_of(a), fold_, inverses_.data(), scaled_.data());
    return scaled_.empty() ? a.values : scaled_.data();
  }

  [[nodiscard]] graph_vectors<T> vectors() override {
    graph_vectors<T> v = graph_solver<T>::vectors();
    if (!z_.empty()) v.z = z_.data();
    if (scales()) v.roots = roots_.data();
    v.corrects = this->by_high_words_;
    v.inverses = inverses_.data();
    if (own_blocks_) v.blocks = own_blocks_->view();
    v.fold = fold_;
    return v;
  }
  void anew(cudaStream_t s) override {
    const graph_vectors<T> v = vectors();
    const launch_shape shape = this->shape();
    if (fold_ > 0) {
      launch("cg.begin", graph_begin_folded_kernel<T>, shape, s, v);
      truth_->apply(-1, this->ref(std::as_const(z_)), 1, this->ref(r_), {.stream = stream_view{s}});
      launch("cg.anew", graph_anew_folded_kernel<T>, shape, s, v);
    } else {
      launch("cg.begin", graph_begin_kernel<T>, shape, s, v);
      plan_->apply(-1, this->ref(std::as_const(x_)), 1, this->ref(r_), {.stream = stream_view{s}});
      with_block([&]<int Block>() { launch("cg.anew", graph_anew_kernel<Block, T>, shape, s, v); });
    }
    launch("cg.direction", graph_turn_kernel<false, T>, shape, s, v);
  }
  void follow_product(int i, cudaStream_t s) override {
    if (block_ == 0) return graph_solver<T>::follow_product(i, s);
    const graph_vectors<T> v = vectors();
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(
        block_, [&]<int Block>() { this->launch_early("cg.step", graph_step_kernel<Block, T>, s, v); });
    this->launch_early("cg.turn", graph_turn_kernel<true, T>, s, v);
  }
  template <class F>
  void with_block(F f) const {
    if (block_ == 0) return f.template operator()<0>();
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block_, f);
  }

  int block_, fold_;  // rows of blocks: of inverses that are applied, of what is folded away
  bool reads_blocks_ = false;
  buffer<T> z_, roots_, inverses_, scaled_;
  std::optional<device_inverse_blocks> own_blocks_;  // inverses that are applied
};

support supports(const cg_problem& p, const device_info&) {
  if (p.options.preconditioner == preconditioner_kind::chebyshev) return {false, "it has no chebyshev preconditioner"};
  if (p.options.preconditioner == preconditioner_kind::block_jacobi && p.csr.rows % p.options.block != 0) {
    return {false, std::to_string(p.csr.rows) + " rows are no whole blocks of " + std::to_string(p.options.block)};
  }
  if (p.options.precision == solver_precision::mixed && p.options.preconditioner == preconditioner_kind::block_jacobi) {
    return {false, "its mixed precision has no block_jacobi preconditioner"};
  }
  return {true, "few kernels an iteration in a loop on the device"};
}

std::unique_ptr<cg_operator> make(const context& ctx, const cg_problem& p) {
  const bool mixed = p.options.precision == solver_precision::mixed;
  if (mixed && !p.options.spmv.high_words) return make_graph_mixed(ctx, p);
  if (p.csr.types.value == scalar_type::f32) return std::make_unique<graph_operator<float>>(ctx, p);
  return std::make_unique<graph_operator<double>>(ctx, p);
}

}  // namespace

cg_kernel cg_graph_entry() {
  return {
      .name = "cg.graph",
      .summary = "two kernels an iteration, looped on the device; the diagonal is folded into the matrix",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .mixed = true,
      .supports = supports,
      .make = make,
  };
}

}  // namespace tulle::cuda
