// What calls of the C API are made of: numbers and arrays out of an input's bytes, right ones for the most part.
#pragma once

#include <tulle/tulle.h>

#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "fuzz.hpp"

namespace tulle::fuzz {

inline std::size_t size_of(tulle_scalar_type type) { return type == TULLE_F64 ? 8 : 4; }

class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  unsigned byte() {
    if (left_.empty()) return 0;
    const unsigned first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  std::int32_t below(unsigned n) { return static_cast<std::int32_t>(byte() % n); }
  bool rarely() { return byte() >= 246; }
  template <class T, std::size_t N>
  T one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }
  double factor() { return rarely() ? one_of({0.5, -0.0, 1e300, 4e9, nan, -infinity}) : below(5) - 2.0; }
  /// `right`, or what must be refused in its place.
  std::int64_t size(std::int64_t right) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return rarely() ? one_of({right + 1, std::int64_t{-1}, most, -most - 1, std::int64_t{1} << 32}) : right;
  }

 private:
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  std::span<const std::uint8_t> left_;
};

/// Memory that lives as long as this, each block exactly as long as asked for.
class arena {
 public:
  void* block(std::size_t bytes) {
    blocks_.push_back(std::make_unique<std::byte[]>(bytes));
    return blocks_.back().get();
  }
  template <class T>
  T* copy(const std::vector<std::int64_t>& numbers) {
    T* const out = static_cast<T*>(block(numbers.size() * sizeof(T)));
    for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = static_cast<T>(numbers[i]);
    return out;
  }
  void* copy(const std::vector<std::int64_t>& numbers, tulle_scalar_type type) {
    if (type == TULLE_F64) return copy<double>(numbers);
    if (type == TULLE_F32) return copy<float>(numbers);
    return copy<std::int32_t>(numbers);
  }
  /// Small whole numbers, with which every type computes exactly.
  void* numbers(input& in, std::int64_t count, tulle_scalar_type type) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(count));
    for (std::int64_t& v : out) v = in.below(9) - 4;
    return copy(out, type);
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

inline double number_at(const void* numbers, std::size_t i, tulle_scalar_type type) {
  if (type == TULLE_F64) return static_cast<const double*>(numbers)[i];
  if (type == TULLE_F32) return static_cast<const float*>(numbers)[i];
  return static_cast<const std::int32_t*>(numbers)[i];
}

struct csr_input {
  tulle_csr_arrays arrays{};
  bool right_contents = true;
  bool right_description = true;
};

inline void break_description(input& in, csr_input& m) {
  tulle_csr_arrays& a = m.arrays;
  m.right_description = false;
  switch (in.below(9)) {
    case 0:
      a.rows = in.one_of({std::int64_t{-1}, std::int64_t{1} << 31, INT64_MAX});
      break;
    case 1:
      a.cols = in.one_of({std::int64_t{-1}, std::int64_t{1} << 31, INT64_MIN});
      break;
    case 2:
      a.nnz = in.one_of({a.nnz + 1, std::int64_t{-1}, INT64_MAX, std::int64_t{1} << 60});
      break;
    case 3:
      a.scalar_type = 7;
      break;
    case 4:
      a.offset_type = -1;
      break;
    case 5:
      a.index_base = 2;
      break;
    case 6:
      a.space = in.one_of({TULLE_DEVICE + 0, 7});
      break;
    case 7:
      a.rowptr = nullptr;
      break;
    default:
      m.right_description = a.nnz == 0;
      a.colind = nullptr;
  }
}

inline csr_input random_csr(input& in, arena& memory) {
  csr_input out;
  tulle_csr_arrays& a = out.arrays;
  a.rows = in.below(10);
  a.cols = in.rarely() ? 300 : in.below(10);
  a.scalar_type = in.below(3);
  a.offset_type = in.below(2);
  a.index_base = in.rarely();
  std::vector<std::int64_t> rowptr{0}, colind;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const int length = a.cols == 0 ? 0 : in.below(6);
    const bool sorted = in.byte() < 128;
    for (int k = 0; k < length; ++k) colind.push_back(sorted ? k * a.cols / length : in.byte() % a.cols);
    rowptr.push_back(static_cast<std::int64_t>(colind.size()));
  }
  a.nnz = rowptr.back();
  constexpr std::int64_t odd[]{-1, 1, 2, 1000, INT32_MAX, INT32_MIN};
  if (in.rarely()) rowptr[in.byte() % rowptr.size()] += in.one_of(odd);
  if (in.rarely() && !colind.empty()) colind[in.byte() % colind.size()] += in.one_of(odd);
  bool right = rowptr.front() == 0 && rowptr.back() == a.nnz;
  for (std::size_t r = 1; r < rowptr.size(); ++r) right = right && rowptr[r - 1] <= rowptr[r];
  for (const std::int64_t c : colind) right = right && c >= 0 && c < a.cols;
  out.right_contents = right;
  for (std::int64_t& p : rowptr) p += a.index_base;
  for (std::int64_t& c : colind) c += a.index_base;
  a.rowptr = a.offset_type == TULLE_OFFSET_I32 ? static_cast<void*>(memory.copy<std::int32_t>(rowptr))
                                               : memory.copy<std::int64_t>(rowptr);
  a.colind = memory.copy<std::int32_t>(colind);
  a.values = memory.numbers(in, a.nnz, a.scalar_type);
  if (in.rarely()) break_description(in, out);
  return out;
}

