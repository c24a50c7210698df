// vector_ops: checks the arguments, then lets the context's backend do it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tulle/ops/vector.hpp>

#include "kernels/backends.hpp"
#include "core/split_mix.hpp"
#include "ops/vector_checks.hpp"

namespace tulle {
namespace {

enum class types : std::uint8_t { floating, all };

/// What the vectors of a call are held to: memory, one type, one size, elements side by side.
class call_rules {
 public:
  call_rules(const context& ctx, std::string_view what, scalar_type type, std::int64_t size, types allowed)
      : ctx_(ctx), what_(what), rules_{ctx.space(), ctx.device(), type}, size_(size) {
    if (is_further(type) || (allowed == types::floating && !is_floating(type))) {
      throw error(status::unsupported, fmt::format("{} takes vectors of {}, not of {}", what,
                                                   allowed == types::floating ? "f32 and f64" : "f32, f64 and i32", name(type)));
    }
    if (size < 0) throw error(status::invalid_dimensions, fmt::format("{}: a vector has {} elements", what, size));
  }

  void take(std::string_view name, const const_vector_ref& v) const { take(name, v, size_); }
  void take(std::string_view name, const const_vector_ref& v, std::int64_t size) const {
    rules_.check_size(name, v, size);
    detail::require_no_stride(what_, {{name, v}});
  }
  /// What sums are written to: of the vectors' type, or of f64.
  void take_sums(std::string_view name, const const_vector_ref& v, std::int64_t size) const {
    detail::vector_rules rules = rules_;
    if (v.type == scalar_type::f64) rules.type = v.type;
    rules.check_size(name, v, size);
    detail::require_no_stride(what_, {{name, v}});
  }
  /// The numbers of a permutation, of as many elements as the call has.
  void take(std::string_view name, const permutation_ref& p, const const_vector_ref& written) const {
    const auto words = static_cast<std::int64_t>(size_of(p.type) / 4);
    const const_vector_ref numbers(scalar_type::i32, p.data, words * p.size, p.space, p.device);
    if (p.size != size_) {
      throw error(status::invalid_dimensions, fmt::format("{} has {} elements, {} are needed", name, p.size, size_));
    }
    detail::vector_rules{ctx_.space(), ctx_.device(), scalar_type::i32}.check_size(name, numbers, words * size_);
    detail::check_apart("y", written, {{name, numbers}});
  }

  /// A number on the host is read now.
  [[nodiscard]] scalar_operand operand(std::string_view name, const scalar_ref& s,
                                       const const_vector_ref& written) const {
    if (s.is_value()) return {s.value()};
    const scalar_operand read{0, s.data(), s.type()};
    if (s.space() == memory_space::host) return {read.get()};
    if (ctx_.space() != memory_space::device) {
      throw error(status::invalid_argument, fmt::format("{} is in device memory, the work is on host memory", name));
    }
    detail::check_apart("y", written, {{name, const_vector_ref(s.type(), s.data(), 1, s.space())}});
    return read;
  }
  [[nodiscard]] coefficient_operand operand(std::string_view name, const coefficient& c,
                                            const const_vector_ref& written) const {
    return {c.factor(), operand(name, c.numerator(), written), operand(name, c.denominator(), written)};
  }

