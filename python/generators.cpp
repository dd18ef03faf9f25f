// Generators: their list, their description and their batches.
#include "cli/describe_json.h"
#include "core/config/config.h"
#include "core/config/yaml_json.h"
#include "generators/given_latents.h"

#include <nlohmann/json.hpp>

#include "python/bindings.h"
#include "python/columns.h"
#include "python/generator_batches.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

std::vector<std::pair<std::string, std::string>> list_generators() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const GeneratorEntry& entry : generator_registry())
    list.emplace_back(entry.name, entry.summary);
  return list;
}

/// Arguments of the class, as python/wellspring/_generator.py passes them.
struct GeneratorArguments {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< values as in YAML
  ImageSize size;
  int threads = 0;
  std::uint64_t seed = 0;
  std::string device;
  bool plane = false;
  std::string augmentations;  ///< JSON: {"augment": [...], "normalise": {...}}
};

GeneratorBatches::Settings generator_settings(const GeneratorArguments& arguments) {
  GeneratorBatches::Settings settings;
  settings.generator = arguments.name;
  for (const auto& [name, value] : arguments.parameters)
    settings.parameters.push_back({name, value, {"Generator"}});
  settings.size = arguments.size;
  settings.seed = arguments.seed;
  settings.device = Device::parse(arguments.device);
  settings.threads = arguments.threads;
  settings.dense = arguments.plane ? DenseLabels::plane : DenseLabels::none;
  const ConfigDocument document = ConfigDocument::parse(arguments.augmentations, "Generator");
  read_augmentations(document.root(), settings.augmentations);
  document.finish();
  return settings;
}

void construct_generator(GeneratorBatches* self, const std::string& name,
                         const std::vector<std::pair<std::string, std::string>>& parameters,
                         std::pair<int, int> size, std::uint64_t seed, const std::string& device,
                         int threads, bool plane, const std::string& augmentations) {
  const auto settings = generator_settings(
      {name, parameters, {size.first, size.second}, threads, seed, device, plane, augmentations});
  const nb::gil_scoped_release release;
  new (self) GeneratorBatches(settings);
}

/// The latents that the caller gives, one row per sample.
using GivenLatents = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::object generator_batch(GeneratorBatches& self, std::uint64_t first, std::int64_t count,
                           const std::string& dtype, const std::string& layout,
                           const std::optional<nb::dict>& out,
                           const std::optional<std::uintptr_t>& stream,
                           const std::optional<GivenLatents>& latents) {
  const ElementType type = parse_dtype(dtype);
  const ImageAxes axes = parse_axes(layout);
  TypedBatch batch = TypedBatch::empty(count, self.layout(), type);
  std::shared_ptr<BatchMemory> memory;
  CallersBatch callers;
  if (out) batch = (callers = from_arrays(batch, *out, self.device(), axes)).batch;
  std::vector<float> given;
  if (latents)
    given = given_latents(self.generator().info(), {latents->data(), latents->size()},
                          static_cast<std::int64_t>(latents->shape(1)), "latents");
  {
    const nb::gil_scoped_release release;
    if (!out) {
      memory = self.memory(count, type);
      batch = memory->batch();
    }
    if (stream) {
      self.enqueue({first}, batch, reinterpret_cast<void*>(*stream));
    } else {
      self.make(first, batch, given);
    }
  }
  return out ? nb::object(*out) : nb::object(to_arrays(memory, self.device(), axes));
}

/// (name, type, shape) of the columns of a batch.
nb::list generator_columns(const GeneratorBatches& self, std::int64_t count,
                           const std::string& dtype) {
  return describe_columns(TypedBatch::empty(count, self.layout(), parse_dtype(dtype)));
}

/// The generator with its parameters as JSON.
std::string describe_generator(const GeneratorBatches& self) {
  const SampleInfo& info = self.generator().info();
  nlohmann::ordered_json json = cli::to_json(self.entry());
  json["sample"] = to_string(self.layout());
  json["classes"] = info.classes;
  json["values"] = yaml_to_json(self.generator().parameters_yaml());
  json["settable_latents"] = info.settable_latents;
  json["latents"] = nlohmann::ordered_json::array();
  for (const LatentInfo& latent : info.latents)
    json["latents"].push_back({{"name", latent.name},
                               {"unit", latent.unit},
                               {"low", latent.low},
                               {"high", latent.high},
                               {"help", latent.help}});
  return json.dump();
}

}  // namespace

void bind_generators(nb::module_& module) {
  module.def("list_generators", list_generators);
  nb::class_<GeneratorBatches>(module, "Generator")
      .def("__init__", construct_generator)
      .def("batch", generator_batch, nb::arg("first"), nb::arg("count"), nb::arg("dtype"),
           nb::arg("layout"), nb::arg("out").none(), nb::arg("stream").none(),
           nb::arg("latents").none())
      .def("columns", generator_columns, nb::arg("count"), nb::arg("dtype"))
      .def("describe", describe_generator)
      .def("overflow",
           [](GeneratorBatches& self) {
             const nb::gil_scoped_release release;
             const SetOverflow overflow = self.overflow();
             return std::pair(overflow.samples, overflow.items);
           })
      .def("notes", &GeneratorBatches::notes, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace wellspring::python
