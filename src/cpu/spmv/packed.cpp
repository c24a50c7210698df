// packed: slices of 32 rows whose entries are grouped by diagonal, or by rank with narrow column offsets.
//
// Method: SELL-C (Kreutzer, Hager, Wellein, Fehske, Bishop: A Unified Sparse Matrix Data Format, SISC 36, 2014) with
// the values of short rows left out by masks instead of padded, as blocks are in SPC5 (Bramas, Kus: Computing the
// sparse matrix vector product using block-based kernels without zero padding on processors with AVX-512
// instructions, PeerJ CS 4, 2018), so rows stay in order. Where rows share their diagonals a position of the slice
// is a diagonal: one index for up to 32 entries, and x is loaded, not gathered. A part is consecutive slices
// with an equal number of rows and entries, from memory that its thread wrote first. Values that can be are stored in
// fewer bytes (1, 2 or 4), with the same result bit for bit; within a promise or by a rule of size (value_bound.hpp)
// each slice of an f64 matrix has f64, f32 or f16 values, which is the form of `composite_rows` and `dual_rows` without
// what they spend on columns. Where it is asked for, values that nothing narrows are two arrays of words
// (value_words.hpp), and a second operator reads the high ones alone (packed_high.hpp). Bytes per nonzero: those of a
// value and, on diagonals, 1/8 to 1/4; elsewhere 1, 2 or 4 and 8 for each 32 entries or less. Rows much longer than
// others (longest_packed_row) are summed from the CSR, which the plan keeps. Chosen where rows are alike and reading
// the matrix costs more than the conversion repays: see choose_cpu.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <numeric>
#include <tulle/core/status.hpp>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/csr_many.hpp"
#include "cpu/spmv/finishing_operator.hpp"
#include "cpu/spmv/packed_encode.hpp"
#include "cpu/spmv/packed_high.hpp"
#include "cpu/spmv/packed_multiply.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/slots.hpp"
#include "kernels/describe_stored.hpp"
#include "kernels/packed_parts.hpp"
#include "kernels/row_forms.hpp"
#include "kernels/x_reach.hpp"

namespace tulle::cpu {
namespace {

/// Bytes of values for a thread below which they stay in its second-level cache and are stored whole: reading them
/// costs nothing there, but widening them does. Looking them up in memory costs more.
constexpr std::int64_t least_narrow_bytes = 1 << 20, least_looked_up_bytes = 4 * least_narrow_bytes;

template <class T, class V, class O>
class packed_kernel final : public finishing_operator<packed_kernel<T, V, O>, V> {
 public:
  packed_kernel(const context& ctx, csr_view<T, O> a, const csr_stats& stats, const spmv_options& options)
      : finishing_operator<packed_kernel, V>(parts_for(a)),
        ctx_(ctx),
        threads_(threads_for_product(ctx, a)),
        sigma_(options.sigma > 0 ? (options.sigma + packed_lanes - 1) / packed_lanes * packed_lanes : default_sigma),
        options_(options),
        stats_(stats),
        a_(a),
        parts_(static_cast<std::size_t>(parts_for(a))) {
    const int parts = parts_for(a);
    index_t first = 0;
    for (int i = 0; i < parts; ++i) {
      const index_t end = balanced_rows(a.rows, a.rowptr, i, parts).end;
      const index_t last = i + 1 == parts ? a.rows : end / packed_lanes * packed_lanes;
      parts_[i].first = first;
      parts_[i].last = first = std::max(first, last);
    }
    find_long_rows();
    encode(decide());
    threads_ = packed_threads(ctx.threads(), work_of(a), mostly_diagonal_);
    fill();
  }

  template <class Finish, class Done>
  void multiply(Finish start, const V* x, const Done& done) {
    multiply(values(), start, x, done);
  }
  template <class Finish, class Done>
  void multiply(const packed_values<V>& values, Finish start, const V* x, const Done& done) {
    if constexpr (std::same_as<Finish, scaled<V>> || std::same_as<Finish, scaled_dots<V>>) {
      using streaming = std::conditional_t<std::same_as<Finish, scaled<V>>, streamed<V>, streamed_dots<V>>;
      const bool aligned = reinterpret_cast<std::uintptr_t>(start.y) % 64 == 0;
      if (streams_ && aligned && start.out.beta == 0 && start.order == nullptr)
        return multiply(values, streaming{start}, x, done);
    }
    in_parts([&](int i) {
      Finish finish = start;
      const std::span<const long_row<V>> apart = sum_long_rows(i, x, values.storage == value_storage::high);
      multiply_packed(isa_, parts_[i], values, apart, std::span(x, static_cast<std::size_t>(a_.cols)), finish);
      done(i, finish);
    });
  }

