#include "io/generate_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tulle/core/nearest_name.hpp>
#include <tulle/core/status.hpp>

namespace tulle::generators_detail {
namespace {

constexpr std::string_view prefix = "gen:";
constexpr std::string_view common_parameters = "values=random, seed=1";
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> aliases{{{"rows", "n"}, {"k", "size"}}};

template <class F>
void for_each_part(std::string_view text, char separator, F f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

const std::string* find(const key_values& pairs, std::string_view key) {
  const auto at = std::ranges::find(pairs, key, &key_values::value_type::first);
  return at == pairs.end() ? nullptr : &at->second;
}

/// The whole of the digits as a number; where they are none, or more than a T holds, what from_chars says.
template <class T>
std::errc convert(const std::string& digits, T& value) {
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return end == digits.data() + digits.size() ? code : std::errc::invalid_argument;
}

/// "n=100, points=7 (5, 7, 9, 27)" -> n 100, points 7.
key_values defaults_of(std::string_view text) {
  key_values out;
  for_each_part(text, ',', [&](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    const std::size_t equals = part.find('=');
    if (equals == part.npos) return;
    const std::string_view value = part.substr(equals + 1);
    out.emplace_back(part.substr(0, equals), value.substr(0, value.find(' ')));
  });
  return out;
}

}  // namespace

std::string_view generator_name(std::string_view spec) {
  if (!spec.starts_with(prefix)) {
    throw error(status::invalid_argument, fmt::format("'{}' names no generator: it must begin with gen:", spec));
  }
  spec.remove_prefix(prefix.size());
  return spec.substr(0, spec.find(':'));
}

parameters::parameters(std::string_view spec, const generator_info& generator)
    : generator_(generator), defaults_(defaults_of(generator.parameters)) {
  for (auto& pair : defaults_of(common_parameters)) defaults_.push_back(std::move(pair));
  spec.remove_prefix(prefix.size() + generator_name(spec).size());
  if (!spec.empty()) spec.remove_prefix(1);
  for_each_part(spec, ',', [&](std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == part.npos || equals == 0 || equals + 1 == part.size()) {
      refuse(fmt::format("'{}' is not key=value", part));
    }
    std::string_view key = part.substr(0, equals);
    for (const auto& [alias, target] : aliases) {
      if (key == alias && find(defaults_, key) == nullptr && find(defaults_, target) != nullptr) key = target;
    }
    if (find(defaults_, key) == nullptr) refuse_key(key);
    if (given(key)) refuse(fmt::format("'{}' is given twice", key));
    given_.emplace_back(key, part.substr(equals + 1));
  });
}

bool parameters::given(std::string_view key) const noexcept { return find(given_, key) != nullptr; }

const std::string& parameters::text(std::string_view key) const {
  const std::string* value = find(given_, key);
  if (value == nullptr) value = find(defaults_, key);
  if (value == nullptr) throw error(status::internal, fmt::format("generator parameter '{}' has no default", key));
  return *value;
}

std::int64_t parameters::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  const std::string& digits = text(key);
  std::int64_t value = 0;
  const std::errc code = convert(digits, value);
  if (code == std::errc::invalid_argument) refuse(fmt::format("{}={} is not an integer", key, digits));
  const bool huge = code == std::errc::result_out_of_range;
  if (digits.starts_with('-') || (!huge && value < least)) {
    refuse(fmt::format("{}={} must be at least {}", key, digits, least));
  }
  if (huge || value > most) {
    throw error(status::overflow, fmt::format("gen:{}: {}={} must be at most {}", generator_.name, key, digits, most));
  }
  return value;
}

index_t parameters::dimension(std::string_view key, index_t least) const {
  return static_cast<index_t>(integer(key, least, std::numeric_limits<index_t>::max()));
}

index_t parameters::dimension_or(std::string_view key, index_t otherwise) const {
  return given(key) ? dimension(key) : otherwise;
}

double parameters::probability(std::string_view key) const {
  const std::string& digits = text(key);
  double value = 0;
  if (convert(digits, value) != std::errc() || !(value >= 0 && value <= 1)) {
    refuse(fmt::format("{}={} is not a number from 0 to 1", key, digits));
  }
  return value;
}

std::uint64_t parameters::seed() const {
  return static_cast<std::uint64_t>(integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
}

void parameters::refuse_key(std::string_view key) const {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : defaults_) names.emplace_back(name);
  const std::string_view nearest = nearest_name(key, names);
  refuse(fmt::format("no parameter is called '{}'{}", key,
                     nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest)));
}

void parameters::refuse(const std::string& message) const {
  throw error(
      status::invalid_argument,
      fmt::format("gen:{}: {}; its parameters and their defaults: {}, seed=1, values=random (random, {}integer)",
                  generator_.name, message, generator_.parameters,
                  takers_of_spd.find(generator_.name) == takers_of_spd.npos ? "" : "spd, "));
}

index_t dimension_product(std::string_view what, std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t most = std::numeric_limits<index_t>::max();
  if (std::ranges::find(factors, 0) != factors.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > most / product) {
      throw error(status::overflow, fmt::format("gen:{}: the matrix would have 2^31 rows or more", what));
    }
    product *= factor;
  }
  return static_cast<index_t>(product);
}

}  // namespace tulle::generators_detail
