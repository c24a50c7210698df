// Pictures and files for ParaView.
#pragma once

#include <string>
#include <vector>

#include "domain.hpp"

namespace cardiac {

/// A value of every cell; f32 is enough to look at.
struct named_field {
  std::string name;
  std::vector<float> values;
};

/// XML ImageData (.vti) with raw binary arrays: the fields, NaN where there is no cell, and `inside`, 1 or 0.
void write_vti(const std::string& file, const domain& body, const std::vector<named_field>& fields);

/// A PNG of two sections, along the axis and across it halfway, of a field from `low` (blue) to `high` (red), black
/// outside and white where NaN; with a dark line at every `contour` units, 0: none.
void write_png(const std::string& file, const domain& body, const std::vector<float>& field, double low, double high,
               double contour);

}  // namespace cardiac