  /// From CSR: several vectors repay the bytes of its indices, but not the time that masks and narrow offsets take
  /// (docs/notes/0029-choice-many.md).
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view) override {
    many_.run(a_, alpha, x, beta, y, finish);
  }

  [[nodiscard]] spmv_operator* high_words() noexcept override {
    return storage_ == value_storage::words ? &high_ : nullptr;
  }
  [[nodiscard]] packed_values<V> high_values() const {
    packed_values<V> out = values();
    out.storage = value_storage::high;
    return out;
  }
  [[nodiscard]] int parts() const noexcept { return static_cast<int>(parts_.size()); }
  [[nodiscard]] std::size_t high_bytes() const noexcept { return words_.bytes() + values_.bytes() / 2; }
  bool store_in_order(const index_t* order, bool x_too) override {
    high_.store_in_order(order, x_too);
    return finishing_operator<packed_kernel, V>::store_in_order(order, x_too);
  }

  /// Where values are not stored whole, or need not be, how they are is decided again.
  void update_values(const matrix_ref& a) override {
    a_ = a.as<T, O>();
    const bool differed = by_slice_;
    const row_forms forms = decide();
    if (differed || by_slice_) encode(forms);
    fill();
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + parts_.size() * sizeof(packed_part) + long_rows_.size() * sizeof(long_row<V>) +
           many_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return words_.bytes() + values_.bytes() + kinds_.list.size() * sizeof(V);
  }
  [[nodiscard]] bool narrows_values() const noexcept override { return by_slice_ || !keeps_bytes(); }
  [[nodiscard]] stored_values stored() const override {
    const std::int64_t nnz = a_.nnz;
    if (storage_ == value_storage::words)
      return {{{name(storage_), a_.rows, nnz, nnz * static_cast<std::int64_t>(sizeof(T))}}};
    if (!narrows_values()) return {};
    if (!by_slice_)
      return {{{name(storage_), a_.rows, nnz, nnz * static_cast<std::int64_t>(bytes_of(storage_, sizeof(T)))}}};
    return described({counts_, lost_});
  }
  [[nodiscard]] std::string parameters() const override {
    std::string out = fmt::format("threads={} isa={} sigma={}", threads_, name(isa_), sigma_);
    if (by_slice_) return out + " values=mixed" + parameters_of(stored());
    if (storage_ != value_storage::whole) out += fmt::format(" values={}", name(storage_));
    return out;
  }

 private:
  /// Values take as many bytes as they have.
  [[nodiscard]] bool keeps_bytes() const noexcept {
    return storage_ == value_storage::whole || storage_ == value_storage::words;
  }
  static std::int64_t work_of(const csr_view<T, O>& a) { return std::int64_t{a.rows} + a.nnz; }
  static int parts_for(const csr_view<T, O>& a) { return packed_parts(work_of(a)); }
  /// Calls body(i) for part i, always on the same thread.
  template <class Body>
  void in_parts(const Body& body) {
    parallel_for(threads_, static_cast<int>(parts_.size()), body);
  }

  /// Of part i, from the CSR; `high`: by the high words of its values.
  std::span<const long_row<V>> sum_long_rows(int i, const V* x, bool high) {
    const std::span mine(long_rows_.data() + first_long_[i], long_rows_.data() + first_long_[i + 1]);
    for (long_row<V>& r : mine) {
      const O begin = a_.rowptr[r.row], end = a_.rowptr[r.row + 1];
      if constexpr (std::same_as<T, double>) {
        r.sum = high ? high_row_sum(a_, begin, end, x) : multiply_piece(path_of(isa_), a_, begin, end, x);
      } else {
        r.sum = multiply_piece(path_of(isa_), a_, begin, end, x);
      }
    }
    return mine;
  }
  void find_long_rows() {
    first_long_.assign(parts_.size() + 1, 0);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (index_t row = parts_[i].first; row < parts_[i].last; ++row) {
        if (a_.rowptr[row + 1] - a_.rowptr[row] > longest_) long_rows_.push_back({row, 0});
      }
      first_long_[i + 1] = long_rows_.size();
    }
  }

