// Describes a layout as text. This is a separate file, so that parser fuzzers can link it without
// the code that plans memory for columns.
#include "core/text/plural.h"
#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>

namespace wellspring {

std::string to_string(const SampleLayout& layout) {
  std::string text;
  switch (layout.kind) {
    case SampleKind::image:
      text = fmt::format("image {}x{}x{}", layout.height, layout.width, layout.channels);
      break;
    case SampleKind::event:
      text = "event of " + counted(layout.features, "feature");
      break;
    case SampleKind::set:
      text = fmt::format("set of up to {} of {}", counted(layout.items, "item"),
                         counted(layout.features, "feature"));
      break;
  }
  if (layout.globals > 0) text += ", " + counted(layout.globals, "global");
  return text;
}

}  // namespace wellspring
