// What commands print: text, JSON records, notes, and the phrases that several of them share.
//
// Printing throws nothing: what a closed or full standard output has lost is asked for at the end (lost_output), and
// what standard error has lost matters to nobody.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "color.hpp"
#include "quantity.hpp"

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
/// Prints text as it is.
void put_raw(std::FILE* stream, std::string_view text) noexcept;
/// The same in colour or bold, where `stream` has that.
void put_styled(std::FILE* stream, look style, std::string_view text);
/// Formats and prints text to stdout; control characters other than ends of lines become \x1b and the like.
template <class... Arguments>
void put(fmt::format_string<Arguments...> format, Arguments&&... arguments);
/// Why standard output has lost what was printed, an errno; 0 where nothing was lost.
int lost_output() noexcept;
/// Nobody reads standard output any more: the command ends quietly, as by SIGPIPE.
class reader_gone : public std::exception {};
/// `text` with its control characters as \x1b, ends of lines among them: what a terminal can be given of a name.
std::string printable(std::string_view text);
/// The same, but ends of lines stay.
std::string printable_lines(std::string_view text);

template <class... Arguments>
void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  put_raw(stdout, printable_lines(fmt::format(format, std::forward<Arguments>(arguments)...)));
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

/// How much goes to stderr beside errors, of -q and -v: nothing, notes, or details as well.
enum class loudness { quiet, normal, verbose };
void set_loudness(loudness how) noexcept;
bool is_quiet() noexcept;
/// A note of one line for a person, to stderr: "tulle: ...". Nothing where quiet.
void note(std::string_view text);
/// The same where verbose, and nothing otherwise.
void detail(std::string_view text);
/// The same however quiet: what went wrong.
void complain(std::string_view text);
/// Whether progress is shown: on a terminal, unless quiet.
bool shows_progress() noexcept;
bool is_terminal(std::FILE* stream) noexcept;

}  // namespace tulle::cli
