// What stands in "gen:NAME:key=value,...".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tulle/core/types.hpp>
#include <tulle/io/generate.hpp>
#include <utility>
#include <vector>

namespace tulle::generators_detail {

/// key=value pairs in the order they were written.
using key_values = std::vector<std::pair<std::string, std::string>>;

/// NAME of "gen:NAME:...". Throws INVALID_ARGUMENT when `spec` does not begin with "gen:".
std::string_view generator_name(std::string_view spec);

/// The parameters of one generator: those given, else the defaults that its `parameters` text names.
class parameters {
 public:
  /// Throws INVALID_ARGUMENT for a malformed pair, a repeated key, or a key that the generator does not have.
  parameters(std::string_view spec, const generator_info& generator);

  [[nodiscard]] bool given(std::string_view key) const noexcept;
  /// Throws INVALID_ARGUMENT when the value is no integer or below `least`, OVERFLOW when it is above `most`.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  /// An integer from `least` to 2^31 - 1.
  [[nodiscard]] index_t dimension(std::string_view key, index_t least = 0) const;
  /// `key` if it was given, else `otherwise`.
  [[nodiscard]] index_t dimension_or(std::string_view key, index_t otherwise) const;
  /// A number from 0 to 1.
  [[nodiscard]] double probability(std::string_view key) const;
  [[nodiscard]] std::uint64_t seed() const;
  [[nodiscard]] const std::string& text(std::string_view key) const;

  /// Throws INVALID_ARGUMENT: "gen:NAME: " and the message.
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  [[noreturn]] void refuse_key(std::string_view key) const;

  const generator_info& generator_;
  key_values given_;
  key_values defaults_;
};

/// The product of non-negative factors; throws OVERFLOW when it is 2^31 or more. `what` names it in the message.
index_t dimension_product(std::string_view what, std::initializer_list<std::int64_t> factors);

}  // namespace tulle::generators_detail
