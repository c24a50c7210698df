// What vector operations refuse, and that they name it.

#include "vector_fixture.hpp"

namespace tulle::test {
namespace {

class vector_arguments_test : public vector_fixture {
 protected:
  template <class F>
  static void refused(const std::string& message, F call) {
    EXPECT_EQ(error_of(call), message);
  }
  void refused_pair(const std::string& message, const axpby_term& first, const axpby_term& second,
                    const const_vector_ref& w) {
    refused(message, [&] { ops_.axpby_pair_dots(first, second, w, dots_); });
  }

  buffer<double> x_ = random<double>(1, 10), y_ = random<double>(2, 10), dots_ = random<double>(3, 2);
};
TULLE_ON_VECTORS(vector_arguments_test);

vector_ref part(buffer<double>& b, std::int64_t first, std::int64_t size, std::int64_t stride = 1) {
  return {scalar_type::f64, b.data() + first, size, b.space(), b.device(), stride};
}

TEST_P(vector_arguments_test, sizes) {
  refused("INVALID_DIMENSIONS: x has 9 elements, 10 are needed", [&] { ops_.axpby(1, part(x_, 0, 9), 1, y_); });
  refused("INVALID_DIMENSIONS: w has 4 elements, 10 are needed",
          [&] { ops_.axpby_dots(1, x_, 1, y_, part(x_, 0, 4), dots_); });
  refused_pair("INVALID_DIMENSIONS: first.y has 3 elements, 10 are needed", {1, x_, 1, part(y_, 0, 3)}, {1, x_, 1, y_},
               x_);
  refused("INVALID_DIMENSIONS: dots has 1 elements, 2 are needed",
          [&] { ops_.axpby_dots(1, x_, 1, y_, x_, part(dots_, 0, 1)); });
  refused("INVALID_DIMENSIONS: y has 9 elements, 10 are needed",
          [&] { ops_.dot(x_, part(y_, 0, 9), part(dots_, 0, 1)); });
  refused("INVALID_DIMENSIONS: results has 2 elements, 0 are needed", [&] { ops_.dots({}, dots_); });
  refused("INVALID_DIMENSIONS: from has 1 elements, 10 are needed",
          [&] { ops_.gather(on<std::int32_t>({1}), x_, y_); });
  refused("INVALID_DIMENSIONS: fill: a vector has -1 elements", [&] { ops_.fill(1, part(y_, 0, -1)); });
}

TEST_P(vector_arguments_test, strides_types_and_null_pointers) {
  refused("UNSUPPORTED: scale takes vectors whose elements are side by side: y has a stride of 2",
          [&] { ops_.scale(1, part(y_, 0, 5, 2)); });
  auto integers = on<std::int32_t>({1, 2});
  const auto floats = on<float>(std::vector<float>(10));
  refused("UNSUPPORTED: scale takes vectors of f32 and f64, not of i32", [&] { ops_.scale(1, integers); });
  refused("INVALID_ARGUMENT: x holds f32 elements, f64 are needed", [&] { ops_.axpby(1, floats, 1, y_); });
  refused("INVALID_ARGUMENT: value is 0.5, which y, of i32 elements, cannot hold", [&] { ops_.fill(0.5, integers); });
  refused("INVALID_ARGUMENT: value is 3000000000, which y, of i32 elements, cannot hold",
          [&] { ops_.fill(3e9, integers); });
  refused("NULL_POINTER: x is null", [&] { ops_.copy({scalar_type::f64, nullptr, 10, ctx().space()}, y_); });
}

TEST_P(vector_arguments_test, overlap) {
  refused("INVALID_ARGUMENT: x and y overlap", [&] { ops_.copy(part(y_, 0, 9), part(y_, 1, 9)); });
  refused("INVALID_ARGUMENT: x and y overlap", [&] { ops_.axpby(1, y_, 1, y_); });
  auto z = random<double>(4, 10);
  refused_pair("INVALID_ARGUMENT: second.x and first.y overlap", {1, x_, 1, y_}, {1, y_, 1, z}, z);
  refused_pair("INVALID_ARGUMENT: first.y and second.y overlap", {1, x_, 1, y_}, {1, x_, 1, y_}, x_);
  refused_pair("INVALID_ARGUMENT: w and y overlap", {1, x_, 1, y_}, {1, x_, 1, z}, y_);
  refused("INVALID_ARGUMENT: y and dots overlap", [&] { ops_.axpby_dots(1, x_, 1, y_, x_, part(y_, 3, 2)); });
  refused("INVALID_ARGUMENT: x and results overlap", [&] { ops_.dot(x_, y_, part(x_, 2, 1)); });
}

TEST_P(vector_arguments_test, memory_of_another_space) {
  std::vector<double> host(10);
  const const_vector_ref elsewhere(scalar_type::f64, host.data(), 10,
                                   ctx().space() == memory_space::host ? memory_space::device : memory_space::host);
  EXPECT_NE(error_of([&] { ops_.copy(elsewhere, y_); }).find("INVALID_ARGUMENT: x is in "), std::string::npos);
  if (ctx().space() == memory_space::host) {
    refused("INVALID_ARGUMENT: a is in device memory, the work is on host memory",
            [&] { ops_.scale(scalar_ref(scalar_type::f64, host.data(), memory_space::device), y_); });
  } else {
    host[0] = 2;  // a number on the host is read when the call is made
    ops_.fill(scalar_ref(scalar_type::f64, host.data(), memory_space::host), y_);
    host[0] = 3;
    EXPECT_EQ(this->host(y_), std::vector<double>(10, 2));
    const auto scalar = scalar_ref(const_vector_ref(y_));
    refused("INVALID_ARGUMENT: a and y overlap", [&] { ops_.scale(scalar, y_); });
  }
}

}  // namespace
}  // namespace tulle::test
