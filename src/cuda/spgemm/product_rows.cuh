// What the kernels of gustavson share: the pattern of A and B, the classes of rows, lists of rows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <tulle/core/types.hpp>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/warp.cuh"
#include "kernels/spgemm.hpp"

namespace tulle::cuda {

/// A and B without their numbers.
template <class O>
struct product_pattern {
  index_t rows;
  index_t cols;
  const O* a_rowptr;
  const index_t* a_colind;
  const O* b_rowptr;
  const index_t* b_colind;
};

/// Their numbers, and C. T is the type of sums.
template <class T, class O>
struct product_values {
  T alpha;
  const T* a;
  const T* b;
  const O* c_rowptr;
  index_t* c_colind;
  T* c;
};

/// The rows of B as words: made once (column_words.cu), or column by column where few columns share a word.
template <class O>
struct word_rows {
  const O* begin;  // of the words, or of the columns, of each row
  const O* end;
  const uint2* words;  // null: columns
  const index_t* columns;

  template <bool Words>
  __device__ __forceinline__ uint2 at(O i) const {
    if constexpr (Words) {
      return __ldg(words + i);
    } else {
      const auto column = static_cast<unsigned>(__ldg(columns + i));
      return {column / 32, 1u << column % 32};
    }
  }
};

/// The patterns of A and B, whose offsets are all of one type, which comes back in each kernel's own file.
struct product_ref {
  type_key types;
  index_t rows;
  index_t cols;
  const void* a_rowptr;
  const index_t* a_colind;
  const void* b_rowptr;
  const index_t* b_colind;
  const void* word_ends = nullptr;  // where the words of each row of B end; null: B has no words
  const uint2* words = nullptr;

  explicit product_ref(const spgemm_problem& p)
      : types(p.a.types),
        rows(p.a.rows),
        cols(p.b.cols),
        a_rowptr(p.a.rowptr),
        a_colind(p.a.colind),
        b_rowptr(p.b.rowptr),
        b_colind(p.b.colind) {}

  template <class O>
  [[nodiscard]] product_pattern<O> pattern() const {
    return {rows, cols, static_cast<const O*>(a_rowptr), a_colind, static_cast<const O*>(b_rowptr), b_colind};
  }
  template <class O>
  [[nodiscard]] word_rows<O> b_words() const {
    const auto *begin = static_cast<const O*>(b_rowptr), *ends = static_cast<const O*>(word_ends);
    return {begin, words == nullptr ? begin + 1 : ends, words, b_colind};
  }
  /// The sink's offsets are of the same type.
  template <class T, class O>
  [[nodiscard]] product_values<sum_of<T>, O> numbers(const spgemm_values& v, const csr_sink& c) const {
    using sum = sum_of<T>;
    return {static_cast<sum>(static_cast<T>(v.alpha)),
            static_cast<const sum*>(v.a),
            static_cast<const sum*>(v.b),
            static_cast<const O*>(c.rowptr),
            c.colind,
            static_cast<sum*>(c.values)};
  }

  /// f.template operator()<O>()
  template <class F>
  void with_offsets(F f) const {
    types.offset == offset_type::i64 ? f.template operator()<std::int64_t>() : f.template operator()<std::int32_t>();
  }
};

/// What is to be written of C: its values, and its columns if `columns` says so.
struct product_fill {
  product_ref product;
  spgemm_values values;
  csr_sink c;
  bool columns;
  cudaStream_t stream;

  /// f(pattern, numbers), typed.
  template <class F>
  void run(F f) const {
    dispatch<type_set::all>(product.types,
                            [&]<class T, class O>() { f(product.pattern<O>(), product.numbers<T, O>(values, c)); });
  }
};

/// How a row of C is made. sorted_N: all of its at most N products sorted in registers (sorted_rows.cuh). hashed_N: an
/// accumulator of at most N values behind a hash table of the 32-column words in which it has entries (hashed_fill.cu).
/// wide, hub: bitmaps (wide_pattern.cu, hub_pattern.cu) and chunks of columns (wide_values.cu). The trials are hashed
/// if their words fit the table. From trial_768 on they are put in buckets where B has no words to try with
/// (bucketed_fill.cu).
enum row_class : std::uint8_t {
  empty_row,
  sorted_8,
  sorted_16,
  sorted_32,
  sorted_64,
  sorted_128,
  sorted_256,
  trial_512,
  trial_768,
  trial_1024,
  trial_2048,
  trial_4096,
  trial,
  first_classes,  // what a row is before its entries are counted
  hashed_256 = first_classes,
  hashed_376,
  hashed_480,
  sorted_512,
  wide_counted,  // its entries were counted by a trial
  wide,
  hub,  // the wide rows with the most products, where they are few
  row_classes
};

/// Rows of one class: `rows` null means all rows in order. Where the host does not know them, their number and the
/// place of the first in `rows` lie on the device.
struct row_list {
  const index_t* rows;
  index_t most;            // rows of the list, or a bound on them
  const index_t* counted;  // null: `most` is the count
  const index_t* begin;    // null: 0

  __device__ index_t count() const { return counted == nullptr ? most : *counted; }
  __device__ index_t operator[](index_t i) const {
    if (rows == nullptr) return i;
    return rows[begin == nullptr ? i : *begin + i];
  }
};

}  // namespace tulle::cuda
