// Numbers for people: units that fit, digits in groups, plurals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tulle::cli {

/// Three digits and a unit that fits: "950 ns", "31.2 us", "2.51 s", "3 min 20 s".
std::string human_time(double microseconds);
/// Two times in the larger one's unit: "0.95 - 1.02 ms".
std::string human_times(double from, double to);
/// Three digits and no unit: "0.123", "4.57", "31.2", "1,234".
std::string three_digits(double value);
/// "16,777,216".
std::string grouped(std::int64_t count);
/// "1 nonzero", "7,840 nonzeros"; `many` where the plural is not `one` and an s.
std::string counted(std::int64_t count, std::string_view one, std::string_view many = {});
/// "38.2 GB/s".
std::string human_rate(double bytes_a_second);
/// "1.23 GB", "45.6 kB" (powers of 1000).
std::string human_bytes(double bytes);

}  // namespace tulle::cli
