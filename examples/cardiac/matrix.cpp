#include "matrix.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace cardiac {
namespace {

constexpr int reach = 7;  // of a shift
constexpr int side = 2 * reach + 1;
constexpr std::uint16_t no_shift = 0xffff;

std::uint16_t code_of(const shift& s) {
  if (std::max({std::abs(s.x), std::abs(s.y), std::abs(s.z)}) > reach) {
    throw std::invalid_argument("a conductivity is too anisotropic");
  }
  return static_cast<std::uint16_t>(((s.x + reach) * side + s.y + reach) * side + s.z + reach);
}
shift shift_of(int code) {
  return {static_cast<std::int16_t>(code / (side * side) - reach),
          static_cast<std::int16_t>(code / side % side - reach), static_cast<std::int16_t>(code % side - reach)};
}

template <class T>
T& at(tulle::buffer<T>& b, std::int64_t i) {
  return b.data()[i];
}

/// Several threads may.
template <class T>
void set(T& flag) {
#pragma omp atomic write
  flag = 1;
}

}  // namespace

double diffusion::cell::of(std::size_t k) const {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == k) return weight[i];
  }
  return 0;
}

diffusion::diffusion(const domain& body, const conductivity& d)
    : body_(body),
      cells_(tulle::context::cpu(), static_cast<std::size_t>(body.cells)),
      rowptr_(tulle::context::cpu(), static_cast<std::size_t>(body.cells) + 1) {
  if (!decompose_all(d, by_faces)) (void)decompose_all(d, by_selling);
  count_entries();
}

/// False where a weight is negative.
template <class Method>
bool diffusion::decompose_all(const conductivity& d, const Method& method) {
  std::vector<unsigned char> used(static_cast<std::size_t>(side * side * side));
  const double per_area = 1 / (body_.h * body_.h);
  bool negative = false;
  std::string failure;
  body_.for_each_cell([&](int x, int y, int z, index_t i) {
    try {
      const tensor here = d(body_.centre(x, y, z));
      const exchanges e = method(here);
      const double nothing = 1e-12 * (here.xx + here.yy + here.zz);
      cell& c = at(cells_, i);
      for (std::size_t k = 0; k < 6; ++k) {
        c.weight[k] = e.weight[k] * per_area;
        c.to[k] = e.weight[k] > nothing ? code_of(e.to[k]) : no_shift;
        if (e.weight[k] < -nothing) set(negative);
        if (c.to[k] != no_shift) set(used[c.to[k]]);
      }
    } catch (const std::exception& e) {
#pragma omp critical
      failure = e.what();
    }
  });
  if (!failure.empty()) throw std::invalid_argument(failure);
  if (!negative) number_shifts(used);
  return !negative;
}

/// Codes become places.
void diffusion::number_shifts(const std::vector<unsigned char>& used) {
  std::vector<std::uint16_t> place(used.size(), no_shift);
  for (std::size_t code = 0; code < used.size(); ++code) {
    if (used[code] == 0) continue;
    place[code] = static_cast<std::uint16_t>(shifts_.size());
    shifts_.push_back(shift_of(static_cast<int>(code)));
  }
  body_.for_each_cell([&](int, int, int, index_t i) {
    for (std::uint16_t& to : at(cells_, i).to) to = to == no_shift ? no_shift : place[to];
  });
}

/// f(column, exchange) in increasing order of columns, without the diagonal.
template <class F>
void diffusion::for_each_neighbour(int x, int y, int z, index_t i, const F& f) const {
  const cell& own = cells_.data()[i];
  const auto visit = [&](std::size_t k, int sign) {
    const shift& s = shifts_[k];
    const index_t j = body_.number(x + sign * s.x, y + sign * s.y, z + sign * s.z);
    if (j < 0) return;
    const double weight = 0.5 * (own.of(k) + cells_.data()[j].of(k));
    if (weight > 0) f(j, weight);
  };
  for (std::size_t k = shifts_.size(); k-- > 0;) visit(k, -1);
  for (std::size_t k = 0; k < shifts_.size(); ++k) visit(k, 1);
}

void diffusion::count_entries() {
  double rate = 0;
  const int count = body_.lines();
#pragma omp parallel for schedule(dynamic, 16) reduction(max : rate)
  for (int l = 0; l < count; ++l) {
    for (const run& r : body_.runs_of(l)) {
      for (int z = r.begin; z < r.end; ++z) {
        const index_t i = r.first + (z - r.begin);
        std::int64_t entries = 1;
        double sum = 0;
        for_each_neighbour(l / body_.ny, l % body_.ny, z, i, [&](index_t, double weight) {
          ++entries;
          sum += weight;
        });
        at(rowptr_, i + 1) = entries;
        rate = std::max(rate, sum);
      }
    }
  }
  rate_ = rate;
  at(rowptr_, 0) = 0;
  for (index_t i = 0; i < body_.cells; ++i) at(rowptr_, i + 1) += at(rowptr_, i);
}

tulle::csr<double> diffusion::matrix(double s) const {
  const tulle::context host = tulle::context::cpu();
  const auto nnz = static_cast<std::size_t>(rowptr_.data()[body_.cells]);
  tulle::csr<double> a{body_.cells, body_.cells, tulle::clone(host, rowptr_), {host, nnz}, {host, nnz}};
  body_.for_each_cell([&](int x, int y, int z, index_t i) {
    std::int64_t at = rowptr_.data()[i], diagonal = -1;
    double sum = 0;
    const auto put_diagonal = [&] {
      diagonal = at++;
      a.colind.data()[diagonal] = i;
    };
    for_each_neighbour(x, y, z, i, [&](index_t j, double weight) {
      if (j > i && diagonal < 0) put_diagonal();
      a.colind.data()[at] = j;
      a.values.data()[at++] = s * weight;
      sum += s * weight;
    });
    if (diagonal < 0) put_diagonal();
    a.values.data()[diagonal] = 1 - sum;
  });
  return a;
}

double round_rows(tulle::csr<double>& a, double share) {
  const auto largest = [&](index_t i) {
    double most = 0;
    for (std::int64_t k = a.rowptr.data()[i]; k < a.rowptr.data()[i + 1]; ++k) {
      if (a.colind.data()[k] != i) most = std::max(most, std::abs(a.values.data()[k]));
    }
    return most;
  };
  std::vector<double> sample;
  for (std::int64_t i = 0; i < a.rows; i += 1 + a.rows / 1'000'000) sample.push_back(largest(static_cast<index_t>(i)));
  if (sample.empty() || share <= 0) return 0;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(sample.size()));
  double threshold = std::numeric_limits<double>::infinity();
  if (place < sample.size()) {
    std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(place), sample.end());
    threshold = sample[place];
  }
  std::int64_t rounded = 0;
#pragma omp parallel for reduction(+ : rounded)
  for (index_t i = 0; i < a.rows; ++i) {
    if (!(largest(i) < threshold)) continue;
    ++rounded;
    for (std::int64_t k = a.rowptr.data()[i]; k < a.rowptr.data()[i + 1]; ++k) {
      a.values.data()[k] = static_cast<float>(a.values.data()[k]);
    }
  }
  return static_cast<double>(rounded) / a.rows;
}

}  // namespace cardiac
