// kernel0: Gustavson's row-wise product, with an accumulator for tile_size columns at a time. The origin, and the
// control.
//
// Method: F. G. Gustavson, "Two fast algorithms for sparse matrices", ACM TOMS 4(3), 1978, in column tiles. One thread
// takes row after row of A; for each tile of columns it walks the rows of B that the row of A names, from the first
// entry in the tile on, adds into the accumulator, and appends what was hit. The pass is made twice: once to count.
// Bytes per product: 4 + sizeof(T) of B and an accumulator in the first-level cache; per tile and entry of A a search
// in a row of B. Never chosen: others are checked against it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <tulle/core/buffer.hpp>

#include "cpu/spgemm/sink.hpp"
#include "cpu/spmv/arithmetic.hpp"
#include "kernels/spgemm.hpp"

namespace tulle::cpu {
namespace {

index_t tile_of(const spgemm_problem& p) {
  constexpr index_t own_choice = 1024;
  return std::min(p.tile_size > 0 ? p.tile_size : own_choice, p.b.cols);
}

template <scalar T, offset O>
class kernel0 final : public spgemm_operator {
 public:
  kernel0(const context& ctx, const spgemm_problem& p)
      : a_(p.a.as<T, O>()),
        b_(p.b.as<T, O>()),
        tile_(tile_of(p)),
        offsets_(ctx, static_cast<std::size_t>(a_.rows) + 1),
        sums_(ctx, static_cast<std::size_t>(tile_)),
        states_(ctx, static_cast<std::size_t>(tile_)) {
    if (p.mask) mask_ = p.mask->as<T, O>();
  }

  std::int64_t symbolic() override {
    std::int64_t nnz = 0;
    for (index_t i = 0; i < a_.rows; ++i) {
      offsets_.data()[i] = nnz;
      for_each_entry(i, {0, a_.values, b_.values}, [&](index_t, sum) { ++nnz; });
    }
    return offsets_.data()[a_.rows] = nnz;
  }
  void fill(const spgemm_values& values, const csr_sink& c) override {
    write_offsets(offsets_.data(), 0, std::int64_t{a_.rows} + 1, c);
    write(values, c, c.colind);
  }
  void numeric(const spgemm_values& values, const csr_sink& c) override { write(values, c, nullptr); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return offsets_.bytes() + sums_.bytes() + states_.bytes();
  }

 private:
  using sum = sum_of<T>;
  enum state : std::uint8_t { unwanted, wanted, hit };

  /// Columns are left alone where colind is null.
  void write(const spgemm_values& values, const csr_sink& c, index_t* colind) {
    std::int64_t at = c.first;
    for (index_t i = 0; i < a_.rows; ++i) {
      for_each_entry(i, values, [&](index_t column, sum value) {
        if (colind != nullptr) colind[at] = column;
        static_cast<T*>(c.values)[at++] = static_cast<T>(value);
      });
    }
  }

  /// f(column, value) for the entries of row i, by column.
  template <class F>
  void for_each_entry(index_t i, const spgemm_values& values, F f) {
    const auto alpha = static_cast<sum>(static_cast<T>(values.alpha));
    const T *a_values = static_cast<const T*>(values.a), *b_values = static_cast<const T*>(values.b);
    for (index_t begin = 0, width = 0; begin < b_.cols; begin += width) {
      width = std::min(tile_, b_.cols - begin);
      clear(i, begin, width);
      for (O k = a_.rowptr[i]; k < a_.rowptr[i + 1]; ++k) {
        const sum scale = alpha * static_cast<sum>(a_values[k]);
        for_each_in_tile(b_, a_.colind[k], begin, width, [&](O l, index_t j) {
          if (states_.data()[j] == unwanted) return;
          states_.data()[j] = hit;
          sums_.data()[j] += scale * static_cast<sum>(b_values[l]);
        });
      }
      for (index_t j = 0; j < width; ++j) {
        if (states_.data()[j] == hit) f(begin + j, sums_.data()[j]);
      }
    }
  }

  void clear(index_t i, index_t begin, index_t width) {
    std::fill_n(sums_.data(), width, sum{0});
    std::fill_n(states_.data(), width, mask_.rowptr ? unwanted : wanted);
    if (mask_.rowptr) for_each_in_tile(mask_, i, begin, width, [&](O, index_t j) { states_.data()[j] = wanted; });
  }

  /// f(entry, column - begin) for the entries of a row in columns begin .. begin + width - 1.
  template <class F>
  static void for_each_in_tile(csr_view<T, O> m, index_t row, index_t begin, index_t width, F f) {
    const index_t* last = m.colind + m.rowptr[row + 1];
    const index_t* at = std::lower_bound(m.colind + m.rowptr[row], last, begin);
    for (; at != last && *at - begin < width; ++at) f(static_cast<O>(at - m.colind), *at - begin);
  }

  csr_view<T, O> a_, b_, mask_;  // no mask: no rowptr
  index_t tile_;
  buffer<std::int64_t> offsets_;  // rows + 1, from 0
  buffer<sum> sums_;              // of a tile
  buffer<state> states_;
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_kernel0(const context& ctx, const spgemm_problem& p) {
  return make_operator<kernel0>(ctx, p);
}

}  // namespace tulle::cpu
