// Mixtures: the batches of a configured run.
#include "python/bindings.h"
#include "python/columns.h"
#include "python/configuration.h"
#include "python/mixture_batches.h"
#include "python/process.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {

RunConfig read_config(const std::string& file, const std::optional<std::string>& text,
                      const std::vector<std::string>& overrides) {
  return text ? RunConfig::parse(*text, file, overrides) : RunConfig::load(file, overrides);
}

namespace {

void construct_mixture(MixtureBatches* self, const std::string& file,
                       const std::optional<std::string>& text,
                       const std::vector<std::string>& overrides, int rank, int ranks,
                       const std::string& dtype) {
  const ElementType type = parse_dtype(dtype);
  const nb::gil_scoped_release release;
  expect_own_threads();
  new (self) MixtureBatches(read_config(file, text, overrides), rank, ranks, type);
}

/// A NumPy array of one number per slot.
template <class T, class Get>
nb::object slot_column(const std::vector<Slot>& slots, Get get) {
  auto values = std::make_unique<T[]>(slots.size());
  for (std::size_t row = 0; row < slots.size(); ++row)
    values[row] = static_cast<T>(get(slots[row]));
  T* const data = values.release();
  const nb::capsule owner(data, [](void* kept) noexcept { delete[] static_cast<T*>(kept); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, {slots.size()}, owner));
}

nb::dict mixture_batch(MixtureBatches& self, std::uint64_t step, const std::string& layout) {
  const ImageAxes axes = parse_axes(layout);
  MixtureBatches::Made made;
  {
    const nb::gil_scoped_release release;
    made = self.make(step);
  }
  nb::dict arrays = BatchArrays(made.memory->batch(), self.device(), axes).of(made.memory);
  arrays["source"] =
      slot_column<std::int32_t>(made.slots, [](const Slot& slot) { return slot.source; });
  arrays["sample"] =
      slot_column<std::int64_t>(made.slots, [](const Slot& slot) { return slot.sample; });
  return arrays;
}

std::vector<std::string> source_names(const MixtureBatches& self) {
  std::vector<std::string> names;
  for (int i = 0; i < self.mixture().size(); ++i) names.push_back(self.mixture().source(i).name());
  return names;
}

}  // namespace

void bind_mixtures(nb::module_& module) {
  nb::class_<MixtureBatches>(module, "Mixture")
      .def("__init__", construct_mixture, nb::arg("file"), nb::arg("text").none(),
           nb::arg("overrides"), nb::arg("rank"), nb::arg("ranks"), nb::arg("dtype"))
      .def("batch", mixture_batch, nb::arg("step"), nb::arg("layout"))
      .def("steps", &MixtureBatches::steps)
      .def("sources", source_names)
      .def("resolved", [](const MixtureBatches& self) { return self.config().to_yaml(); })
      .def("notes", [](const MixtureBatches& self) { return self.mixture().notes(); });
}

}  // namespace wellspring::python
