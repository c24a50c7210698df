// cg.graph: preconditioned conjugate gradients as two kernels an iteration: the plan's product with p.q and q.q, and
// graph_move.cuh. Jacobi's preconditioner is folded into the matrix: D^-1/2 A D^-1/2 is what the plan multiplies by,
// x and b are scaled at the ends, and ||r|| follows from r.D^-1 r where all of D is one number, is bounded by it while
// it is far from the target, and else costs one more read. x is updated once in k iterations, from a ring of k
// directions. Values moved per iteration beside the matrix: (8 + 1/k) n. Block Jacobi is folded away as well where the
// matrix is made of blocks (graph_fold.cuh); else it takes three kernels (graph_kernels.cuh), 12 n and b n of inverses.
// The loops are conditional nodes of a graph, in the caller's graph as well, so that what is queued does not grow with
// the number of iterations; or the host looks, one graph behind. Takes every matrix.
#include <algorithm>
#include <optional>
#include <string>
#include <tulle/ops/spmv.hpp>
#include <utility>

#include "core/memory_status.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/pinned_slot.hpp"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/graph_move.cuh"
#include "cuda/solvers/graph_nodes.hpp"
#include "cuda/spmv/fused_operator.cuh"
#include "kernels/cg.hpp"

namespace tulle::cuda {
namespace {

/// How long the iterations between two looks at the end may take together: products behind it are lost.
constexpr double round_microseconds = 2000, bytes_per_microsecond = 4e6;

template <class T>
class graph_operator final : public cg_operator {
 public:
  graph_operator(const context& ctx, const cg_problem& p)
      : ctx_(ctx), options_(p.options), n_(p.csr.rows), state_(ctx, 2), dots_(ctx, 2), range_(ctx, 2) {
    const device_guard guard(ctx_.device());
    const auto n = static_cast<std::size_t>(n_);
    for (buffer<T>* v : {&x_, &r_, &q_}) *v = buffer<T>(ctx_, n);
    const int block = block_of(p);
    (block > 0 && folds_blocks(p, block) ? fold_ : block_) = block;
    if (block > 0) {
      z_ = buffer<T>(ctx_, n);
      inverses_ = buffer<T>(ctx_, n * static_cast<std::size_t>(block));
    }
    if (scales()) roots_ = buffer<T>(ctx_, n);
    const std::int64_t threads = ceil_div(n_, block_ > 0 ? 1 : quad<T>::size);
    blocks_ = static_cast<int>(
        std::clamp<std::int64_t>(ceil_div(threads, graph_threads), 1, ctx_.info().multiprocessors * graph_blocks));
    shares_ = buffer<double>(ctx_, 2 * static_cast<std::size_t>(blocks_));
    move_shares_ = buffer<double>(ctx_, 2 * shares_.size());
    fill_bytes(ctx_, state_.data(), memory_space::device, 0, state_.bytes());
    fill_bytes(ctx_, move_shares_.data(), memory_space::device, 0, move_shares_.bytes());
    make_plan(p);
    make_ring();  // last, of what memory is left
    if (merged()) leave_pairs();
    interval_ = rounds();
    if (n_ > 0) capture();
    ctx_.synchronize();
  }
  ~graph_operator() override { drop(); }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    const device_guard guard(ctx_.device());
    const cudaStream_t s = native(stream);
    if (n_ == 0 || !has_conditional_nodes(ctx_.info().driver_version)) return queue_all(b, x, record, history, s);
    if (is_capturing(s)) {
      const loop_place place = place_loop(s);
      call(b, x, record, history, place.outer, s);
      add_loop(s, place, parts());
    } else {
      call(b, x, record, history, place_.outer, s);
      loop_.launch(s);
    }
    end(s);
  }

  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    const device_guard guard(ctx_.device());
    const cudaStream_t s = native(stream);
    const auto* const seen = static_cast<const volatile graph_told*>(told_.data());
    if (n_ == 0 || seen == nullptr || (has_conditional_nodes(ctx_.info().driver_version) && !options_.progress)) {
      enqueue(b, x, record, history, stream);
    } else {
      call(b, x, record, history, 0, s);
      for (auto at = graph_progress::runs; at != graph_progress::stopped;) {
        anew_.launch(s);
        rounds_.launch(s);
        int last = 0;
        check(cudaEventRecord(events_[last], s), "cudaEventRecord");
        do {
          rounds_.launch(s);
          check(cudaEventRecord(events_[last ^ 1], s), "cudaEventRecord");
          check(cudaEventSynchronize(events_[last]), "cudaEventSynchronize");
          at = static_cast<graph_progress>(seen->progress);
          if (options_.progress) options_.progress(seen->iterations, seen->residual);
          last ^= 1;
        } while (at == graph_progress::runs);
      }
      end(s);
    }
    check(cudaStreamSynchronize(s), "cudaStreamSynchronize");
  }

