// A = I + s div D grad of a body, D between cells being the mean of both: exchanges between pairs of cells, so that A
// is symmetric and its rows add up to 1 whatever D and the body are (no flux leaves the body), and what lies beside the
// diagonal is not negative. Second order (Fehrenbach, Mirebeau 2014, AD-LBR): 13 entries a row, a few more where the
// shifts of a cell and of its neighbour differ.
#pragma once

#include <functional>
#include <tulle/formats/matrices.hpp>

#include "domain.hpp"

namespace cardiac {

using conductivity = std::function<tensor(const vec3&)>;

class diffusion {
 public:
  /// D in mm^2/ms. Keeps the body.
  diffusion(const domain& body, const conductivity& d);

  /// The largest sum of exchanges of a cell: x <- x + s div D grad x is stable for s <= 1 / rate(), in ms.
  [[nodiscard]] double rate() const { return rate_; }
  /// On the host. s in ms.
  [[nodiscard]] tulle::csr<double> matrix(double s) const;

 private:
  struct cell {
    std::array<double, 6> weight;
    std::array<std::uint16_t, 6> to;  // places in shifts_

    [[nodiscard]] double of(std::size_t k) const;
  };
  template <class F>
  void for_each_neighbour(int x, int y, int z, index_t i, const F& f) const;
  template <class Method>
  bool decompose_all(const conductivity& d, const Method& method);
  void number_shifts(const std::vector<unsigned char>& used);
  void count_entries();

  const domain& body_;
  std::vector<shift> shifts_;  // in increasing order
  tulle::buffer<cell> cells_;
  tulle::buffer<std::int64_t> rowptr_;
  double rate_ = 0;
};

/// Rows whose entries beside the diagonal are all below a threshold become floats; the threshold is such that about
/// this share of the rows does. Returns the share.
double round_rows(tulle::csr<double>& a, double share);

}  // namespace cardiac