  /// How values are to be stored; the forms of rows are there where slices differ.
  row_forms decide() {
    row_forms forms;
    // Of high words the number of threads must not show.
    const std::int64_t mine =
        static_cast<std::int64_t>(a_.nnz) * static_cast<std::int64_t>(sizeof(T)) / (options_.high_words ? 1 : threads_);
    const bool lossy = std::same_as<T, double> && may_lose_bits(options_);
    const bool look = mine >= least_narrow_bytes && (values_.empty() || !keeps_bytes() || lossy);
    kinds_ = look ? kinds_of(threads_, a_.values, a_.nnz) : value_kinds<T>{};
    storage_ = narrowest(kinds_, mine);
    by_slice_ = false;
    if constexpr (std::same_as<T, double>) {
      if (look && lossy && bytes_of(storage_, sizeof(T)) > 2) {
        forms = choose_row_forms(ctx_, threads_, a_, selection_for(threads_, a_, options_), true);
        by_slice_ = storage_ == value_storage::whole ? forms.narrow() : forms.halves();
        lost_ = forms.all.lost;
      }
    }
    if (by_slice_) storage_ = value_storage::whole;
    if (sizeof(T) == 8 && options_.high_words && storage_ == value_storage::whole) storage_ = value_storage::words;
    if (storage_ != value_storage::listed) kinds_.list.clear();
    std::ranges::copy(kinds_.list, list_.begin());
    return forms;
  }