  void update_values(const cg_problem& p) override {
    const device_guard guard(ctx_.device());
    const matrix_ref& a = reads_blocks_ ? p.blocks : p.csr;
    const bool were_narrow = narrows();
    prepare(p);
    const auto values = [&](const void* data) {
      return const_vector_ref(a.types.value, data, values_of(a), memory_space::device, ctx_.device());
    };
    const void* const of_plan = fold_away(a);
    const void* const in_place = truth_ ? a.values : of_plan;  // kernels may read them where they are
    plan_->update_values(values(of_plan));
    if (truth_) truth_->update_values(values(a.values));
    const bool moved = std::exchange(values_, in_place) != in_place;
    if (n_ == 0 || !(moved || were_narrow || narrows())) return;
    if (merged()) leave_pairs();  // what is stored in another form may leave others
    capture();
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return x_.bytes() + r_.bytes() + p_.bytes() + q_.bytes() + z_.bytes() + roots_.bytes() + inverses_.bytes() +
           scaled_.bytes() + shares_.bytes() + move_shares_.bytes() + plan_->workspace_bytes() +
           (truth_ ? truth_->workspace_bytes() : 0);
  }
  [[nodiscard]] std::string parameters() const override {
    std::string out = "iterations_per_graph=" + std::to_string(interval_);
    if (!merged()) return out + " kernels=3 values=" + std::to_string(12 + block_) + " " + plan_->explain();
    if (fold_ > 0) out += " folded=" + std::to_string(fold_);
    return out + " kernels=2 directions=" + std::to_string(ring_) + " " + plan_->explain();
  }

 private:
  /// Values in fewer bits than they have are stored anew with every update, elsewhere and maybe in another form.
  [[nodiscard]] bool narrows() {
    const auto does = [](std::optional<any_spmv_plan>& plan) {
      return plan && detail::operator_of(*plan).narrows_values();
    };
    return does(plan_) || does(truth_);
  }
  /// z is r, so that two kernels do.
  [[nodiscard]] bool merged() const { return block_ == 0; }
  [[nodiscard]] bool scales() const { return options_.preconditioner == preconditioner_kind::jacobi; }
  static int block_of(const cg_problem& p) {
    return p.options.preconditioner == preconditioner_kind::block_jacobi ? p.options.block : 0;
  }
  static std::int64_t values_of(const matrix_ref& a) {
    return a.format == matrix_format::bsr ? a.stored * a.block * a.block : a.nnz;
  }

  /// The preconditioner from the values of `p`.
  void prepare(const cg_problem& p) {
    diagonal_range range{1, 1};
    if (scales()) {
      range = diagonal_roots(ctx_, blocks_of(p.csr), roots_.data());
    } else if (fold_ > 0) {
      range =
          invert_diagonal_factors(ctx_, blocks_of(p.blocks.block == fold_ ? p.blocks : p.csr), fold_, inverses_.data());
    } else if (block_ > 0) {
      invert_diagonal_blocks(ctx_, blocks_of(p.blocks.block == block_ ? p.blocks : p.csr), block_, inverses_.data());
    }
    copy_bytes(ctx_, range_.data(), memory_space::device, &range, memory_space::host, sizeof(range));
  }

  /// The plan reads the blocks that were given where a kernel has dot products with them.
  void make_plan(const cg_problem& p) {
    prepare(p);
    for (const bool blocks : {true, false}) {
      if (blocks && (p.blocks.block == 0 || (fold_ > 0 && p.blocks.block != fold_))) continue;
      reads_blocks_ = blocks;
      matrix_ref a = blocks ? p.blocks : p.csr;
      if (fold_ > 0) truth_.emplace(ctx_, a, spmv_options{.effort = spmv_effort::none});
      if (scales() || fold_ > 0) scaled_ = buffer<T>(ctx_, static_cast<std::size_t>(values_of(a)));
      const void* const given = a.values;
      a.values = fold_away(a);
      values_ = truth_ ? given : a.values;
      plan_.emplace(ctx_, a, options_.spmv);
      if (plan_->can(operation::apply_dots)) break;
    }
  }
  [[nodiscard]] bool folds_blocks(const cg_problem& p, int block) const {
    return (p.blocks.block == block || is_made_of_blocks(ctx_, blocks_of(p.csr), block));
  }
  /// The values of `a` without what the preconditioner takes from them.
  const void* fold_away(const matrix_ref& a) {
    if (scales()) scale_symmetrically(ctx_, blocks_of(a), roots_.data(), scaled_.data());
    if (fold_ > 0) fold_symmetrically(ctx_, blocks_of(a), fold_, inverses_.data(), scaled_.data());
    return scaled_.empty() ? a.values : scaled_.data();
  }

