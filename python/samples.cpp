// Files and pictures of samples.
#include "core/error.h"
#include "core/picture/png.h"
#include "core/signals.h"
#include "export/export.h"
#include "export/preview.h"
#include "train/config/files_read.h"
#include "train/run_samples.h"

#include "python/bindings.h"
#include "python/configuration.h"
#include "python/process.h"
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

void stop_on_interrupt(std::uint64_t /*done*/) {
  stop_if_interrupted();
}

std::unique_ptr<SampleReader> open_generator(
    const std::string& name, const std::vector<std::pair<std::string, std::string>>& parameters,
    int size, std::uint64_t seed, std::uint64_t first, std::uint64_t count, bool plane,
    const std::string& device) {
  std::vector<ParamSetting> settings;
  for (const auto& [key, value] : parameters) settings.push_back({key, value, {"Generator"}});
  SampleMaking making;
  making.device = Device::parse(device);
  making.dense = plane ? DenseLabels::plane : DenseLabels::none;
  return std::make_unique<GeneratorReader>(make_generator(name, size, settings, {"Generator"}),
                                           SampleRange{seed, first, count}, making);
}

/// Samples of a configuration; `files`: what it reads.
struct OpenedRun {
  std::unique_ptr<RunSamples> samples;
  std::vector<std::filesystem::path> files;
};

OpenedRun open_run(const std::string& file, const std::optional<std::string>& text,
                   const std::vector<std::string>& overrides, bool held_out, std::uint64_t step,
                   const std::optional<std::uint64_t>& count, bool plane) {
  const RunConfig config = read_config(file, text, overrides);
  RunSampleRange range;
  if (held_out) range.split = RunSampleRange::Split::evaluation;
  range.step = step;
  range.count = count;
  range.dense = plane ? DenseLabels::plane : DenseLabels::none;
  OpenedRun run{std::make_unique<RunSamples>(config, range), files_read(config)};
  if (!text) run.files.emplace_back(file);
  return run;
}

/// Samples that are exported or drawn once.
class Samples {
 public:
  explicit Samples(std::unique_ptr<SampleReader> reader) : reader_(std::move(reader)) {}
  explicit Samples(OpenedRun run) : reader_(std::move(run.samples)), files_(std::move(run.files)) {}

  std::vector<std::string> write(const std::string& out, const std::string& layout,
                                 const std::string& pixels, const std::string& channels) {
    const InterruptBridge interrupts;
    expect_own_threads();
    require_not_an_input(out, files_);
    ImageForm images;
    images.pixels = pixels == "u8" ? ElementType::u8 : ElementType::f32;
    images.channels_first = channels == "first";
    return export_samples(*reader_, out, {layout, stop_on_interrupt, images}).arrays;
  }
  std::vector<std::byte> draw() {
    const InterruptBridge interrupts;
    expect_own_threads();
    return encode_png(preview(*reader_, stop_on_interrupt).image);
  }

 private:
  std::unique_ptr<SampleReader> reader_;
  std::vector<std::filesystem::path> files_;
};

nb::bytes draw_png(Samples& samples) {
  std::vector<std::byte> png;
  {
    const nb::gil_scoped_release release;
    png = samples.draw();
  }
  return nb::bytes(png.data(), png.size());
}

}  // namespace

void bind_samples(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Samples>(module, "Samples")
      .def("write", &Samples::write, Release())
      .def("draw", draw_png);
  module.def(
      "generator_samples",
      [](const std::string& name,
         const std::vector<std::pair<std::string, std::string>>& parameters, int size,
         std::uint64_t seed, std::uint64_t first, std::uint64_t count, bool plane,
         const std::string& device) {
        return Samples(open_generator(name, parameters, size, seed, first, count, plane, device));
      },
      Release());
  module.def(
      "run_samples",
      [](const std::string& file, const std::optional<std::string>& text,
         const std::vector<std::string>& overrides, bool held_out, std::uint64_t step,
         const std::optional<std::uint64_t>& count, bool plane) {
        return Samples(open_run(file, text, overrides, held_out, step, count, plane));
      },
      nb::arg("file"), nb::arg("text").none(), nb::arg("overrides"), nb::arg("held_out"),
      nb::arg("step"), nb::arg("count").none(), nb::arg("plane"), Release());
}

}  // namespace wellspring::python
