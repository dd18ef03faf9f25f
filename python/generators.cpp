// Generators: their list, their description and their batches.
#include "cli/describe_json.h"
#include "core/config/config.h"
#include "core/config/yaml_json.h"
#include "core/error.h"
#include "generators/given_latents.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "python/bindings.h"
#include "python/generator_binding.h"
#include <algorithm>
#include <limits>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
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

void construct_generator(BoundGenerator* self, const std::string& name,
                         const std::vector<std::pair<std::string, std::string>>& parameters,
                         std::pair<int, int> size, std::uint64_t seed, const std::string& device,
                         int threads, bool plane, const std::string& augmentations) {
  const auto settings = generator_settings(
      {name, parameters, {size.first, size.second}, threads, seed, device, plane, augmentations});
  const nb::gil_scoped_release release;
  new (self) BoundGenerator(settings);
}

/// An int from `low` to `high`; otherwise the exception of wellspring._arguments.whole.
std::int64_t whole(const char* name, nb::handle value, std::int64_t low, std::int64_t high) {
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0 && low <= number && number <= high) return number;
  }
  const auto check = nb::module_::import_("wellspring._arguments").attr("whole");
  return nb::cast<std::int64_t>(check(name, value, low, high));
}

/// Arguments that batch() and batches() share; see kBatchHelp.
struct BatchArguments {
  nb::handle count, dtype, layout, out, stream, epoch, repeat;
};

/// A checked request for batches.
struct WantedBatch {
  std::int64_t rows = 0;
  std::shared_ptr<const BatchArrays> arrays;
  ElementType type = ElementType::f32;
  std::optional<nb::dict> out;
  bool enqueues = false;  ///< in the stream `native`
  void* native = nullptr;
  Passes passes = {};

  /// Number of different samples.
  std::int64_t samples() const { return rows / passes.repeat; }
};

Passes wanted_passes(const GeneratorBatches& self, nb::handle epoch, nb::handle repeat,
                     std::int64_t rows) {
  constexpr std::int64_t kMostRepeats = 1 << 16;
  Passes passes;
  passes.epoch = whole("epoch", epoch, 0, kPasses - 1);
  passes.repeat = whole("repeat", repeat, 1, kMostRepeats);
  if (rows % passes.repeat != 0)
    fail(ErrorKind::config,
         {fmt::format("repeat = {} does not divide count = {}", passes.repeat, rows),
          "a batch has all copies of its samples", "choose a multiple"});
  self.expect_passes_differ(passes);
  return passes;
}

WantedBatch wanted_batch(BoundGenerator& self, const BatchArguments& arguments) {
  constexpr std::int64_t kMostRows = 1 << 24;
  WantedBatch wanted;
  wanted.rows = whole("count", arguments.count, 1, kMostRows);
  if (!arguments.out.is_none()) {
    if (!nb::isinstance<nb::dict>(arguments.out))
      throw nb::type_error(
          fmt::format("out must be a dict of arrays, not {}", nb::inst_name(arguments.out).c_str())
              .c_str());
    wanted.out = nb::borrow<nb::dict>(arguments.out);
  }
  const auto checked = [](const char* function, auto... values) {
    return nb::module_::import_("wellspring._arguments").attr(function)(values...);
  };
  if (!arguments.dtype.is_none())
    wanted.type = parse_dtype(nb::cast<std::string>(checked("dtype_name", arguments.dtype)));
  if (!nb::isinstance<nb::str>(arguments.layout)) checked("text", "layout", arguments.layout);
  const ImageAxes axes = parse_axes(nb::borrow<nb::str>(arguments.layout).c_str());
  if (!arguments.stream.is_none()) {
    wanted.enqueues = true;
    wanted.native = reinterpret_cast<void*>(
        nb::cast<std::uintptr_t>(checked("native_stream", arguments.stream)));
  }
  if (!self.arrays || !self.arrays->fit(wanted.rows, wanted.type, axes))
    self.arrays = std::make_shared<const BatchArrays>(
        TypedBatch::empty(wanted.rows, self.layout(), wanted.type), self.device(), axes);
  wanted.arrays = self.arrays;
  wanted.passes = wanted_passes(self, arguments.epoch, arguments.repeat, wanted.rows);
  return wanted;
}

/// The latents that the caller gives, one row per sample.
using GivenLatents = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<float> latents_of(const BoundGenerator& self, nb::handle latents,
                              const WantedBatch& wanted) {
  if (latents.is_none()) return {};
  const auto rows_of = nb::module_::import_("wellspring._arguments").attr("rows_of");
  const nb::object checked = rows_of("latents", latents, wanted.rows);
  if (wanted.enqueues)
    fail(ErrorKind::config, {"latents cannot be used with stream: they come from host memory", "",
                             "leave stream out"});
  const auto rows = nb::cast<GivenLatents>(checked);
  return given_latents(self.generator().info(), {rows.data(), rows.size()},
                       static_cast<std::int64_t>(rows.shape(1)), "latents");
}

