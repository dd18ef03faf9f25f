// The extension module `wellspring._core`. The package in python/wellspring checks arguments and
// documents the interface; this module converts and calls the library.
#include "core/version.h"

#include "python/bindings.h"
#include "python/columns.h"

namespace wellspring::python {

NB_MODULE(_core, module) {
  module.attr("__version__") = kVersion;
  open_numpy();
  bind_errors(module);
  bind_diagnosis(module);
  bind_generators(module);
  bind_jax(module);
  bind_mixtures(module);
  bind_samples(module);
  bind_training(module);
}

}  // namespace wellspring::python
