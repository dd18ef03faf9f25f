// Errors of the library as Python exceptions: one class per exit code, with the same text.
#include "core/error.h"
#include "core/signals.h"

#include <fmt/format.h>

#include "python/bindings.h"
#include <array>
#include <exception>
#include <new>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

/// Indexed by ErrorKind. Kept for the life of the process, as classes of extension modules are.
std::array<PyObject*, 5> classes = {};

PyObject* new_class(nb::module_& module, const char* name, ErrorKind kind, PyObject* base,
                    PyObject* also, const char* help) {
  nb::dict members;
  members["exit_code"] = static_cast<int>(kind);
  const nb::object bases = also == nullptr
                               ? nb::borrow(base)
                               : nb::object(nb::make_tuple(nb::borrow(base), nb::borrow(also)));
  PyObject* const type = PyErr_NewExceptionWithDoc(fmt::format("wellspring.{}", name).c_str(), help,
                                                   bases.ptr(), members.ptr());
  if (type == nullptr) nb::raise_python_error();
  classes[static_cast<std::size_t>(kind)] = type;
  module.attr(name) = nb::borrow(type);
  return type;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyErr_SetString(classes[static_cast<std::size_t>(error.kind())], error.what());
  } catch (const Interrupted&) {
    // Python's own handler has usually raised KeyboardInterrupt already.
    if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

void set_python_error() noexcept {
  try {
    translate(std::current_exception(), nullptr);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(nb::module_& module) {
  PyObject* const error =
      new_class(module, "Error", ErrorKind::runtime, PyExc_Exception, nullptr,
                "A failure of Wellspring. `exit_code` is that of the command line.");
  new_class(module, "ConfigError", ErrorKind::config, error, PyExc_ValueError,
            "A wrong argument or configuration.");
  new_class(module, "DataError", ErrorKind::data, error, nullptr,
            "A data file is missing, damaged or of the wrong kind.");
  new_class(module, "DeviceError", ErrorKind::device, error, nullptr,
            "A device or its driver is missing, or a call to it failed.");
  nb::register_exception_translator(translate);
}

}  // namespace wellspring::python
