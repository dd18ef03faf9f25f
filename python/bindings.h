// The bindings, one function per subject. Called by python/module.cpp; host only.
#pragma once

#include <nanobind/nanobind.h>

namespace wellspring::python {

void bind_diagnosis(nanobind::module_& module);
void bind_errors(nanobind::module_& module);
void bind_generators(nanobind::module_& module);
void bind_jax(nanobind::module_& module);
void bind_mixtures(nanobind::module_& module);
void bind_samples(nanobind::module_& module);
void bind_training(nanobind::module_& module);

/// Raises the exception that is being handled, in functions that nanobind does not call.
void set_python_error() noexcept;

}  // namespace wellspring::python
