// What a session holds: handles of the C API with what is known of them, destroyed in the end.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "capi_input.hpp"

namespace tulle::fuzz {

inline long calls = 0;

/// Counts a call, and holds it to what every call promises.
inline bool ok(tulle_status status) {
  ++calls;
  require(status != TULLE_STATUS_INTERNAL, "INTERNAL");
  require(status == TULLE_STATUS_SUCCESS || *tulle_last_error_message() != '\0', "a failure without a message");
  return status == TULLE_STATUS_SUCCESS;
}

struct matrix {
  tulle_csr* handle = nullptr;
  bool broken = false;  // borrowed_trusted: plans find it out, nobody else looks
};

/// op(A) as triplets of what the plan should hold.
struct reference {
  std::vector<std::int64_t> rows, cols;
  std::vector<double> values;
};

/// What a matrix holds, or its transpose.
inline reference read(const tulle_csr_arrays& a, bool transpose) {
  reference out;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto offset = [&](std::int64_t i) {
      return a.offset_type == TULLE_OFFSET_I32 ? static_cast<const std::int32_t*>(a.rowptr)[i]
                                               : static_cast<const std::int64_t*>(a.rowptr)[i];
    };
    for (std::int64_t k = offset(r); k < offset(r + 1); ++k) {
      out.rows.push_back(transpose ? a.colind[k] : r);
      out.cols.push_back(transpose ? r : a.colind[k]);
      out.values.push_back(number_at(a.values, static_cast<std::size_t>(k), a.scalar_type));
    }
  }
  return out;
}
struct spmv {
  tulle_spmv_plan* handle = nullptr;
  std::int64_t rows = 0, cols = 0, nnz = 0;  // of op(A)
  tulle_scalar_type type = TULLE_F64, vector = TULLE_F64;
  std::optional<reference> a;
  bool loses_bits = false;  // of values
};

struct spgemm {
  tulle_spgemm_plan* handle = nullptr;
  std::int64_t rows = 0, counts[3]{};  // of C; entries of A, B and D
  bool has_d = false;
  tulle_scalar_type type = TULLE_F64;
};

inline void destroy(tulle_context* h) { tulle_context_destroy(h); }
inline void destroy(tulle_buffer* h) { tulle_buffer_destroy(h); }
inline void destroy(const matrix& m) { tulle_csr_destroy(m.handle); }
inline void destroy(const spmv& p) { tulle_spmv_plan_destroy(p.handle); }
inline void destroy(const spgemm& p) { tulle_spgemm_plan_destroy(p.handle); }

/// A few handles of a kind; the oldest goes where there are too many.
template <class T>
class pool {
 public:
  pool() = default;
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() {
    for (const T& one : all) destroy(one);
  }
  void add(T one) {
    if (all.size() == 6) destroy_one(0);
    all.push_back(std::move(one));
  }
  void destroy_one(std::size_t i) {
    destroy(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  /// One of them; now and then, or where there is none, what has the handle NULL.
  T& pick(input& in) {
    none_ = T{};
    return all.empty() || in.rarely() ? none_ : all[in.byte() % all.size()];
  }
  std::vector<T> all;

 private:
  T none_{};
};

}  // namespace tulle::fuzz
