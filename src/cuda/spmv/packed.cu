// packed: SELL-32-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 2014) with compressed columns and 1 to 32 lanes
// per row; packed_format.cuh says how it is stored. One warp per slice: a lane walks its entries, the lanes of a row
// are added by shuffles, and the store permutes the rows back. The parts of a long row leave their sums in memory, and
// the last warp to arrive adds them in order, in the same launch. Values that can be are stored in fewer bytes (1, 2 or
// 4: packed_values.cuh), with the same result bit for bit; within a promise or by a rule of size each slice of an f64
// matrix has f64, f32 or f16 values (row_forms.hpp); f64 values in two words may be read by the high ones alone. Bytes
// per nonzero: those of a value + 0, 1, 2 or 4 + 1/8; plus one y and at most 4 bytes per row; no offsets. Chosen for at
// least 2.5 million nonzeros (1 million if rows are longer than 1000) unless csr5 is.
#include <algorithm>
#include <cmath>
#include <memory>

#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/packed_kernel.cuh"
#include "cuda/spmv/packed_many.hpp"
#include "cuda/spmv/packed_matrix.hpp"
#include "cuda/spmv/product_ahead.cuh"
#include "cuda/spmv/supports.hpp"
#include "cuda/spmv/turn_vectors.cuh"
#include "kernels/formats.hpp"
#include "kernels/turning_rule.hpp"