  void encode(const row_forms& forms) {
    std::vector<std::vector<std::uint32_t>> words(parts_.size());
    std::vector<std::int64_t> slots(parts_.size());
    std::vector<std::int64_t> full_diagonals(parts_.size());
    std::vector<form_counts> counts(parts_.size());
    const row_form* const of_row = by_slice_ ? forms.of_row.data() : nullptr;
    try {
      in_parts([&](int i) {
        packed_encoder<O> windows(a_.rowptr, a_.colind, sizeof(V), longest_, of_row);
        const index_t last = parts_[i].last;
        for (index_t row = parts_[i].first; row < last; row += std::min(sigma_, last - row)) {
          slots[i] += windows.encode(row, row + std::min(sigma_, last - row), words[i]);
        }
        full_diagonals[i] = windows.full_diagonals();
        counts[i] = windows.counts();
      });
    } catch (const std::bad_alloc&) {
      throw error(status::out_of_memory, "packed: no memory for the column indices");
    }
    const std::int64_t full = std::accumulate(full_diagonals.begin(), full_diagonals.end(), std::int64_t{0});
    mostly_diagonal_ = 2 * packed_lanes * full >= static_cast<std::int64_t>(a_.nnz);
    counts_ = {};
    for (const form_counts& c : counts) counts_ += c;
    std::size_t total = 0;
    for (const auto& w : words) total += w.size() + packed_slack;
    words_ = buffer<std::uint32_t>(ctx_, total);
    std::uint32_t* to = words_.data();
    slots_ = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].words = std::exchange(to, to + words[i].size() + packed_slack);
      parts_[i].slot = std::exchange(slots_, slots_ + slots[i]);
    }
    in_parts([&](int i) { std::fill_n(std::ranges::copy(words[i], parts_[i].words).out, packed_slack, 0u); });
  }

  void fill() {
    const std::size_t arrays = storage_ == value_storage::words ? 2 : 1;
    const std::size_t unit = by_slice_ ? slice_alignment : bytes_of(storage_, sizeof(T));
    const std::size_t array = (static_cast<std::size_t>(slots_) * unit + 2 * packed_value_slack - 1) / 64 * 64;
    const std::size_t bytes = arrays * array;
    low_ = arrays == 2 ? static_cast<std::ptrdiff_t>(array) : 0;
    const value_writer<T> writer(storage_, kinds_.list, low_);
    if (values_.size() != bytes) values_ = buffer<std::byte>(ctx_, bytes);
    const packed_values<V> stored = values();
    std::atomic<bool> same = true;
    in_parts([&](int i) {
      std::byte* to = values_.data() + (stored.of(parts_[i]) - stored.data);
      if (!fill_values(a_, parts_[i], writer, by_slice_, stored.alignment(), to)) same = false;
    });
    if (!same) throw error(status::invalid_structure, "update_values: the CSR has another pattern than the plan's");
    const std::size_t vectors = (static_cast<std::size_t>(a_.rows) + static_cast<std::size_t>(a_.cols)) * sizeof(V);
    streams_ = matrix_bytes() + vectors > ctx_.info().l2_bytes;
    x_by_loads_ = loads_x_singly(stats_, matrix_bytes(), threads_, sizeof(V), gathers_in_packed);
    ahead_ = asks_ahead(stats_, sizeof(V));
  }

  /// `bytes`: of the values of a thread.
  static value_storage narrowest(const value_kinds<T>& kinds, std::int64_t bytes) {
    const auto listed = static_cast<int>(kinds.list.size());
    if (listed > 0 && listed <= few_values<V>) return value_storage::listed;
    if (kinds.bf16) return value_storage::bf16;
    if (listed > 0 && bytes >= least_looked_up_bytes) return value_storage::listed;
    return kinds.f32 ? value_storage::f32 : value_storage::whole;
  }

  [[nodiscard]] packed_values<V> values() const {
    const bool narrow = storage_ == value_storage::whole && sizeof(T) < sizeof(V);
    return {narrow ? value_storage::f32 : storage_,
            values_.data(),
            list_.data(),
            static_cast<int>(kinds_.list.size()),
            by_slice_,
            low_,
            x_by_loads_,
            ahead_};
  }

  context ctx_;
  int threads_;
  index_t sigma_;  // rows of a window that may be sorted
  spmv_options options_;
  csr_stats stats_;
  csr_view<T, O> a_;
  /// Where values may be stored in fewer bits than they have, no row is left out.
  std::int64_t longest_ =
      may_lose_bits(options_) ? std::numeric_limits<std::int64_t>::max() : longest_packed_row(a_.rows, a_.nnz);
  std::vector<long_row<V>> long_rows_;   // ascending
  std::vector<std::size_t> first_long_;  // of each part, and the end
  bool mostly_diagonal_ = false;
  bool streams_ = false;  // nothing outlives an application in the caches
  buffer<std::uint32_t> words_;
  value_kinds<T> kinds_;
  value_storage storage_ = value_storage::whole;
  bool by_slice_ = false;    // slices have forms of their own
  form_counts counts_ = {};  // then
  double lost_ = 0;
  buffer<std::byte> values_;
  std::ptrdiff_t low_ = 0;  // of words: bytes from a high one to its low one
  std::int64_t slots_ = 0;  // of values_, which are of as many bytes as the storage says; by slice of slice_alignment
  std::array<V, most_listed_values> list_{};
  std::vector<packed_part> parts_;
  csr_many<T, V, O> many_{ctx_, a_, ctx_.threads(), options_};
  isa isa_ = best_isa();
  bool x_by_loads_ = false;
  bool ahead_ = true;
  packed_high<packed_kernel, V> high_{*this};
};

constexpr type_set packed_types = type_set::floating | type_set::narrow;

support supports_packed(const csr_stats& stats, type_key types, const device_info& device) {
  csr_stats shorter = stats;  // without the rows that are left out
  shorter.sell_sorted_padding = packed_sorted_padding(stats);
  return supports_slices(shorter, types, device);
}

}  // namespace

spmv_kernel packed_entry() {
  return {
      .name = "packed",
      .summary = "slices of 32 rows by diagonal, or with narrow column offsets",
      .backend = backend_kind::cpu,
      .types = packed_types,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .listens_to = {.sigma = true, .values = true, .high_words = true},
      .supports = supports_packed,
      .make = make_operator<packed_kernel, packed_types>,
  };
}

}  // namespace tulle::cpu
