// The extension module's class Generator. Called by the bindings; host only.
#pragma once

#include "python/columns.h"
#include "python/generator_batches.h"
#include <memory>

namespace wellspring::python {

struct BoundGenerator : GeneratorBatches {
  using GeneratorBatches::GeneratorBatches;
  /// Arrays of the latest batch; read and set with the GIL held.
  std::shared_ptr<const BatchArrays> arrays;
};

}  // namespace wellspring::python
