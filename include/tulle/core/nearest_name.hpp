// What was probably meant by a misspelt name, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tulle {

/// The one of `names` that `word` is nearest to, or empty where none is near: a few letters wrong, missing, too many or
/// swapped (Damerau-Levenshtein distance; one in words of up to 3 letters, two up to 7, else three), upper for lower
/// case, or three letters and more that the name has somewhere. Of several that are as near the first.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names);

/// What a message ends with after "no generator is called 'stencl'": "; did you mean 'stencil'? There are: fem,
/// stencil", or "; there are: fem, stencil" where none is near.
std::string alternatives(std::string_view word, std::span<const std::string_view> names);

}  // namespace tulle
