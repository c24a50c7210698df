/// @file
/// y = alpha A x + beta y for anything that can do it: a plan, a caller's own matrix-free class, a composed operator.
/// Solvers know operators, not matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>
#include <tulle/core/vector_ref.hpp>

namespace tulle {

/// What an operator may be asked for. Every operator has `apply`; `can` tells of the others beforehand.
/// many_epilogue: apply_many_with in the pass of apply_many, not in one of its own.
enum class operation : std::uint8_t {
  apply,          ///< y = A x
  apply_many,     ///< several right-hand sides at once
  apply_dots,     ///< y = A x and two dot products from the same pass
  jacobi,         ///< a step of the weighted Jacobi method
  many_epilogue,  ///< apply_many_with in the pass of apply_many
};
/// "apply", "apply_many", "apply_dots", "jacobi", "many_epilogue".
std::string_view name(operation what) noexcept;

/// How one call runs.
struct apply_options {
  std::optional<stream_view> stream = {};  ///< none: the context's; another one must be of the same device
  bool transposed = false;                 ///< by A^T: x has rows elements, y has cols
};

/// What is done to every element before it is stored: nothing, or max(0, .).
enum class activation : std::uint8_t {
  none,  ///< nothing
  relu,  ///< max(0, .); NaN stays
};

/// What becomes of alpha A X + beta Y before it is stored: Y = act(alpha A X + beta Y + 1 b^T), a layer of a graph
/// convolution (Kipf, Welling: Semi-supervised classification with graph convolutional networks, ICLR 2017).
struct many_epilogue {
  const_vector_ref bias = {};         ///< b, an element for each vector, of their type; no elements: none
  activation act = activation::none;  ///< relu: what is below 0 becomes 0; NaN stays
};

/// A is rows x cols. The public functions check their arguments and throw INVALID_DIMENSIONS, INVALID_ARGUMENT (type,
/// memory space, device, a factor beyond the vectors' type, overlap of what is written with anything else) and
/// UNSUPPORTED for what `can` denies; then they call the virtual function of the same name, which neither allocates nor
/// synchronises. One call at a time per operator.
class linear_operator {
 public:
  linear_operator() = default;
  /// Copies what a derived class copies.
  linear_operator(const linear_operator&) = default;
  /// Moves what a derived class moves.
  linear_operator(linear_operator&&) = default;
  /// Copies what a derived class copies.
  linear_operator& operator=(const linear_operator&) = default;
  /// Moves what a derived class moves.
  linear_operator& operator=(linear_operator&&) = default;
  /// Ends what a derived class owns.
  virtual ~linear_operator() = default;

  /// Where it runs, and whose stream it takes where a call names none.
  [[nodiscard]] virtual const context& ctx() const noexcept = 0;
  /// {rows, cols}: elements of y, elements of x.
  [[nodiscard]] virtual shape dimensions() const noexcept = 0;
  /// Of x, y and everything else that a call is given.
  [[nodiscard]] virtual scalar_type vector_type() const noexcept = 0;
  /// What messages call it.
  [[nodiscard]] virtual std::string_view label() const noexcept { return "the operator"; }
  /// And what they call the matrix.
  [[nodiscard]] virtual std::string_view matrix_label() const noexcept { return "A"; }
  /// Whether it has the call, by A or by A^T. What it denies throws UNSUPPORTED.
  [[nodiscard]] virtual bool can(operation what, bool transposed = false) const noexcept {
    return what == operation::apply && !transposed;
  }

  /// y = alpha A x + beta y. beta = 0 overwrites y, NaN included; alpha = 0 is no exception: a NaN or infinity of A x
  /// reaches y.
  void apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
             const apply_options& options = {}) const;
  /// Y = alpha A X + beta Y for several right-hand sides at once, each as in `apply`. X and Y may be in different orders.
  void apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                  const apply_options& options = {}) const;
  /// Y = act(alpha A X + beta Y + 1 b^T), for f32 and f64: in the same pass where `can` says many_epilogue, else in one of
  /// its own over Y. What apply_many can, this can. Error: the bound of `apply` with |b_j| beside |beta| |y0|, and one
  /// rounding more.
  void apply_many_with(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                       const many_epilogue& then, const apply_options& options = {}) const;
  /// y = alpha A x + beta y, and from the same pass dots[0] = w . y and dots[1] = y . y of the new y: what conjugate
  /// gradient methods need next (Saad, Iterative Methods for Sparse Linear Systems, 2003, section 6.7). w has as many
  /// elements as y and may be x; y overlaps none of the others; dots has 2 elements where x and y are, of their type or
  /// f64, in which kernels sum whatever the type.
  void apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, const const_vector_ref& w,
                  const vector_ref& dots, const apply_options& options = {}) const;
  /// One step of the weighted Jacobi method, y = x + omega D^-1 (b - A x), in one pass (Saad, 2003, section 4.1). A is
  /// square, inverse_diagonal holds 1 / a_ii, and y overlaps none of the others.
  void jacobi(double omega, const const_vector_ref& x, const const_vector_ref& b,
              const const_vector_ref& inverse_diagonal, const vector_ref& y, const apply_options& options = {}) const;

  /// What every call checks its vectors by.
  struct call_facts {
    memory_space space;  ///< where vectors must be
    int device;          ///< -1 but for device memory
    stream_view stream;  ///< that calls take where they name none
    shape a;             ///< of A
    scalar_type type;    ///< of the vectors
  };

 protected:
  /// Where the operator keeps them, as they do not change while it lives; nullptr: it is asked for each at every call.
  [[nodiscard]] virtual const call_facts* kept_facts() const noexcept { return nullptr; }
  /// How one call runs: `options` with the stream filled in.
  struct call {
    stream_view stream;  ///< that the work is queued on
    bool transposed;     ///< by A^T
  };
  /// y = alpha A x + beta y; the arguments are checked already, here and in all that follow.
  virtual void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const = 0;
  /// Called only where `can` says so.
  virtual void do_apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                             call how) const;
  /// Calls do_apply_many and goes over Y again, unless it is overridden.
  virtual void do_apply_many_with(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                                  const many_epilogue& then, call how) const;
  /// Called only where `can` says so.
  virtual void do_apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                             const const_vector_ref& w, const vector_ref& dots, call how) const;
  /// Called only where `can` says so.
  virtual void do_jacobi(double omega, const const_vector_ref& x, const const_vector_ref& b,
                         const const_vector_ref& inverse_diagonal, const vector_ref& y, call how) const;

 private:
  [[nodiscard]] call checked(operation what, const apply_options& options, const call_facts& facts) const;
  [[nodiscard]] call_facts facts() const;
};

}  // namespace tulle
