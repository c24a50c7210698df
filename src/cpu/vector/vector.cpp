// Vector operations on the CPU, in the parts of parts.hpp. Bytes per element: those of the vectors read and written,
// once.
#include "kernels/vector.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/vector/parts.hpp"
#include "kernels/backends.hpp"

namespace tulle::cpu {
namespace {

/// results[k] = the shares of the parts added in order; part p's share of sum k is at shares[p * most_dots + k].
void add_parts(const vector_work& work, std::int64_t parts, int count, bool root, void* results) {
  const auto* shares = static_cast<const double*>(work.workspace);
  for (int k = 0; k < count; ++k) {
    double sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += shares[part * most_dots + k];
    if (root) sum = std::sqrt(sum);
    if (work.sum_type == scalar_type::f64) {
      static_cast<double*>(results)[k] = sum;
    } else {
      static_cast<float*>(results)[k] = static_cast<float>(sum);
    }
  }
}

std::size_t workspace_bytes(const context&) { return most_vector_parts * most_dots * sizeof(double); }

void fill(const vector_work& work, const coefficient_operand& value, void* y) {
  dispatch<type_set::all>({work.type}, [&]<class T, class>() {
    const T v = static_cast<T>(value.get());
    for_vector_parts(work.ctx, work.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      std::fill(static_cast<T*>(y) + begin, static_cast<T*>(y) + end, v);
    });
  });
}

void copy(const vector_work& work, const void* x, void* y) {
  const auto size = static_cast<std::int64_t>(size_of(work.type));
  for_vector_parts(work.ctx, work.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<std::byte*>(y) + begin * size, static_cast<const std::byte*>(x) + begin * size,
                static_cast<std::size_t>((end - begin) * size));
  });
}

template <class T>
struct update_values {
  explicit update_values(const update_operand& u)
      : a(static_cast<T>(u.a.get())),
        b(static_cast<T>(u.b.get())),
        x(static_cast<const T*>(u.x)),
        y(static_cast<T*>(u.y)),
        d(static_cast<const T*>(u.d)) {}

  void run(std::int64_t begin, std::int64_t end) const {
    if (d != nullptr) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = a * (d[i] * x[i]) + (b == T{0} ? T{0} : b * y[i]);
    } else if (b == T{0}) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = x == nullptr ? T{0} : a * x[i];
    } else if (x == nullptr) {
      for (std::int64_t i = begin; i < end; ++i) y[i] *= b;
    } else {
      for (std::int64_t i = begin; i < end; ++i) y[i] = a * x[i] + b * y[i];
    }
  }

  T a, b;
  const T* x;
  T* y;
  const T* d;
};

void update(const vector_work& work, std::span<const update_operand> terms, const void* w, void* dots) {
  dispatch<type_set::floating>({work.type}, [&]<class T, class>() {
    const update_values<T> first(terms.front()), last(terms.back());
    const bool two = terms.size() == 2;
    const T* other = w == nullptr ? last.y : static_cast<const T*>(w);
    auto* shares = static_cast<double*>(work.workspace);
    const std::int64_t parts =
        for_vector_parts(work.ctx, work.n, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
          double wy = 0, yy = 0;
          for (std::int64_t from = begin; from < end; from += vector_piece) {
            const std::int64_t to = std::min(end, from + vector_piece);
            if (two) first.run(from, to);
            last.run(from, to);
            if (dots == nullptr) continue;
            yy += part_dot(last.y, last.y, from, to);
            if (w != nullptr) wy += part_dot(other, last.y, from, to);
          }
          if (dots == nullptr) return;
          shares[part * most_dots] = w == nullptr ? yy : wy;
          shares[part * most_dots + 1] = yy;
        });
    if (dots != nullptr) add_parts(work, parts, 2, false, dots);
  });
}

void dots(const vector_work& work, std::span<const dot_operand> pairs, bool root, void* results) {
  dispatch<type_set::floating>({work.type}, [&]<class T, class>() {
    auto* shares = static_cast<double*>(work.workspace);
    const std::int64_t parts =
        for_vector_parts(work.ctx, work.n, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
          double sums[most_dots] = {};
          for (std::int64_t from = begin; from < end; from += vector_piece) {
            for (std::size_t k = 0; k < pairs.size(); ++k) {
              sums[k] += part_dot(static_cast<const T*>(pairs[k].x), static_cast<const T*>(pairs[k].y), from,
                                  std::min(end, from + vector_piece));
            }
          }
          std::copy_n(sums, pairs.size(), shares + part * most_dots);
        });
    add_parts(work, parts, static_cast<int>(pairs.size()), root, results);
  });
}

void gather(const vector_work& work, offset_type type, const void* from, const void* x, void* y) {
  dispatch<type_set::all>({work.type, type}, [&]<class T, class O>() {
    for_vector_parts(work.ctx, work.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        static_cast<T*>(y)[i] = static_cast<const T*>(x)[static_cast<const O*>(from)[i]];
      }
    });
  });
}

void scatter(const vector_work& work, offset_type type, const void* to, const void* x, void* y) {
  dispatch<type_set::all>({work.type, type}, [&]<class T, class O>() {
    for_vector_parts(work.ctx, work.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        static_cast<T*>(y)[static_cast<const O*>(to)[i]] = static_cast<const T*>(x)[i];
      }
    });
  });
}

void random(const vector_work& work, std::uint64_t key, void* y) {
  dispatch<type_set::floating>({work.type}, [&]<class T, class>() {
    for_vector_parts(work.ctx, work.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        static_cast<T*>(y)[i] = random_element<T>(key, static_cast<std::uint64_t>(i));
      }
    });
  });
}

void convert(const vector_work& work, double a, scalar_type from, const void* x, bool adds, void* y) {
  dispatch<type_set::floating>({from}, [&]<class X, class>() {
    dispatch<type_set::floating>({work.type}, [&]<class Y, class>() {
      const X* const of = static_cast<const X*>(x);
      Y* const to = static_cast<Y*>(y);
      for_vector_parts(work.ctx, work.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          to[i] = static_cast<Y>(a * static_cast<double>(of[i]) + (adds ? static_cast<double>(to[i]) : 0.0));
        }
      });
    });
  });
}

}  // namespace

const vector_kernels& vectors() {
  static constexpr vector_kernels table = {
      .workspace_bytes = workspace_bytes,
      .fill = fill,
      .copy = copy,
      .update = update,
      .dots = dots,
      .gather = gather,
      .scatter = scatter,
      .random = random,
      .convert = convert,
  };
  return table;
}

}  // namespace tulle::cpu