namespace tulle::cuda {
namespace {

/// What was fastest on an NVIDIA H200.
struct packed_policy {
  // Slices of 64 lanes, where rows are many and their values take few bytes on average, or entries are very many: as
  // few slices leave much to even out at the end of a launch.
  static constexpr double tall_most_mean = 32;
  static constexpr int tall_most_bytes = 128;
  static constexpr index_t tall_least_rows = 500'000;
  static constexpr std::int64_t very_many_entries = 80'000'000;
  // Then values are prefetched where rows are long and of similar length.
  static constexpr double ahead_least_mean = 16, ahead_most_skew = 4;
  // From the entries that each resident lane would get: positions of a slice, and 64ths of a part of a long row.
  static constexpr int most_share = 1024, least_positions = 8, most_positions = 96, least_part = 8, most_part = 128;
  // The same where a plan was told columns that fill lines of X; fewer at most where rows differ in length, as threads
  // whose rows have ended wait for the others.
  static constexpr double lines_by_share = 6, lines_by_panels = 0.3, lines_least_skew = 4;
  static constexpr int lines_least = 2, lines_most_positions = 24, lines_most_part = 32;
  // Of a lane's share of entries, from which on a few columns of f32 that lie by columns have slices as for one vector.
  static constexpr double few_most_share = 0.35;
  static constexpr double block_fill = 0.8;  // from which columns count from the first row of a block
};

bool is_scattered(const csr_stats& s) { return s.gather_sectors > scattered_sectors; }

bool pays_ahead(const csr_stats& s, const packed_shape& shape) {
  return shape.height == 64 && s.nnz >= packed_policy::very_many_entries && s.mean >= packed_policy::ahead_least_mean &&
         s.max <= packed_policy::ahead_most_skew * s.mean;
}

/// Lanes that a device has at once, one vector.
std::int64_t resident_lanes(const context& ctx) {
  return std::int64_t{ctx.info().multiprocessors} * local::resident * packed_threads;
}

/// Of slices whose entries take lines of X: a few warps of long slices wait for one round of loads after another, many
/// warps of short ones for what says where their rows are. Large matrices have slices as for one vector.
packed_shape shape_for_lines(const context& ctx, const csr_stats& s, double panels) {
  using policy = packed_policy;
  const double share =
      std::min(static_cast<double>(s.nnz) / static_cast<double>(resident_lanes(ctx)), double{policy::most_share});
  const double of_small = policy::lines_by_share * std::sqrt(share) * std::pow(panels, policy::lines_by_panels);
  const bool apart = s.skew >= policy::lines_least_skew;
  packed_shape shape;
  shape.height = shape.narrow_height = 32;
  shape.positions = std::clamp(static_cast<int>(std::max(of_small, 1.5 * share)), policy::lines_least,
                               apart ? policy::lines_most_positions : policy::most_positions);
  shape.part_length = 64 * std::clamp(static_cast<int>(std::ceil(share)), policy::lines_least,
                                      apart ? policy::lines_most_part : policy::most_part);
  return shape;
}

/// Enough slices to fill the device, then as few lanes per row as possible, and no slice so long that it ends last
/// alone.
packed_shape shape_for_one(const context& ctx, const csr_stats& s, std::size_t value_bytes) {
  using policy = packed_policy;
  const auto share = static_cast<int>(std::min<std::int64_t>(ceil_div(s.nnz, resident_lanes(ctx)), policy::most_share));
  const auto height_for = [&](std::size_t bytes) {
    const bool short_rows = s.mean * static_cast<double>(bytes) <= policy::tall_most_bytes;
    const bool tall_pays = s.rows >= policy::tall_least_rows && s.mean <= policy::tall_most_mean && !is_scattered(s) &&
                           (short_rows || s.nnz >= policy::very_many_entries);
    return tall_pays ? 64 : 32;
  };
  packed_shape shape;
  shape.positions = std::clamp(share + share / 2, policy::least_positions, policy::most_positions);
  shape.height = height_for(value_bytes);
  shape.narrow_height = height_for(4);
  shape.part_length = 64 * std::clamp(share, policy::least_part, policy::most_part);
  return shape;
}

/// Of a few columns, which fill no line: no longer than those of lines, as a thread has as many rounds of loads. But
/// not in f32 by columns where rows are of one length and entries many (H200, 8 columns, 100,000 to 500,000
/// entries: 1.0 to 1.3 of the time).
packed_shape shape_for_few(const context& ctx, const csr_stats& s, std::size_t value_bytes, double panels,
                           vector_order order) {
  using policy = packed_policy;
  packed_shape shape = shape_for_one(ctx, s, value_bytes);
  const bool many = s.nnz >= policy::few_most_share * static_cast<double>(resident_lanes(ctx));
  if (order == vector_order::column_major && value_bytes == 4 && s.skew < policy::lines_least_skew && many)
    return shape;
  const packed_shape of_lines = shape_for_lines(ctx, s, panels);
  shape.positions = std::min(shape.positions, of_lines.positions);
  shape.part_length = std::min(shape.part_length, of_lines.part_length);
  return shape;
}

packed_shape shape_for(const context& ctx, const csr_stats& s, std::size_t value_bytes, const spmv_options& options) {
  constexpr index_t few_columns = 4;  // from which on
  const double panels =
      static_cast<double>(options.columns) * static_cast<double>(value_bytes) / 128;  // packed_many.cu
  const auto slices = [&] {
    if (panels >= 1) return shape_for_lines(ctx, s, panels);
    if (options.columns >= few_columns) return shape_for_few(ctx, s, value_bytes, panels, options.columns_order);
    return shape_for_one(ctx, s, value_bytes);
  };
  packed_shape shape = slices();
  for (index_t b = 2; b <= 8; ++b) {
    if (s.block_fill[static_cast<std::size_t>(b)] > packed_policy::block_fill) shape.block = b;
  }
  return shape;
}

/// y = A' x by the copy of A that `packed` has: A' is A with its values' high words alone. 4 bytes a nonzero and those
/// of its position. Shares the sums of long rows' parts with that one.
template <class Of>
class packed_high final : public fused_operator<packed_high<Of>, device_operator<double>> {
 public:
  packed_high(const context& ctx, Of& of, std::int64_t blocks, std::int64_t long_rows)
      : fused_operator<packed_high, device_operator<double>>(ctx, packed_threads), of_(of) {
    this->dots_ = {ctx, blocks, long_rows};
  }
  void update_values(const matrix_ref&) override {}
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return this->dots_.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return of_.high_bytes(); }

  [[nodiscard]] std::int64_t blocks() const { return of_.blocks(); }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const double* x, cudaStream_t stream) {
    of_.start_high(epilogue, x, stream);
  }

 private:
  Of& of_;
};

