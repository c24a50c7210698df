#include <tulle/formats/matrix_ref.hpp>

#include <fmt/format.h>

#include <tulle/core/status.hpp>

namespace tulle {

std::string_view name(matrix_format f) noexcept {
  switch (f) {
    case matrix_format::csr: return "CSR";
    case matrix_format::csc: return "CSC";
    case matrix_format::coo: return "COO";
    case matrix_format::ell: return "ELL";
    case matrix_format::sell: return "SELL";
    case matrix_format::bsr: return "BSR";
    case matrix_format::bin_bsr: return "bin-blocked CSR";
  }
  return "unknown format";
}

matrix_ref transposed(matrix_ref a) {
  if (a.format != matrix_format::csr && a.format != matrix_format::csc) {
    throw error(status::unsupported,
                fmt::format("transposed: {} has no relabelling; transpose() makes a matrix", name(a.format)));
  }
  a.format = a.format == matrix_format::csr ? matrix_format::csc : matrix_format::csr;
  std::swap(a.rows, a.cols);
  return a;
}

}  // namespace tulle
