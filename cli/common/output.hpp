// What commands write: JSON records, notes, files, and the phrases that several of them print.
#pragma once

#include <concepts>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tulle::cli {

using json = nlohmann::ordered_json;

/// Version of everything that --json prints.
inline constexpr int schema_version = 1;
/// {"a": 1, "b": 2} is object(field("a", 1), field("b", 2)).
using field = std::pair<const char*, json>;
template <std::same_as<field>... Fields>
json object(Fields&&... fields) {
  json result = json::object();
  ((result[fields.first] = std::move(fields.second)), ...);
  return result;
}
/// Prints one JSON document to stdout.
void print_json(const json& document);
/// The same with the schema's version in front: the record of one command.
void print_record(const json& record);

/// A result has two printers: `print_text(result)` and `to_json(result)`.
template <class Result>
void print(const Result& result, bool as_json) {
  if (as_json) {
    print_record(to_json(result));
  } else {
    print_text(result);
  }
}

/// JSON has no infinity and no NaN: they become "inf", "-inf" and "nan".
json number(double v);
template <class T>
json nullable(const std::optional<T>& v) {
  return v ? json(*v) : json(nullptr);
}

/// Replaces the content of a file; "-" is stdout. Throws FILE_IO.
void write_file(const std::string& file, std::string_view content);
/// A note for a person, to stderr: "tulle: ...".
void note(std::string_view text);
/// "1.23 GB", "45.6 kB" (powers of 1000).
std::string human_bytes(double bytes);
/// The last line of a checked result: "verified" in green or "WRONG" in red, then the text.
void print_verdict(bool right, std::string_view text);

bool is_terminal(std::FILE* stream) noexcept;
/// True where `stream` is a terminal and NO_COLOR is unset.
bool use_colour(std::FILE* stream) noexcept;

}  // namespace tulle::cli