/// Makes a batch; called without the GIL.
void make(GeneratorBatches& self, std::uint64_t first, const TypedBatch& batch,
          const WantedBatch& wanted, const std::vector<float>& latents = {}) {
  if (wanted.enqueues) return self.enqueue({first, nullptr, wanted.passes}, batch, wanted.native);
  self.make(first, batch, wanted.passes, latents);
}

/// Largest id of the first sample of such a batch.
std::int64_t last_first(const WantedBatch& wanted) {
  return static_cast<std::int64_t>(wanted.passes.ids() -
                                   static_cast<std::uint64_t>(wanted.samples()));
}

nb::object generator_batch(BoundGenerator& self, nb::handle first, nb::handle count,
                           nb::handle dtype, nb::handle layout, nb::handle out, nb::handle stream,
                           nb::handle latents, nb::handle epoch, nb::handle repeat) {
  const WantedBatch wanted = wanted_batch(self, {count, dtype, layout, out, stream, epoch, repeat});
  const auto id = static_cast<std::uint64_t>(whole("first", first, 0, last_first(wanted)));
  const std::vector<float> given = latents_of(self, latents, wanted);
  if (wanted.out) {
    const CallersBatch callers = wanted.arrays->from(*wanted.out);
    {
      const nb::gil_scoped_release release;
      make(self, id, callers.batch, wanted, given);
    }
    return as_batch(*wanted.out);
  }
  std::shared_ptr<BatchMemory> memory;
  {
    const nb::gil_scoped_release release;
    memory = self.memory(wanted.rows, wanted.type);
    make(self, id, memory->batch(), wanted, given);
  }
  return wanted.arrays->of(memory);
}

/// Consecutive batches in the same arrays.
class BatchIterator {
 public:
  BatchIterator(nb::handle_t<BoundGenerator> generator, const WantedBatch& wanted,
                std::uint64_t first, std::int64_t steps)
      : owner_(nb::borrow(generator)),
        generator_(nb::cast<BoundGenerator&>(generator)),
        wanted_(wanted),
        first_(first),
        left_(steps) {
    if (wanted.out) {
      callers_ = wanted.arrays->from(*wanted.out);
      batch_ = as_batch(*wanted.out);
      return;
    }
    std::shared_ptr<BatchMemory> memory;
    {
      const nb::gil_scoped_release release;
      memory = generator_.memory(wanted.rows, wanted.type);
    }
    callers_.batch = memory->batch();
    batch_ = wanted.arrays->of(memory);
  }

  bool ended() const { return left_ == 0; }
  /// Makes the next batch and returns it. Call with the GIL held.
  PyObject* next() {
    const std::uint64_t first = first_;
    {
      const nb::gil_scoped_release release;
      make(generator_, first, callers_.batch, wanted_);
    }
    first_ += static_cast<std::uint64_t>(wanted_.samples());
    --left_;
    return nb::object(batch_).release().ptr();
  }

 private:
  nb::object owner_;
  BoundGenerator& generator_;
  WantedBatch wanted_;
  CallersBatch callers_;
  nb::object batch_;
  std::uint64_t first_;
  std::int64_t left_;  ///< batches
};