  /// A ring of as many directions as there is memory for.
  void make_ring() {
    stride_ = ceil_div(n_, 32) * 32;
    if (!merged()) ring_ = 1;
    for (;; ring_ /= 2) {
      try {
        p_ = buffer<T>(ctx_, static_cast<std::size_t>(stride_ * ring_));
        break;
      } catch (const error& e) {
        if (ring_ == 1 || !is_out_of_memory(e)) throw;
      }
    }
    for (buffer<T>* v : {&x_, &p_}) fill_bytes(ctx_, v->data(), memory_space::device, 0, v->bytes());
  }
  /// Sums of parts of the product where it can leave them, else what it makes of them.
  void leave_pairs() {
    auto* const leaves = dynamic_cast<leaves_dot_pairs*>(&detail::operator_of(*plan_));
    if (leaves != nullptr && plan_->can(operation::apply_dots)) product_ = leaves->leave_dot_pairs();
    if (product_.count == 0) product_ = {dots_.data(), 1};
  }

  [[nodiscard]] int rounds() const {
    const double bytes = static_cast<double>(plan_->matrix_bytes()) + 10.0 * sizeof(T) * n_;
    const double most = round_microseconds / (2 + bytes / bytes_per_microsecond);
    const int wanted = std::clamp(static_cast<int>(most), 1, std::max(1, options_.check_interval));
    return merged() ? ceil_div(wanted, whole()) * whole() : wanted;
  }

  /// Iterations of two kernels come in such numbers: states and slots of the ring take turns.
  [[nodiscard]] int whole() const { return std::max(2, ring_); }

  [[nodiscard]] graph_vectors<T> vectors() {
    T* const z = z_.empty() ? r_.data() : z_.data();
    return {n_,
            x_.data(),
            r_.data(),
            p_.data(),
            q_.data(),
            z,
            stride_,
            ring_,
            scales() ? roots_.data() : nullptr,
            inverses_.data(),
            fold_,
            dots_.data(),
            range_.data(),
            state_.data(),
            shares_.data(),
            move_shares_.data(),
            product_.data,
            product_.count,
            static_cast<graph_told*>(told_.data()),
            options_.rtol,
            options_.atol,
            options_.max_iterations,
            options_.replace_interval,
            options_.zero_guess,
            options_.progress && told_.data() != nullptr};
  }
  [[nodiscard]] const_vector_ref ref(const buffer<T>& v) const {
    return {scalar_type_of<T>, v.data(), n_, memory_space::device, ctx_.device()};
  }
  [[nodiscard]] vector_ref ref(buffer<T>& v) const {
    return {scalar_type_of<T>, v.data(), n_, memory_space::device, ctx_.device()};
  }
  [[nodiscard]] const_vector_ref direction(int slot) const {
    return {scalar_type_of<T>, p_.data() + slot * stride_, n_, memory_space::device, ctx_.device()};
  }
  void call(const void* b, void* x, cg_record* record, double* history, unsigned long long outer, cudaStream_t s) {
    launch("cg.call", graph_call_kernel, {1, 1}, s, state_.data(), b, x, record, history, outer);
  }
  void end(cudaStream_t s) { launch("cg.end", graph_end_kernel<T>, shape(), s, vectors()); }
  [[nodiscard]] launch_shape shape() const { return {blocks_, graph_threads}; }

