// The residual over the iterations as SVG.
#pragma once

#include <string>
#include <vector>

namespace tulle::cli {

/// On a logarithmic scale, with a line where the target is. Throws FILE_IO, and
/// reader_gone for "-".
void write_residual_plot(const std::string& file, const std::string& title, const std::vector<double>& residuals,
                         double target);

/// What XML takes.
std::string escaped_xml(const std::string& text);

}  // namespace tulle::cli