 private:
  const context& ctx_;
  std::string_view what_;
  detail::vector_rules rules_;
  std::int64_t size_;
};

void check_fits_i32(const coefficient_operand& value) {
  if (value.numerator.data != nullptr || value.denominator.data != nullptr) return;
  const double v = value.get();
  using limits = std::numeric_limits<std::int32_t>;
  if (!(v >= limits::min() && v <= limits::max() && v == std::floor(v))) {
    throw error(status::invalid_argument, fmt::format("value is {}, which y, of i32 elements, cannot hold", v));
  }
}

const vector_kernels& kernels(const context& ctx) { return vectors_of(ctx.backend()); }

}  // namespace

vector_ops::vector_ops(const context& ctx) : ctx_(ctx), workspace_(ctx, kernels(ctx).workspace_bytes(ctx)) {
  fill_bytes(ctx, workspace_.data(), workspace_.space(), 0, workspace_.bytes());
  ctx.synchronize();  // other streams may come first
}

void vector_ops::fill(const coefficient& value, const vector_ref& y, on_stream stream) const {
  const call_rules rules(ctx_, "fill", y.type, y.size, types::all);
  rules.take("y", y);
  const coefficient_operand v = rules.operand("value", value, y);
  if (y.type == scalar_type::i32) check_fits_i32(v);
  kernels(ctx_).fill({ctx_, stream_of(stream), y.type, y.size, nullptr}, v, y.data);
}

void vector_ops::copy(const const_vector_ref& x, const vector_ref& y, on_stream stream) const {
  const call_rules rules(ctx_, "copy", y.type, y.size, types::all);
  rules.take("x", x);
  rules.take("y", y);
  detail::check_apart("y", y, {{"x", x}});
  kernels(ctx_).copy({ctx_, stream_of(stream), y.type, y.size, nullptr}, x.data, y.data);
}

void vector_ops::scale(const coefficient& a, const vector_ref& y, on_stream stream) const {
  const call_rules rules(ctx_, "scale", y.type, y.size, types::floating);
  rules.take("y", y);
  const update_operand term{{}, nullptr, rules.operand("a", a, y), y.data};
  kernels(ctx_).update({ctx_, stream_of(stream), y.type, y.size, nullptr}, {&term, 1}, nullptr, nullptr);
}

void vector_ops::update(std::string_view what, std::span<const axpby_term> terms, const const_vector_ref* d,
                        const const_vector_ref* w, const vector_ref* dots, on_stream stream) const {
  static constexpr std::array<std::array<std::string_view, 4>, 3> names = {
      {{"a", "x", "b", "y"},
       {"first.a", "first.x", "first.b", "first.y"},
       {"second.a", "second.x", "second.b", "second.y"}}};
  const vector_ref& y = terms.back().y;
  const call_rules rules(ctx_, what, y.type, y.size, types::floating);
  std::array<update_operand, 2> operands;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto& [a, x, b, out] = terms[t];
    const auto& n = names[terms.size() == 1 ? 0 : t + 1];
    rules.take(n[1], x);
    rules.take(n[3], out);
    for (std::size_t s = 0; s < terms.size(); ++s) {
      const auto& other = names[terms.size() == 1 ? 0 : s + 1];
      detail::check_apart(n[3], out, {{other[1], terms[s].x}});
      if (s < t) detail::check_apart(n[3], out, {{other[3], terms[s].y}});
    }
    operands[t] = {rules.operand(n[0], a, out), x.data, rules.operand(n[2], b, out), out.data};
  }
  if (d != nullptr) {
    rules.take("d", *d);
    detail::check_apart("y", y, {{"d", *d}});
    operands[0].d = d->data;
  }
  const void* w_data = nullptr;
  if (dots != nullptr) {
    rules.take("w", *w);
    rules.take_sums("dots", *dots, 2);
    if (d != nullptr) detail::check_apart("dots", *dots, {{"d", *d}});
    detail::check_apart("dots", *dots, {{"w", *w}});
    for (const axpby_term& t : terms) {
      detail::check_apart("dots", *dots, {{"x", t.x}, {"y", t.y}});
      if (&t != &terms.back() || w->data != y.data) detail::check_apart("y", t.y, {{"w", *w}});
    }
    if (w->data != y.data) w_data = w->data;
  }
  const scalar_type sums = dots == nullptr ? y.type : dots->type;
  kernels(ctx_).update({ctx_, stream_of(stream), y.type, y.size, workspace_.data(), sums},
                       {operands.data(), terms.size()}, w_data, dots == nullptr ? nullptr : dots->data);
}

void vector_ops::axpby(const coefficient& a, const const_vector_ref& x, const coefficient& b, const vector_ref& y,
                       on_stream stream) const {
  const axpby_term term{a, x, b, y};
  update("axpby", {&term, 1}, nullptr, nullptr, nullptr, stream);
}

void vector_ops::axpby_dots(const coefficient& a, const const_vector_ref& x, const coefficient& b, const vector_ref& y,
                            const const_vector_ref& w, const vector_ref& dots, on_stream stream) const {
  const axpby_term term{a, x, b, y};
  update("axpby_dots", {&term, 1}, nullptr, &w, &dots, stream);
}