/// Python's `next`, without the cost of a method call.
PyObject* next_batch(PyObject* self) {
  auto& iterator = *nb::inst_ptr<BatchIterator>(self);
  if (iterator.ended()) return nullptr;
  try {
    return iterator.next();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

BatchIterator generator_batches(nb::handle_t<BoundGenerator> self, nb::handle count,
                                nb::handle first, nb::handle steps, nb::handle dtype,
                                nb::handle layout, nb::handle out, nb::handle stream,
                                nb::handle epoch, nb::handle repeat) {
  const WantedBatch wanted = wanted_batch(nb::cast<BoundGenerator&>(self),
                                          {count, dtype, layout, out, stream, epoch, repeat});
  const auto begin = static_cast<std::uint64_t>(whole("first", first, 0, last_first(wanted)));
  const auto most = static_cast<std::int64_t>(std::min<std::uint64_t>(
      (wanted.passes.ids() - begin) / static_cast<std::uint64_t>(wanted.samples()),
      std::numeric_limits<std::int64_t>::max()));
  const std::int64_t number = steps.is_none() ? most : whole("steps", steps, 0, most);
  return {self, wanted, begin, number};
}

constexpr const char* kBatchHelp = R"(
The samples first, first + 1, ..., first + count - 1 as a Batch.

dtype    "f32" (default), "bf16", "f16" or "u8": type of x. NumPy has no bf16, so x is then a DLPack
         object. u8: 0 to 1 as 0 to 255, rounded; only if the values are from 0 to 1.
layout   "NHWC" (default), or "NCHW": the same memory with the axes in PyTorch's order (channels_last)
out      {column: array} to write into instead of new memory. Each array must have the column's
         type and shape, be contiguous and on the generator's device; x is required. Returns the
         same arrays; a Batch is returned itself.
stream   on a GPU: a stream of the caller (torch.cuda.Stream, or a cudaStream_t as an integer, which is
         not checked). The batch is then enqueued there, and the call returns at once. Use it with
         out: new memory for a batch is allocated and freed by calls that wait for the device.
         A CUDA graph can capture the call after a first batch of the same size and type; the capture
         waits for earlier batches. Replays make the same samples, need the generator, and must not
         run at the same time as its other batches.
latents  array [count, latents]: use these values instead of drawing them. Everything else of a
         sample stays as drawn, so sample i at its own latents is sample i. Latents that follow
         from others are computed again and may be left out. Not together with stream.
epoch    0 to 65535: pass over the samples. Each pass has other augmentations: view `epoch` of a training
         source with the generator's seed. Needs augment.
repeat   copies of each sample in a row, each with its own augmentation, as with `repeats` in a
         configuration: the samples first, ..., first + count / repeat - 1. Needs augment.
         With epoch or repeat, ids times repeat must stay below 2^48.)";

constexpr const char* kBatchesHelp = R"(
An iterator over the batches batch(first, count), batch(first + count, count), ...: `steps` of them, or all.
With repeat, first grows by count / repeat.

Every batch is the same Batch with the same arrays, and the next step overwrites them, so copy what you
keep. This takes less time per batch than batch(). The other arguments: see batch().)";

/// Checks passes of batches of `count` rows; returns the largest id of their first sample.
std::int64_t generator_passes(const BoundGenerator& self, std::int64_t count, nb::handle epoch,
                              nb::handle repeat) {
  WantedBatch wanted;
  wanted.rows = count;
  wanted.passes = wanted_passes(self, epoch, repeat, count);
  return last_first(wanted);
}

/// (name, type, shape) of the columns of a batch.
nb::list generator_columns(const BoundGenerator& self, std::int64_t count,
                           const std::string& dtype) {
  return describe_columns(TypedBatch::empty(count, self.layout(), parse_dtype(dtype)));
}

/// The generator with its parameters as JSON.
std::string describe_generator(const BoundGenerator& self) {
  nlohmann::ordered_json json = cli::to_json(self.entry(), self.generator().info());
  json["sample"] = to_string(self.layout());
  json["values"] = yaml_to_json(self.generator().parameters_yaml());
  return json.dump();
}

}  // namespace

void bind_generators(nb::module_& module) {
  module.def("list_generators", list_generators);
  nb::class_<BoundGenerator>(module, "Generator")
      .def("__init__", construct_generator)
      .def("batch", generator_batch, nb::arg("first"), nb::arg("count"), nb::kw_only(),
           nb::arg("dtype") = nb::none(), nb::arg("layout") = "NHWC", nb::arg("out") = nb::none(),
           nb::arg("stream") = nb::none(), nb::arg("latents") = nb::none(), nb::arg("epoch") = 0,
           nb::arg("repeat") = 1, kBatchHelp)
      .def("batches", generator_batches, nb::arg("count"), nb::kw_only(), nb::arg("first") = 0,
           nb::arg("steps") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("layout") = "NHWC",
           nb::arg("out") = nb::none(), nb::arg("stream") = nb::none(), nb::arg("epoch") = 0,
           nb::arg("repeat") = 1, kBatchesHelp)
      .def("_passes", generator_passes, nb::arg("count"), nb::arg("epoch"), nb::arg("repeat"))
      .def("_columns", generator_columns, nb::arg("count"), nb::arg("dtype"))
      .def("_describe", describe_generator)
      .def("_overflow",
           [](BoundGenerator& self) {
             const nb::gil_scoped_release release;
             const SetOverflow overflow = self.overflow();
             return std::pair(overflow.samples, overflow.items);
           })
      .def("_notes", [](BoundGenerator& self) {
        const nb::gil_scoped_release release;
        return self.notes();
      });
  const PyType_Slot slots[] = {{Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                               {Py_tp_iternext, reinterpret_cast<void*>(next_batch)},
                               {0, nullptr}};
  nb::class_<BatchIterator>(module, "Batches", nb::type_slots(slots));
}

}  // namespace wellspring::python