template <class T, class V, class O>
class packed_operator final : public fused_operator<packed_operator<T, V, O>, device_operator<V>> {
 public:
  packed_operator(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& options)
      : fused_operator<packed_operator, device_operator<V>>(ctx, packed_threads),
        ctx_(ctx),
        shape_(shape_for(ctx, s, sizeof(T), options)),
        scattered_(is_scattered(s)),
        ahead_(pays_ahead(s, shape_)),
        rows_(a.rows),
        cols_(a.cols),
        nnz_(a.nnz),
        turning_(s, sizeof(V), turning_rule::uneven_in_packed),
        columns_(static_cast<index_t>(ceil_div(std::clamp<index_t>(options.columns, 1, 128), 32) * 32)),
        matrix_(ctx, a, s.max, shape_, options) {
    make_room();
    if (options.columns_order == vector_order::column_major && turning_.pays(options.columns)) {
      turned_ = {ctx, turns_y(s, options.columns) ? rows_ : 0, cols_, options.columns};
    }
    if (options.columns == 0 && options.effort != spmv_effort::none) {
      const auto pays = [&](index_t columns) { return turning_.pays(columns); };
      const untold_room room(s, sizeof(V), ctx.info().memory_bytes);
      const index_t most = room.turned_few(cols_, pays);  // slices are not made for more
      turned_ = turned_vectors<V>::if_there_is_memory(ctx, 0, cols_, most);
    }
  }
  void update_values(const matrix_ref& a) override {
    matrix_.update(ctx_, a.as<T, O>());
    make_room();
  }
  [[nodiscard]] spmv_operator* high_words() noexcept override { return matrix_.in_words() ? high_.get() : nullptr; }
  bool store_in_order(const index_t* order, bool x_too) override {
    if (high_ != nullptr) high_->store_in_order(order, x_too);
    return fused_operator<packed_operator, device_operator<V>>::store_in_order(order, x_too);
  }
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view stream) override {
    const device_guard guard(this->device_);
    const many_epilogue<V> then(finish);
    const auto multiply = [&](double by, const strided_vectors& from, double old, const strided_vectors& to,
                              const many_epilogue<V>& after, bool behind) {
      product_ahead ahead;
      ahead.behind = behind;
      if (!behind) ahead.x = x_ahead<V>(from, cols_, nnz_);
      matrix_.with_values([&](const auto& values) {
        packed_many(pattern().view(), pattern().height(), values, room(), ahead, by, from, old, to, after,
                    native(stream));
      });
    };
    if (!turning_.pays(turned_.at_once(x.count))) return multiply(alpha, x, beta, y, then, false);
    turned_.multiply(alpha, x, beta, y, rows_, cols_, then, native(stream), multiply);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + matrix_.idle_bytes() + part_sum_.bytes() + long_row_.bytes() + turned_.bytes() +
           this->dots_.bytes() + (high_ == nullptr ? 0 : high_->workspace_bytes());
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return matrix_.bytes(); }
  [[nodiscard]] bool narrows_values() const noexcept override { return matrix_.is_narrow(); }
  [[nodiscard]] tulle::stored_values stored() const override { return matrix_.stored(rows_, nnz_); }
  [[nodiscard]] std::string parameters() const override {
    std::string out = "height=" + std::to_string(pattern().height()) + " positions=" + std::to_string(shape_.positions);
    if (shape_.block > 1) out += " block=" + std::to_string(shape_.block);
    return out + matrix_.parameters();
  }

  [[nodiscard]] std::int64_t blocks() const { return as_launched().blocks(); }
  template <class Epilogue>
  void start_high(const Epilogue& epilogue, const V* x, cudaStream_t stream) {
    packed_narrow(as_launched(), matrix_.by_high_words(), x, part_sum_.data(), epilogue, stream);
  }
  [[nodiscard]] std::size_t high_bytes() const noexcept { return matrix_.high_bytes(); }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const V* x, cudaStream_t stream) {
    matrix_.with_values([&](const auto& values) {
      if constexpr (std::is_same_v<std::decay_t<decltype(values)>, stored_values<V>>) {
        packed_whole(values, x, epilogue, stream);
      } else {
        packed_narrow(as_launched(), values, x, part_sum_.data(), epilogue, stream);
      }
    });
  }

 private:
  /// Beside X. Neighbouring threads store neighbouring rows of Y: of sorted ones more than few columns scatter.
  static bool turns_y(const csr_stats& s, index_t columns) {
    constexpr double alike = 1.2;
    const std::int64_t elements = std::int64_t{s.rows} * turned_vectors<V>::of_pass(columns);
    return columns > few_columns && s.slice_padding >= alike && elements >= 2 * least_turned_y;
  }
  [[nodiscard]] const packed_storage& pattern() const { return matrix_.pattern(); }
  /// For the parts of long rows and for dot products.
  void make_room() {
    const auto parts = static_cast<std::size_t>(pattern().parts());
    const auto columns = static_cast<std::size_t>(columns_), copies = columns / 4;
    const auto long_rows = static_cast<std::size_t>(pattern().long_rows());
    if (part_sum_.size() != columns * parts) part_sum_ = buffer<V>(ctx_, columns * parts);
    if (long_row_.size() != copies * long_rows || long_row_of_ != pattern().view().long_row) {
      long_row_ = buffer<packed_long_row>(ctx_, copies * long_rows);
      long_row_of_ = pattern().view().long_row;
      for (std::size_t i = 0; i < copies && long_rows > 0; ++i) {
        copy_bytes(ctx_, long_row_.data() + i * long_rows, memory_space::device, long_row_of_, memory_space::device,
                   long_rows * sizeof(packed_long_row));
      }
    }
    if (blocks() != blocks_) {
      blocks_ = blocks();
      this->dots_ = {ctx_, blocks_, pattern().long_rows()};
      high_.reset();
    }
    if constexpr (std::is_same_v<T, double>) {
      if (!matrix_.in_words() || high_ != nullptr) return;
      high_ = std::make_unique<packed_high<packed_operator>>(ctx_, *this, blocks_, pattern().long_rows());
      high_->store_in_order(this->places_.order, this->places_.x_too);
    }
  }
  [[nodiscard]] packed_many_room<V> room() {
    return {part_sum_.data(), long_row_.data(), pattern().parts(), pattern().long_rows(), columns_};
  }
  [[nodiscard]] packed_run as_launched() const { return {pattern().view(), pattern().height(), scattered_, ahead_}; }
  template <class Values, class Epilogue>
  [[nodiscard]] packed_function<Values, V, Epilogue> tall_kernel() const {
    if constexpr (std::is_same_v<V, double> && std::is_same_v<Epilogue, scale_and_store<V>>) {
      return packed_kernel<tall_product, Values, V, Epilogue>;  // faster than what is asked for ahead, too
    } else {
      return ahead_ ? packed_kernel<tall_ahead, Values, V, Epilogue> : packed_kernel<tall, Values, V, Epilogue>;
    }
  }
  template <class Values, class Epilogue>
  void packed_whole(const Values& values, const V* x, const Epilogue& epilogue, cudaStream_t stream) {
    const auto kernel = pattern().height() == 64 ? tall_kernel<Values, Epilogue>()
                        : scattered_             ? packed_kernel<scattered, Values, V, Epilogue>
                                                 : packed_kernel<local, Values, V, Epilogue>;
    launch("packed", kernel, {blocks(), packed_threads}, stream, pattern().view(), values, x, part_sum_.data(),
           epilogue);
  }

  context ctx_;
  packed_shape shape_;
  bool scattered_;
  bool ahead_;
  index_t rows_, cols_;
  std::int64_t nnz_;
  turning_rule turning_;
  index_t columns_;  // of part_sum_
  packed_matrix<T, V> matrix_;
  buffer<V> part_sum_;
  buffer<packed_long_row> long_row_;  // for each of the panels of columns that may run side by side
  const packed_long_row* long_row_of_ = nullptr;
  turned_vectors<V> turned_;
  std::int64_t blocks_ = -1;
  std::unique_ptr<spmv_operator> high_;  // of values in words
};

constexpr type_set packed_types = type_set::floating | type_set::narrow;

/// H200, FEM of 3 unknowns, 59M nonzeros: 129 us in bins of blocks, 77 as f32 there; 63 where values repeat, 78 to 96
/// listed, 90 as f32. Where there are too many values for a list, bins are left to narrow theirs.
bool narrows(const context& ctx, const matrix_ref& a) {
  return a.types.value == scalar_type::f64 && !narrowest(ctx, static_cast<const double*>(a.values), a.nnz).list.empty();
}

}  // namespace

spmv_kernel packed_entry() {
  return {
      .name = "packed",
      .summary = "SELL-32-sigma with compressed columns, 1 to 32 lanes per row",
      .backend = backend_kind::cuda,
      .types = packed_types,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .listens_to = {.block_size = true, .values = true, .high_words = true},
      .supports = supports_packed,
      .narrows = narrows,
      .make = make_operator<packed_operator, packed_types>,
  };
}

}  // namespace tulle::cuda