void vector_ops::multiply(const coefficient& a, const const_vector_ref& d, const const_vector_ref& x,
                          const coefficient& b, const vector_ref& y, on_stream stream) const {
  const axpby_term term{a, x, b, y};
  update("multiply", {&term, 1}, &d, nullptr, nullptr, stream);
}

void vector_ops::multiply_dots(const coefficient& a, const const_vector_ref& d, const const_vector_ref& x,
                               const coefficient& b, const vector_ref& y, const const_vector_ref& w,
                               const vector_ref& dots, on_stream stream) const {
  const axpby_term term{a, x, b, y};
  update("multiply_dots", {&term, 1}, &d, &w, &dots, stream);
}

void vector_ops::axpby_pair_dots(const axpby_term& first, const axpby_term& second, const const_vector_ref& w,
                                 const vector_ref& dots, on_stream stream) const {
  const std::array terms{first, second};
  update("axpby_pair_dots", terms, nullptr, &w, &dots, stream);
}

void vector_ops::sum(std::string_view what, std::span<const dot_pair> pairs, bool root, const vector_ref& results,
                     on_stream stream) const {
  if (pairs.empty() && results.size == 0) return;
  const std::int64_t n = pairs.empty() ? 0 : pairs.front().x.size;
  const bool widens = !pairs.empty() && results.type == scalar_type::f64 && pairs.front().x.type == scalar_type::f32;
  const scalar_type type = widens ? scalar_type::f32 : results.type;
  const call_rules rules(ctx_, what, type, n, types::floating);
  rules.take_sums(pairs.size() == 1 ? "result" : "results", results, static_cast<std::int64_t>(pairs.size()));
  for (const dot_pair& p : pairs) {
    rules.take("x", p.x);
    rules.take("y", p.y);
    detail::check_apart("results", results, {{"x", p.x}, {"y", p.y}});
  }
  for (std::size_t first = 0; first < pairs.size(); first += most_dots) {
    std::array<dot_operand, most_dots> operands;
    const std::size_t count = std::min<std::size_t>(most_dots, pairs.size() - first);
    for (std::size_t i = 0; i < count; ++i) operands[i] = {pairs[first + i].x.data, pairs[first + i].y.data};
    kernels(ctx_).dots({ctx_, stream_of(stream), type, n, workspace_.data(), results.type}, {operands.data(), count}, root,
                       static_cast<std::byte*>(results.data) + first * size_of(results.type));
  }
}

void vector_ops::dot(const const_vector_ref& x, const const_vector_ref& y, const vector_ref& result,
                     on_stream stream) const {
  const dot_pair pair{x, y};
  sum("dot", {&pair, 1}, false, result, stream);
}

void vector_ops::dots(std::span<const dot_pair> pairs, const vector_ref& results, on_stream stream) const {
  sum("dots", pairs, false, results, stream);
}

void vector_ops::norm2(const const_vector_ref& x, const vector_ref& result, on_stream stream) const {
  const dot_pair pair{x, x};
  sum("norm2", {&pair, 1}, true, result, stream);
}

void vector_ops::gather(const permutation_ref& from, const const_vector_ref& x, const vector_ref& y,
                        on_stream stream) const {
  const call_rules rules(ctx_, "gather", y.type, y.size, types::all);
  rules.take("x", x, x.size);
  rules.take("y", y);
  rules.take("from", from, y);
  detail::check_apart("y", y, {{"x", x}});
  kernels(ctx_).gather({ctx_, stream_of(stream), y.type, y.size, nullptr}, from.type, from.data, x.data, y.data);
}

void vector_ops::scatter(const permutation_ref& to, const const_vector_ref& x, const vector_ref& y,
                         on_stream stream) const {
  const call_rules rules(ctx_, "scatter", y.type, x.size, types::all);
  rules.take("x", x);
  rules.take("y", y, y.size);
  rules.take("to", to, y);
  detail::check_apart("y", y, {{"x", x}});
  kernels(ctx_).scatter({ctx_, stream_of(stream), y.type, x.size, nullptr}, to.type, to.data, x.data, y.data);
}

void vector_ops::random(std::uint64_t seed, const vector_ref& y, on_stream stream) const {
  const call_rules rules(ctx_, "random", y.type, y.size, types::floating);
  rules.take("y", y);
  kernels(ctx_).random({ctx_, stream_of(stream), y.type, y.size, nullptr}, split_mix(seed), y.data);
}

}  // namespace tulle
