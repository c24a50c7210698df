// Words in pictures: what XML and fonts take, how wide they are, and numbers as axes say them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tulle::cli::plot {

/// Valid UTF-8 without control characters: these as \x1b, what is no UTF-8 as U+FFFD.
std::string plain_text(std::string_view text);

/// About how wide plain text is; on the safe side with the usual sans-serif fonts.
double text_width(std::string_view text, double size);

/// The text, or as much of its beginning and its end as fits, with "…" between.
std::string shortened(std::string_view text, double size, double width);

/// "62,451 × 62,451, 4,007,383 nonzeros".
std::string size_text(std::int64_t rows, std::int64_t cols, std::int64_t nnz);

}  // namespace tulle::cli::plot
