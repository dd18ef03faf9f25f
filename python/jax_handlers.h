// Handlers of XLA's foreign function interface, which make batches within compiled functions of JAX. Used
// by the bindings and by tests, in builds that have the headers of jaxlib; host only.
#pragma once

#include "python/generator_batches.h"
#include "xla/ffi/api/ffi.h"
#include <string>

namespace wellspring::python {

/// Compiled functions name their generator by `key`. It must live until the process ends.
void register_jax_generator(const std::string& key, GeneratorBatches& generator);

// Argument: `first`, u32 [3], the low word of a sample id, its high word, and the epoch. Results: columns
// of a batch, x first. Attributes: `generator`, its key; `columns`, the names of the results; `repeat`, i64.
XLA_FFI_DECLARE_HANDLER_SYMBOL(wellspring_jax_cpu);
/// Enqueues the batch in XLA's stream; `first` is read on the device.
XLA_FFI_DECLARE_HANDLER_SYMBOL(wellspring_jax_cuda);

}  // namespace wellspring::python
