// Makes the handlers of XLA's foreign function interface known to JAX. Without the headers of jaxlib, the
// module has no handlers, and wellspring.jax says so.
#include "python/bindings.h"

#if __has_include("xla/ffi/api/ffi.h")

#include "python/generator_binding.h"
#include "python/jax_handlers.h"
#include <nanobind/stl/string.h>
#include <string>

void wellspring::python::bind_jax(nanobind::module_& module) {
  nanobind::dict handlers;
  handlers["cpu"] = nanobind::capsule(reinterpret_cast<void*>(wellspring_jax_cpu));
  handlers["CUDA"] = nanobind::capsule(reinterpret_cast<void*>(wellspring_jax_cuda));
  module.attr("jax_handlers") = handlers;
  module.def("jax_register", [](const std::string& key, BoundGenerator& generator) {
    nanobind::set_leak_warnings(
        false);  // JAX keeps compiled functions, and what they use, to the end
    register_jax_generator(key, generator);
  });
}

#else

void wellspring::python::bind_jax(nanobind::module_& module) {
  module.attr("jax_handlers") = nanobind::none();
}

#endif