inline tulle_multivector vectors(input& in, arena& memory, std::int64_t rows, std::int64_t count,
                                 tulle_scalar_type type) {
  const tulle_vector_order order = in.below(2);
  const std::int64_t least = order == TULLE_ROW_MAJOR ? count : rows, stripes = order == TULLE_ROW_MAJOR ? rows : count;
  const std::int64_t ld = least + in.below(3);
  const std::int64_t elements = stripes == 0 ? 0 : (stripes - 1) * ld + least;
  return {in.size(rows), count, in.rarely() ? least - 1 : ld, in.rarely() ? 2 : order,
          memory.numbers(in, elements, type)};
}

/// A matrix in another format, its contents broken now and then.
inline tulle_matrix_arrays random_arrays(input& in, arena& memory) {
  tulle_matrix_arrays a{};
  a.format = in.rarely() ? 5 : in.below(4);  // 4 is TULLE_BIN_BSR, whose arrays are of other lengths
  a.rows = in.below(10);
  a.cols = in.below(10);
  a.scalar_type = in.rarely() ? -1 : in.below(3);
  a.offset_type = in.below(2);
  a.block = in.rarely() ? in.below(12) : 2 + in.below(3);
  a.order = in.rarely() ? 2 : in.below(2);
  const bool is_bsr = a.format == TULLE_BSR && a.block >= 2;
  const std::int64_t block = is_bsr ? a.block : 1, blocks_down = (a.rows + block - 1) / block,
                     blocks_across = (a.cols + block - 1) / block;
  const std::int64_t lines = a.format == TULLE_CSC ? a.cols : blocks_down;
  const std::int64_t range = a.format == TULLE_CSC ? a.rows : blocks_across;
  const auto index = [&](std::int64_t n) { return in.rarely() ? n : n == 0 ? 0 : in.byte() % n; };
  std::vector<std::int64_t> offsets{0}, first, second;
  for (std::int64_t l = 0; l < lines; ++l) {
    for (int k = range == 0 ? 0 : in.below(4); k > 0; --k) {
      first.push_back(index(range));
      second.push_back(index(a.rows));
    }
    offsets.push_back(static_cast<std::int64_t>(first.size()) + (in.rarely() ? in.below(3) - 1 : 0));
  }
  a.nnz = static_cast<std::int64_t>(first.size());
  a.offsets = a.offset_type == TULLE_OFFSET_I32 ? static_cast<void*>(memory.copy<std::int32_t>(offsets))
                                                : memory.copy<std::int64_t>(offsets);
  const std::int32_t* const inner = memory.copy<std::int32_t>(first);
  a.rowind = a.format == TULLE_CSC ? inner : memory.copy<std::int32_t>(second);
  a.colind = inner;
  std::int64_t values = a.nnz * block * block;
  if (a.format == TULLE_DENSE) {
    const bool by_row = a.order == TULLE_ROW_MAJOR;
    const std::int64_t stripes = by_row ? a.rows : a.cols, length = by_row ? a.cols : a.rows;
    a.ld = length + in.below(3);
    values = stripes == 0 ? 0 : (stripes - 1) * a.ld + length;
    if (in.rarely()) a.ld = in.one_of({std::int64_t{-1}, length - 1, INT64_MAX});
  }
  a.values = memory.numbers(in, values, a.scalar_type);
  // Nobody can tell how long the arrays of a COO are.
  if (in.rarely())
    a.nnz = a.format == TULLE_COO ? -1 : in.one_of({std::int64_t{-1}, INT64_MAX, INT64_MAX / 2, a.nnz + 1});
  return a;
}

}  // namespace tulle::fuzz