  void anew(cudaStream_t s) {
    const graph_vectors<T> v = vectors();
    if (fold_ > 0) {
      launch("cg.begin", graph_begin_folded_kernel<T>, shape(), s, v);
      truth_->apply(-1, ref(std::as_const(z_)), 1, ref(r_), {.stream = stream_view{s}});
      launch("cg.anew", graph_anew_folded_kernel<T>, shape(), s, v);
    } else {
      launch("cg.begin", graph_begin_kernel<T>, shape(), s, v);
      plan_->apply(-1, ref(std::as_const(x_)), 1, ref(r_), {.stream = stream_view{s}});
      with_block([&]<int Block>() { launch("cg.anew", graph_anew_kernel<Block, T>, shape(), s, v); });
    }
    launch("cg.direction", graph_turn_kernel<false, T>, shape(), s, v);
  }
  /// Iteration i since the last start.
  void iterate(int i, cudaStream_t s) {
    const graph_vectors<T> v = vectors();
    const int slot = i % ring_;
    const const_vector_ref p = direction(slot);
    if (plan_->can(operation::apply_dots)) {
      plan_->apply_dots(1, p, 0, ref(q_), p, {scalar_type::f64, dots_.data(), 2, memory_space::device, ctx_.device()},
                        {.stream = stream_view{s}});
    } else {
      plan_->apply(1, p, 0, ref(q_), {.stream = stream_view{s}});
      launch("cg.dot", graph_dot_kernel<T>, shape(), s, v, static_cast<const T*>(p.data), dots_.data());
    }
    if (merged()) return launch_early("cg.move", move_kernel(slot), s, v, i % 2, slot);
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(
        block_, [&]<int Block>() { launch_early("cg.step", graph_step_kernel<Block, T>, s, v); });
    launch_early("cg.turn", graph_turn_kernel<true, T>, s, v);
  }
  /// What updates x comes at the end of the ring.
  [[nodiscard]] auto move_kernel(int slot) const {
    if (slot + 1 < ring_) return graph_move_kernel<0, T>;
    return ring_ == 1 ? graph_move_kernel<1, T> : ring_ == 2 ? graph_move_kernel<2, T> : graph_move_kernel<4, T>;
  }
  template <class F>
  void with_block(F f) const {
    if (block_ == 0) return f.template operator()<0>();
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block_, f);
  }
  template <class... Parameters, class... Args>
  void launch_early(const char* name, void (*kernel)(Parameters...), cudaStream_t s, const Args&... args) const {
    if (!early_ || ctx_.info().compute_capability < 90) return launch(name, kernel, shape(), s, args...);
    launch_behind(name, kernel, shape(), 1, s, args...);
  }

  [[nodiscard]] loop_parts parts() { return {anew_.graph, rounds_.graph, graph_inner_kernel, state_.data()}; }
  void capture() {
    try {
      capture_as_it_is();
    } catch (const error&) {  // not every driver takes early launches in a loop
      if (!early_) throw;
      early_ = false;
      capture_as_it_is();
    }
  }
  void capture_as_it_is() {
    drop();
    anew_ = capture_segment([&](cudaStream_t s) { anew(s); });
    rounds_ = capture_segment([&](cudaStream_t s) {
      for (int i = 0; i < interval_; ++i) iterate(i, s);
    });
    anew_.instantiate();
    rounds_.instantiate();
    if (has_conditional_nodes(ctx_.info().driver_version)) {
      check(cudaGraphCreate(&loop_.graph, 0), "cudaGraphCreate");
      place_ = place_loop(loop_.graph);
      add_loop(place_, parts());
      loop_.instantiate();
    }
    for (cudaEvent_t& e : events_)
      check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  void drop() noexcept {
    for (graph_segment* g : {&anew_, &rounds_, &loop_}) graph_segment().swap(*g);
    for (cudaEvent_t& e : events_) {
      if (e != nullptr) (void)cudaEventDestroy(e);
      e = nullptr;
    }
  }

  /// Where the driver has no loops: everything, and what comes after the end does nothing but multiply.
  void queue_all(const void* b, void* x, cg_record* record, double* history, cudaStream_t s) {
    call(b, x, record, history, 0, s);
    anew(s);
    int since = 0;
    for (int i = 0; i < options_.max_iterations && n_ > 0; ++i) {
      iterate(since++, s);
      const bool replaces = options_.replace_interval > 0 && (i + 1) % options_.replace_interval == 0;
      if (!replaces && i + 1 < options_.max_iterations) continue;
      if (merged() && since % 2 != 0) iterate(since, s);  // the iterations pause: it does nothing but change states
      anew(s);
      since = 0;
    }
    end(s);
  }

  int ring_ = graph_most_ring;
  std::int64_t stride_ = 0;
  dot_pairs product_;  // where p.q and q.q are
  bool early_ = true;  // kernels are launched before those in front of them end
  context ctx_;
  cg_options options_;
  std::int64_t n_;
  int block_ = 0, fold_ = 0;  // rows of blocks: of inverses that are applied, of what is folded away
  int blocks_ = 0, interval_ = 1;
  bool reads_blocks_ = false;
  const void* values_ = nullptr;  // that kernels may read where they are
  buffer<T> x_, r_, p_, q_, z_, roots_, inverses_, scaled_;
  buffer<double> shares_, move_shares_;
  buffer<graph_state> state_;
  buffer<double> dots_, range_;
  pinned_slot told_;
  std::optional<any_spmv_plan> plan_;
  std::optional<any_spmv_plan> truth_;  // of A itself, where it is
  graph_segment anew_, rounds_, loop_;
  loop_place place_{};
  cudaEvent_t events_[2] = {};
};

support supports(const cg_problem& p, const device_info&) {
  if (p.options.preconditioner == preconditioner_kind::chebyshev) return {false, "it has no chebyshev preconditioner"};
  if (p.options.preconditioner == preconditioner_kind::block_jacobi && p.csr.rows % p.options.block != 0) {
    return {false, std::to_string(p.csr.rows) + " rows are no whole blocks of " + std::to_string(p.options.block)};
  }
  return {true, "few kernels an iteration in a loop on the device"};
}

std::unique_ptr<cg_operator> make(const context& ctx, const cg_problem& p) {
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
      .supports = supports,
      .make = make,
  };
}

}  // namespace tulle::cuda
